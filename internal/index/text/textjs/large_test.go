package textjs_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// BenchmarkLarge indexes documents of megabytes, of distinct words and of words as texts
// have them, and reports the most that the process had in use. The collector is set as the
// server sets it.
func BenchmarkLarge(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	distinct := func(doc, n int) string { return fmt.Sprintf("w%06d", (doc*7919+n)%1_000_000) }
	w := newWords()
	usual := func(int, int) string { return fmt.Sprintf("word%d", w.zipf.Uint64()) }
	for _, c := range []struct {
		name        string
		docs, words int
		word        func(doc, n int) string
	}{
		{"3.9MB-distinct", 10, 500_000, distinct},
		{"4.6MB-distinct", 4, 580_000, distinct},
		{"8MB-usual", 4, 900_000, usual},
		{"100KB-distinct", 200, 12_500, distinct},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newShelf(b, true)
			for i := range c.docs {
				var text strings.Builder
				for n := range c.words {
					text.WriteString(c.word(i, n) + " ")
				}
				s.write(s.db, document.Edit{ID: document.ID(fmt.Sprintf("p:%d", i)), Body: []byte(`{"text":"` + text.String() + `","kind":"k","price":1}`)})
			}
			s.write(s.db, document.Edit{ID: "_design/d", Body: []byte(indexing)})
			debug.FreeOSMemory()
			before := inUse()
			peak := watchUse()
			began, spent := time.Now(), cpu()
			must(b, s.indexes.Run(context.Background(), s.db))
			b.ReportMetric(time.Since(began).Seconds()/float64(c.docs), "s/doc")
			b.ReportMetric((cpu()-spent).Seconds()/float64(c.docs), "cpu-s/doc")
			b.ReportMetric(float64(before>>20), "MB-before")
			b.ReportMetric(float64(peak()>>20), "MB-peak")
			b.ReportMetric(float64(s.all(s.db))/float64(c.docs), "found")
		})
	}
}

// inUse is how many bytes the runtime holds.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// watchUse notes the most that is in use until what it returns is called, which returns it.
func watchUse() func() uint64 {
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			most = max(most, inUse())
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(done); return <-peak }
}

// all is how many documents the index has.
func (s *shelf) all(d *store.Database) (n uint64) {
	must(s.B, d.Whole().View(context.Background(), func(r *store.Reader) error {
		i, err := s.kind.InfoOf(r, s.index(d))
		n = i.Docs
		return err
	}))
	return n
}
