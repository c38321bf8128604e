package textjs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/index/text/textjs"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
)

const indexing = `{"indexes":{"i":{"index":"function(doc){ index('default', doc.text); index('kind', doc.kind, {facet: true}); index('price', doc.price, {facet: true}); }"}}}`

// shelf is a store of documents on disk.
type shelf struct {
	*testing.B
	kind    *text.Kind
	indexes *index.Indexes
	db      *store.Database
	open    func(name string) *store.Database
}

func newShelf(b *testing.B, idle bool) *shelf {
	dir := b.TempDir()
	e, err := pebblekv.Open(pebblekv.Options{Dir: dir})
	must(b, err)
	s := &shelf{B: b, kind: text.New(text.Options{Functions: textjs.New(mapjs.New(nil)),
		Analyze: func(d []byte) (text.Analyzers, error) { return analyze.New(d) }})}
	s.indexes = index.New(index.Options{Kinds: []index.Kind{s.kind}, Idle: idle})
	st, err := store.Open(context.Background(), e, store.Options{Idle: true, Indexer: s.indexes})
	must(b, err)
	must(b, s.indexes.Start(context.Background(), st))
	b.Cleanup(func() { s.indexes.Close(); st.Close(); e.Close() })
	s.open = func(name string) *store.Database {
		d, err := st.Create(context.Background(), name, store.Creation{Partitioned: true})
		must(b, err)
		return d
	}
	s.db = s.open("db")
	return s
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// words is a generator of documents of 20 to 60 words, one word in w of the w-th rank.
type words struct {
	r    *rand.Rand
	zipf *rand.Zipf
}

func newWords() words {
	r := rand.New(rand.NewPCG(1, 2))
	return words{r, rand.NewZipf(r, 1.1, 4, 20_000)}
}

func (w words) body() (body, kind string, price int) {
	var text []string
	for range 20 + w.r.IntN(41) {
		text = append(text, fmt.Sprintf("word%d", w.zipf.Uint64()))
	}
	return strings.Join(text, " "), fmt.Sprintf("kind%d", w.r.IntN(30)), w.r.IntN(1000)
}

// fill writes n documents, 100 in each partition.
func (s *shelf) fill(n int) {
	w := newWords()
	var edits []document.Edit
	for i := range n {
		text, kind, price := w.body()
		edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p%05d:%06d", i/100, i)), Body: fmt.Appendf(nil, `{"text":%q,"kind":%q,"price":%d}`, text, kind, price)})
	}
	for part := range slices.Chunk(edits, 2000) {
		s.write(s.db, part...)
	}
}

func (s *shelf) write(d *store.Database, edits ...document.Edit) []store.Result {
	rs, err := d.Whole().Write(context.Background(), edits, store.WriteOptions{})
	must(s.B, err)
	for _, r := range rs {
		must(s.B, r.Err)
	}
	return rs
}

// cpu is what the process used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBuild builds an index of 200,000 documents.
func BenchmarkBuild(b *testing.B) {
	const docs = 200_000
	s := newShelf(b, true)
	s.fill(docs)
	runtime.GC()
	for n := range b.N {
		peak := watch()
		began, used := time.Now(), cpu()
		id := document.ID(fmt.Sprintf("_design/d%d", n))
		s.write(s.db, document.Edit{ID: id, Body: []byte(strings.Replace(indexing, "function(doc)", "function(doc)"+strings.Repeat(" ", n), 1))})
		must(b, s.indexes.Run(context.Background(), s.db))
		b.ReportMetric(docs/time.Since(began).Seconds(), "docs/s")
		b.ReportMetric(docs/(cpu()-used).Seconds(), "docs/cpu-s")
		b.ReportMetric(float64(peak())/1e6, "heap-MB")
	}
}

// BenchmarkFollow takes in 300 new documents at a time, and merges.
func BenchmarkFollow(b *testing.B) {
	s := newShelf(b, true)
	s.write(s.db, document.Edit{ID: "_design/d", Body: []byte(indexing)})
	must(b, s.indexes.Run(context.Background(), s.db))
	w, n, used := newWords(), 0, time.Duration(0)
	for b.Loop() {
		var edits []document.Edit
		for range 300 {
			text, kind, price := w.body()
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p%05d:%06d", n*7919%2000, n)), Body: fmt.Appendf(nil, `{"text":%q,"kind":%q,"price":%d}`, text, kind, price)})
			n++
		}
		s.write(s.db, edits...)
		before := cpu()
		must(b, s.indexes.Run(context.Background(), s.db))
		used += cpu() - before
	}
	b.ReportMetric(float64(n)/used.Seconds(), "docs/cpu-s")
}

// watch measures the heap until what it returns is called, which returns the peak.
func watch() func() uint64 {
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(done); return <-peak }
}

// find opens the index and reads a term, as a query does.
func (s *shelf) find(d *store.Database, p document.Partition, term string) (n uint64) {
	ctx := context.Background()
	q, err := s.indexes.Session(ctx, d.Whole(), "_design/d", text.KindName, "i")
	must(s.B, err)
	must(s.B, q.Ready(ctx, time.Minute))
	must(s.B, q.CatchUp(ctx))
	must(s.B, q.View(ctx, func(r *store.Reader, _ bool) error {
		reader, err := s.kind.NewReader(r, q.Answers, p)
		if err != nil {
			return err
		}
		t, err := reader.TermFieldReader(ctx, []byte(term), "default", true, true, false)
		if err == nil {
			n = t.Count()
		}
		return err
	}))
	return n
}

// BenchmarkVisible writes one document and asks for it at once, then a hundred.
func BenchmarkVisible(b *testing.B) {
	s := newShelf(b, true)
	s.fill(50_000)
	s.write(s.db, document.Edit{ID: "_design/d", Body: []byte(indexing)})
	must(b, s.indexes.Run(context.Background(), s.db))
	number := 0
	for _, many := range []int{1, 100} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			s.B = b
			for b.Loop() {
				b.StopTimer()
				var edits []document.Edit
				for range many {
					number++
					edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("new:%d", number)), Body: fmt.Appendf(nil, `{"text":"fresh%d and so on","kind":"k","price":1}`, number)})
				}
				s.write(s.db, edits...)
				b.StartTimer()
				if n := s.find(s.db, "", fmt.Sprintf("fresh%d", number)); n != 1 {
					b.Fatal(n)
				}
				b.StopTimer()
				if number%50 == 0 {
					_, err := s.indexes.Maintain(context.Background(), s.db, s.index(s.db))
					must(b, err)
				}
				b.StartTimer()
			}
		})
	}
}

func (s *shelf) index(d *store.Database) (x *index.Index) {
	must(s.B, d.Whole().View(context.Background(), func(r *store.Reader) error {
		set, err := index.Of(r)
		x = set.Lookup("_design/d", text.KindName, "i").Index
		return err
	}))
	return x
}

// BenchmarkPartition opens a partition's reader and counts a term.
func BenchmarkPartition(b *testing.B) {
	s := newShelf(b, true)
	s.fill(50_000)
	s.write(s.db, document.Edit{ID: "_design/d", Body: []byte(indexing)})
	must(b, s.indexes.Run(context.Background(), s.db))
	for b.Loop() {
		if n := s.find(s.db, "p00123", "word1"); n == 0 {
			b.Fatal("nothing")
		}
	}
}

// BenchmarkIdle builds the indexes of many tenants, reports what they hold while nobody asks
// them, and how long the first question takes.
func BenchmarkIdle(b *testing.B) {
	const many = 10_000
	for range b.N {
		s := newShelf(b, true)
		for i := 0; i < many; i += 250 {
			var edits []document.Edit
			for n := i; n < i+250; n++ {
				edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p%05d:_design/d", n)), Body: []byte(indexing)},
					document.Edit{ID: document.ID(fmt.Sprintf("p%05d:a", n)), Body: []byte(`{"text":"some words","kind":"k","price":1}`)})
			}
			s.write(s.db, edits...)
		}
		routines := runtime.NumGoroutine()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(b, s.indexes.Run(context.Background(), s.db))
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric((float64(after.HeapInuse)-float64(before.HeapInuse))/1e6, "MB")
		b.ReportMetric(float64(runtime.NumGoroutine()-routines), "goroutines")
		began := time.Now()
		x, err := s.indexes.Session(context.Background(), s.db.Tenant("p00777"), "_design/d", text.KindName, "i")
		must(b, err)
		must(b, x.View(context.Background(), func(r *store.Reader, _ bool) error {
			reader, err := s.kind.NewReader(r, x.Answers, "")
			if err != nil {
				return err
			}
			n, err := reader.DocCount()
			if n != 1 {
				b.Fatal(n)
			}
			return err
		}))
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "first-ms")
	}
}

// BenchmarkAmend reads an index that has not taken in some documents.
func BenchmarkAmend(b *testing.B) {
	for _, n := range []int{0, 1, 10, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newShelf(b, true)
			s.write(s.db, document.Edit{ID: "_design/d", Body: []byte(indexing)})
			s.fill(5000)
			must(b, s.indexes.Run(context.Background(), s.db))
			w := newWords()
			for i := range n {
				text, kind, price := w.body()
				s.write(s.db, document.Edit{ID: document.ID(fmt.Sprintf("q:%06d", i)), Body: fmt.Appendf(nil, `{"text":%q,"kind":%q,"price":%d}`, text, kind, price)})
			}
			ix := s.db.Indexes().(*index.Set).Indexes[0]
			for b.Loop() {
				var over *segment.Reader
				var tail *index.Tail
				must(b, s.db.Whole().View(context.Background(), func(r *store.Reader) (err error) {
					tail, err = s.indexes.Tail(r, ix)
					if err == nil {
						over, err = s.kind.NewReader(r, ix, "")
					}
					return err
				}))
				if ok, err := s.kind.Amend(context.Background(), over, s.db, ix, "", tail); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
