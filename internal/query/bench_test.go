package query

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// benchWorld holds orders of about 800 bytes in partitions of 25.
func benchWorld(b *testing.B, orders int) *world {
	w := newWorld(b, true)
	w.index("by-user", `{"fields":{"user":"asc","date":"asc"}}`, true)
	w.index("by-date", `{"fields":{"date":"asc"}}`, false)
	var docs []string
	for i := range orders {
		docs = append(docs, fmt.Sprintf(`{"_id":"p%04d:%06d","type":"order","user":"u%03d","date":"2026-%02d-%02dT10:00:00Z","total":%d.5,"note":"%s","items":[{"sku":"a","n":1},{"sku":"b","n":2}]}`,
			i/25, i, i%7, 1+i%12, 1+i%28, i%1000, strings.Repeat("lorem ipsum ", 50)))
		if len(docs) == 1000 {
			w.put(docs...)
			docs = docs[:0]
		}
	}
	w.build()
	b.ReportAllocs()
	b.ResetTimer()
	return w
}

const benchOrders = 20_000

// BenchmarkRawScan reads the rows that a query without an index reads.
func BenchmarkRawScan(b *testing.B) {
	w := benchWorld(b, benchOrders)
	for b.Loop() {
		must(b, w.db.Whole().View(ctx, func(r *store.Reader) error {
			it, err := r.Snapshot().Iterate(kv.Prefix(keyspace.Doc.Key(w.db.Number())), kv.IterOptions{})
			if err != nil {
				return err
			}
			defer it.Close()
			for it.Next() {
				if _, err := it.Value(); err != nil {
					return err
				}
			}
			return it.Err()
		}))
	}
	b.ReportMetric(float64(benchOrders)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkDocsScan reads the documents through the store.
func BenchmarkDocsScan(b *testing.B) {
	w := benchWorld(b, benchOrders)
	for b.Loop() {
		must(b, w.db.Whole().View(ctx, func(r *store.Reader) error {
			for _, err := range r.Winners(store.Span{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	b.ReportMetric(float64(benchOrders)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

func (w *world) benchFind(b *testing.B, partition, request string, docs int) {
	for b.Loop() {
		q, _, err := w.find(partition, request)
		must(b, err)
		if q.Stats().Results+q.Stats().Docs < docs {
			b.Fatal(q.Stats())
		}
	}
	b.ReportMetric(float64(docs)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkFindWithoutIndex holds every document against a selector.
func BenchmarkFindWithoutIndex(b *testing.B) {
	w := benchWorld(b, benchOrders)
	w.benchFind(b, "", `{"selector":{"total":{"$gt":5000}}}`, benchOrders)
}

// BenchmarkFindInPartition is the commonest query.
func BenchmarkFindInPartition(b *testing.B) {
	w := benchWorld(b, benchOrders)
	w.benchFind(b, "p0100", `{"selector":{"user":"u003"},"sort":["user","date"],"limit":25}`, 3)
}

// BenchmarkFindByIndex returns 25 documents out of the whole database.
func BenchmarkFindByIndex(b *testing.B) {
	w := benchWorld(b, benchOrders)
	w.benchFind(b, "", `{"selector":{"date":{"$gt":"2026-06"}},"sort":["date"],"limit":25}`, 25)
}

// BenchmarkCount reads an index alone.
func BenchmarkCount(b *testing.B) {
	w := benchWorld(b, benchOrders)
	w.benchFind(b, "", `{"selector":{"date":{"$gt":"2026-06"}},"count":true}`, 0)
}
