package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sectional/sectional/internal/testkit/process"
)

// A load that goes on: orders of 800 bytes that take turns in 2,000 partitions, in parts of 50,000. After each part
// the same number of rows of the same sizes goes into raw Pebble, and documents are read, while the server may still
// be busy with what the part has left behind. What counts is how the rates change as the data grows.

// loadBulk is how many documents a request brings.
const loadBulk = 500

// loadPoint is what one part of the load measured.
type loadPoint struct {
	documents     int // so far
	rate, raw     float64
	gets          float64       // documents read in a second, of all that are there
	longest       time.Duration // of the requests
	cpu           float64       // seconds of the server's for a document, what it did in the background included
	written       float64       // bytes written to the disk so far, for a byte of documents
	stalls        float64       // times that all writes waited, so far
	longestStall  float64       // seconds
	memory        float64       // megabytes at the most
	documentBytes float64       // so far
}

// growingLoad measures a load of b.load documents, raw Pebble beside it, and reads between its parts.
func (b *bench) growingLoad(ctx context.Context) (err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	scratch, err := b.scratch()
	if err != nil {
		return err
	}
	db, err := openRaw(scratch, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(), os.RemoveAll(scratch)) }()
	if _, err := ask(s.Address, "PUT", "/orders?partitioned=true", nil); err != nil {
		return err
	}
	var points []loadPoint
	for from := 0; from < b.load; from += b.part {
		p, err := b.loadPart(s, db, from, points)
		if err != nil {
			return err
		}
		points = append(points, p)
		fmt.Fprintln(os.Stderr, "  ", p.line(points[0]))
	}
	return b.loaded(ctx, s, points)
}

// loadPart loads the documents from number from on.
func (b *bench) loadPart(s *process.Server, db *pebble.DB, from int, before []loadPoint) (p loadPoint, err error) {
	p.documents = from + b.part
	var ours, theirs result
	for _, step := range []struct {
		run   func() error
		costs bool // what the server uses meanwhile is the load's
	}{
		{func() (err error) { ours, p.longest, err = loadOrders(s.Address, from, b.part); return err }, true},
		{func() (err error) { p.gets, err = b.readOrders(s, p.documents); return err }, false},
		{func() (err error) { theirs, err = rawOrders(db, from, b.part); return err }, true},
	} {
		used, err := s.CPU()
		if err == nil {
			err = step.run()
		}
		after, cpuErr := s.CPU()
		if err := errors.Join(err, cpuErr); err != nil {
			return p, err
		}
		if step.costs {
			p.cpu += (after - used).Seconds() / float64(b.part)
		}
	}
	p.rate, p.raw = ours.rate()*loadBulk, theirs.rate()*loadBulk
	return p, p.measure(s, b.part, before)
}

// measure fills in what the server's process and its metrics tell.
func (p *loadPoint) measure(s *process.Server, documents int, before []loadPoint) error {
	p.documentBytes = float64(documents) * float64(len(order(p.documents, 0, "")))
	if n := len(before); n > 0 {
		p.documentBytes += before[n-1].documentBytes
	}
	written, err := s.Written()
	if err != nil {
		return err
	}
	p.written = float64(written) / p.documentBytes
	most, err := s.Memory("VmHWM")
	if err != nil {
		return err
	}
	p.memory = float64(most) / 1e6
	metrics, err := ask(s.Address, "GET", "/_node/_local/_prometheus", nil)
	if err != nil {
		return err
	}
	p.stalls = metric(metrics, "storage_stalls_total")
	p.longestStall = metric(metrics, "storage_longest_stall_seconds")
	return nil
}

// metric finds a value, whatever comes before its name; 0 where there is none.
func metric(metrics []byte, name string) float64 {
	for line := range bytes.Lines(metrics) {
		label, value, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if ok && strings.HasSuffix(label, name) {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				return v
			}
		}
	}
	return 0
}

// line describes a part beside the first one.
func (p *loadPoint) line(first loadPoint) string {
	return fmt.Sprintf("%8d documents: %6.0f/s, %.2f of the start, %.2f of raw Pebble (which has %.2f of its start); GET %6.0f/s, %.2f of the start; longest request %v; %.1f CPU µs; written %.2f times; %.0f stalls, longest %.2f s; at most %.0f MB",
		p.documents, p.rate, p.rate/first.rate, p.rate/p.raw, p.raw/first.raw, p.gets, p.gets/first.gets,
		p.longest.Round(time.Millisecond), p.cpu*1e6, p.written, p.stalls, p.longestStall, p.memory)
}

// loadOrders sends one part's requests; longest is how long one of them took at the most.
func loadOrders(address string, from, documents int) (r result, longest time.Duration, err error) {
	requests := make([][]byte, documents/loadBulk)
	for i := range requests {
		requests[i] = call("POST", "/orders/_bulk_docs", bulk(from+i*loadBulk, loadBulk, orderWithID))
	}
	took := make([]time.Duration, connections)
	last := make([]time.Time, connections)
	next := dealt(requests)
	r, err = drive(load{address: address, workers: connections, request: func(worker, turn int) []byte {
		now := time.Now()
		if turn > 0 {
			took[worker] = max(took[worker], now.Sub(last[worker]))
		}
		last[worker] = now
		return next(worker, turn)
	}})
	for _, d := range took {
		longest = max(longest, d)
	}
	return r, longest, err
}

// readOrders reads documents from anywhere among so many for a time.
func (b *bench) readOrders(s *process.Server, documents int) (float64, error) {
	random := rand.New(rand.NewPCG(7, uint64(documents)))
	requests := make([][]byte, 20_000)
	for i := range requests {
		requests[i] = call("GET", "/orders/"+orderID(random.IntN(documents)), nil)
	}
	r, err := drive(load{address: s.Address, workers: connections, limit: min(b.duration, time.Second), request: around(requests)})
	return r.rate(), err
}

// rawOrders writes the rows of one part into raw Pebble, in synced batches from as many goroutines as the server has
// clients.
func rawOrders(db *pebble.DB, from, documents int) (result, error) {
	return atOnce(documents/loadBulk, func(n int) error { return rawOrderBatch(db, from+n*loadBulk) })
}

func rawOrderBatch(db *pebble.DB, from int) error {
	b := db.NewBatch()
	for n := from; n < from+loadBulk; n++ {
		for _, r := range orderRows(n) {
			if err := b.Set(r.key, r.value, nil); err != nil {
				return err
			}
		}
	}
	return b.Commit(pebble.Sync)
}

// orderRows are rows as the server has them of an order, in number, order and size: a head and a body that lie
// together by the document's id, an entry of the feed, one of the partition's feed, and the partition's counters.
func orderRows(n int) []row {
	id := orderID(n)
	random := rand.New(rand.NewPCG(8, uint64(n)))
	hash := make([]byte, 16)
	for i := range hash {
		hash[i] = byte(random.Uint32())
	}
	partition, _, _ := strings.Cut(id, ":")
	sequence := fmt.Appendf(nil, "%07d", n)
	key := func(space string, parts ...[]byte) []byte {
		return append([]byte(space), bytes.Join(parts, []byte{0})...)
	}
	entry := append([]byte(id), hash...)
	return []row{
		{key("d", []byte(id), []byte("head")), append(append([]byte("head"), hash...), entry...)},
		{key("d", []byte(id), []byte("rev"), hash), order(n, 0, "")},
		{key("f", sequence), entry},
		{key("g", []byte(partition), sequence), entry},
		{key("h", []byte(partition)), append([]byte("counters"), sequence...)},
	}
}

// loaded reads once more after the server has come to rest, and reports.
func (b *bench) loaded(ctx context.Context, s *process.Server, points []loadPoint) error {
	first, last := points[0], points[len(points)-1]
	if err := settle(ctx, s); err != nil {
		return err
	}
	rested, err := b.readOrders(s, last.documents)
	if err != nil {
		return err
	}
	for _, p := range points {
		b.report.notes = append(b.report.notes, p.line(first))
	}
	name := fmt.Sprintf("%d orders loaded: ", last.documents)
	part := fmt.Sprintf("the last %d", b.part)
	rates := figure{name: name + part, unit: "documents/s", ceiling: "the first", goal: 0.6}
	rates.add(last.rate, first.rate, last.cpu)
	raw := figure{name: name + part, unit: "documents/s", ceiling: "raw Pebble, rows of those sizes", goal: 0.5}
	raw.add(last.rate, last.raw, last.cpu)
	gets := figure{name: name + "GET right afterwards", unit: "requests/s", ceiling: "once at rest", goal: 0.7}
	gets.add(last.gets, rested, 0)
	grown := figure{name: name + "GET", unit: "requests/s", ceiling: "with the first", goal: 0.7}
	grown.add(last.gets, first.gets, 0)
	b.report.figures = append(b.report.figures, rates, raw, gets, grown)
	b.report.resources = append(b.report.resources,
		resource{name + "bytes written for each of documents", last.written, "times", 5},
		resource{name + "longest stall", last.longestStall * 1000, "ms", 1000},
		resource{name + "memory at its peak", last.memory, "MB", 1000})
	return nil
}
