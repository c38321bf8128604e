package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/store"
)

// between is a sink that takes a row at a time and does something after the
// first.
type between struct {
	collected
	do func()
}

func (b *between) Page() error {
	if b.do != nil && len(b.ids) > 0 {
		b.do()
		b.do = nil
	}
	return b.collected.Page()
}

// TestIndexGoesAwayMeanwhile drops an index while a query reads it: it goes on at its snapshot, and ends if that was given up.
func TestIndexGoesAwayMeanwhile(t *testing.T) {
	w := newWorld(t, false)
	w.put(`{"_id":"1","a":1}`, `{"_id":"2","a":2}`)
	w.index("b", `{"fields":{"b":"asc"}}`, false)
	req, err := Parse([]byte(`{"selector":{"a":{"$gt":0}},"sort":["a"]}`))
	must(t, err)
	giveUp := func() { // lists of others that wait for their clients
		for range 300 {
			l := w.db.Whole().LongView()
			t.Cleanup(l.Release)
			must(t, l.View(ctx, func(r *store.Reader) error { _, err := r.Totals(); return err }))
		}
	}
	for _, test := range []struct {
		name   string
		others func()
		gone   bool
	}{{"b", func() {}, false}, {"a", func() {}, false}, {"a", giveUp, true}} {
		w.index("a", `{"fields":{"a":"asc"}}`, false)
		w.build()
		q, sink := New(req, w.db.Whole(), w.indexes), &between{collected: collected{page: 1}, do: func() { w.drop(document.ID("_design/" + test.name)); test.others() }}
		if err := q.Run(ctx, sink); errors.Is(err, index.ErrGone) != test.gone || err != nil && !test.gone {
			t.Errorf("dropping %s: %v", test.name, err)
		}
		if want := 2; !test.gone && len(sink.ids) != want {
			t.Errorf("dropping %s: %q", test.name, sink.ids)
		}
		if test.name == "b" {
			w.drop("_design/a")
		}
	}
}

// TestPlanIsMadeAgain drops the index of a query that has read a page of rows
// but has given nothing yet: other documents answer as well.
func TestPlanIsMadeAgain(t *testing.T) {
	const rows = pageKeys + 10
	for request, want := range map[string]int{
		`{"selector":{"a":{"$gte":0}},"count":true}`:                   rows,
		`{"selector":{"a":{"$gte":0},"last":true}}`:                    1,
		fmt.Sprintf(`{"selector":{"a":{"$gte":0}},"skip":%d}`, rows-5): 5,
		`{"selector":{"a":{"$gte":0}},"group":{"by":["b"]}}`:           1,
	} {
		w := newWorld(t, false)
		docs := make([]string, rows)
		for i := range docs {
			docs[i] = fmt.Sprintf(`{"_id":"%04d","a":%d,"last":%v}`, i, i, i == rows-1)
		}
		w.put(docs...)
		w.index("a", `{"fields":{"a":"asc"}}`, false)
		w.build()
		req, err := Parse([]byte(request))
		must(t, err)
		pages := 0
		sink := &dropping{do: func() {
			if pages++; pages == 1 {
				w.drop("_design/a")
			}
		}}
		q := New(req, w.db.Whole(), w.indexes)
		must(t, q.Run(ctx, sink))
		got := len(sink.ids)
		if q.summary != nil {
			got = max(len(q.summary.groups), q.summary.count*bit(req.Count))
		}
		if got != want || pages < 2 {
			t.Errorf("%s: %d, want %d, in %d pages", request, got, want, pages)
		}
	}
}

// dropping is a sink that does something between two pages.
type dropping struct {
	collected
	do func()
}

func (d *dropping) Page() error {
	d.do()
	return d.collected.Page()
}

// drop deletes a document.
func (w *world) drop(id document.ID) {
	w.t.Helper()
	var rev *store.Revision
	must(w.t, w.db.Whole().View(ctx, func(r *store.Reader) (err error) {
		rev, err = r.Winner(id)
		return err
	}))
	results, err := w.db.Whole().Write(ctx, []document.Edit{{ID: id, Parent: rev.Rev, Deleted: true, Body: []byte("{}")}}, store.WriteOptions{})
	must(w.t, err)
	must(w.t, results[0].Err)
}

func TestDroppedPartitionsAreHidden(t *testing.T) {
	w := newWorld(t, true)
	w.put(`{"_id":"p:1","a":1}`, `{"_id":"q:1","a":1}`)
	w.index("a", `{"fields":{"a":"asc"}}`, false)
	w.index("pa", `{"fields":{"a":"asc"}}`, true)
	w.build()
	must(t, w.db.DropPartition(ctx, "p", false))
	for _, c := range [][3]string{
		{"", `{"selector":{"a":1},"sort":["a"]}`, "q:1"},
		{"", `{"selector":{"a":1},"fields":["a"]}`, "q:1"},
		{"", `{"selector":{"none":{"$exists":false}}}`, "q:1"},
		{"", `{"selector":{"_id":{"$in":["p:1","q:1"]}}}`, "q:1"},
		{"p", `{"selector":{"a":1},"sort":["a"]}`, ""},
	} {
		_, sink, err := w.find(c[0], c[1])
		must(t, err)
		if got := strings.Join(sink.ids, " "); got != c[2] {
			t.Errorf("%s in %q finds %q", c[1], c[0], got)
		}
	}
}

// TestLongArrays looks for elements of an array that has too many for rows of
// their own.
func TestLongArrays(t *testing.T) {
	w := newWorld(t, false)
	elements := make([]string, 1500)
	for i := range elements {
		elements[i] = fmt.Sprint(i)
	}
	w.put(`{"_id":"long","a":[`+strings.Join(elements, ",")+`]}`, `{"_id":"short","a":[1400,7,7]}`)
	w.index("a", `{"fields":{"a.[]":"asc"}}`, false)
	w.build()
	for request, want := range map[string]string{
		`{"selector":{"a":{"$elemMatch":{"$eq":1400}}},"use_index":"a","allow_fallback":false}`:        "long short",
		`{"selector":{"a":{"$elemMatch":{"$gt":6,"$lt":9}}},"use_index":"a","allow_fallback":false}`:   "long short",
		`{"selector":{"a":{"$all":[1499]}},"use_index":"a","allow_fallback":false}`:                    "long",
		`{"selector":{"a":{"$in":[1400,7,1600]}},"use_index":"a","allow_fallback":false}`:              "long short",
		`{"selector":{"a":{"$elemMatch":{"$in":[1600,2000]}}},"use_index":"a","allow_fallback":false}`: "",
	} {
		_, sink, err := w.find("", request)
		must(t, err)
		slices.Sort(sink.ids)
		if got := strings.Join(sink.ids, " "); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}

func TestTooManyGroups(t *testing.T) {
	req, err := Parse([]byte(`{"selector":{},"group":{"by":["a"]}}`))
	must(t, err)
	s := newSummary(req)
	for i := range maxGroups + 1 {
		row := Row{}
		row.Doc.Body = fmt.Appendf(nil, `{"a":%d}`, i)
		if err = s.add(&row.Doc); err != nil {
			break
		}
	}
	if !dberr.Is(err, dberr.Invalid) || len(s.groups) != maxGroups {
		t.Errorf("%v with %d groups", err, len(s.groups))
	}
}

func TestSums(t *testing.T) {
	for values, want := range map[string]string{
		"1 2 3":                      "6",
		"9223372036854775807 1":      "9223372036854775808",
		"0.1 0.2 0.3":                "0.6",
		"1e100 1 -1e100":             "1",
		`"x" null [1] 4`:             "4",
		"":                           "0",
		"123456789012345678901234 1": "123456789012345678901235",
	} {
		s := new(sum)
		for v := range strings.FieldsSeq(values) {
			s.add([]byte(v))
		}
		if got := string(s.appendJSON(nil)); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}

// FuzzBookmark reads whatever a client may send.
func FuzzBookmark(f *testing.F) {
	f.Add("AXdtLpYrDcP0AAEAZ3Vz")
	f.Add("nil")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseBookmark(text); (err == nil) != (m.at.row != nil) || err != nil && !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%q: %v %v", text, m, err)
		}
	})
}

// FuzzParse plans whatever a client may send.
func FuzzParse(f *testing.F) {
	f.Add(`{"selector":{"$or":[{"a":{"$in":[1,[2]]}},{"_id":{"$gt":null}}]},"sort":["a",{"_id":"desc"}],"use_index":"a/b"}`)
	f.Add(`{"selector":{"a":{"$elemMatch":{"$not":{"b":{"$size":1}}}}},"group":{"by":["a"],"compute":{"x":{"$sum":"b"}}}}`)
	f.Add(`{"selector":{"a":{"$beginsWith":"ä\u0000"},"_id":{"$beginsWith":"\udbff\udfff"}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if !json.Valid([]byte(body)) || !strings.HasPrefix(body, "{") {
			t.Skip()
		}
		req, err := Parse([]byte(body))
		if err != nil {
			if !dberr.Is(err, dberr.Invalid) {
				t.Error(err)
			}
			return
		}
		if _, err := newPlanner(req, pathsOf(nil, nil, false), false).plan(false); err != nil && !dberr.Is(err, dberr.Invalid) {
			t.Error(err)
		}
	})
}
