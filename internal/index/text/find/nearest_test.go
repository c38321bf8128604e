package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// similarities are the fields of vectors that documents of the model may have.
var similarities = map[string]segment.Similarity{"vc": segment.Cosine, "vd": segment.Dot, "ve": segment.Euclidean}

// vector is a field of a vector, with the similarity that the model's fields have.
func vector(field string, numbers []float64) segment.Field {
	v, err := segment.Vector(numbers, cmp.Or(similarities[field], segment.Cosine))
	if err != nil {
		panic(err)
	}
	return segment.Field{Name: field, Vector: v, Similarity: cmp.Or(similarities[field], segment.Cosine)}
}

// random is a vector of few values, so that some are equally near.
func random(r *rand.Rand) []float64 {
	return []float64{float64(r.IntN(3) - 1), float64(r.IntN(3) - 1), float64(1 + r.IntN(2))}
}

// nearest are the documents of the model nearest to a vector, with their scores, among
// those that match.
func (m model) nearest(n *Nearest, match func(id string) bool) (found []Row) {
	of := similarities[n.Field]
	asked, _ := segment.Vector(n.Vector, of)
	for _, d := range m {
		for _, f := range d.Fields {
			if f.Name != n.Field || !match(d.ID) {
				continue
			}
			dot, apart := 0.0, 0.0
			for i, x := range f.Vector {
				dot += float64(x) * float64(asked[i])
				apart += math.Pow(float64(x)-float64(asked[i]), 2)
			}
			score := map[segment.Similarity]float64{segment.Cosine: (1 + dot) / 2, segment.Euclidean: 1 / (1 + apart), segment.Dot: 1 + dot}[of]
			if of == segment.Dot && dot < 0 {
				score = 1 / (1 - dot)
			}
			found = append(found, Row{ID: d.ID, Order: []any{score}})
		}
	}
	slices.SortFunc(found, func(a, b Row) int {
		if x, y := a.Order[0].(float64), b.Order[0].(float64); math.Abs(x-y) > 1e-5 {
			return cmp.Compare(y, x)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return found[:min(len(found), n.K)]
}

// TestNearestModel compares the nearest documents with those that looking at each finds:
// of segments in which some are replaced, of partitions, with filters, page by page.
func TestNearestModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		docs := made(r, 1+r.IntN(60))
		partition := []string{"", "p1"}[seed%2]
		index := indexed(t, r, docs, partition)
		m := model(slices.DeleteFunc(slices.Clone(docs), func(d segment.Document) bool { return partition != "" && d.Partition != partition }))
		for range 25 {
			n := &Nearest{Field: []string{"vc", "vd", "ve"}[r.IntN(3)], Vector: random(r), K: 1 + r.IntN(20), Exact: r.IntN(2) == 0}
			match := func(string) bool { return true }
			if r.IntN(2) == 0 {
				n.Filter = asked(r, 2)
				found := m.find(n.Filter)
				match = func(id string) bool { _, ok := found[id]; return ok }
			}
			want := m.nearest(n, match)
			req := &Request{Nearest: n, Analyzers: analyzers{}, Limit: 1 + r.IntN(5), Fields: []string{}}
			var got []Row
			for {
				page := run(t, index, req)
				if int(page.Total) != len(want) {
					t.Errorf("%d found instead of %d", page.Total, len(want))
				}
				if len(page.Rows) == 0 {
					break
				}
				got, req.Bookmark = append(got, page.Rows...), page.Bookmark
			}
			if a, b := scores(got), scores(want); a != b {
				t.Errorf("%v: %s, want %s", n, a, b)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// scores are rows with their scores.
func scores(rows []Row) string {
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s %.4f", r.ID, r.Order[0]))
	}
	return strings.Join(all, ", ")
}

// TestFused joins the nearest with the words found, by the formulas.
func TestFused(t *testing.T) {
	var docs []segment.Document
	for i, d := range []struct {
		text   string
		vector []float64
		kind   string
		price  float64
	}{
		{"fox", []float64{0, 1}, "a", 5},               // the best of the words
		{"fox and a dog", []float64{1, 0.1}, "b", 4},   // second in both, by its id in the words
		{"fox cat bird mouse", nil, "a", 3},            // third of the words
		{"", []float64{1, 0}, "b", 2},                  // the nearest
		{"dog", []float64{0.5, 0.5}, "a", 1},           // third of the nearest
		{"fox a b c d e f g h i j k", nil, "c", 0},     // too far behind
		{"nothing at all", []float64{-1, -1}, "c", -1}, // so is this
	} {
		of := segment.Document{ID: fmt.Sprint(i), Fields: []segment.Field{text("default", d.text), text("kind", d.kind), num("price", d.price)}}
		if d.vector != nil {
			of.Fields = append(of.Fields, vector("v", d.vector))
		}
		docs = append(docs, of)
	}
	r := reader(t, "", source(t, docs[3:]), source(t, docs[:3]))
	ask := func(change func(q *Request)) *Result {
		q := request(t, "fox")
		q.Fields = []string{}
		q.Nearest = &Nearest{Field: "v", Vector: []float64{1, 0}, K: 3, Boost: 1}
		change(q)
		return run(t, r, q)
	}
	for _, c := range []struct {
		name   string
		change func(q *Request)
		want   string
	}{
		{"by rank", func(*Request) {}, "1 0.0323, 0 0.0164, 3 0.0164, 2 0.0159, 4 0.0159"},
		{"by rank, the nearest count twice", func(q *Request) { q.Nearest.Boost = 2 }, "1 0.0484, 3 0.0328, 4 0.0317, 0 0.0164, 2 0.0159"},
		{"the nearest count nothing", func(q *Request) { q.Nearest.Boost = 0 }, "0 0.0164, 1 0.0161, 2 0.0159, 3 0.0000, 4 0.0000"},
		{"by score", func(q *Request) { q.Nearest.Fusion = ByScore }, "0 1.0000, 3 1.0000, 1 0.9831, 2 0.0000, 4 0.0000"},
		{"one of each", func(q *Request) { q.Nearest.K, q.Nearest.Fusion = 1, ByScore }, "0 1.0000, 3 1.0000"},
		{"alone", func(q *Request) { q.Query = nil }, "3 1.0000, 1 0.9975, 4 0.8536"},
		{"alone, by a field", func(q *Request) { q.Query, q.Sort = nil, orders(t, "-price") }, "1 4.0000, 3 2.0000, 4 1.0000"},
		{"drilled down", func(q *Request) { q.Drilldown = []Values{{"kind", []string{"b"}}} }, "1 0.0323, 3 0.0164"},
		{"no such words", func(q *Request) { q.Query = request(t, "zebra").Query }, "3 0.0164, 1 0.0161, 4 0.0159"},
		{"no such field", func(q *Request) { q.Nearest.Field = "w" }, "0 0.0164, 1 0.0161, 2 0.0159"},
		{"filtered", func(q *Request) { q.Query, q.Nearest.Filter = nil, request(t, "kind:(a OR c)").Query }, "4 0.8536, 0 0.5000, 6 0.1464"},
	} {
		got := scores(ask(c.change).Rows)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	counted := ask(func(q *Request) { q.Counts, q.Limit = []string{"kind"}, 1 })
	if got := facets(counted.Counts); got != "kind: a=3 b=2; " || counted.Total != 5 {
		t.Errorf("%s of %d", got, counted.Total)
	}
	groups := ask(func(q *Request) { q.Group = &Grouping{Field: "kind", Limit: 5} }).Groups
	if len(groups) != 2 || *groups[0].By != "b" || ids(groups[0].Rows) != "1 3" || ids(groups[1].Rows) != "0 2 4" {
		t.Errorf("%v", groups)
	}
}

// TestNearestRefused: what can't be asked is an error that says why.
func TestNearestRefused(t *testing.T) {
	docs := []segment.Document{
		{ID: "a", Partition: "p", Fields: []segment.Field{vector("vc", []float64{1, 2, 3}), vector("both", []float64{1, 2})}},
		{ID: "b", Partition: "q", Fields: []segment.Field{vector("vc", []float64{1, 2}), {Name: "both", Vector: []float32{1, 2}, Similarity: segment.Dot}}},
	}
	whole, part := reader(t, "", source(t, docs)), reader(t, "p", source(t, docs))
	for _, c := range []struct {
		over *segment.Reader
		n    Nearest
		want string
	}{
		{whole, Nearest{Field: "vc", Vector: []float64{1, 2, 3}}, "a"},
		{whole, Nearest{Field: "vc", Vector: []float64{1, 2}}, "b"},
		{part, Nearest{Field: "vc", Vector: []float64{1, 2}}, "knn: `vc` has vectors of 3 numbers, not of 2"},
		{whole, Nearest{Field: "vc", Vector: []float64{1}}, "knn: `vc` has vectors of 2 numbers, not of 1"},
		{whole, Nearest{Field: "vc", Vector: []float64{0, 0, 0}}, "knn: a vector of zeros has no cosine"},
		{whole, Nearest{Field: "none", Vector: []float64{0}}, ""},
		{whole, Nearest{Field: "none", Vector: []float64{math.Inf(1)}}, "knn: number 1 of a vector is +Inf, which is not a finite number of 32 bits"},
		{whole, Nearest{Field: "none", Vector: make([]float64, 5000)}, "knn: a vector has 1 to 4096 numbers, not 5000"},
		{whole, Nearest{Field: "both", Vector: []float64{1, 2}}, "knn: `both` has vectors with the similarities cosine, dot: name one of them"},
		{whole, Nearest{Field: "both", Vector: []float64{1, 2}, Similarity: segment.Dot}, "b"},
		{part, Nearest{Field: "both", Vector: []float64{1, 2}}, "a"},
		{part, Nearest{Field: "both", Vector: []float64{1, 2}, Similarity: segment.Dot}, "knn: the similarity of `both` is cosine, not dot"},
		{whole, Nearest{Field: "vc", Vector: []float64{1, 2}, K: 1001}, "knn: Value for k is too large, must not exceed 1000"},
		{whole, Nearest{Field: "vc", Vector: []float64{1, 2}, K: -1}, "knn: k must be greater than zero"},
	} {
		c.n.K = cmp.Or(c.n.K, 5)
		result, err := Run(context.Background(), c.over, &Request{Nearest: &c.n, Analyzers: analyzers{}, Limit: 10})
		got := ""
		if err != nil {
			var of *dberr.Error
			if !errors.As(err, &of) || !dberr.Is(err, dberr.Invalid) {
				t.Fatal(err)
			}
			got = of.Reason
		} else {
			got = ids(result.Rows)
		}
		if got != c.want {
			t.Errorf("%s %v: %s, want %s", c.n.Field, c.n.Vector[:1], got, c.want)
		}
	}
	q := &Request{Nearest: &Nearest{Field: "vc", Vector: []float64{1}, K: 1}, Highlight: &Highlighting{Fields: []string{"b"}}}
	if _, err := Run(context.Background(), whole, q); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("words of a vector are marked: %v", err)
	}
}

// clusters are vectors at random round centres, the centres of some, and vectors near
// them that are asked for.
func clusters(r *rand.Rand, n, dimensions, centres, queries int) (all, asked [][]float64) {
	centre := make([][]float64, centres)
	for i := range centre {
		centre[i] = make([]float64, dimensions)
		for j := range centre[i] {
			centre[i][j] = r.NormFloat64()
		}
	}
	near := func() []float64 {
		v := slices.Clone(centre[r.IntN(centres)])
		for j := range v {
			v[j] += 0.5 * r.NormFloat64()
		}
		return v
	}
	for range n {
		all = append(all, near())
	}
	for range queries {
		asked = append(asked, near())
	}
	return all, asked
}

// shelfOf is an index of vectors, in segments of 2,500, in which every tenth document was
// replaced.
func shelfOf(t testing.TB, all [][]float64, field string) *segment.Reader {
	var sources []segment.Source
	for i := 0; i < len(all); i += 2500 {
		var docs []segment.Document
		var gone []string
		for j, v := range all[i:min(i+2500, len(all))] {
			id := fmt.Sprintf("%07d", i+j)
			if docs = append(docs, segment.Document{ID: id, Fields: []segment.Field{vector(field, v), num("n", float64(j%4))}}); j%10 == 0 {
				gone = append(gone, id)
			}
		}
		sources = append(sources, without(t, source(t, docs), gone...))
	}
	return reader(t, "", sources...)
}

// TestRecall: of the ten nearest at least 95 of a hundred are found where codes say what is
// looked at, and most vectors are not looked at.
func TestRecall(t *testing.T) {
	all, asked := clusters(rand.New(rand.NewPCG(11, 12)), 10_000, 96, 100, 50)
	for _, field := range []string{"vc", "vd", "ve"} {
		r := shelfOf(t, all, field)
		found, compared := 0, 0
		for i, v := range asked {
			n := &Nearest{Field: field, Vector: v, K: 10, few: 1}
			if i%2 == 0 {
				n.Filter = request(t, "n:[1 TO 3]").Query
			}
			exact := *n
			exact.Exact = true
			want := ids(run(t, r, &Request{Nearest: &exact, Analyzers: analyzers{}, Limit: 10, Fields: []string{}}).Rows)
			for _, row := range run(t, r, &Request{Nearest: n, Analyzers: analyzers{}, Limit: 10, Fields: []string{}}).Rows {
				if strings.Contains(want, row.ID) {
					found++
				}
			}
			compared += looked(t, r, field, v)
		}
		if recall := float64(found) / float64(10*len(asked)); recall < 0.95 {
			t.Errorf("%s: %.3f of the nearest are found", field, recall)
		}
		t.Logf("%s: %d of %d found, %d of 9000 compared", field, found, 10*len(asked), compared/len(asked))
		if compared/len(asked) > 3000 {
			t.Errorf("%s: %d of 9,000 vectors are compared", field, compared/len(asked))
		}
	}
}

// looked is how many vectors are compared for the ten nearest.
func looked(t *testing.T, r *segment.Reader, field string, v []float64) (n int) {
	t.Helper()
	asked, err := segment.Vector(v, similarities[field])
	must(t, err)
	vectors, err := r.Vectors(field, len(v), similarities[field])
	must(t, err)
	c := &closest{k: 10, ids: r.Column("_id")}
	must(t, vectors.Scan(vectors.Near(asked, false), nil, func(int) error { return nil }, func(doc uint64, closeness float64) (float64, error) {
		n++
		return c.take(doc, closeness)
	}))
	return n
}

// TestNearestLeft ends when nobody waits any more, and where it has looked at too much.
func TestNearestLeft(t *testing.T) {
	all, asked := clusters(rand.New(rand.NewPCG(1, 2)), 2000, 200, 5, 1)
	r := shelfOf(t, all, "vc")
	for _, exact := range []bool{true, false} {
		q := &Request{Nearest: &Nearest{Field: "vc", Vector: asked[0], K: 10, Exact: exact, few: 1}, Analyzers: analyzers{}, Limit: 10}
		if _, err := Run(&leaving{context.Background(), 0}, r, q); !errors.Is(err, context.Canceled) {
			t.Errorf("nobody waits: %v", err)
		}
		w := &work{ctx: context.Background(), index: r, steps: maxSteps}
		if _, err := w.nearest(q.Nearest); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("a search without an end: %v", err)
		}
	}
}
