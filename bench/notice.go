package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// How soon the feeds of one server tell of what was written at another, of three over one PostgreSQL.

// noticeServers is how many servers there are.
const noticeServers = 3

// idleFor is how long it is looked what feeds cost that have nothing to tell.
const idleFor = 10 * time.Second

// notices is three servers and the feeds at them.
type notices struct {
	*bench
	servers []*process.Server
}

// notice measures the time from a write at one server to its row at a client of another: of one feed, of 10,000 that
// follow a partition each, and of 10,000 that follow the same database.
func (b *bench) notice(ctx context.Context) (err error) {
	if pgtest.Installed() == "" {
		b.report.notes = append(b.report.notes, "NOT MEASURED: PostgreSQL is not installed.")
		return nil
	}
	if err := openFiles(uint64(b.scale.feeds) + 1000); err != nil {
		return err
	}
	c, err := pgtest.Start(pgtest.Options{Durable: true, Settings: []string{"shared_buffers=256MB"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	n := &notices{bench: b}
	defer func() {
		for _, s := range n.servers {
			err = errors.Join(err, s.Kill())
		}
	}()
	for range noticeServers {
		data, err := os.MkdirTemp(b.dir, "data")
		if err != nil {
			return err
		}
		s, err := process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data, Args: []string{"--engine", "postgres", "--postgres", c.URL()}})
		if err != nil {
			return err
		}
		n.servers = append(n.servers, s)
	}
	for _, part := range []func(context.Context) error{n.one, n.partitions, n.together} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// line is a row that a client of a feed was told.
type line struct {
	feed int
	at   time.Time
	err  error
}

// feed is a client of a continuous feed.
type feed struct {
	number int
	client *client
}

// listen opens a feed at a server, whose rows go to lines until the connection ends.
func (n *notices) listen(number int, path string, lines chan<- line) (*feed, error) {
	c, err := dial(n.servers[number%noticeServers].Address)
	if err != nil {
		return nil, fmt.Errorf("after %d feeds: %w", number, err)
	}
	f := &feed{number, c}
	request := call("GET", fmt.Sprintf("%s/_changes?feed=continuous&since=now&heartbeat=%d", path, heartbeat.Milliseconds()), nil)
	if _, err := c.connection.Write(request); err != nil {
		return f, err
	}
	h, err := c.head(nil)
	if err == nil && (h.status != 200 || !h.chunked) {
		err = fmt.Errorf("a feed answered %d", h.status)
	}
	if err == nil {
		go f.read(lines)
	}
	return f, err
}

// read tells of each piece of the answer that has a row.
func (f *feed) read(lines chan<- line) {
	var piece bytes.Buffer
	for {
		piece.Reset()
		if err := f.piece(&piece); err != nil {
			lines <- line{f.number, time.Now(), err}
			return
		}
		if bytes.Contains(piece.Bytes(), []byte(`"id":`)) {
			lines <- line{f.number, time.Now(), nil}
		}
	}
}

// piece reads one chunk.
func (f *feed) piece(into *bytes.Buffer) error {
	head, err := f.client.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(head)), 16, 64)
	if err == nil && n == 0 {
		err = errors.New("the feed ended")
	}
	for ; err == nil && n > -2; n-- { // an end of the line follows
		var b byte
		if b, err = f.client.in.ReadByte(); err == nil {
			into.WriteByte(b)
		}
	}
	return err
}

// open opens feeds, some at a time; path says what each follows.
func (n *notices) open(count int, path func(i int) string) (feeds []*feed, lines chan line, err error) {
	lines = make(chan line, count)
	feeds = make([]*feed, count)
	failures := make([]error, connections)
	var group sync.WaitGroup
	for worker := range connections {
		group.Go(func() {
			for i := worker; i < count && failures[worker] == nil; i += connections {
				feeds[i], failures[worker] = n.listen(i, path(i), lines)
			}
		})
	}
	group.Wait()
	return feeds, lines, errors.Join(failures...)
}

// closeAll closes feeds.
func closeAll(feeds []*feed) (err error) {
	for _, f := range feeds {
		if f != nil {
			err = errors.Join(err, f.client.connection.Close())
		}
	}
	return err
}

// put writes a document at a server, and returns when it was sent.
func (n *notices) put(server int, path string) (sent time.Time, err error) {
	c, err := dial(n.servers[server].Address)
	if err != nil {
		return sent, err
	}
	sent = time.Now()
	err = c.expect(201, call("PUT", path, []byte(`{"type":"note","text":"somebody waits for this"}`)), nil)
	return sent, errors.Join(err, c.connection.Close())
}

// one measures one feed at another server.
func (n *notices) one(context.Context) error {
	if _, err := ask(n.servers[0].Address, "PUT", "/one", nil); err != nil {
		return err
	}
	feeds, lines, err := n.open(noticeServers, func(int) string { return "/one" })
	if err != nil {
		return errors.Join(err, closeAll(feeds))
	}
	var delays []time.Duration
	for i := range n.wakes {
		sent, err := n.put(i%noticeServers, fmt.Sprintf("/one/d%d", i))
		if err != nil {
			return errors.Join(err, closeAll(feeds))
		}
		for range feeds {
			l := <-lines
			if l.err != nil {
				return errors.Join(l.err, closeAll(feeds))
			}
			if l.feed != i%noticeServers {
				delays = append(delays, l.at.Sub(sent))
			}
		}
	}
	n.delays("from a write to the row at a client of another server", delays, 100)
	return closeAll(feeds)
}

// delays notes a median and the longest of a hundred.
func (n *notices) delays(what string, delays []time.Duration, most float64) {
	slices.Sort(delays)
	for _, part := range []struct {
		name string
		at   int
		most float64
	}{{"median", len(delays) / 2, most}, {"99 of 100", len(delays) * 99 / 100, 10 * most}} {
		n.report.resources = append(n.report.resources, resource{what + ", " + part.name, float64(delays[part.at].Microseconds()) / 1000, "ms", part.most})
	}
}

// used is the memory and the processor time of all servers.
func (n *notices) used() (memory int64, cpu time.Duration, err error) {
	for _, s := range n.servers {
		m, failed := s.Memory("VmRSS")
		c, alsoFailed := s.CPU()
		memory, cpu, err = memory+m, cpu+c, errors.Join(err, failed, alsoFailed)
	}
	return memory, cpu, err
}

// opened opens feeds and notes what they cost while nothing happens.
func (n *notices) opened(ctx context.Context, what string, path func(i int) string) ([]*feed, chan line, error) {
	before, _, err := n.used()
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	feeds, lines, err := n.open(n.scale.feeds, path)
	if err != nil {
		return feeds, lines, err
	}
	took := time.Since(began)
	for _, s := range n.servers {
		err = errors.Join(err, settle(ctx, s))
	}
	after, cpu, failed := n.used()
	time.Sleep(idleFor)
	_, later, alsoFailed := n.used()
	if err = errors.Join(err, failed, alsoFailed); err == nil {
		n.report.notes = append(n.report.notes, fmt.Sprintf("%d feeds of %s over %d servers: opened in %.1f s, %.1f KB of the servers' memory each, %.1f%% of a processor for all while nothing happens",
			len(feeds), what, noticeServers, took.Seconds(), float64(after-before)/float64(len(feeds))/1e3, 100*(later-cpu).Seconds()/idleFor.Seconds()))
	}
	return feeds, lines, err
}

// partitions measures many feeds, of a partition each.
func (n *notices) partitions(ctx context.Context) (err error) {
	if _, err := ask(n.servers[0].Address, "PUT", "/parts?partitioned=true", nil); err != nil {
		return err
	}
	feeds, lines, err := n.opened(ctx, "a partition each", func(i int) string { return fmt.Sprintf("/parts/_partition/p%05d", i) })
	defer func() { err = errors.Join(err, closeAll(feeds)) }()
	if err != nil {
		return err
	}
	var delays []time.Duration
	_, before, err := n.used()
	if err != nil {
		return err
	}
	for _, p := range rand.New(rand.NewPCG(1, 2)).Perm(len(feeds))[:min(n.wakes, len(feeds))] {
		sent, err := n.put((p+1)%noticeServers, fmt.Sprintf("/parts/p%05d:doc", p))
		if err != nil {
			return err
		}
		l := <-lines
		if l.err != nil || l.feed != p {
			return fmt.Errorf("a write to partition %d woke the client of %d: %w", p, l.feed, l.err)
		}
		delays = append(delays, l.at.Sub(sent))
	}
	_, after, err := n.used()
	n.delays(fmt.Sprintf("the same with %d feeds of other partitions", len(feeds)), delays, 100)
	n.report.notes = append(n.report.notes, fmt.Sprintf("a write with its notice among them: %.1f ms of the servers' processors", (after-before).Seconds()*1000/float64(len(delays))))
	return err
}

// together measures many feeds of one database.
func (n *notices) together(ctx context.Context) (err error) {
	if _, err := ask(n.servers[0].Address, "PUT", "/together", nil); err != nil {
		return err
	}
	feeds, lines, err := n.opened(ctx, "one database", func(int) string { return "/together" })
	defer func() { err = errors.Join(err, closeAll(feeds)) }()
	if err != nil {
		return err
	}
	var half, all []time.Duration
	for round := range 5 {
		sent, err := n.put(round%noticeServers, fmt.Sprintf("/together/d%d", round))
		if err != nil {
			return err
		}
		for i := range feeds {
			l := <-lines
			if l.err != nil {
				return l.err
			}
			if i == len(feeds)/2 {
				half = append(half, l.at.Sub(sent))
			}
			if i == len(feeds)-1 {
				all = append(all, l.at.Sub(sent))
			}
		}
	}
	slices.Sort(half)
	slices.Sort(all)
	n.report.notes = append(n.report.notes, fmt.Sprintf("a write that all %d wait for: half of them have it after %.2f s, all after %.2f s (medians of %d)",
		len(feeds), half[len(half)/2].Seconds(), all[len(all)/2].Seconds(), len(all)))
	return nil
}
