package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// books are the documents of the tables.
var books = []segment.Document{
	{ID: "a", Fields: []segment.Field{text("default", "The quick brown fox jumps over the lazy dog"), text("kind", "Fable"), num("price", 10)}},
	{ID: "b", Fields: []segment.Field{text("default", "A brown dog and a quick cat"), text("kind", "Fable"), num("price", -2.5)}},
	{ID: "c", Fields: []segment.Field{text("default", "Salt, pepper and salt again"), text("kind", "Cook Book"), num("price", 20), num("price", 5)}},
	{ID: "d", Fields: []segment.Field{text("default", "New York, new York"), text("default", "city guide"), text("kind", "Guide")}},
	{ID: "e", Fields: []segment.Field{text("default", "Yorkshire puddings: a guide to York"), text("kind", "Cook Book"), num("price", 10)}},
	{ID: "f", Fields: []segment.Field{text("title", "fox"), text("k", "A*b?c"), num("lon", 13.4), num("lat", 52.5)}},
	{ID: "g", Fields: []segment.Field{text("title", "foxes of 2024"), text("k", "a12"), num("lon", 2.35), num("lat", 48.85)}},
	{ID: "h", Fields: []segment.Field{text("k", "a007"), num("n", 0)}},
}

// library reads the books from two segments, of which one has an older version of a.
func library(t testing.TB) *segment.Reader {
	old := segment.Document{ID: "a", Fields: []segment.Field{text("default", "gone"), text("kind", "Gone")}}
	first := append([]segment.Document{old}, books[3:6]...)
	second := append(slices.Clone(books[:3]), books[6:]...)
	return reader(t, "", without(t, source(t, first), "a"), source(t, second))
}

// TestQueries has for each query the documents that it finds, in the order of ids.
func TestQueries(t *testing.T) {
	r := library(t)
	for _, c := range []struct{ query, want string }{
		{`fox`, "a"},
		{`brown`, "a b"},
		{`title:fox`, "f"},
		{`gone`, ""},
		{`nowhere:fox`, ""},
		{`brown fox`, "a b"},
		{`brown AND fox`, "a"},
		{`brown NOT fox`, "b"},
		{`-fox`, ""},
		{`NOT fox`, ""},
		{`(-fox)`, ""},
		{`*:* -brown`, "c d e f g h"},
		{`*:*`, "a b c d e f g h"},
		{`+guide york`, "d e"},
		{`+guide +york -puddings`, "d"},
		{`the`, ""},
		{`the AND fox`, "a"},
		{`york~ OR salt`, "c d e"},
		// Phrases.
		{`"brown fox"`, "a"},
		{`"fox brown"`, ""},
		{`"quick fox"`, ""},
		{`"quick fox"~1`, "a"},
		{`"fox quick"~2`, ""},
		{`"fox quick"~3`, "a"},
		{`"fox brown"~2`, "a"},
		{`"brown quick"~3`, "a b"},
		{`"over the lazy"`, "a"},
		{`"over lazy"`, ""},
		{`"over lazy"~1`, "a"},
		{`"jumps over a lazy"`, ""},
		{`"new york"`, "d"},
		{`"york new"`, "d"},
		{`"york york"`, ""},
		{`"york york"~1`, "d"},
		{`"salt salt"~1`, ""},
		{`"salt salt"~2`, "c"},
		{`"salt salt salt"~9`, ""},
		{`"york city"`, "d"}, // positions go on from value to value
		{`kind:"Cook Book"`, "c e"},
		{`kind:"cook book"`, ""},
		{`kind:Fable`, "a b"},
		// Prefixes and patterns.
		{`york*`, "d e"},
		{`YORK*`, "d e"},
		{`kind:F*`, "a b"},
		{`kind:f*`, ""},
		{`fo?`, "a"},
		{`title:fo*s`, "g"},
		{`*ox`, "a"},
		{`*o*`, "a b d e"},
		{`title:*`, "f g"},
		{`k:A\*b\?c`, "f"},
		{`k:A\*b*`, "f"},
		{`k:A?b?c`, "f"},
		{`k:?0*7`, "h"},
		{`k:?1*7`, ""},
		{`k:a*7`, "h"},
		{`title:f?xes`, "g"},
		// Fuzzy.
		{`foxe~1`, "a"},
		{`fxo~1`, "a"},
		{`fx~1`, "a"},
		{`f~1`, ""},
		{`f~2`, ""},
		{`ab~2`, ""}, // of "a" and "and" nothing is left
		{`yrok~0`, ""},
		{`yorc~1 -guide`, ""},
		{`yrok~1`, "d e"},
		{`quikc~`, "a b"},
		// Expressions.
		{`/f.x/`, "a"},
		{`/[b-f].*/`, "a b d"},
		{`k:/a<1-12>/`, "g h"},
		{`k:/a<10-12>/`, "g"},
		{`k:/a[0-9]{3}/`, "h"},
		{`k:/~(a.*)/`, "f"},
		{`k:/a.*&.*7/`, "h"},
		{`title:/fox(es)?/`, "f g"},
		{`title:/fox@/`, "f g"},
		{`title:/"fox"/`, "f"},
		{`title:/#/`, ""},
		// Ranges.
		{`price:[5 TO 10]`, "a c e"},
		{`price:{5 TO 10]`, "a e"},
		{`price:{5 TO 10}`, ""},
		{`price:[* TO 0]`, "b"},
		{`price:[10 TO *]`, "a c e"},
		{`price:[* TO *]`, "a b c e"},
		{`price:10`, "a e"},
		{`price:1e1`, "a e"},
		{`price:"10"`, ""},
		{`price:\-2.5`, "b"},
		{`n:0`, "h"},
		{`n:\-0`, "h"},
		{`title:2024`, ""}, // an unquoted number is one
		{`title:"2024"`, "g"},
		{`title:[fa TO fox]`, "f"},
		{`title:[fa TO fox}`, ""},
		{`title:{fox TO fz]`, "g"},
		{`title:[g TO *]`, "g"},
		{`kind:[Cook TO Fable]`, "a b c e"},
		{`kind:[cook TO fable]`, ""},
		// Groups and boosts.
		{`(brown AND fox)^3 OR title:(fox foxes)^0.5`, "a f g"},
		{`+(brown cat) +(fox dog)`, "a b"},
		{`brown AND (fox OR cat) AND NOT (lazy AND cat)`, "a b"},
	} {
		rows := run(t, r, request(t, c.query)).Rows
		slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
		if got := ids(rows); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
}

// TestOrders has sorts and the order that they give.
func TestOrders(t *testing.T) {
	r := library(t)
	for _, c := range []struct {
		query string
		sort  []string
		want  string
	}{
		{`*:*`, nil, "a b c d e f g h"}, // the same score: by id
		{`york guide`, nil, "d e"},
		{`york`, []string{"<score>"}, "e d"},
		{`york`, []string{"-<score>"}, "d e"},
		{`*:*`, []string{"price"}, "b d f g h a e c"}, // of several the greatest; none is 0
		{`*:*`, []string{"-price<number>"}, "c a e d f g h b"},
		{`*:*`, []string{"kind<string>"}, "f g h c e a b d"},
		{`*:*`, []string{"-kind<string>"}, "d a b c e f g h"},
		{`*:*`, []string{"kind<string>", "-price"}, "f g h c e a b d"},
		{`*:*`, []string{"-kind<string>", "price"}, "d b a e c f g h"},
		{`lat:[* TO *]`, []string{"<distance,lon,lat,2.3,48.8,km>"}, "g f"},
		{`lat:[* TO *]`, []string{"-<distance,lon,lat,2.3,48.8,mi>"}, "f g"},
		{`title:fox* n:0`, []string{"<distance,lon,lat,2.3,48.8,km>"}, "g f h"},
		{`*:*`, []string{"-<doc>"}, "a b c d e f g h"},
		{`*:*`, []string{"-_id<string>"}, "h g f e d c b a"},
	} {
		req := request(t, c.query)
		req.Sort = orders(t, c.sort...)
		if got := ids(run(t, r, req).Rows); got != c.want {
			t.Errorf("%s by %v: %q, want %q", c.query, c.sort, got, c.want)
		}
	}
	req := request(t, `k:a*`)
	req.Sort = orders(t, "<distance,lon,lat,2.35,48.85,km>", "price", "kind<string>")
	if got := run(t, r, req).Rows; len(got) != 2 || got[0].Order[0] != 0.0 || got[0].Order[1] != 0.0 || got[0].Order[2] != nil ||
		got[1].Order[0].(float64) < 20037 || got[1].Order[0].(float64) > 20038 {
		t.Errorf("%+v", got)
	}
}

// TestRefused has what is no request.
func TestRefused(t *testing.T) {
	r := library(t)
	for want, change := range map[string]func(q *Request) error{
		"limit must be greater than or equal to zero":                func(q *Request) error { q.Limit = -1; return nil },
		"Value for limit is too large, must not exceed 10000":        func(q *Request) error { q.Limit = 10_001; return nil },
		"Unrecognized sort parameter: a b":                           func(*Request) error { _, err := ParseOrder("a b"); return err },
		"Unrecognized type: date":                                    func(*Request) error { _, err := ParseOrder("a<date>"); return err },
		"Unrecognized group_field parameter: a b":                    func(*Request) error { _, err := ParseGroupField("a b"); return err },
		"Group by number not supported. Group by string terms only.": func(*Request) error { _, err := ParseGroupField("a<number>"); return err },
		"[a TO b] was not a well-formed range specification": func(q *Request) error {
			q.Ranges = []Ranges{{"price", []Bucket{{"x", "[a TO b]"}}}}
			return nil
		},
		"cheap was not a well-formed range specification": func(q *Request) error {
			q.Ranges = []Ranges{{"price", []Bucket{{"x", "cheap"}}}}
			return nil
		},
		"Invalid bookmark parameter supplied": func(q *Request) error { q.Bookmark = "no bookmark"; return nil },
		"sort order not compatible with given bookmark": func(q *Request) error {
			q.Bookmark = run(t, r, request(t, "fox")).Bookmark
			q.Sort = orders(t, "price")
			return nil
		},
		`Cannot parse regular expression "a(": unexpected end-of-string at position 2`: func(*Request) error { _, err := compileRegexp("a("); return err },
	} {
		q := request(t, "*:*")
		err := change(q)
		if err == nil {
			_, err = Run(context.Background(), r, q)
		}
		var e *dberr.Error
		if !errors.As(err, &e) || e.Kind != dberr.Invalid || e.Reason != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestFacets counts what was found: all of it, whatever the limit.
func TestFacets(t *testing.T) {
	r := library(t)
	req := request(t, `york brown salt`)
	req.Limit, req.Counts = 1, []string{"kind", "nothing"}
	req.Ranges = []Ranges{{"price", []Bucket{{"cheap", "[* TO 10}"}, {"dear", "[10 TO *]"}, {"none", "{5 TO 9]"}}}}
	got := run(t, r, req)
	if len(got.Rows) != 1 || got.Total != 5 || facets(got.Counts) != "kind: Cook Book=2 Fable=2 Guide=1; nothing:; " || facets(got.Ranges) != "price: cheap=2 dear=3 none=0; " {
		t.Errorf("%d of %d, %s%s", len(got.Rows), got.Total, facets(got.Counts), facets(got.Ranges))
	}
	for _, c := range []struct {
		down []Values
		want string
	}{
		{[]Values{{"kind", []string{"Fable"}}}, "a b"},
		{[]Values{{"kind", []string{"Fable", "Guide"}}}, "a b d"},
		{[]Values{{"kind", []string{"Fable", "Guide"}}, {"default", []string{"city guide"}}}, "d"},
		{[]Values{{"kind", nil}}, ""},
		{[]Values{{"price", []string{"10"}}}, ""},
	} {
		req.Limit, req.Drilldown, req.Sort = 9, c.down, orders(t, "<doc>")
		if got := run(t, r, req); ids(got.Rows) != c.want || int(got.Total) != len(got.Rows) {
			t.Errorf("%v: %q", c.down, ids(got.Rows))
		}
	}
	plain, down := request(t, "york"), request(t, "york")
	down.Drilldown = []Values{{"kind", []string{"Guide"}}}
	if a, b := run(t, r, plain).Rows[0], run(t, r, down).Rows[0]; a.ID != "d" || b.ID != "d" || a.Order[0] != b.Order[0] {
		t.Errorf("a drilldown changes scores: %v %v", a, b)
	}
}

// TestGroups gathers by a field.
func TestGroups(t *testing.T) {
	r := library(t)
	show := func(groups []Group) string {
		var b strings.Builder
		for _, g := range groups {
			by := "-"
			if g.By != nil {
				by = *g.By
			}
			b.WriteString(by + ":" + ids(g.Rows) + "; ")
		}
		return b.String()
	}
	for _, c := range []struct {
		group Grouping
		sort  []string
		limit int
		want  string
	}{
		{Grouping{"kind", 10, nil}, nil, 9, "Fable:a b; Cook Book:c e; Guide:d; -:f g h; "},
		{Grouping{"kind", 2, orders(t, "-kind<string>")}, nil, 1, "Guide:d; Fable:a; "},
		{Grouping{"kind", 3, orders(t, "price")}, []string{"price"}, 9, "Fable:b a; Guide:d; -:f g h; "},
		{Grouping{"kind", 3, orders(t, "-price")}, []string{"-price"}, 1, "Cook Book:c; Fable:a; Guide:d; "},
		{Grouping{"kind", 0, nil}, nil, 9, ""},
		{Grouping{"nothing", 5, nil}, nil, 2, "-:a b; "},
	} {
		req := request(t, `*:*`)
		req.Group, req.Sort, req.Limit = &c.group, orders(t, c.sort...), c.limit
		if got := run(t, r, req); show(got.Groups) != c.want || got.Total != 8 {
			t.Errorf("%+v by %v: %q of %d", c.group, c.sort, show(got.Groups), got.Total)
		}
	}
}

// TestFields returns what is stored, and what was asked for of it.
func TestFields(t *testing.T) {
	req := request(t, `new`)
	if got := run(t, library(t), req).Rows[0].Fields; len(got) != 2 || got[0].Name != "default" || got[1] != (Stored{"kind", "Guide"}) || len(got[0].Value.([]any)) != 2 {
		t.Errorf("%+v", got)
	}
	if req.Fields = []string{"kind", "nothing"}; len(run(t, library(t), req).Rows[0].Fields) != 1 {
		t.Error("fields that nobody asked for")
	}
	if req.Fields = []string{}; len(run(t, library(t), req).Rows[0].Fields) != 0 {
		t.Error("fields where none was asked for")
	}
}

// TestLongFields: rows whose stored fields would take too much memory are refused.
func TestLongFields(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var docs []segment.Document
	for i := range 65 {
		docs = append(docs, segment.Document{ID: fmt.Sprintf("%02d", i), Fields: []segment.Field{{Name: "default", Text: long, Store: true}, num("n", 1)}})
	}
	r := reader(t, "", source(t, docs))
	for limit, refused := range map[int]bool{63: false, 65: true} {
		req := &Request{Analyzers: analyzers{}, Limit: limit}
		var err error
		if req.Query, err = Parse("n:1", analyzers{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), r, req); dberr.Is(err, dberr.Invalid) != refused || !refused && err != nil {
			t.Errorf("%d rows: %v", limit, err)
		}
	}
}

// TestHighlights marks what was found.
func TestHighlights(t *testing.T) {
	long := "one two three " + strings.Repeat("word ", 30) + "fox and hound " + strings.Repeat("more ", 30) + "a fox, a fox and a dog"
	r := reader(t, "", source(t, []segment.Document{{ID: "x", Fields: []segment.Field{text("default", long), text("title", "The Fox & the dog")}}}))
	for _, c := range []struct {
		query        string
		number, size int
		want         string
	}{
		{`fox`, 1, 20, " word <fox> and hound"},
		{`fox dog`, 1, 30, " <fox>, a <fox> and a <dog>"},
		{`one -fox`, 3, 15, "<one> two three"},
		{`"one two"`, 1, 12, "<one> <two>"},
		{`"two one"`, 1, 12, ""},
		{`"two one"~2`, 1, 12, "<one> <two>"},
		{`o* twp~1 /thr.*/ `, 1, 14, "<one> <two> <three>"},
		{`title:on? AND default:[three TO three]`, 1, 14, "<one> two <three>"},
		{`nothing`, 1, 10, ""},
	} {
		req := request(t, c.query)
		m, err := newMarker(&Request{Query: req.Query, Analyzers: analyzers{}, Highlight: &Highlighting{Fields: []string{"default"}, Pre: "<", Post: ">", Number: c.number, Size: c.size}})
		must(t, err)
		w := &work{ctx: context.Background(), index: r, analyzers: analyzers{}}
		got, err := w.mark(m, "default", long)
		must(t, err)
		if first := strings.Join(got, "|"); first != c.want {
			t.Errorf("%s: %q, want %q", c.query, first, c.want)
		}
	}
	req := request(t, `fox`)
	req.Highlight = &Highlighting{Fields: []string{"title", "other"}, Pre: "<em>", Post: "</em>", Number: 1}
	if got := run(t, r, req).Rows[0].Highlights; len(got) != 2 || got[0].Fragments[0] != "The <em>Fox</em> & the dog" || len(got[1].Fragments) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestEqualDocuments pages through documents that only their ids tell apart, in segments
// whose ids interleave, and are not in order where segments were merged.
func TestEqualDocuments(t *testing.T) {
	var sources []segment.Source
	var want []string
	for n := range 4 {
		var docs []segment.Document
		for i := range 40 {
			id := fmt.Sprintf("%03d", (i*4+n*7)%160/4*4+n)
			want = append(want, id)
			docs = append(docs, segment.Document{ID: id, Fields: []segment.Field{text("default", "fox")}})
		}
		sources = append(sources, merged(t, docs[:20], docs[20:]))
	}
	slices.Sort(want)
	r := reader(t, "", sources...)
	for _, query := range []string{"*:*", "fox", "f*", "*", "f?x"} {
		for _, limit := range []int{1, 3, 50} {
			q := request(t, query)
			q.Limit = limit
			var got []string
			for {
				a := run(t, r, q)
				if a.Total != 160 {
					t.Fatalf("%s: %d documents", query, a.Total)
				}
				if len(a.Rows) == 0 {
					break
				}
				for _, row := range a.Rows {
					got = append(got, row.ID)
				}
				q.Bookmark = a.Bookmark
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d at a time: %v", query, limit, got)
			}
		}
	}
}

// merged is a segment of the documents of several, each with its ids in order.
func merged(t *testing.T, each ...[]segment.Document) segment.Source {
	var sources []segment.Source
	for _, docs := range each {
		slices.SortFunc(docs, func(a, b segment.Document) int { return strings.Compare(a.ID, b.ID) })
		sources = append(sources, source(t, docs))
	}
	made, _, err := segment.Merge(context.Background(), sources, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(made)
	if err != nil {
		t.Fatal(err)
	}
	return segment.Source{Segment: s}
}
