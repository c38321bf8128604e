package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// The engine over PostgreSQL, beside the embedded one and what pgbench gets from the same cluster, in turns. The
// cluster is durable, on the directory of the measurements, with PostgreSQL's own settings but for its cache and
// the size of its log. Several servers over it are in severalservers.go.

// overPostgres is a run of these measurements.
type overPostgres struct {
	*bench
	cluster  *pgtest.Cluster
	server   *process.Server
	embedded *process.Server
}

// postgres measures loads, writes and reads of servers over PostgreSQL.
func (b *bench) postgres(ctx context.Context) (err error) {
	if pgtest.Installed() == "" {
		b.report.notes = append(b.report.notes, "NOT MEASURED: PostgreSQL is not installed.")
		return nil
	}
	o := overPostgres{bench: b}
	o.cluster, err = pgtest.Start(pgtest.Options{Durable: true, Settings: []string{"shared_buffers=256MB", "max_wal_size=4GB"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.cluster.Stop()) }()
	if _, err := o.cluster.Run(ctx, "pgbench", "-i", "-q", "-s", strconv.Itoa(connections)); err != nil {
		return err
	}
	if o.server, err = o.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.server.Kill()) }()
	if o.embedded, _, err = b.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.embedded.Kill()) }()
	for _, part := range []func(context.Context) error{o.loads, o.single, o.lists, o.several} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start runs a server over the cluster.
func (o *overPostgres) start(ctx context.Context) (*process.Server, error) {
	data, err := os.MkdirTemp(o.dir, "data")
	if err != nil {
		return nil, err
	}
	return process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data, Args: []string{"--engine", "postgres", "--postgres", o.cluster.URL()}})
}

// loads fills both engines with the documents and the orders that the reads want.
func (o *overPostgres) loads(ctx context.Context) error {
	f := figure{name: "PostgreSQL: _bulk_docs of 500", unit: "documents/s", ceiling: "Pebble", least: 10_000}
	for database, document := range map[string]func(int) []byte{"bench": withID, "orders": orderWithID} {
		ours, cpu, trips, err := o.counted(ctx, func() (result, error) { return o.fill(o.server, database, o.documents/500, document) })
		if err != nil {
			return err
		}
		theirs, err := o.fill(o.embedded, database, o.documents/500, document)
		if err != nil {
			return err
		}
		f.add(ours.rate()*500, theirs.rate()*500, cpu/500)
		f.trips = append(f.trips, trips)
	}
	o.report.figures = append(o.report.figures, f)
	return nil
}

// single measures requests for one document and for a small partition.
func (o *overPostgres) single(ctx context.Context) error {
	for _, w := range []struct {
		workload
		goal, least float64
		pgbench     string
	}{
		{o.puts(), 0.9, 0, "-N"},
		{o.gets(), 0, 5000, "-S"},
		{o.partitionReads(), 0, 3000, ""},
	} {
		if err := o.inTurns(ctx, w.workload, w.goal, w.least, w.pgbench); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// lists measures requests that an index answers.
func (o *overPostgres) lists(ctx context.Context) error {
	for _, s := range []*process.Server{o.server, o.embedded} {
		if _, err := ask(s.Address, "POST", "/orders/_index", mangoIndex("total", false, "total")); err != nil {
			return err
		}
		if err := replace(s.Address, "/orders/_design/sales", design("sales", salesMap, "_sum")); err != nil {
			return err
		}
		if err := waitForView(ctx, s.Address, "/orders/_design/sales/_view/sales", o.documents); err != nil {
			return err
		}
	}
	for _, w := range []workload{o.partitionFinds(), o.reduces()[0], o.groups()} {
		if err := o.inTurns(ctx, w, 0, cmp.Or(w.least, 1500), ""); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// partitionFinds are queries of 25 documents of one partition each, all of which match.
func (o *overPostgres) partitionFinds() workload {
	requests := make([][]byte, orderPartitions)
	for n := range requests {
		requests[n] = call("POST", fmt.Sprintf("/orders/_partition/u%05d/_find", n*17%orderPartitions), []byte(`{"selector":{"total":{"$gte":0}},"limit":25}`))
	}
	return workload{figure: figure{name: "partition _find of 25 by an index", unit: "requests/s", least: 3000},
		requests: func(int) func(int, int) []byte { return around(requests) }}
}

// groups are the sums of a hundred days each.
func (o *overPostgres) groups() workload {
	requests := make([][]byte, 48)
	for n := range requests {
		requests[n] = call("GET", fmt.Sprintf("/orders/_design/sales/_view/sales?group=true&limit=100&startkey=[%d,%d]", 2021+n/12, 1+n%12), nil)
	}
	return workload{figure: figure{name: "100 groups of a view", unit: "requests/s"},
		requests: func(int) func(int, int) []byte { return around(requests) }}
}

// inTurns runs a workload over PostgreSQL and over the embedded engine, and pgbench with an option where one is
// given: for half the time of others each, since it is three times as much.
func (o *overPostgres) inTurns(ctx context.Context, w workload, goal, least float64, option string) error {
	name := "PostgreSQL: " + w.name
	beside := figure{name: name, unit: w.unit, ceiling: "Pebble", least: least}
	simple := figure{name: name, unit: w.unit, ceiling: "pgbench " + option, goal: goal, least: least}
	for repetition := range o.repetitions {
		l := load{address: o.server.Address, workers: connections, limit: o.duration / 2, request: w.requests(repetition)}
		ours, cpu, trips, err := o.counted(ctx, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		l.address = o.embedded.Address
		theirs, _, err := o.metered(ctx, o.embedded, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		beside.add(ours.rate(), theirs.rate(), cpu)
		beside.trips = append(beside.trips, trips)
		if option != "" {
			transactions, err := o.pgbench(ctx, option)
			if err != nil {
				return err
			}
			simple.add(ours.rate(), transactions, cpu)
			simple.trips = append(simple.trips, trips)
		}
	}
	if option != "" {
		o.report.figures = append(o.report.figures, simple)
	}
	o.report.figures = append(o.report.figures, beside)
	return nil
}

// counted runs a load on the server over PostgreSQL, and returns processor seconds of that server and round trips
// for each operation: those of shared commits are divided among them.
func (o *overPostgres) counted(ctx context.Context, run func() (result, error)) (r result, cpu, trips float64, err error) {
	before, err := storageTrips(o.server)
	if err != nil {
		return r, 0, 0, err
	}
	if r, cpu, err = o.metered(ctx, o.server, run); err != nil {
		return r, 0, 0, err
	}
	after, err := storageTrips(o.server)
	n := float64(r.operations)
	return r, cpu / n, (after - before) / n, err
}

// storageTrips returns how many round trips a server has made.
func storageTrips(s *process.Server) (float64, error) {
	metrics, err := ask(s.Address, "GET", "/_node/_local/_prometheus", nil)
	return metric(metrics, "storage_trips_total"), err
}

var transactionsPerSecond = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

// pgbench returns the transactions per second that pgbench reports: its simple updates with -N, its selects
// with -S, by as many clients as ask the servers.
func (o *overPostgres) pgbench(ctx context.Context, option string) (float64, error) {
	seconds := strconv.Itoa(max(1, int(o.duration/2/time.Second)))
	out, err := o.cluster.Run(ctx, "pgbench", "-n", "-M", "prepared", "-c", strconv.Itoa(connections), "-j", "2", "-T", seconds, option)
	if err != nil {
		return 0, err
	}
	m := transactionsPerSecond.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench said\n%s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
