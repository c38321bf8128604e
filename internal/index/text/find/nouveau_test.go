package find

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// whole is a field of a text that is a term as it is.
func whole(name, value string) segment.Field {
	return segment.Field{Name: name, Text: value, Tokens: analysis.TokenStream{{Term: []byte(value), End: len(value), Position: 1}}, Index: true, Store: true, Facet: true, Measured: true}
}

func double(name string, value float64) segment.Field { return num(name, value) }

func worded(name, value string) segment.Field {
	f := text(name, value)
	f.Facet, f.Measured = false, true
	return f
}

// asNouveau makes of random documents what an index of Nouveau's has of them.
func asNouveau(docs []segment.Document) []segment.Document {
	docs = slices.Clone(docs)
	for i := range docs {
		docs[i].Fields = slices.Clone(docs[i].Fields)
		for j, f := range docs[i].Fields {
			switch f.Name {
			case "b":
				docs[i].Fields[j] = worded("b", f.Text)
			case "k":
				docs[i].Fields[j] = whole("k", f.Text)
			}
		}
	}
	return docs
}

// bm25Model scores by looking at each document: Lucene's formula, in 32 bits where Lucene
// has 32. Lengths are below 40, which a byte keeps as they are.
type bm25Model []segment.Document

// about counts the documents with a field, and the terms in it.
func (m bm25Model) about(field string) (docs, all float64) {
	for i := range m {
		n := 0
		for _, f := range m[i].Fields {
			if f.Name == field {
				n += len(f.Tokens)
			}
		}
		if n > 0 {
			docs++
		}
		all += float64(n)
	}
	return docs, all
}

func (m bm25Model) idf(field, word string) float32 {
	n := 0.0
	for i := range m {
		if slices.Contains(terms(&m[i], field), word) {
			n++
		}
	}
	docs, _ := m.about(field)
	return float32(math.Log(1 + (docs-n+0.5)/(n+0.5)))
}

// words scores words that follow each other.
func (m bm25Model) words(d *segment.Document, field string, boost float64, words ...string) (float64, bool) {
	idf := 0.0
	for _, w := range words {
		idf += float64(m.idf(field, w))
	}
	freq, length, all := 0.0, 0.0, terms(d, field)
	for i := range all {
		if all[i] != "" {
			length++
		}
		if i+len(words) <= len(all) && slices.Equal(all[i:i+len(words)], words) {
			freq++
		}
	}
	if freq == 0 {
		return 0, false
	}
	if field == "k" {
		freq, length = 1, 1
	}
	docs, sum := m.about(field)
	factor := 1 / (1.2 * (0.25 + 0.75*length/(sum/docs)))
	return idf * boost * (1 - 1/(1+freq*factor)), true
}

func (m bm25Model) score(d *segment.Document, query lucene.Node) (sum float64, ok bool) {
	switch q := query.(type) {
	case *lucene.Boolean:
		return m.boolean(d, q)
	case *lucene.Term:
		if q.Field == "n" {
			n, _ := lucene.LocalNumber(q.Text, "")
			return q.Boost, slices.Contains(numbersOf(d, "n"), n)
		}
		return m.words(d, q.Field, q.Boost, strings.ToLower(q.Text))
	case *lucene.Phrase:
		return m.words(d, q.Field, q.Boost, strings.Fields(strings.ToLower(q.Text))...)
	}
	_, ok = model(m).weigh(query).score(d, 1)
	switch q := query.(type) {
	case *lucene.Prefix:
		return q.Boost, ok
	case *lucene.Wildcard:
		return q.Boost, ok
	case *lucene.Regexp:
		return q.Boost, ok
	case *lucene.Range:
		return q.Boost, ok
	}
	panic(fmt.Sprintf("%T", query))
}

func (m bm25Model) boolean(d *segment.Document, q *lucene.Boolean) (sum float64, ok bool) {
	must, may := false, false
	for _, c := range q.Clauses {
		s, matches := m.score(d, c.Node)
		switch {
		case c.Occur == lucene.MustNot && matches, c.Occur == lucene.Must && !matches:
			return 0, false
		case c.Occur == lucene.MustNot:
			continue
		}
		must = must || c.Occur == lucene.Must
		if matches {
			may, sum = true, sum+s
		}
	}
	return sum * q.Boost, must || may
}

// TestBM25Model compares scores with those of the model, of an index and of a partition,
// whose statistics are its own.
func TestBM25Model(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 25))
		docs := asNouveau(made(r, 2+r.IntN(60)))
		partition := []string{"", "p1"}[seed%2]
		index := indexed(t, r, docs, partition)
		m := bm25Model(slices.DeleteFunc(slices.Clone(docs), func(d segment.Document) bool { return partition != "" && d.Partition != partition }))
		if held, _, _ := index.Indexed("n"); !held {
			continue // then n:1 is a word
		}
		for range 25 {
			query := asked(r, 3)
			got := run(t, index, &Request{Query: query, Analyzers: analyzers{}, Limit: 100, Nouveau: true})
			want := map[string]float64{}
			for i := range m {
				if s, ok := m.score(&m[i], query); ok {
					want[m[i].ID] = s
				}
			}
			if len(got.Rows) != len(want) {
				t.Fatalf("seed %d: %s: %s, want %v", seed, query, ids(got.Rows), want)
			}
			for _, row := range got.Rows {
				score := float64(row.Order[0].(float32))
				if w, ok := want[row.ID]; !ok || math.Abs(w-score) > 1e-5*math.Max(1, w) {
					t.Fatalf("seed %d: %s: %s scores %v, want %v %v", seed, query, row.ID, score, w, ok)
				}
				if row.Order[1] != ID(row.ID) {
					t.Fatalf("%s is ordered by %v", row.ID, row.Order)
				}
			}
		}
	}
}

// TestLengthCodes holds the code of lengths against what Lucene says of it: exact below
// 40, four significant bits beyond, in order.
func TestLengthCodes(t *testing.T) {
	last := -1
	for n := range uint32(1 << 20) {
		code := lengthCode(n)
		is := codedLength(code)
		if int(code) < last || is > n || n < 40 && is != n || float64(n-is) > float64(n)/8 || lengthCode(is) != code {
			t.Fatalf("%d is %d, which is %d", n, code, is)
		}
		last = int(code)
	}
	if lengthCode(math.MaxInt32) != 255 {
		t.Error("the longest length has not the last code")
	}
}

func orchard(t *testing.T, partition string) *segment.Reader {
	doc := func(id string, fields ...segment.Field) segment.Document {
		p, _, _ := strings.Cut(id, ":")
		return segment.Document{ID: id, Partition: p, Fields: fields}
	}
	return reader(t, partition, source(t, []segment.Document{
		doc("a:1", worded("w", "red apple"), whole("s", "Cox"), double("d", 3)),
		doc("a:2", worded("w", "green apple"), whole("s", "Boskop"), whole("s", "Zari"), double("d", 1), double("d", 9)),
		doc("a:3", worded("w", "pear"), double("d", 2)),
		doc("b:1", worded("w", "red plum"), whole("s", "Cox"), double("secret", 1)),
	}))
}

// TestNouveauFields: what a query, a sort and a count mean follows from what a field has.
func TestNouveauFields(t *testing.T) {
	for _, c := range []struct{ partition, query, sort, locale, want string }{
		{"", "*:*", "", "", "a:1 a:2 a:3 b:1"},
		{"", "w:apple", "", "", "a:1 a:2"},
		{"", "d:[1 TO 2]", "", "", "a:2 a:3"},
		{"", "d:[1 TO 2}", "", "", "a:2"},
		{"", "d:9", "", "", "a:2"},
		{"", `d:"3"`, "", "", "a:1"},
		{"", "d>2", "", "", "a:1 a:2"},
		{"", "d<=2", "", "", "a:2 a:3"},
		{"", "d:[* TO *]", "", "", "a:1 a:2 a:3"},
		{"", "d:[-Infinity TO 1]", "", "", "a:2"},
		{"", "d:[0,5 TO 1,5]", "", "de", "a:2"},
		{"", "d:[0,5 TO 1,5]", "", "", "a:2"}, // from 5 to 15
		{"", "d:1*", "", "", ""},
		{"", "d:x", "", "", "error: Could not parse the number: x"},
		{"", "d:[a TO 2]", "", "", "error: Could not parse the number: a"},
		{"", "w:[A TO p]", "", "", "a:1 a:2"},
		{"", "s:[Cox TO D]", "", "", ""}, // in lower case, as the analyzer has it
		{"", "d:[1E0 TO 2E0]", "", "", "a:2 a:3"},
		{"", "s:[* TO *]", "", "", "a:1 a:2 b:1"},
		{"", "*:*", "d", "", "b:1 a:2 a:3 a:1"},
		{"", "*:*", "-d", "", "a:1 a:3 a:2 b:1"},
		{"", "*:*", "s", "", "a:3 a:2 a:1 b:1"},
		{"", "*:*", "-s", "", "a:1 b:1 a:2 a:3"},
		{"", "*:*", "-s<string>", "", "a:1 b:1 a:2 a:3"},
		{"", "*:*", "d<double>", "", "b:1 a:2 a:3 a:1"},
		{"", "*:*", "-_id", "", "b:1 a:3 a:2 a:1"},
		{"", "*:*", "nothing", "", "a:1 a:2 a:3 b:1"},
		{"", "w:red w:apple", "relevance", "", "a:1 a:2 b:1"},
		{"", "*:*", "w", "", "error: can't sort on field w"},
		{"", "*:*", "d<number>", "", "error: number is not a valid sort type"},
		{"", "*:*", "<score>", "", "error: <score> is not a valid sort parameter"},
		{"b", "*:*", "", "", "b:1"},
		{"a", "secret:[a TO b]", "", "", ""}, // what others have there is not to be known
		{"b", "secret:[a TO b]", "", "", "error: Could not parse the number: a"},
		{"a", "*:*", "secret", "", "a:1 a:2 a:3"},
		{"b", "d:x", "", "", ""},
		{"", "NOT w:red", "", "", ""},
		{"", "*:* NOT w:red", "", "", "a:2 a:3"},
	} {
		got := ""
		tree, err := ParseNouveau(c.query, analyzers{})
		req := &Request{Query: tree, Analyzers: analyzers{}, Limit: 10, Nouveau: true, Locale: c.locale}
		if err == nil && c.sort != "" {
			var o Order
			o, err = ParseNouveauOrder(c.sort)
			req.Sort = []Order{o}
		}
		if err == nil {
			var result *Result
			if result, err = Run(context.Background(), orchard(t, c.partition), req); err == nil {
				got = ids(result.Rows)
			}
		}
		if err != nil {
			got = "error: " + strings.TrimPrefix(err.Error(), "bad_request: ")
		}
		if got != c.want {
			t.Errorf("%s by %q of %q: %s, want %s", c.query, c.sort, c.partition, got, c.want)
		}
	}
}

// TestNouveauCounts: texts are counted, numbers are in ranges, and nothing else.
func TestNouveauCounts(t *testing.T) {
	ask := func(counts []string, ranges []Ranges) string {
		req := &Request{Query: &lucene.All{Boost: 1}, Analyzers: analyzers{}, Limit: 1, Nouveau: true, Counts: counts, Ranges: ranges}
		result, err := Run(context.Background(), orchard(t, ""), req)
		if err != nil {
			return err.Error()
		}
		return facets(result.Counts) + facets(result.Ranges)
	}
	of := func(field string) []Ranges {
		return []Ranges{{field, []Bucket{{"low", "[-Infinity TO 2}"}, {"high", "[2 TO Infinity]"}}}}
	}
	for _, c := range []struct{ got, want string }{
		{ask([]string{"s"}, nil), "s: Cox=2 Boskop=1 Zari=1; "},
		{ask([]string{"nothing"}, of("nothing")), "nothing:; nothing: low=0 high=0; "},
		{ask(nil, of("d")), "d: low=1 high=3; "},
		{ask([]string{"w"}, nil), "unexpected docvalues type NONE for field 'w' (expected one of [SORTED, SORTED_SET]). Re-index with correct docvalues type."},
		{ask([]string{"d"}, nil), "unexpected docvalues type SORTED_NUMERIC for field 'd' (expected one of [SORTED, SORTED_SET]). Re-index with correct docvalues type."},
		{ask(nil, of("s")), "unexpected docvalues type SORTED_SET for field 's' (expected one of [NUMERIC, SORTED_NUMERIC]). Re-index with correct docvalues type."},
	} {
		if strings.TrimPrefix(c.got, "bad_request: ") != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestNouveauPages reads answers page by page, in every order.
func TestNouveauPages(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	index := reader(t, "", source(t, asNouveau(made(r, 50))))
	for _, sort := range []string{"relevance", "n", "-n", "k", "-k", "_id", "-_id", "nothing"} {
		o, err := ParseNouveauOrder(sort)
		must(t, err)
		tree, err := ParseNouveau("b:a* k:oak^3 *:*", analyzers{})
		must(t, err)
		req := &Request{Query: tree, Analyzers: analyzers{}, Limit: 1000, Nouveau: true, Sort: []Order{o}}
		want := ids(run(t, index, req).Rows)
		req.Limit = 7
		var got []string
		for {
			page := run(t, index, req)
			if len(page.Rows) == 0 {
				break
			}
			got, req.Bookmark = append(got, ids(page.Rows)), page.Bookmark
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %s, want %s", sort, got, want)
		}
	}
}
