package textjs_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/textjs"
	"github.com/sectional/sectional/internal/store"
)

// BenchmarkMapped searches an index of which a tenth would fit into the memory that is
// allowed: first when there are no files, then when there are but none is open, then again.
func BenchmarkMapped(b *testing.B) {
	s := newShelf(b, true)
	s.fill(60_000)
	s.write(s.db, document.Edit{ID: "_design/d", Body: []byte(indexing)})
	must(b, s.indexes.Run(context.Background(), s.db))
	files := b.TempDir()
	fresh := func() {
		s.kind = text.New(text.Options{Functions: textjs.New(mapjs.New(nil)), Files: files, FilesLimit: 8 << 30, Cache: 4 << 20,
			Analyze: func(d []byte) (text.Analyzers, error) { return analyze.New(d) }})
	}
	x := s.index(s.db)
	must(b, s.db.Whole().View(context.Background(), func(r *store.Reader) error {
		i, err := s.kind.InfoOf(r, x)
		b.Logf("%d MB in %d segments", i.Bytes>>20, i.Segments)
		return err
	}))
	fresh()
	term := &find.Request{Limit: 25}
	sorted := &find.Request{Limit: 25, Counts: []string{"kind"}, Sort: []find.Order{{By: find.Numbers, Field: "price"}}}
	for _, req := range []*find.Request{term, sorted} {
		var err error
		req.Analyzers = text.Of(x).Analyzers
		req.Query, err = find.Parse("word1", req.Analyzers)
		must(b, err)
	}
	ask := func(req *find.Request, p document.Partition) time.Duration {
		began := time.Now()
		must(b, s.db.Whole().View(context.Background(), func(r *store.Reader) error {
			over, err := s.kind.NewReader(r, x, p)
			if err != nil {
				return err
			}
			defer over.Close()
			_, err = find.Run(context.Background(), over, req)
			return err
		}))
		return time.Since(began)
	}
	log := func(what string, p document.Partition) {
		before := anonymous()
		t, c := ask(term, p), ask(sorted, p)
		b.Logf("%s: term %v, counts and sort %v, %d MB anonymous before, %d MB after", what, t, c, before, anonymous())
	}
	log("no files", "")
	fresh()
	log("files", "")
	log("open", "")
	log("open", "")
	log("partition", "p00123")
	log("partition", "p00123")
	for _, dir := range []string{files, ""} {
		b.Run(fmt.Sprintf("partition-%v", dir != ""), func(b *testing.B) {
			if dir == "" {
				s.kind = text.New(text.Options{})
			}
			ask(term, "p00123")
			spent := cpu()
			for range b.N {
				ask(term, "p00123")
			}
			b.ReportMetric(float64((cpu()-spent).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
	fresh()
	b.Run("term", func(b *testing.B) {
		for b.Loop() {
			ask(term, "")
		}
	})
}

// anonymous is how many megabytes of memory the process has that are not files.
func anonymous() int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return kb >> 10
}
