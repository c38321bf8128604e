package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// indexes measures queries, builds and what indexes cost the writers, on the database of orders.
func (b *bench) indexes(ctx context.Context) (err error) {
	s, data, err := b.start(ctx)
	if err != nil {
		return err
	}
	_, err = b.fill(s, "orders", b.documents/500, orderWithID)
	if err = errors.Join(err, s.Stop()); err != nil {
		return err
	}
	scan, err := b.rawScan(data)
	if err != nil {
		return err
	}
	if s, err = process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := settle(ctx, s); err != nil {
		return err
	}
	for _, part := range []func(context.Context, *process.Server, float64) error{b.unindexed, b.mangoBuilds, b.viewBuilds} {
		if err := part(ctx, s, scan); err != nil {
			return err
		}
	}
	for _, w := range b.finds() {
		if err := b.beside(ctx, s, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	for _, w := range b.reduces() {
		if err := b.alone(ctx, s, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return b.following(ctx, s)
}

// rawScan returns how many documents a second raw Pebble reads: the rows between the first and the last that hold an
// order, as a stopped server has left them.
func (b *bench) rawScan(data string) (rate float64, err error) {
	stored, err := pebbleDirectory(data)
	if err != nil {
		return 0, err
	}
	rows, err := storedRows(stored)
	if err != nil {
		return 0, err
	}
	first, last, orders := -1, 0, 0
	for i, r := range rows {
		if bytes.Contains(r.value, []byte(`"type":"order"`)) {
			if first < 0 {
				first = i
			}
			last, orders = i, orders+1
		}
	}
	if orders != b.documents {
		return 0, fmt.Errorf("the server left %d rows with orders, want %d", orders, b.documents)
	}
	dir, err := b.scratch()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := openRaw(dir, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := storeRows(db, rows[first:last+1]); err != nil {
		return 0, err
	}
	var rates []float64
	for range 5 {
		start := time.Now()
		if _, err := scanAll(db); err != nil {
			return 0, err
		}
		rates = append(rates, float64(orders)/time.Since(start).Seconds())
	}
	return median(rates), nil
}

// timed notes a figure that is one request: documents a second beside the raw scan.
func (b *bench) timed(ctx context.Context, s *process.Server, f figure, documents int, scan float64, run func(repetition int) error) error {
	for repetition := range b.repetitions {
		ours, cpu, err := b.metered(ctx, s, func() (result, error) {
			start := time.Now()
			err := run(repetition)
			return result{int64(documents), time.Since(start)}, err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		f.add(ours.rate(), scan, cpu/float64(documents))
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

// unindexed measures a _find that no index helps.
func (b *bench) unindexed(ctx context.Context, s *process.Server, scan float64) error {
	f := figure{name: "_find without an index", unit: "documents/s", goal: 0.6, ceiling: "raw scan", couchdb: 21_067}
	return b.timed(ctx, s, f, b.documents, scan, func(int) error {
		answer, err := ask(s.Address, "POST", "/orders/_find", []byte(`{"selector":{"version":{"$gt":1000000}},"limit":25}`))
		if err == nil && !bytes.Contains(answer, []byte(`"docs":[`)) {
			err = fmt.Errorf("_find answered %s", answer)
		}
		return err
	})
}

// mangoBuilds measures two indexes that are built at the same time: until a query that names each of them is answered.
func (b *bench) mangoBuilds(ctx context.Context, s *process.Server, scan float64) error {
	f := figure{name: "two Mango indexes built", unit: "documents/s", goal: 0.3, ceiling: "raw scan", couchdb: 9855, factor: 15}
	return b.timed(ctx, s, f, 2*b.documents, scan, func(repetition int) error {
		names := []string{fmt.Sprintf("customer%d", repetition), fmt.Sprintf("total%d", repetition)}
		for i, fields := range [][]string{{"customer", "date"}, {"total"}} {
			if repetition > 0 {
				path := fmt.Sprintf("/orders/_index/_design/%[1]s/json/%[1]s", names[i][:len(names[i])-1]+fmt.Sprint(repetition-1))
				if _, err := ask(s.Address, "DELETE", path, nil); err != nil {
					return err
				}
			}
			if _, err := ask(s.Address, "POST", "/orders/_index", mangoIndex(names[i], false, fields...)); err != nil {
				return err
			}
		}
		for i, selector := range []string{`{"customer":"nobody","date":"never"}`, `{"total":-1}`} {
			query := fmt.Sprintf(`{"selector":%s,"use_index":%q,"allow_fallback":false}`, selector, names[i])
			if _, err := ask(s.Address, "POST", "/orders/_find", []byte(query)); err != nil {
				return err
			}
		}
		return nil
	})
}

// viewBuilds measures the first answer of views: of one that is compiled and of one that is interpreted.
func (b *bench) viewBuilds(ctx context.Context, s *process.Server, scan float64) error {
	for _, v := range []struct {
		figure
		source string
	}{
		{figure{name: "sales view built, compiled", unit: "documents/s", goal: 0.3, ceiling: "raw scan", couchdb: 4750, factor: 15}, salesMap},
		{figure{name: "sales view built, interpreted", unit: "documents/s", couchdb: 4750, least: 30_000}, interpretedMap},
	} {
		err := b.timed(ctx, s, v.figure, b.documents, scan, func(repetition int) error {
			// A comment makes it another view each time.
			body := design("sales", fmt.Sprintf("%s // %d", v.source, repetition), "_sum")
			if err := replace(s.Address, "/orders/_design/sales", body); err != nil {
				return err
			}
			return waitForView(ctx, s.Address, "/orders/_design/sales/_view/sales", b.documents)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finds are the queries that an index answers.
func (b *bench) finds() []workload {
	var within, global [][]byte
	for n := range 1000 {
		query := fmt.Sprintf(`{"selector":{"total":{"$gte":%d}},"limit":25}`, n%500)
		within = append(within, call("POST", fmt.Sprintf("/orders/_partition/u%05d/_find", n*17%orderPartitions), []byte(query)))
		query = fmt.Sprintf(`{"selector":{"total":{"$gte":%d,"$lt":%d}},"limit":25}`, n%900, n%900+90)
		global = append(global, call("POST", "/orders/_find", []byte(query)))
	}
	return []workload{
		{figure: figure{name: "partition _find by an index", unit: "requests/s", goal: 0.35, ceiling: "bare handler", couchdb: 541},
			requests: func(int) func(int, int) []byte { return around(within) }, sample: within[0]},
		{figure: figure{name: "global _find of 25 by an index", unit: "requests/s", goal: 0.25, ceiling: "bare handler", couchdb: 205},
			requests: func(int) func(int, int) []byte { return around(global) }, sample: global[0]},
	}
}

// reduces are queries of the sales view.
func (b *bench) reduces() []workload {
	get := func(query string) [][]byte {
		return [][]byte{call("GET", "/orders/_design/sales/_view/sales?"+query, nil)}
	}
	months, years := get(`group_level=2&startkey=[2023]&endkey=[2023,{}]`), get(`startkey=[2022]&endkey=[2024,{}]`)
	return []workload{
		{figure: figure{name: "group_level=2 over a year", unit: "requests/s", couchdb: 193, factor: 20},
			requests: func(int) func(int, int) []byte { return around(months) }},
		{figure: figure{name: "reduce over three years", unit: "requests/s", couchdb: 843, factor: 20},
			requests: func(int) func(int, int) []byte { return around(years) }},
	}
}

// alone runs a workload that has no ceiling beside it.
func (b *bench) alone(ctx context.Context, s *process.Server, w workload) error {
	for repetition := range b.repetitions {
		l := load{address: s.Address, workers: connections, limit: b.duration, request: w.requests(repetition)}
		ours, cpu, err := b.metered(ctx, s, func() (result, error) { return drive(l) })
		if err != nil {
			return err
		}
		w.add(ours.rate(), 0, cpu/float64(ours.operations))
	}
	b.report.figures = append(b.report.figures, w.figure)
	return nil
}

// following measures how fast a view takes in documents that changed.
func (b *bench) following(ctx context.Context, s *process.Server) error {
	const view = "/orders/_design/sales/_view/sales?limit=1&reduce=false"
	f := figure{name: "a view takes in changed documents", unit: "documents/s", least: 10_000}
	changed := b.documents / 5
	for repetition := range b.repetitions {
		docs := func(n int) []byte {
			return order(n+1_000_000*(repetition+1), repetition+1, fmt.Sprintf(`"_id":%q,`, orderID(n+1_000_000*(repetition+1))))
		}
		start := time.Now()
		for first := 0; first < changed; first += 500 {
			if _, err := ask(s.Address, "POST", "/orders/_bulk_docs", bulk(first, 500, docs)); err != nil {
				return err
			}
		}
		if _, err := ask(s.Address, "GET", view, nil); err != nil {
			return err
		}
		f.add(float64(changed)/time.Since(start).Seconds(), 0, 0)
	}
	b.report.figures = append(b.report.figures, f)
	return settle(ctx, s)
}

// indexedWrites compares loading and changing orders without indexes and with five.
func (b *bench) indexedWrites(ctx context.Context) error {
	inserts := figure{name: "_bulk_docs of new orders beside five indexes", unit: "documents/s", goal: 1 / 2.5, ceiling: "no indexes"}
	updates := figure{name: "_bulk_docs of orders without a change to what is indexed", unit: "documents/s", goal: 1 / 1.2, ceiling: "no indexes"}
	for range b.repetitions {
		var rates [2][2]float64
		for i, indexed := range []bool{false, true} {
			var err error
			if rates[i], err = b.writesOnce(ctx, indexed); err != nil {
				return err
			}
		}
		inserts.add(rates[1][0], rates[0][0], 0)
		updates.add(rates[1][1], rates[0][1], 0)
	}
	b.report.figures = append(b.report.figures, inserts, updates)
	return nil
}

// writesOnce returns how many orders a second a fresh server takes in, new ones and changed ones.
func (b *bench) writesOnce(ctx context.Context, indexed bool) (rates [2]float64, err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return rates, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if _, err := ask(s.Address, "PUT", "/shop?partitioned=true", nil); err != nil {
		return rates, err
	}
	if indexed {
		for name, fields := range map[string][]string{"a": {"customer", "date"}, "b": {"status"}, "c": {"date"}, "d": {"total"}, "e": {"type", "total"}} {
			if _, err := ask(s.Address, "POST", "/shop/_index", mangoIndex(name, false, fields...)); err != nil {
				return rates, err
			}
		}
	}
	var answers bytes.Buffer
	for version := range 2 {
		bodies := make([][]byte, b.documents/500)
		revs := revisions(answers.Bytes())
		for i := range bodies {
			bodies[i] = call("POST", "/shop/_bulk_docs", bulk(i*500, 500, func(n int) []byte {
				prefix := fmt.Sprintf(`"_id":%q,`, orderID(n))
				if version > 0 {
					prefix += fmt.Sprintf(`"_rev":%q,`, revs[orderID(n)])
				}
				return order(n, version, prefix)
			}))
		}
		answers.Reset()
		l := load{address: s.Address, workers: connections, request: dealt(bodies)}
		r, err := drive(l)
		if err != nil {
			return rates, err
		}
		rates[version] = r.rate() * 500
		if version == 0 {
			all, err := ask(s.Address, "GET", "/shop/_all_docs", nil)
			if err != nil {
				return rates, err
			}
			answers.Write(all)
			if err := settle(ctx, s); err != nil {
				return rates, err
			}
		}
	}
	return rates, nil
}
