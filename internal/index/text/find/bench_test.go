package find

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// shelf is an index of n documents of 20 to 60 words in partitions of 100, of which one
// word in w is of the w-th rank.
func shelf(b *testing.B, n int, partition string) *segment.Reader {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 20_000)
	var sources []segment.Source
	for from := 0; from < n; from += 10_000 {
		docs := make([]segment.Document, 0, 10_000)
		for i := from; i < min(n, from+10_000); i++ {
			var body strings.Builder
			for range 20 + r.IntN(41) {
				fmt.Fprintf(&body, "w%d ", zipf.Uint64())
			}
			p := fmt.Sprintf("p%05d", i/100)
			docs = append(docs, segment.Document{ID: fmt.Sprintf("%s:%06d", p, i), Partition: p, Fields: []segment.Field{
				text("default", body.String()), text("kind", fmt.Sprintf("kind%d", r.IntN(30))), num("price", float64(r.IntN(1000))), num("tenth", float64(i%20)),
			}})
		}
		sources = append(sources, source(b, docs))
	}
	return reader(b, partition, sources...)
}

// BenchmarkRun answers queries over 200,000 documents, and over the 100 of a partition.
func BenchmarkRun(b *testing.B) {
	for _, partition := range []string{"", "p00777"} {
		r := shelf(b, 200_000, partition)
		for _, c := range []struct {
			name, query string
			change      func(q *Request)
		}{
			{"term", "w30", nil},
			{"and", "w30 AND w50", nil},
			{"or", "w30 w500 w5000", nil},
			{"phrase", `"w10 w20"`, nil},
			{"prefix", "w12*", nil},
			{"fuzzy", "w123~1", nil},
			{"all", "*:*", nil},
			{"any term", "*", nil},
			{"patterns", "* AND *1* AND ?*", nil},
			{"leading wildcard", "*12*", nil},
			{"regexp", "/w[0-9]*7/", nil},
			{"range", "price:[100 TO 200]", nil},
			{"counts and sort, 10,000 hits", "tenth:7", func(q *Request) { q.Counts, q.Sort = []string{"kind"}, []Order{{By: Numbers, Field: "price"}} }},
			{"sort of all", "*:*", func(q *Request) { q.Sort = []Order{{By: Texts, Field: "kind"}} }},
		} {
			b.Run(c.name+"/"+partition, func(b *testing.B) {
				req := request(b, c.query)
				if req.Limit = 25; c.change != nil {
					c.change(req)
				}
				for b.Loop() {
					run(b, r, req)
				}
				b.ReportMetric(float64(run(b, r, req).Total), "hits")
			})
		}
	}
}
