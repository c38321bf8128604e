package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// workload is a measurement of requests beside the bare handler.
type workload struct {
	figure
	// requests prepares the n-th repetition.
	requests func(repetition int) func(worker, turn int) []byte
	// sample is the request whose answer the bare handler repeats.
	sample []byte
}

// documentsAndFeed measures what needs the database of 1-KB documents.
func (b *bench) documentsAndFeed(ctx context.Context) (err error) {
	s, data, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := b.fill(s, "bench", b.documents/500, withID); err != nil {
		return err
	}
	if err := b.disk(ctx, s, data); err != nil {
		return err
	}
	for _, w := range []workload{b.gets(), b.partitionReads(), b.puts()} {
		if err := b.beside(ctx, s, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if err := b.readModifyWrite(ctx, s); err != nil {
		return err
	}
	return b.feed(ctx, s)
}

// fill makes a partitioned database and loads it by _bulk_docs of 500; the result counts requests.
func (b *bench) fill(s *process.Server, database string, bulks int, document func(n int) []byte) (result, error) {
	if _, err := ask(s.Address, "PUT", "/"+database+"?partitioned=true", nil); err != nil {
		return result{}, err
	}
	// A hundred requests are in memory at a time, however large the load.
	total := result{}
	for first := 0; first < bulks; first += 100 {
		part := make([][]byte, min(100, bulks-first))
		for i := range part {
			part[i] = call("POST", "/"+database+"/_bulk_docs", bulk((first+i)*500, 500, document))
		}
		r, err := drive(load{address: s.Address, workers: connections, request: dealt(part)})
		if err != nil {
			return result{}, err
		}
		total.operations += r.operations
		total.elapsed += r.elapsed
	}
	return total, nil
}

// dealt gives each of the connections its share of the requests, one after the other.
func dealt(requests [][]byte) func(worker, turn int) []byte { return dealtTo(requests, connections) }

// dealtTo gives each of so many workers its share of the requests, one after the other.
func dealtTo(requests [][]byte, workers int) func(worker, turn int) []byte {
	return func(worker, turn int) []byte {
		if n := turn*workers + worker; n < len(requests) {
			return requests[n]
		}
		return nil
	}
}

// around gives each worker requests without end, each beginning at another place.
func around(requests [][]byte) func(worker, turn int) []byte {
	return func(worker, turn int) []byte { return requests[(worker*7919+turn)%len(requests)] }
}

func (b *bench) gets() workload {
	order := rand.New(rand.NewPCG(3, 4)).Perm(b.documents)
	requests := make([][]byte, 0, b.documents)
	for _, n := range order {
		requests = append(requests, call("GET", "/bench/"+documentID(n), nil))
	}
	return workload{
		figure:   figure{name: "GET a document of 1 KB", unit: "requests/s", goal: 0.65, ceiling: "bare handler", couchdb: 2478},
		requests: func(int) func(int, int) []byte { return around(requests) },
		sample:   requests[0],
	}
}

func (b *bench) partitionReads() workload {
	var requests [][]byte
	for _, p := range rand.New(rand.NewPCG(5, 6)).Perm(b.documents / perPartition) {
		requests = append(requests, partitionRead("bench", p))
	}
	return workload{
		figure:   figure{name: "partition _all_docs of 25 with documents", unit: "requests/s", goal: 0.30, ceiling: "bare handler", couchdb: 296},
		requests: func(int) func(int, int) []byte { return around(requests) },
		sample:   requests[0],
	}
}

func partitionRead(database string, partition int) []byte {
	return call("GET", fmt.Sprintf("/%s/_partition/p%06d/_all_docs?include_docs=true", database, partition), nil)
}

// puts writes documents that are new in each repetition.
func (b *bench) puts() workload {
	count := int(b.duration.Seconds() * 25_000)
	put := func(repetition, n int) []byte {
		return call("PUT", fmt.Sprintf("/bench/new%d-%d:%08d", repetition, n%1000, n), document(n, ""))
	}
	return workload{
		figure: figure{name: "PUT a new document of 1 KB, durable", unit: "requests/s", goal: 0.45, ceiling: "bare handler", couchdb: 944},
		requests: func(repetition int) func(int, int) []byte {
			requests := make([][]byte, count)
			for n := range requests {
				requests[n] = put(repetition, n)
			}
			return dealt(requests)
		},
		sample: put(-1, 0),
	}
}

// beside runs a workload and the bare handler in turns.
func (b *bench) beside(ctx context.Context, s *process.Server, w workload) (err error) {
	answer, err := record(s.Address, w.sample)
	if err != nil {
		return err
	}
	bare, stop, err := startBare(ctx, b.dir, answer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for repetition := range b.repetitions {
		requests := w.requests(repetition)
		l := load{address: s.Address, workers: connections, limit: b.duration, request: requests}
		ours, cpu, err := b.metered(ctx, s, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		l.address = bare
		theirs, err := drive(l)
		if err != nil {
			return fmt.Errorf("the bare handler: %w", err)
		}
		w.add(ours.rate(), theirs.rate(), cpu/float64(ours.operations))
	}
	b.report.figures = append(b.report.figures, w.figure)
	return nil
}

// metered runs a load and returns the processor seconds that the server spent on it, what it does afterwards in the
// background included.
func (b *bench) metered(ctx context.Context, s *process.Server, run func() (result, error)) (result, float64, error) {
	before, err := s.CPU()
	if err != nil {
		return result{}, 0, err
	}
	r, err := run()
	if err != nil {
		return result{}, 0, err
	}
	if err := settle(ctx, s); err != nil {
		return result{}, 0, err
	}
	after, err := s.CPU()
	return r, (after - before).Seconds(), err
}

// bulkLoad loads documents into a fresh server, stops it, and writes the rows that it left into raw Pebble.
func (b *bench) bulkLoad(ctx context.Context) error {
	f := figure{name: "_bulk_docs of 500", unit: "documents/s", goal: 0.5, ceiling: "raw Pebble, same rows", couchdb: 4702, factor: 5}
	for range b.repetitions {
		ours, cpu, rows, err := b.bulkOnce(ctx)
		if err != nil {
			return err
		}
		scratch, err := b.scratch()
		if err != nil {
			return err
		}
		theirs, err := rawBulk(scratch, rows, b.bulks)
		if err != nil {
			return err
		}
		f.add(ours.rate()*500, theirs.rate()*500, cpu/float64(ours.operations*500))
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

func (b *bench) bulkOnce(ctx context.Context) (ours result, cpu float64, rows []row, err error) {
	s, data, err := b.start(ctx)
	if err != nil {
		return result{}, 0, nil, err
	}
	ours, cpu, err = b.metered(ctx, s, func() (result, error) { return b.fill(s, "bulk", b.bulks, withID) })
	if err != nil {
		return result{}, 0, nil, errors.Join(err, s.Stop())
	}
	rows, err = rowsOf(s, data)
	return ours, cpu, rows, err
}

// rowsOf stops a server and returns all rows that it has stored.
func rowsOf(s *process.Server, data string) ([]row, error) {
	if err := s.Stop(); err != nil {
		return nil, err
	}
	store, err := pebbleDirectory(data)
	if err != nil {
		return nil, err
	}
	return storedRows(store)
}

// readModifyWrite has every client fetch a document of its own and write it back.
func (b *bench) readModifyWrite(ctx context.Context, s *process.Server) error {
	f := figure{name: "read, change and write a document", unit: "cycles/s", couchdb: 615}
	for range b.repetitions {
		ours, cpu, err := b.metered(ctx, s, func() (result, error) { return b.cycles(s) })
		if err != nil {
			return err
		}
		f.add(ours.rate(), 0, cpu/float64(ours.operations))
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

func (b *bench) cycles(s *process.Server) (result, error) {
	counts, failures := make([]int64, connections), make([]error, connections)
	done := make(chan struct{})
	start := time.Now()
	for worker := range connections {
		go func() {
			counts[worker], failures[worker] = b.cycle(s.Address, worker, start)
			done <- struct{}{}
		}()
	}
	total := result{}
	for range connections {
		<-done
	}
	for _, n := range counts {
		total.operations += n
	}
	total.elapsed = time.Since(start)
	return total, errors.Join(failures...)
}

// cycle changes documents number worker, worker+connections, … in turn.
func (b *bench) cycle(address string, worker int, start time.Time) (count int64, err error) {
	c, err := dial(address)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.connection.Close()) }()
	var body bytes.Buffer
	for n := worker % b.documents; time.Since(start) < b.duration; n = (n + connections) % b.documents {
		path := "/bench/" + documentID(n)
		body.Reset()
		if err := c.expect(200, call("GET", path, nil), &body); err != nil {
			return count, fmt.Errorf("GET %s: %w", path, err)
		}
		// The document comes back as it is, with its revision; a member more is the change.
		changed := append([]byte(`{"change":1,`), bytes.TrimLeft(bytes.TrimSpace(body.Bytes()), "{")...)
		if bytes.Contains(body.Bytes(), []byte(`"change":1`)) {
			changed = bytes.Replace(body.Bytes(), []byte(`"change":1,`), nil, 1)
		}
		if err := c.expect(201, call("PUT", path, changed), nil); err != nil {
			return count, fmt.Errorf("PUT %s: %w", path, err)
		}
		count++
	}
	return count, nil
}

// feed reads the whole feed with documents on one connection.
func (b *bench) feed(ctx context.Context, s *process.Server) error {
	f := figure{name: "_changes with documents", unit: "rows/s", goal: 0.5, ceiling: "raw feed scan", couchdb: 11_388, factor: 8}
	if _, err := b.fill(s, "feed", b.documents/500, withID); err != nil {
		return err
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	for range b.repetitions {
		ours, cpu, err := b.metered(ctx, s, func() (result, error) { return readFeed(s.Address) })
		if err != nil {
			return err
		}
		if ours.operations != int64(b.documents) {
			return fmt.Errorf("the feed has %d rows, want %d", ours.operations, b.documents)
		}
		scratch, err := b.scratch()
		if err != nil {
			return err
		}
		theirs, err := rawFeed(scratch, b.documents)
		if err := errors.Join(err, os.RemoveAll(scratch)); err != nil {
			return err
		}
		f.add(ours.rate(), theirs.rate(), cpu/float64(ours.operations))
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

func readFeed(address string) (r result, err error) {
	c, err := dial(address)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, c.connection.Close()) }()
	var all bytes.Buffer
	all.Grow(128 << 20)
	start := time.Now()
	status, err := c.roundTrip(call("GET", "/feed/_changes?include_docs=true", nil), &all)
	elapsed := time.Since(start)
	if err == nil && status != 200 {
		err = fmt.Errorf("_changes answered %d", status)
	}
	return result{int64(bytes.Count(all.Bytes(), []byte(`{"seq":`))), elapsed}, err
}
