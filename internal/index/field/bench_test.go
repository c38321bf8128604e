package field_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
)

// order makes a document of about 800 bytes; free is a member that no index has.
func order(n, free int) []byte {
	b := fmt.Appendf(nil, `{"type":"order","customer":"user%d","status":%q,"date":"2026-%02d-%02dT10:%02d:00.000Z","total":%d.%02d,"free":%d,"items":[`,
		n%500, []string{"new", "paid", "sent"}[n%3], 1+n%12, 1+n%28, n%60, n%1000, n%100, free)
	for i := range 6 {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"product":"product%d","name":"A thing that somebody ordered, number %d","quantity":%d,"price":%d.99}`, n*7+i, n+i, 1+i%3, 5+i)
	}
	return append(b, `],"note":"left at the door"}`...)
}

const fiveIndexes = `{"language":"query","views":{
"customer":{"map":{"fields":{"customer":"asc","date":"asc"}}},"status":{"map":{"fields":{"status":"asc"}}},
"date":{"map":{"fields":{"date":"asc"}}},"total":{"map":{"fields":{"total":"asc"}}},"type":{"map":{"fields":{"type":"asc","total":"asc"}}}}}`

// BenchmarkWrites writes 500 orders at a time into a database without indexes
// and into one with five: new ones, and ones of which a field changes that no
// index has.
func BenchmarkWrites(b *testing.B) {
	for _, design := range []string{"", fiveIndexes} {
		for _, update := range []bool{false, true} {
			b.Run(fmt.Sprintf("indexes=%v/update=%v", design != "", update), func(b *testing.B) {
				d := benchDatabase(b, design)
				const documents = 20_000
				parents := make([]document.Rev, documents)
				if update {
					for at := range documents / 500 {
						writeOrders(b, d, at, 0, parents)
					}
				}
				b.ResetTimer()
				for i := range b.N {
					if update {
						writeOrders(b, d, i%(documents/500), i+1, parents)
					} else {
						writeOrders(b, d, i, 0, nil)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*500), "µs/doc")
			})
		}
	}
}

func writeOrders(b *testing.B, d *store.Database, at, free int, parents []document.Rev) {
	edits := make([]document.Edit, 500)
	for i := range edits {
		n := at*500 + i
		edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p%d:%d", n%2000, n)), Body: order(n, free)}
		if parents != nil {
			edits[i].Parent = parents[n]
		}
	}
	rs, err := d.Whole().Write(context.Background(), edits, store.WriteOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i, r := range rs {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		if parents != nil {
			parents[at*500+i] = r.Rev
		}
	}
}

func benchDatabase(b *testing.B, design string) *store.Database {
	e, err := pebblekv.Open(pebblekv.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true})
	s, err := store.Open(context.Background(), e, store.Options{Indexer: x})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			b.Error(err)
		}
	})
	d, err := s.Create(context.Background(), "db", store.Creation{Partitioned: true})
	if err == nil && design != "" {
		_, err = d.Whole().Write(context.Background(), []document.Edit{{ID: "_design/d", Body: []byte(design)}}, store.WriteOptions{})
	}
	if err == nil {
		err = x.Run(context.Background(), d)
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkBuild builds two indexes over 50,000 orders.
func BenchmarkBuild(b *testing.B) {
	const documents = 50_000
	for range b.N {
		b.StopTimer()
		e, err := pebblekv.Open(pebblekv.Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true})
		s, err := store.Open(context.Background(), e, store.Options{Indexer: x})
		if err != nil {
			b.Fatal(err)
		}
		d, err := s.Create(context.Background(), "db", store.Creation{Partitioned: true})
		if err != nil {
			b.Fatal(err)
		}
		for at := range documents / 500 {
			writeOrders(b, d, at, 0, nil)
		}
		b.StartTimer()
		const two = `{"language":"query","views":{"customer":{"map":{"fields":{"customer":"asc","date":"asc"}}},"total":{"map":{"fields":{"total":"asc"}}}}}`
		_, err = d.Whole().Write(context.Background(), []document.Edit{{ID: "_design/d", Body: []byte(two)}}, store.WriteOptions{})
		if err == nil {
			err = x.Run(context.Background(), d)
		}
		b.StopTimer()
		if err = errors.Join(err, s.Close(), e.Close()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(2*documents*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}
