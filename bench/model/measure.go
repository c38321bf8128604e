package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// measure fills in inputs.
func measure(ctx context.Context, in *inputs, anew, delays bool) (err error) {
	l := &lab{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	if l.dir, err = os.MkdirTemp("", "sectional-model"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.dir)) }()
	if err := process.Build(filepath.Join(l.dir, "sectional")); err != nil {
		return err
	}
	if l.cluster, err = pgtest.Start(pgtest.Options{Durable: true, Settings: []string{"shared_buffers=256MB", "max_wal_size=4GB", "autovacuum=off"}}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.cluster.Stop()) }()
	if anew {
		in.When, in.Machine = time.Now().UTC().Format("2006-01-02"), "two processors that everything shares"
		if err := errors.Join(l.database(ctx, in), l.requests(ctx, in)); err != nil {
			return err
		}
	}
	if delays {
		return l.checks(ctx, in)
	}
	return nil
}

// document is a body of 1 KB.
var document = `{"n":7,"fill":"` + strings.Repeat("0123456789abcdef", 62) + `"}`

// bulk is a body of _bulk_docs.
func (l *lab) bulk(n int) string {
	docs := make([]string, n)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id":"p%d:b%d",%s`, i%10, l.names.Add(1), document[1:])
	}
	return `{"docs":[` + strings.Join(docs, ",") + `]}`
}

// request returns one of a kind.
func (l *lab) request(kind string) (method, path, body string) {
	switch kind {
	case "GET":
		return "GET", "/shop/p0:d1", ""
	case "_find":
		return "POST", "/shop/_partition/p0/_find", `{"selector":{"n":7},"limit":25}`
	case "_changes":
		return "GET", "/shop/_changes?limit=100", ""
	case "_bulk_docs of 100":
		return "POST", "/shop/_bulk_docs", l.bulk(100)
	}
	return "PUT", fmt.Sprintf("/shop/p%d:n%d", l.names.Load()%10, l.names.Add(1)), document
}

// kindNames are the requests that are measured.
var kindNames = []string{"PUT", "GET", "_find", "_changes", "_bulk_docs of 100"}

// fill makes the database that requests are about.
func (l *lab) fill(base string) error {
	_, err := l.ask(base, "PUT", "/shop?partitioned=true", "")
	for _, r := range [][3]string{{"POST", "/shop/_index", `{"index":{"fields":["n"]},"ddoc":"i"}`}, {"PUT", "/shop/p0:d1", document}, {"POST", "/shop/_bulk_docs", l.bulk(500)}, {"POST", "/shop/_bulk_docs", l.bulk(500)}} {
		if err == nil {
			_, err = l.ask(base, r[0], r[1], r[2])
		}
	}
	return err
}

// requests measures what requests of each kind cost, of one client, and what a server without any does.
func (l *lab) requests(ctx context.Context, in *inputs) (err error) {
	url, err := l.cluster.Database(ctx)
	if err != nil {
		return err
	}
	s, err := l.serve(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := l.fill(s.Base); err != nil {
		return err
	}
	in.Kinds = nil
	for _, name := range kindNames {
		n := 3000
		if strings.HasPrefix(name, "_") {
			n = 400
		}
		k, err := l.cost(s, name, n)
		if err != nil {
			return err
		}
		in.Kinds = append(in.Kinds, k)
	}
	put, bulk := in.of("PUT"), in.of("_bulk_docs of 100")
	in.Document, in.Loaded = (bulk.Postgres-put.Postgres)/99, (bulk.Server-put.Server)/99
	return l.idle(ctx, s, in)
}

// cost makes so many requests of a kind, one after the other.
func (l *lab) cost(s *process.Server, name string, n int) (k kind, err error) {
	for range n / 10 { // caches are warm then
		if err := l.one(s.Base, name); err != nil {
			return k, err
		}
	}
	return l.metered(s, name, n, func() error { return l.one(s.Base, name) })
}

func (l *lab) one(base, name string) error {
	method, path, body := l.request(name)
	_, err := l.ask(base, method, path, body)
	return err
}

// metered runs work so often, and returns what one took.
func (l *lab) metered(s *process.Server, name string, n int, work func() error) (k kind, err error) {
	trips, _, err := l.counts(s)
	if err != nil {
		return k, err
	}
	server, err := s.CPU()
	if err != nil {
		return k, err
	}
	postgres, err := l.postgresCPU()
	if err != nil {
		return k, err
	}
	for range n {
		if err := work(); err != nil {
			return k, err
		}
	}
	server2, err := s.CPU()
	if err != nil {
		return k, err
	}
	postgres2, err := l.postgresCPU()
	if err != nil {
		return k, err
	}
	trips2, _, err := l.counts(s)
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	return kind{Name: name, Trips: (trips2 - trips) / float64(n), Server: each(server2 - server), Postgres: each(postgres2 - postgres)}, err
}

// idle looks at a server for a while of which nobody asks anything but its counts.
func (l *lab) idle(ctx context.Context, s *process.Server, in *inputs) error {
	const long = 20 * time.Second
	trips, commits, err := l.counts(s)
	if err != nil {
		return err
	}
	select {
	case <-time.After(long):
	case <-ctx.Done():
		return ctx.Err()
	}
	trips2, commits2, err := l.counts(s)
	in.Idle = idle{Trips: (trips2 - trips) / long.Seconds(), Commits: (commits2 - commits) / long.Seconds()}
	return err
}

// database measures PostgreSQL itself: its commits, its messages and its processes.
func (l *lab) database(ctx context.Context, in *inputs) error {
	conn, err := pgx.Connect(ctx, l.cluster.URL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "CREATE TABLE one (n bigint); INSERT INTO one VALUES (0)"); err != nil {
		return err
	}
	durable, err := timed(ctx, conn, "UPDATE one SET n = n + 1", 400)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SET synchronous_commit = off"); err != nil {
		return err
	}
	memory, err := timed(ctx, conn, "UPDATE one SET n = n + 1", 400)
	if err != nil {
		return err
	}
	in.Flush = durable - memory
	if in.Notify, err = l.told(ctx, conn, 0); err != nil {
		return err
	}
	const listeners = 60
	some, err := l.told(ctx, conn, listeners)
	in.Deliver = (some - in.Notify) / listeners
	if err == nil {
		in.Backend, err = l.backend(ctx)
	}
	return err
}

// timed returns the median time of a statement, in µs.
func timed(ctx context.Context, conn *pgx.Conn, sql string, n int) (float64, error) {
	times := make([]float64, n)
	for i := range times {
		began := time.Now()
		if _, err := conn.Exec(ctx, sql); err != nil {
			return 0, err
		}
		times[i] = float64(time.Since(began).Microseconds())
	}
	slices.Sort(times)
	return times[n/2], nil
}

// told returns what a message costs PostgreSQL with so many who listen, in µs.
func (l *lab) told(ctx context.Context, conn *pgx.Conn, listeners int) (float64, error) {
	for range listeners {
		c, err := pgx.Connect(ctx, l.cluster.URL())
		if err != nil {
			return 0, err
		}
		defer c.Close(context.WithoutCancel(ctx))
		if _, err := c.Exec(ctx, "LISTEN news"); err != nil {
			return 0, err
		}
		go func() {
			for c.PgConn().WaitForNotification(ctx) == nil {
			}
		}()
	}
	const n = 2000
	before, err := l.postgresCPU()
	if err != nil {
		return 0, err
	}
	for i := range n {
		if _, err := conn.Exec(ctx, fmt.Sprintf("NOTIFY news, 'a message as long as those of the server are, or so: %d'", i)); err != nil {
			return 0, err
		}
	}
	after, err := l.postgresCPU()
	return float64((after - before).Microseconds()) / n, err
}

// backend returns what a connection's process takes for itself, in MB, after some use.
func (l *lab) backend(ctx context.Context) (float64, error) {
	conn, err := pgx.Connect(ctx, l.cluster.URL())
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := timed(ctx, conn, "SELECT count(*) FROM pg_class", 50); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", conn.PgConn().PID()))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the kernel gives no RssAnon")
	}
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	return kilobytes / 1024, err
}

// delays are what the proxies add to a round trip, in ms.
var delays = []float64{0, 0.5, 1, 5}

// checks measures what the model says of delays: each with all of them in turn, since what else goes on at the machine
// changes.
func (l *lab) checks(ctx context.Context, in *inputs) (err error) {
	servers := map[float64][]*process.Server{}
	for _, delay := range delays {
		p, err := newSlowly(l.cluster.Socket(), time.Duration(delay*float64(time.Millisecond)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		if servers[delay], err = l.three(ctx, p); err != nil {
			return err
		}
		defer func() {
			for _, s := range servers[delay] {
				err = errors.Join(err, s.Kill())
			}
		}()
	}
	in.Checks = nil
	for _, c := range []check{
		{What: "`GET`, one client", Kind: "GET", Servers: 1, Clients: 1},
		{What: "`GET`, 16 clients", Kind: "GET", Servers: 1, Clients: 16},
		{What: "`_find` of 25, 4 clients", Kind: "_find", Servers: 1, Clients: 4},
		{What: "`PUT`, one client", Kind: "PUT", Servers: 1, Clients: 1},
		{What: "`PUT` into one database, 32 clients, one server", Kind: "PUT", Servers: 1, Clients: 32},
		{What: "`PUT` into one database, 33 clients, three servers", Kind: "PUT", Servers: 3, Clients: 33},
	} {
		for _, c.Delay = range delays {
			if c.Rate, err = l.rate(servers[c.Delay][:c.Servers], c); err != nil {
				return err
			}
			in.Checks = append(in.Checks, c)
		}
	}
	return nil
}

// three starts servers that reach PostgreSQL by a proxy, and fills their database.
func (l *lab) three(ctx context.Context, p *slowly) (servers []*process.Server, err error) {
	own, err := l.cluster.Database(ctx)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(own, "postgres://sectional@/"), "?")
	url := "postgres://sectional@" + p.listener.Addr().String() + "/" + name + "?sslmode=disable"
	servers = make([]*process.Server, 3)
	for i := range servers {
		if servers[i], err = l.serve(ctx, url); err != nil {
			return servers[:i], err
		}
	}
	return servers, l.fill(servers[0].Base)
}

// rate has clients ask for some seconds, of which the first does not count.
func (l *lab) rate(servers []*process.Server, c check) (float64, error) {
	var answered, stop atomic.Int64
	var group sync.WaitGroup
	failures := make([]error, c.Clients)
	for i := range c.Clients {
		group.Go(func() {
			for stop.Load() == 0 && failures[i] == nil {
				failures[i] = l.one(servers[i%len(servers)].Base, c.Kind)
				answered.Add(1)
			}
		})
	}
	time.Sleep(time.Second)
	before, began := answered.Load(), time.Now()
	time.Sleep(3 * time.Second)
	rate := float64(answered.Load()-before) / time.Since(began).Seconds()
	stop.Store(1)
	group.Wait()
	return rate, errors.Join(failures...)
}
