package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// orderWords is the index function of the text index of orders.
const orderWords = `function(doc){ index("default", doc.customer + " " + doc.status + " " + doc.type); index("total", doc.total, {facet: true}); index("date", doc.date); }`

// searchedWrites compares single writes without and beside a text index, which follows them.
func (b *bench) searchedWrites(ctx context.Context) error {
	f := figure{name: "PUT of new orders beside a text index", unit: "requests/s", goal: 0.9, ceiling: "no index"}
	for range b.repetitions {
		var rates [2]float64
		for i, indexed := range []bool{false, true} {
			var err error
			if rates[i], err = b.putsOnce(ctx, indexed); err != nil {
				return err
			}
		}
		f.add(rates[1], rates[0], 0)
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

// putsOnce returns how many new orders a second a fresh server takes in, one in a request.
func (b *bench) putsOnce(ctx context.Context, indexed bool) (rate float64, err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := ask(s.Address, "PUT", "/shop?partitioned=true", nil); err != nil {
		return 0, err
	}
	if indexed {
		fn, err := json.Marshal(orderWords)
		if err != nil {
			return 0, err
		}
		if _, err := ask(s.Address, "PUT", "/shop/_design/words", fmt.Appendf(nil, `{"options":{"partitioned":false},"indexes":{"words":{"index":%s}}}`, fn)); err != nil {
			return 0, err
		}
	}
	puts := make([][]byte, b.documents)
	for n := range puts {
		puts[n] = call("PUT", "/shop/"+orderID(n), order(n, 0, ""))
	}
	r, err := drive(load{address: s.Address, workers: connections, request: dealt(puts)})
	if err != nil || !indexed {
		return r.rate(), err
	}
	// The index follows: a search finds the last.
	began := time.Now()
	_, err = ask(s.Address, "GET", "/shop/_design/words/_search/words?q=order&limit=1", nil)
	b.report.resources = append(b.report.resources, resource{fmt.Sprintf("the first search after %d single writes", b.documents), time.Since(began).Seconds(), "s", 5})
	return r.rate(), err
}

// inEach is how many text indexes a database has of those that nobody asks, and inDesign how many a design document.
const inEach, inDesign = 100, 10

// idleTexts makes many small text indexes, starts the server anew, and measures what it has of them while nobody asks,
// and how long the first query of one takes.
func (b *bench) idleTexts(ctx context.Context) (err error) {
	s, data, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := settle(ctx, s); err != nil {
		return err
	}
	empty, err := standing(s)
	if err != nil {
		return err
	}
	databases := b.scale.textIndexes / inEach
	queries, err := makeIdleTexts(s, databases)
	if err != nil {
		return err
	}
	for range 2 { // the first start has the log of what was written to go through, and its memory
		if err := s.Stop(); err != nil {
			return err
		}
		if s, err = process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data}); err != nil {
			return err
		}
		if err := settle(ctx, s); err != nil {
			return err
		}
	}
	full, err := standing(s)
	if err != nil {
		return err
	}
	var times []float64
	for n := 0; n < len(queries); n += inEach {
		began := time.Now()
		if _, err := drive(load{address: s.Address, workers: 1, request: func(_, turn int) []byte {
			if turn > 0 {
				return nil
			}
			return queries[n]
		}}); err != nil {
			return err
		}
		times = append(times, time.Since(began).Seconds()*1000)
	}
	b.report.resources = append(b.report.resources,
		resource{fmt.Sprintf("memory of %d idle text indexes", len(queries)), full.bytes/1e6 - empty.bytes/1e6, "MB", 20},
		resource{fmt.Sprintf("goroutines of %d idle text indexes", len(queries)), max(0, full.goroutines-empty.goroutines), "", 0},
		resource{"the first query of an idle text index", median(times), "ms", 10})
	return nil
}

// makeIdleTexts makes databases of twenty documents with text indexes, and returns a query for each.
func makeIdleTexts(s *process.Server, databases int) (queries [][]byte, err error) {
	var create, define [][]byte
	for n := range databases {
		name := fmt.Sprintf("/idle%03d", n)
		create = append(create, call("PUT", name, nil))
		for d := range inEach / inDesign {
			var indexes []string
			for i := range inDesign {
				indexes = append(indexes, fmt.Sprintf(`"i%d":{"index":"function(doc){ index('n%d', doc.n); index('default', doc.text) }"}`, i, d*inDesign+i))
				queries = append(queries, call("GET", fmt.Sprintf("%s/_design/d%d/_search/i%d?q=some", name, d, i), nil))
			}
			define = append(define, call("PUT", fmt.Sprintf("%s/_design/d%d", name, d), []byte(`{"indexes":{`+strings.Join(indexes, ",")+`}}`)))
		}
	}
	for _, requests := range [][][]byte{create, idleBulks(databases), define, queries} {
		if _, err := drive(load{address: s.Address, workers: connections, request: dealt(requests)}); err != nil {
			return nil, err
		}
	}
	return queries, nil
}

// idleBulks are the documents of the databases.
func idleBulks(databases int) (all [][]byte) {
	for n := range databases {
		all = append(all, call("POST", fmt.Sprintf("/idle%03d/_bulk_docs", n), bulk(0, 20, func(i int) []byte {
			return fmt.Appendf(nil, `{"_id":"d%d","n":%d,"text":"some words of document %d"}`, i, i, i)
		})))
	}
	return all
}

// held is what a server has that nobody asks anything.
type held struct{ bytes, goroutines float64 }

func standing(s *process.Server) (h held, err error) {
	bytes, err := s.Memory("VmRSS")
	if err != nil {
		return h, err
	}
	n, err := goroutines(s)
	return held{float64(bytes), float64(n)}, err
}
