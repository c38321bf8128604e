package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sectional/sectional/internal/testkit/process"
)

// scanAll reads every row of a raw database.
func scanAll(db *pebble.DB) (count int, err error) {
	i, err := db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for i.First(); i.Valid(); i.Next() {
		sink(i.Value())
		count++
	}
	return count, i.Error()
}

// replace puts a document over whatever revision is there.
func replace(address, path string, body []byte) error {
	var old struct {
		Rev string `json:"_rev"`
	}
	if answer, err := ask(address, "GET", path, nil); err == nil {
		if err := json.Unmarshal(answer, &old); err != nil {
			return err
		}
		path += "?rev=" + old.Rev
	}
	_, err := ask(address, "PUT", path, body)
	return err
}

// viewRows asks a view for how many rows it has, which waits until it is built.
func viewRows(address, view string) (int, error) {
	answer, err := ask(address, "GET", view+"?reduce=false&limit=0", nil)
	if err != nil {
		return 0, err
	}
	var rows struct {
		Total int `json:"total_rows"`
	}
	return rows.Total, json.Unmarshal(answer, &rows)
}

// waitForView waits until a view is built and has the rows that it must have.
func waitForView(ctx context.Context, address, view string, want int) error {
	for ctx.Err() == nil {
		got, err := viewRows(address, view)
		if err != nil || got == want {
			return err
		}
		if got > want {
			return fmt.Errorf("the view has %d rows, want %d", got, want)
		}
	}
	return ctx.Err()
}

// revisions reads the ids and revisions of an _all_docs answer.
func revisions(answer []byte) map[string]string {
	var rows struct {
		Rows []struct {
			ID    string `json:"id"`
			Value struct {
				Rev string `json:"rev"`
			} `json:"value"`
		} `json:"rows"`
	}
	revs := map[string]string{}
	if len(answer) == 0 || json.Unmarshal(answer, &rows) != nil {
		return revs
	}
	for _, r := range rows.Rows {
		revs[r.ID] = r.Value.Rev
	}
	return revs
}

// indexesOfMany measures queries over the indexes of the database of a million documents, and beside the small one.
func (b *bench) indexesOfMany(ctx context.Context, s *process.Server) error {
	for _, database := range []string{"few", "many"} {
		if _, err := ask(s.Address, "POST", "/"+database+"/_index", mangoIndex("number", true, "number")); err != nil {
			return err
		}
		query := `{"selector":{"number":-1},"use_index":"number","allow_fallback":false}`
		if _, err := ask(s.Address, "POST", "/"+database+"/_partition/p000001/_find", []byte(query)); err != nil {
			return err
		}
	}
	if err := b.findGrowth(s); err != nil {
		return err
	}
	view := "/many/_design/numbers/_view/numbers"
	start := time.Now()
	if _, err := ask(s.Address, "PUT", "/many/_design/numbers", design("numbers", `function(doc){ emit(doc.number, 1); }`, "_sum")); err != nil {
		return err
	}
	if err := waitForView(ctx, s.Address, view, b.few+b.scale.many); err != nil {
		return err
	}
	b.report.notes = append(b.report.notes, fmt.Sprintf("a view of %d rows built at %.0f/s", b.few+b.scale.many,
		float64(b.few+b.scale.many)/time.Since(start).Seconds()))
	if err := settle(ctx, s); err != nil {
		return err
	}
	total := b.few + b.scale.many
	for _, q := range []struct {
		name, query string
		most        float64
	}{
		{"reduce over most of a view of a million rows", fmt.Sprintf("startkey=%d&endkey=%d", total/100, total-total/100), 1},
		{"skip over nine tenths of a view of a million rows", fmt.Sprintf("reduce=false&limit=1&skip=%d", total*9/10), 5},
	} {
		ms, err := b.latency(s, view+"?"+q.query)
		if err != nil {
			return err
		}
		b.report.resources = append(b.report.resources, resource{q.name, ms, "ms", q.most})
	}
	return nil
}

// latency is the median time of one request at a time, in milliseconds.
func (b *bench) latency(s *process.Server, path string) (float64, error) {
	c, err := dial(s.Address)
	if err != nil {
		return 0, err
	}
	var times []float64
	for range 101 {
		start := time.Now()
		if err = c.expect(200, call("GET", path, nil), nil); err != nil {
			break
		}
		times = append(times, time.Since(start).Seconds()*1000)
	}
	slices.Sort(times)
	return median(times), errors.Join(err, c.connection.Close())
}

// findGrowth asks the same partitions where few and where many documents lie beside them.
func (b *bench) findGrowth(s *process.Server) error {
	f := figure{name: fmt.Sprintf("partition _find beside %d other documents", b.scale.many), unit: "requests/s", goal: 0.9,
		ceiling: fmt.Sprintf("beside %d", b.few)}
	find := func(database string) (result, error) {
		requests := make([][]byte, 50)
		for i := range requests {
			p := b.few/perPartition/2 - 25 + i
			requests[i] = call("POST", fmt.Sprintf("/%s/_partition/p%06d/_find", database, p),
				fmt.Appendf(nil, `{"selector":{"number":{"$gte":%d}},"limit":10}`, p*perPartition+5))
		}
		return drive(load{address: s.Address, workers: connections, limit: b.duration, request: around(requests)})
	}
	for range b.repetitions {
		few, err := find("few")
		if err != nil {
			return err
		}
		many, err := find("many")
		if err != nil {
			return err
		}
		f.add(many.rate(), few.rate(), 0)
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}
