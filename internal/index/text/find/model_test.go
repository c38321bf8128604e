package find

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	std "regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// model answers queries by looking at each document.
type model []segment.Document

// matched is a document that a part of a query matches.
type matched map[string]float64 // the score of a document

// terms returns the terms of a field of a document, by position.
func terms(d *segment.Document, field string) (all []string) {
	base := 0
	for _, f := range d.Fields {
		if f.Name != field {
			continue
		}
		last := 0
		for _, t := range f.Tokens {
			for len(all) < base+t.Position {
				all = append(all, "")
			}
			all[base+t.Position-1] = string(t.Term)
			last = t.Position
		}
		base += last
	}
	return all
}

func numbersOf(d *segment.Document, field string) (all []float64) {
	for _, f := range d.Fields {
		if f.Name == field && f.Number != nil {
			all = append(all, *f.Number)
		}
	}
	return all
}

// weight is a part of a query as the model weighs it.
type weight struct {
	squares float64
	score   func(d *segment.Document, norm float64) (float64, bool)
}

func (m model) idf(having func(d *segment.Document) bool) float64 {
	n := 0
	for i := range m {
		if having(&m[i]) {
			n++
		}
	}
	return 1 + math.Log(float64(len(m))/float64(n+1))
}

// length is the norm of a field.
func length(d *segment.Document, field string) float64 {
	n := 0
	for _, t := range terms(d, field) {
		if t != "" {
			n++
		}
	}
	return lengthNorm(1 / math.Sqrt(float64(n)))
}

// weigh weighs a part of a query, and returns how a document scores.
func (m model) weigh(query lucene.Node) weight {
	switch q := query.(type) {
	case *lucene.All:
		return same(q.Boost, func(*segment.Document) bool { return true })
	case *lucene.Term:
		return m.term(q)
	case *lucene.Phrase:
		return m.phrase(q)
	case *lucene.Range:
		return same(q.Boost, func(d *segment.Document) bool { return inRange(d, q) })
	case *lucene.Prefix:
		return same(q.Boost, func(d *segment.Document) bool {
			return slices.ContainsFunc(terms(d, q.Field), func(t string) bool { return t != "" && strings.HasPrefix(t, q.Text) })
		})
	case *lucene.Wildcard:
		expr := "^"
		for _, p := range q.Pattern {
			expr += [...]string{std.QuoteMeta(p.Text), ".", ".*"}[p.Kind]
		}
		return matching(q.Field, q.Boost, expr+"$")
	case *lucene.Regexp:
		return matching(q.Field, q.Boost, "^(?:"+q.Expr+")$")
	case *lucene.Boolean:
		return m.boolean(q)
	}
	panic(fmt.Sprintf("%T", query))
}

func inRange(d *segment.Document, q *lucene.Range) bool {
	if low, high, ok := q.Numbers(); ok {
		of := segment.Interval{Min: low, Max: high, IncludeMin: q.IncludeMin, IncludeMax: q.IncludeMax}
		return slices.ContainsFunc(numbersOf(d, q.Field), of.Holds)
	}
	return slices.ContainsFunc(terms(d, q.Field), func(t string) bool { return t != "" && within(q, t) })
}

// same scores the documents that hold by the boost alone.
func same(boost float64, holds func(d *segment.Document) bool) weight {
	return weight{boost * boost, func(d *segment.Document, norm float64) (float64, bool) { return boost * norm, holds(d) }}
}

func matching(field string, boost float64, expr string) weight {
	re := std.MustCompile(expr)
	return same(boost, func(d *segment.Document) bool {
		return slices.ContainsFunc(terms(d, field), func(t string) bool { return t != "" && re.MatchString(t) })
	})
}

// term weighs a text: a number, a term, or any of several terms.
func (m model) term(q *lucene.Term) weight {
	if n, ok := lucene.Number(q.Text); ok {
		holds := func(d *segment.Document) bool { return slices.Contains(numbersOf(d, q.Field), n) }
		idf := m.idf(holds)
		return weight{idf * idf * q.Boost * q.Boost, func(d *segment.Document, norm float64) (float64, bool) {
			return idf * idf * q.Boost * norm, holds(d)
		}}
	}
	return m.frequency(q.Field, q.Boost, 1, strings.ToLower(q.Text))
}

// frequency weighs words that follow each other as one.
func (m model) frequency(field string, boost float64, _ int, words ...string) weight {
	idf := 0.0
	for _, w := range words {
		idf += m.idf(func(d *segment.Document) bool { return slices.Contains(terms(d, field), w) })
	}
	return weight{idf * idf * boost * boost, func(d *segment.Document, norm float64) (float64, bool) {
		freq, all := 0.0, terms(d, field)
		for i := range all {
			if i+len(words) <= len(all) && slices.Equal(all[i:i+len(words)], words) {
				freq++
			}
		}
		if freq == 0 {
			return 0, false
		}
		return math.Sqrt(freq) * idf * idf * boost * norm * length(d, field), true
	}}
}

func (m model) phrase(q *lucene.Phrase) weight {
	return m.frequency(q.Field, q.Boost, 0, strings.Fields(strings.ToLower(q.Text))...)
}

func (m model) boolean(q *lucene.Boolean) weight {
	var parts []weight
	w, scoring := weight{}, 0
	for _, c := range q.Clauses {
		part := m.weigh(c.Node)
		if parts = append(parts, part); c.Occur != lucene.MustNot {
			w.squares += part.squares
			scoring++
		}
	}
	w.squares *= q.Boost * q.Boost
	w.score = func(d *segment.Document, norm float64) (sum float64, ok bool) {
		matches, must := 0, false
		for i, c := range q.Clauses {
			s, ok := parts[i].score(d, norm*q.Boost)
			switch {
			case c.Occur == lucene.MustNot && ok, c.Occur == lucene.Must && !ok:
				return 0, false
			case c.Occur != lucene.MustNot && ok:
				sum += s
				matches++
			}
			must = must || c.Occur == lucene.Must
		}
		return sum * float64(matches) / float64(max(scoring, 1)), matches > 0
	}
	return w
}

// find returns the documents that a query finds, and their scores.
func (m model) find(query lucene.Node) matched {
	w := m.weigh(query)
	norm := 1 / math.Sqrt(w.squares)
	if math.IsInf(norm, 0) {
		norm = 1
	}
	found := matched{}
	for i := range m {
		if s, ok := w.score(&m[i], norm); ok {
			found[m[i].ID] = s
		}
	}
	return found
}

// made makes random documents, a few of each partition.
func made(r *rand.Rand, n int) (docs []segment.Document) {
	vocabulary := strings.Fields("ash oak elm asp fir yew box oaks ashes The bay sal")
	for i := range n {
		var body []string
		for range r.IntN(9) {
			body = append(body, vocabulary[r.IntN(len(vocabulary))])
		}
		p := fmt.Sprintf("p%d", r.IntN(4))
		d := segment.Document{ID: fmt.Sprintf("%s:%03d", p, i), Partition: p}
		for range r.IntN(3) {
			d.Fields = append(d.Fields, text("b", strings.Join(body[:r.IntN(len(body)+1)], " ")))
		}
		for range r.IntN(3) {
			d.Fields = append(d.Fields, text("k", vocabulary[r.IntN(len(vocabulary))]), num("n", float64(r.IntN(5)-2)))
		}
		for _, field := range []string{"vc", "vd", "ve"} {
			if v := random(r); r.IntN(4) > 0 {
				d.Fields = append(d.Fields, vector(field, v))
			}
		}
		docs = append(docs, d)
	}
	return docs
}

// asked makes a random query.
func asked(r *rand.Rand, depth int) lucene.Node {
	words := strings.Fields("ash oak elm asp fir yew bay nil")
	word := func() string { return words[r.IntN(len(words))] }
	boost := []float64{1, 1, 1, 2, 0.5}[r.IntN(5)]
	ends := func(texts []string) (a, b *string) {
		if r.IntN(4) > 0 {
			a = &texts[r.IntN(len(texts))]
		}
		if r.IntN(4) > 0 {
			b = &texts[r.IntN(len(texts))]
		}
		return a, b
	}
	kind := r.IntN(12)
	if depth == 0 {
		kind = r.IntN(9)
	}
	switch kind {
	case 0, 1:
		return &lucene.Term{Field: "b", Text: word(), Boost: boost}
	case 2:
		return &lucene.Phrase{Field: "b", Text: word() + " " + word(), Boost: boost}
	case 3:
		return &lucene.Prefix{Field: "b", Text: word()[:1], Boost: boost}
	case 4:
		return &lucene.Wildcard{Field: "k", Pattern: []lucene.Piece{{Kind: lucene.AnyChar}, {Kind: lucene.AnyText}, {Text: word()[1:2]}, {Kind: lucene.AnyText}}, Boost: boost}
	case 5:
		return &lucene.Regexp{Field: "b", Expr: []string{"a.*", "[a-f]+", "(oak|elm)s?", "e?l?m?", ".{3}", ".{4,}", "[^a]*"}[r.IntN(7)], Boost: boost}
	case 6:
		a, b := ends([]string{"-2", "-1", "0", "1", "2.5"})
		return &lucene.Range{Field: "n", Min: a, Max: b, IncludeMin: r.IntN(2) == 0, IncludeMax: r.IntN(2) == 0, Boost: boost}
	case 7:
		a := word()
		_, b := ends(words)
		return &lucene.Range{Field: "b", Min: &a, Max: b, IncludeMin: r.IntN(2) == 0, IncludeMax: r.IntN(2) == 0, Boost: boost}
	case 8:
		return &lucene.Term{Field: "n", Text: []string{"0", "1", "-2", "7"}[r.IntN(4)], Boost: boost}
	}
	q := &lucene.Boolean{Boost: boost}
	for range 1 + r.IntN(4) {
		q.Clauses = append(q.Clauses, lucene.Clause{Occur: []lucene.Occur{lucene.Should, lucene.Should, lucene.Must, lucene.MustNot}[r.IntN(4)], Node: asked(r, depth-1)})
	}
	return q
}

// index makes an index of documents: several segments, in which some are older versions.
func indexed(t testing.TB, r *rand.Rand, docs []segment.Document, partition string) *segment.Reader {
	var sources []segment.Source
	for from := 0; from < len(docs); {
		to := min(len(docs), from+1+r.IntN(len(docs)))
		all := slices.Clone(docs[from:to])
		var gone []string
		for i := range docs[to:] {
			if r.IntN(3) == 0 {
				old := made(r, 1)[0]
				old.ID, old.Partition = docs[to+i].ID, docs[to+i].Partition
				all, gone = append(all, old), append(gone, old.ID)
			}
		}
		sources = append(sources, without(t, source(t, all), gone...))
		from = to
	}
	return reader(t, partition, sources...)
}

// TestModel compares answers with those of the model: what is found, its scores and
// order, page by page, and its counts; of an index, and of a partition of one.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		docs := made(r, 1+r.IntN(60))
		partition := []string{"", "p1"}[seed%2]
		index := indexed(t, r, docs, partition)
		m := model(slices.DeleteFunc(slices.Clone(docs), func(d segment.Document) bool { return partition != "" && d.Partition != partition }))
		for range 25 {
			query := asked(r, 3)
			compare(t, r, m, index, query)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func compare(t *testing.T, r *rand.Rand, m model, index *segment.Reader, query lucene.Node) {
	want := m.find(query)
	req := &Request{Query: query, Analyzers: analyzers{}, Limit: 100, Counts: []string{"k"}}
	got := run(t, index, req)
	if int(got.Total) != len(want) || len(got.Rows) != len(want) {
		t.Errorf("%s: %s, want %v", query, ids(got.Rows), want)
		return
	}
	for i, row := range got.Rows {
		score := row.Order[0].(float64)
		if w, ok := want[row.ID]; !ok || math.Abs(w-score) > 1e-6*math.Max(1, math.Abs(w)) {
			t.Errorf("%s: %s scores %v, want %v %v", query, row.ID, score, w, ok)
		}
		if i > 0 && (got.Rows[i-1].Order[0].(float64) < score || got.Rows[i-1].Order[0] == row.Order[0] && got.Rows[i-1].ID >= row.ID) {
			t.Errorf("%s: %s behind %s", query, row.ID, got.Rows[i-1].ID)
		}
	}
	counts := map[string]int{}
	for i := range m {
		if _, ok := want[m[i].ID]; ok {
			seen := map[string]bool{}
			for _, f := range m[i].Fields {
				if f.Name == "k" && !seen[f.Text] {
					seen[f.Text] = true
					counts[f.Text]++
				}
			}
		}
	}
	for _, c := range got.Counts[0].Counts {
		if counts[c.Value] != c.Documents {
			t.Errorf("%s: %d of %s, want %d", query, c.Documents, c.Value, counts[c.Value])
		}
		delete(counts, c.Value)
	}
	if len(counts) > 0 {
		t.Errorf("%s: nothing counted of %v", query, counts)
	}
	paged(t, r, m, index, query, want)
}

// paged reads the answer page by page, sorted by fields.
func paged(t *testing.T, r *rand.Rand, m model, index *segment.Reader, query lucene.Node, found matched) {
	number := func(id string) float64 {
		i := slices.IndexFunc(m, func(d segment.Document) bool { return d.ID == id })
		if all := numbersOf(&m[i], "n"); len(all) > 0 {
			return slices.Max(all)
		}
		return 0
	}
	req := &Request{Query: query, Analyzers: analyzers{}, Limit: 1 + r.IntN(5), Sort: orders(t, []string{"n", "-n"}[r.IntN(2)])}
	var want, got []string
	for id := range found {
		want = append(want, id)
	}
	slices.SortFunc(want, func(a, b string) int {
		x, y := number(a), number(b)
		switch {
		case x == y:
			return strings.Compare(a, b)
		case (x < y) != req.Sort[0].Descending:
			return -1
		}
		return 1
	})
	for {
		page := run(t, index, req)
		if len(page.Rows) == 0 {
			break
		}
		for _, row := range page.Rows {
			got = append(got, row.ID)
		}
		req.Bookmark = page.Bookmark
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s by %v: %v, want %v", query, req.Sort, got, want)
	}
}

// TestMerged reads one page of an index, and the next after all of it was merged.
func TestMerged(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	docs := made(r, 60)
	whole, parts := reader(t, "", source(t, docs)), reader(t, "", source(t, docs[30:]), source(t, docs[:30]))
	for _, sort := range [][]string{nil, {"n"}, {"-k<string>", "n"}} {
		req := request(t, "b:a* k:oak^3 *:*")
		req.Sort = orders(t, sort...)
		want := ids(run(t, whole, req).Rows)
		req.Limit = 13
		first := run(t, parts, req)
		req.Bookmark, req.Limit = first.Bookmark, 1000
		if got := ids(first.Rows) + " " + ids(run(t, whole, req).Rows); got != want {
			t.Errorf("%v: %s, want %s", sort, got, want)
		}
	}
}

// TestHostile has queries that would take long, and ends.
func TestHostile(t *testing.T) {
	docs := []segment.Document{{ID: "x", Fields: []segment.Field{text("k", strings.Repeat("a", 5000)), text("default", "a")}}}
	r := reader(t, "", source(t, docs))
	for _, c := range []struct{ query, want string }{
		{`k:` + strings.Repeat("*a", 400) + "b", ""},
		{`k:` + strings.Repeat("?*", 200), "x"},
		{`k:/(a*)*b/`, ""},
		{`k:/(a|aa|aaa)*/`, "x"},
		{`k:/` + strings.Repeat("a?", 300) + `b/`, "too complex"},
		{`k:/(a{0,1000}){0,1000}b/`, "too complex"},
		{`k:/.*(a|b).{1000}c/`, "too complex"},
		{`k:/~(` + strings.Repeat("(.*a|", 40) + `b` + strings.Repeat(")", 40) + `.{9})&.*a.{9}/`, ""},
		{`k:/` + strings.Repeat("(", 300) + `a` + strings.Repeat(")", 300) + `/`, "too deep"},
		{strings.Repeat("a", 200) + "~2", "at most 100 characters"},
		{`"` + strings.Repeat("a ", 2000) + `"`, "maxClauseCount is set to 1024"},
		{`"` + strings.Repeat("a ", 1000) + `"~1000`, ""},
	} {
		tree, err := Parse(c.query, analyzers{})
		var result *Result
		if err == nil {
			result, err = Run(context.Background(), r, &Request{Query: tree, Analyzers: analyzers{}, Limit: 1})
		}
		short := c.query[:min(len(c.query), 40)]
		if err != nil {
			if c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", short, err, c.want)
			}
		} else if got := ids(result.Rows); got != c.want {
			t.Errorf("%s: %q, want %s", short, got, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, r, request(t, "*:*")); !errors.Is(err, context.Canceled) {
		t.Errorf("a query that nobody waits for: %v", err)
	}
}

// FuzzRun runs what parses as a query.
func FuzzRun(f *testing.F) {
	for _, q := range []string{`a AND b`, `"new york"~2 k:/a<1-9>~(b)&c/`, `price:[1 TO 3} *:*^2 -fo?*`, `york~1 (a b)^0`, `"a a a"~3`} {
		f.Add(q, "-<score>", "")
	}
	r := library(f)
	f.Fuzz(func(t *testing.T, query, sort, bookmark string) {
		tree, err := Parse(query, analyzers{})
		if err != nil {
			return
		}
		req := &Request{Query: tree, Analyzers: analyzers{}, Limit: 3, Counts: []string{"kind"}, Highlight: &Highlighting{Fields: []string{"default"}, Number: 2, Size: 9}, Bookmark: bookmark}
		if o, err := ParseOrder(sort); err == nil {
			req.Sort = []Order{o}
		}
		result, err := Run(context.Background(), r, req)
		if err != nil {
			return
		}
		if req.Bookmark == "" && min(result.Total, 3) != uint64(len(result.Rows)) {
			t.Errorf("%d rows of %d", len(result.Rows), result.Total)
		}
	})
}
