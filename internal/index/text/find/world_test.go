package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// analyzers are those of the tests: words in lower case without "the", and in fields
// that begin with "k" the whole text.
type analyzers struct{}

func (analyzers) For(field string) analysis.Analyzer {
	if strings.HasPrefix(field, "k") {
		return keyword{}
	}
	return words{}
}

type keyword struct{}

func (keyword) Analyze(text []byte) analysis.TokenStream {
	return analysis.TokenStream{{Term: text, Position: 1, End: len(text)}}
}

type words struct{}

func (words) Analyze(text []byte) (tokens analysis.TokenStream) {
	position := 0
	for i := 0; i < len(text); {
		n := strings.IndexFunc(string(text[i:]), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
		if n < 0 {
			n = len(text) - i
		}
		if n > 0 {
			position++
			if term := strings.ToLower(string(text[i : i+n])); term != "the" {
				tokens = append(tokens, &analysis.Token{Term: []byte(term), Start: i, End: i + n, Position: position})
			}
		}
		i += max(n, 1)
	}
	return tokens
}

// text and num are fields of documents, indexed, stored and counted.
func text(name, value string) segment.Field {
	return segment.Field{Name: name, Text: value, Tokens: analyzers{}.For(name).Analyze([]byte(value)), Index: true, Store: true, Facet: true}
}

func num(name string, value float64) segment.Field {
	return segment.Field{Name: name, Number: &value, Index: true, Store: true, Facet: true}
}

// source makes a segment of documents.
func source(t testing.TB, docs []segment.Document) segment.Source {
	t.Helper()
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b segment.Document) int { return strings.Compare(a.ID, b.ID) })
	b, err := segment.Build(docs)
	must(t, err)
	s, err := segment.Open(b)
	must(t, err)
	return segment.Source{Segment: s}
}

// without says that documents were replaced.
func without(t testing.TB, s segment.Source, ids ...string) segment.Source {
	t.Helper()
	numbers, err := s.Segment.Numbers(ids)
	must(t, err)
	s.Deleted = roaring.Or(numbers, roaring.New())
	return s
}

func reader(t testing.TB, partition string, sources ...segment.Source) *segment.Reader {
	t.Helper()
	r, err := segment.NewReader(sources, partition)
	must(t, err)
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// request asks a query, for all that there is.
func request(t testing.TB, query string) *Request {
	t.Helper()
	tree, err := Parse(query, analyzers{})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return &Request{Query: tree, Analyzers: analyzers{}, Limit: 1000}
}

func run(t testing.TB, r *segment.Reader, req *Request) *Result {
	t.Helper()
	result, err := Run(context.Background(), r, req)
	must(t, err)
	return result
}

// ids are the ids of rows.
func ids(rows []Row) string {
	all := make([]string, len(rows))
	for i := range rows {
		all[i] = rows[i].ID
	}
	return strings.Join(all, " ")
}

// orders reads a sort.
func orders(t testing.TB, texts ...string) (all []Order) {
	t.Helper()
	for _, text := range texts {
		o, err := ParseOrder(text)
		must(t, err)
		all = append(all, o)
	}
	return all
}

// facets are counts as a text.
func facets(all []Facet) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s:", f.Field)
		for _, c := range f.Counts {
			fmt.Fprintf(&b, " %s=%d", c.Value, c.Documents)
		}
		b.WriteString("; ")
	}
	return b.String()
}
