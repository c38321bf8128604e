package mango

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
	"github.com/sectional/sectional/internal/selector"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is documents and an index of them.
type world struct {
	docs map[string]string
	def  *Def
	as   *analyze.Analyzers
	r    *segment.Reader
}

func newWorld(t testing.TB, definition string, docs map[string]string) *world {
	t.Helper()
	w := &world{docs: docs}
	var err error
	w.def, err = Parse([]byte(definition))
	must(t, err)
	w.as, err = analyze.New(w.def.Analyzer())
	must(t, err)
	var all []segment.Document
	for id, doc := range docs {
		values, err := w.def.Values(id, []byte(doc))
		must(t, err)
		d := segment.Document{ID: id}
		for _, v := range values {
			d.Fields = append(d.Fields, w.field(v))
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b segment.Document) int { return strings.Compare(a.ID, b.ID) })
	b, err := segment.Build(all)
	must(t, err)
	s, err := segment.Open(b)
	must(t, err)
	w.r, err = segment.NewReader([]segment.Source{{Segment: s}}, "")
	must(t, err)
	return w
}

func (w *world) field(v Value) segment.Field {
	f := segment.Field{Name: v.Name, Index: true}
	switch x := v.Value.(type) {
	case float64:
		f.Number = &x
	case bool:
		f.Text = fmt.Sprint(x)
		f.Tokens = analysis.TokenStream{{Term: []byte(f.Text), Position: 1, End: len(f.Text)}}
	case string:
		f.Text = x
		f.Tokens = w.as.For(v.Name).Analyze([]byte(x))
	}
	return f
}

// found returns the ids that a query finds; a nil query finds all.
func (w *world) found(t testing.TB, q lucene.Node) (ids []string) {
	if q == nil {
		q = &lucene.All{Boost: 1}
	}
	result, err := find.Run(context.Background(), w.r, &find.Request{Query: q, Analyzers: w.as, Limit: 1000, Fields: []string{}})
	must(t, err)
	for _, row := range result.Rows {
		ids = append(ids, row.ID)
	}
	slices.Sort(ids)
	return ids
}

func parsed(t testing.TB, text string) *selector.Selector {
	t.Helper()
	s, err := selector.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// TestQuery has selectors, and what is found before the documents are held against
// them: "all" where an index can't help.
func TestQuery(t *testing.T) {
	docs := map[string]string{
		"a": `{"_id":"a","name":"Ada","age":36,"tags":["x","y"],"at":{"city":"London","zip":null},"ok":true,"note":"the quick brown fox"}`,
		"b": `{"_id":"b","name":"Bob","age":"old","tags":[],"at":{},"ok":false}`,
		"c": `{"_id":"c","name":"bob","age":7,"tags":[{"k":1},{"k":"x"}],"at":[["deep"]],"note":"quick brown dogs"}`,
		"d": `{"_id":"d","name":null,"age":-1.5e1,"a.b":{"c d":1},"name2":"x"}`,
	}
	all, typed := newWorld(t, `{}`, docs), newWorld(t, `{"fields":[{"name":"age","type":"number"},{"name":"tags.[]","type":"string"}],"default_field":false}`, docs)
	for _, c := range []struct{ selector, all, typed, chosen string }{
		{`{"name":"Ada"}`, "a", "all", "all"},
		{`{"name":null}`, "d", "all", "all"},
		{`{"age":7}`, "c", "c", "c"},
		{`{"age":-15}`, "d", "d", "d"},
		{`{"ok":true}`, "a", "all", "all"},
		{`{"age":{"$gt":6}}`, "a b c", "all", "a c"},
		{`{"age":{"$lt":7}}`, "c d", "all", "c d"},
		{`{"age":{"$gte":7,"$lte":7}}`, "c", "all", "c"},
		{`{"name":{"$gt":"A"}}`, "a b c d", "all", "all"},
		{`{"name":{"$beginsWith":"Bo"}}`, "b", "all", "all"},
		{`{"name":{"$regex":"b"}}`, "a b c", "all", "all"},
		{`{"age":{"$type":"number"}}`, "a c d", "a c d", "a c d"},
		{`{"age":{"$type":"string"}}`, "b", "all", "all"},
		{`{"at":{"$exists":true}}`, "a b c", "all", "all"},
		{`{"at":{"$exists":false}}`, "all", "all", "all"},
		{`{"_attachments":{"$exists":true}}`, "all", "all", "all"},
		{`{"at.city":"London"}`, "a", "all", "all"},
		{`{"at":{"city":"London","zip":null}}`, "a", "all", "all"},
		{`{"at":{}}`, "a b c", "all", "all"},
		{`{"at":[["deep"]]}`, "c", "all", "all"},
		{`{"tags":{"$size":2}}`, "a c", "a c", "a c"},
		{`{"tags":{"$all":["x","y"]}}`, "a", "a", "a"},
		{`{"tags":{"$elemMatch":{"$eq":"y"}}}`, "a", "a", "a"},
		{`{"tags":{"$elemMatch":{"k":"x"}}}`, "c", "all", "a b c"},
		{`{"tags.1":"y"}`, "a", "all", "all"},
		{`{"tags.1.k":{"$gt":null}}`, "c", "all", "all"},
		{`{"tags":{"$in":["x","nil"]}}`, "a", "all", "a"},
		{`{"name":{"$in":["Ada","bob"]}}`, "a c", "all", "all"},
		{`{"name":{"$ne":"Ada"}}`, "a b c d", "all", "all"},
		{`{"a\\.b":{"c d":1}}`, "d", "all", "all"},
		{`{"name":{"$exists":true}}`, "a b c d", "all", "all"},
		{`{"name2":{"$exists":true}}`, "d", "all", "all"},
		{`{"$or":[{"name":"Ada"},{"age":7}]}`, "a c", "all", "all"},
		{`{"$and":[{"name":"Ada"},{"age":7}]}`, "", "c", "c"},
		{`{"$nor":[{"name":"Ada"}]}`, "a b c d", "all", "all"},
		{`{"$text":"quick"}`, "a c", "", ""},
		{`{"$text":"Brown FOX"}`, "a", "", ""},
		{`{"$text":"fox brown"}`, "", "", ""},
		{`{"$text":"quick","age":{"$lt":10}}`, "c", "", ""},
	} {
		s := parsed(t, c.selector)
		for i, w := range []*world{all, typed, typed} {
			q := w.def.Query(s.Root(), i == 2)
			got := "all"
			if q != nil {
				got = strings.Join(w.found(t, q), " ")
			}
			if want := []string{c.all, c.typed, c.chosen}[i]; got != want {
				t.Errorf("%s %d: %s by %v, want %s", c.selector, i, got, q, want)
			}
		}
	}
}

// TestNothingMissed compares what queries find with the documents that match.
func TestNothingMissed(t *testing.T) {
	values := strings.Split(`null true false 0 7 -2.5 1e3 "" "a" "ab" "7" "Äb" [] {} [1,"a"] [[7]] [null,{"x":7}] {"x":7} {"x":"a","y":[1]} {"x":{"x":"ab"}}`, " ")
	paths := strings.Split("a b a.x a.x.x b.0 b.1.x a.y", " ")
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		value := func() string { return values[r.IntN(len(values))] }
		docs := map[string]string{}
		for i := range 40 {
			id := fmt.Sprintf("d%02d", i)
			doc := fmt.Sprintf(`{"_id":%q`, id)
			for _, name := range []string{"a", "b"} {
				if r.IntN(4) > 0 {
					doc += fmt.Sprintf(`,%q:%s`, name, value())
				}
			}
			docs[id] = doc + "}"
		}
		w := newWorld(t, []string{`{}`, `{"index_array_lengths":false,"default_field":{"enabled":false}}`,
			`{"fields":[{"name":"a","type":"string"},{"name":"a.x","type":"number"},{"name":"b.[]","type":"number"}]}`, `{"default_analyzer":"standard"}`}[seed%4], docs)
		for range 60 {
			w.compare(t, selectorOf(r, paths, value, 2))
		}
	}
}

func (w *world) compare(t *testing.T, text string) {
	s := parsed(t, text)
	if s.Root() == nil {
		return
	}
	q := w.def.Query(s.Root(), false)
	found := w.found(t, q)
	for id, doc := range w.docs {
		matches, err := s.Match(&selector.Doc{ID: id, Body: []byte(doc)}, selector.NewBudget(t.Context(), 0))
		must(t, err)
		if matches && !slices.Contains(found, id) {
			t.Errorf("%s misses %s by %v", text, doc, q)
		}
	}
}

// selectorOf makes a random selector.
func selectorOf(r *rand.Rand, paths []string, value func() string, depth int) string {
	path := paths[r.IntN(len(paths))]
	if depth > 0 && r.IntN(3) == 0 {
		op := []string{"$and", "$or", "$nor"}[r.IntN(3)]
		return fmt.Sprintf(`{%q:[%s,%s]}`, op, selectorOf(r, paths, value, depth-1), selectorOf(r, paths, value, depth-1))
	}
	return fmt.Sprintf(`{%q:%s}`, path, condition(r, value, depth))
}

func condition(r *rand.Rand, value func() string, depth int) string {
	op := []string{"$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$all", "$exists", "$type", "$size", "$mod", "$beginsWith", "$regex", "$elemMatch", "$allMatch", "$not"}[r.IntN(18)]
	arg := value()
	switch op {
	case "$in", "$nin", "$all":
		arg = "[" + value() + "," + value() + "]"
	case "$exists":
		arg = []string{"true", "false"}[r.IntN(2)]
	case "$type":
		arg = []string{`"null"`, `"boolean"`, `"number"`, `"string"`, `"array"`, `"object"`}[r.IntN(6)]
	case "$size":
		arg = fmt.Sprint(r.IntN(3))
	case "$mod":
		arg = "[7,0]"
	case "$beginsWith", "$regex":
		arg = []string{`"a"`, `"7"`, `""`}[r.IntN(3)]
	case "$elemMatch", "$allMatch", "$not":
		if arg = `{"$eq":` + value() + `}`; depth > 0 {
			arg = condition(r, value, depth-1)
		}
	}
	return fmt.Sprintf(`{%q:%s}`, op, arg)
}

// TestValues has what documents are in an index.
func TestValues(t *testing.T) {
	doc := `{"_id":"x","_attachments":{"a.txt":{"stub":true}},"n":1,"s":"Text","l":[true,null,{"k":2}],"e":{},"a_b":{"c.d":"é"}}`
	for definition, want := range map[string]string{
		`{}`: `$default=Text $default=x $default=é _5fid_3astring=x a_5fb.c_2ed_3astring=é l._5b_5d.k_3anumber=2 l._5b_5d_3aboolean=true l._5b_5d_3alength=3 l._5b_5d_3anull=true n_3anumber=1 s_3astring=Text`,
		`{"fields":[{"name":"s","type":"string"},{"type":"number","name":"l.[].k"}],"index_array_lengths":false}`: `$default=Text l._5b_5d.k_3anumber=2 s_3astring=Text`,
		`{"fields":[{"name":"n","type":"string"}],"default_field":{"enabled":false}}`:                             `l._5b_5d_3alength=3`,
		`{"partial_filter_selector":{"n":2}}`:                                                                     ``,
	} {
		d, err := Parse([]byte(definition))
		must(t, err)
		values, err := d.Values("x", []byte(doc))
		must(t, err)
		var got []string
		for _, v := range values {
			if v.Name != namesField {
				got = append(got, fmt.Sprintf("%s=%v", v.Name, v.Value))
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", definition, strings.Join(got, " "))
		}
	}
}

// TestRefused has what is no definition.
func TestRefused(t *testing.T) {
	for definition, code := range map[string]string{
		`[]`:                             "invalid_index",
		`{"field":[]}`:                   "invalid_key",
		`{"fields":"a"}`:                 "invalid_index_fields_definition",
		`{"fields":["a"]}`:               "invalid_index_fields_definition",
		`{"fields":[{"name":"a"}]}`:      "invalid_index_fields_definition",
		`{"fields":[{"type":"number"}]}`: "invalid_index_fields_definition",
		`{"fields":[{"name":"number"}]}`: "invalid_index_fields_definition",
		`{"fields":[{"name":"a","type":"number"},7]}`:           "invalid_index_fields_definition",
		`{"fields":[{"name":"","type":"string"}]}`:              "invalid_index_fields_definition",
		`{"fields":[{"name":"a","type":"date"}]}`:               "invalid_index_fields_definition",
		`{"index_array_lengths":1}`:                             "invalid_boolean",
		`{"partial_filter_selector":{"a":{"$regex":"(a)\\1"}}}`: "invalid_index",
		`{"partial_filter_selector":{"$text":"a"}}`:             "invalid_index",
		`{"partial_filter_selector":7}`:                         "invalid_selector_json",
	} {
		_, err := Parse([]byte(definition))
		var e *dberr.Error
		if !errors.As(err, &e) || e.Kind != dberr.Invalid || e.Code != code {
			t.Errorf("%s: %v, want %s", definition, err, code)
		}
	}
	if !json.Valid((&Def{defaultAnalyzer: []byte(`"keyword"`), textAnalyzer: []byte(`"english"`)}).Analyzer()) {
		t.Error("an analyzer's definition is not JSON")
	}
}
