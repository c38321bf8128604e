package store

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// BenchmarkPutBesideLoad writes single documents while eight clients load the
// database, and reports how long they take.
func BenchmarkPutBesideLoad(b *testing.B) {
	d := benchDatabase(b)
	var n atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var loads sync.WaitGroup
	for client := range 8 {
		loads.Go(func() {
			r := rand.New(rand.NewSource(int64(client)))
			body := benchBody(r)
			for ctx.Err() == nil {
				edits := make([]document.Edit, 500)
				for i := range edits {
					k := n.Add(1)
					edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p%05d:%08d", k%2000, k)), Body: body}
				}
				if _, err := d.Whole().Write(context.Background(), edits, WriteOptions{}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for n.Load() < 20000 {
		time.Sleep(time.Millisecond) // until the load is under way
	}
	from, began := n.Load(), time.Now()
	var took []time.Duration
	i := 0
	for b.Loop() {
		i++
		at := time.Now()
		rs, err := d.Whole().Write(ctx, []document.Edit{{ID: document.ID(fmt.Sprintf("q:%08d", i)), Body: []byte(`{"a":1}`)}}, WriteOptions{})
		if err != nil || rs[0].Err != nil {
			b.Fatal(err, rs)
		}
		took = append(took, time.Since(at))
	}
	rate := float64(n.Load()-from) / time.Since(began).Seconds()
	stop()
	loads.Wait()
	slices.Sort(took)
	b.ReportMetric(rate, "docs/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// BenchmarkConflicts8000 writes 8,000 conflicts of one document in one request.
func BenchmarkConflicts8000(b *testing.B) {
	d := benchDatabase(b)
	edits := make([]document.Edit, 8000)
	n := 0
	for b.Loop() {
		n++
		for i := range edits {
			edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p:%d", n)), Path: []document.Rev{numbered(1, i)}, Body: []byte(`{"a":1}`)}
		}
		if _, err := d.Whole().Write(context.Background(), edits, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
