package couchapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/store"
)

// kilobytes fills a partitioned database with partitions of 25 documents of 1 KB.
func kilobytes(b *testing.B, n int) *testAPI {
	a := newTestAPI(b)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	text := strings.Repeat("x", 950)
	for i := 0; i < n; i += 500 {
		var docs []string
		for j := i; j < i+500; j++ {
			docs = append(docs, fmt.Sprintf(`{"_id":"p%d:%06d","text":%q,"n":%d}`, j/25, j*7919%1000003, text, j))
		}
		a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	}
	return a
}

func BenchmarkPartitionAllDocs25(b *testing.B) {
	kilobytes(b, 5000).bench(b, "GET", "/db/_partition/p77/_all_docs?include_docs=true")
}

func BenchmarkAllDocs5000(b *testing.B) {
	kilobytes(b, 5000).bench(b, "GET", "/db/_all_docs?include_docs=true")
}

func BenchmarkChanges5000(b *testing.B) {
	kilobytes(b, 5000).bench(b, "GET", "/db/_changes")
}

func BenchmarkChanges5000WithDocs(b *testing.B) {
	kilobytes(b, 5000).bench(b, "GET", "/db/_changes?include_docs=true")
}

// BenchmarkFeedScan5000 is the ceiling of the feed with documents: the rows and
// their bodies, without an answer.
func BenchmarkFeedScan5000(b *testing.B) {
	a := kilobytes(b, 5000)
	db, err := a.Store.Database(context.Background(), "db")
	must(b, err)
	for b.Loop() {
		err := db.Whole().View(context.Background(), func(r *store.Reader) error {
			for c, err := range r.Changes(0, false) {
				if err != nil {
					return err
				}
				if _, err := r.Winner(c.ID); err != nil {
					return err
				}
			}
			return nil
		})
		must(b, err)
	}
}
