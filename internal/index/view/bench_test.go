package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// salesMap is the view that the bench of the whole server builds, too.
const salesMap = `function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`

// orders writes n orders of about 800 bytes.
func (w *world) orders(n int) {
	day := time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)
	text := strings.Repeat("lorem ipsum ", 55)
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("order%06d:%d", i%2000, i),
			fmt.Sprintf(`{"type":"order","date":%q,"total":%d.5,"text":%q}`, day.Add(time.Duration(i)*time.Minute*30).Format(time.RFC3339), i%1000, text))
	}
	for part := range slices.Chunk(pairs, 2000) {
		w.put(part...)
	}
}

// BenchmarkBuild reports how many documents a second a first build takes in.
func BenchmarkBuild(b *testing.B) {
	const docs = 20_000
	w := newWorld(b, New(goFunctions{}), false)
	w.orders(docs)
	for n := range b.N {
		w.define("d", salesMap+strings.Repeat(" ", n), "_sum", "") // another source is another index
		began := time.Now()
		w.follow()
		b.ReportMetric(docs/time.Since(began).Seconds(), "docs/s")
	}
}

// BenchmarkUpdate reports how many changed documents a second an index takes in.
func BenchmarkUpdate(b *testing.B) {
	const docs = 20_000
	w := newWorld(b, New(goFunctions{}), false)
	w.orders(docs)
	w.define("d", salesMap, "_sum", "")
	w.follow()
	for n := range b.N {
		b.StopTimer()
		var pairs []string
		for i := 0; i < docs; i += 4 {
			pairs = append(pairs, fmt.Sprintf("order%06d:%d", i%2000, i),
				fmt.Sprintf(`{"type":"order","date":"20%02d-%02d-11T10:00:00Z","total":%d}`, 10+n%10, 1+i%12, i))
		}
		w.put(pairs...)
		b.StartTimer()
		began := time.Now()
		w.follow()
		b.ReportMetric(docs/4/time.Since(began).Seconds(), "docs/s")
	}
}

// BenchmarkMillion asks a view of a million rows.
func BenchmarkMillion(b *testing.B) {
	w := newWorld(b, New(goFunctions{}), false)
	w.define("d", `function(doc){ for (var i = 0; i < 1000; i++) emit([doc.n, i], i); }`, "_stats", "")
	var pairs []string
	for i := range 1000 {
		pairs = append(pairs, fmt.Sprintf("d%d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	w.put(pairs...)
	began := time.Now()
	w.follow()
	b.Logf("built in %v", time.Since(began))
	key := func(s string) Bound { return Bound{Key: []byte(s)} }
	b.Run("reduce", func(b *testing.B) {
		for b.Loop() {
			w.groups("d", "", Range{Start: key("[17,33]"), End: key("[981,400]")}, 0, 1)
		}
	})
	b.Run("skip", func(b *testing.B) {
		for b.Loop() {
			w.read("d", "", func(v *Reader) error {
				s, err := v.Skip(v.Whole(), 900_000)
				for range v.Rows(s) {
					break
				}
				return err
			})
		}
	})
	b.Run("groups", func(b *testing.B) {
		for b.Loop() {
			w.groups("d", "", Range{Start: key("[100]"), End: key("[110]")}, 1, 100)
		}
	})
}
