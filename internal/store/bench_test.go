package store

import (
	"context"
	"fmt"
	"math/rand"
	"sync/atomic"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// benchDatabase opens a database on disk.
func benchDatabase(b *testing.B) *Database {
	b.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(context.Background(), e, Options{Idle: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(); e.Close() })
	d, err := s.Create(context.Background(), "db", Creation{Partitioned: true})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// benchBody is a JSON document of about 1 KB with words that compress as text does.
func benchBody(r *rand.Rand) []byte {
	body := []byte(`{"type":"order","customer":"`)
	for len(body) < 980 {
		body = fmt.Appendf(body, "%x ", r.Uint32())
	}
	return append(body, `","total":12.5}`...)
}

func BenchmarkBulk500(b *testing.B) {
	d := benchDatabase(b)
	var n atomic.Int64
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := rand.New(rand.NewSource(n.Add(1)))
		body := benchBody(r)
		for pb.Next() {
			edits := make([]document.Edit, 500)
			for i := range edits {
				k := n.Add(1)
				edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p%05d:%08d", k%2000, k)), Body: body}
			}
			if _, err := d.Whole().Write(context.Background(), edits, WriteOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)*500/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkPut32(b *testing.B) {
	d := benchDatabase(b)
	var n atomic.Int64
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		body := benchBody(rand.New(rand.NewSource(n.Add(1))))
		for pb.Next() {
			k := n.Add(1)
			e := document.Edit{ID: document.ID(fmt.Sprintf("p%05d:%08d", k%2000, k)), Body: body}
			rs, err := d.Whole().Write(context.Background(), []document.Edit{e}, WriteOptions{})
			if err != nil || rs[0].Err != nil {
				b.Fatal(err, rs)
			}
		}
	})
}

func loaded(b *testing.B, docs int) *Database {
	d := benchDatabase(b)
	r := rand.New(rand.NewSource(1))
	for at := 0; at < docs; at += 500 {
		edits := make([]document.Edit, 500)
		for i := range edits {
			k := at + i
			edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p%05d:%08d", k%2000, k)), Body: benchBody(r)}
		}
		if _, err := d.Whole().Write(context.Background(), edits, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	return d
}

func BenchmarkWinner(b *testing.B) {
	d := loaded(b, 50_000)
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := rand.New(rand.NewSource(n.Add(1)))
		for pb.Next() {
			k := r.Intn(50_000)
			err := d.Whole().View(context.Background(), func(rd *Reader) error {
				_, err := rd.Winner(document.ID(fmt.Sprintf("p%05d:%08d", k%2000, k)))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPartitionDocs(b *testing.B) {
	d := loaded(b, 50_000)
	b.ReportAllocs()
	for i := range b.N {
		p := document.Partition(fmt.Sprintf("p%05d", i%2000))
		err := d.Within(p).View(context.Background(), func(rd *Reader) error {
			n := 0
			for _, err := range rd.Docs(Span{}, true) {
				if err != nil {
					return err
				}
				n++
			}
			if n != 25 {
				b.Fatal(n)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChangesWithDocs(b *testing.B) {
	d := loaded(b, 50_000)
	b.ReportAllocs()
	rows := 0
	for range b.N {
		err := d.Whole().View(context.Background(), func(rd *Reader) error {
			for c, err := range rd.Changes(0, false) {
				if err != nil {
					return err
				}
				if _, err := rd.Winner(c.ID); err != nil {
					return err
				}
				rows++
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
