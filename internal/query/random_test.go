package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestAnyPlanAnswersAlike holds random selectors over random documents and
// indexes to the plain meaning of the request: whatever index answers, and in
// pages of whatever size, the documents are those that match, in the order that
// is asked for.
func TestAnyPlanAnswersAlike(t *testing.T) {
	worlds, requests := 12, 40
	if testrun.IsLong() {
		worlds, requests = 60, 60
	}
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := &generator{rand.New(rand.NewPCG(seed, 7))}
			partitioned := seed%3 == 0
			w := newWorld(t, partitioned)
			w.put(g.docs(partitioned)...)
			names := g.indexes(w, partitioned)
			w.build()
			w.put(g.docs(partitioned)[40:]...) // through the writers
			for range requests {
				w.holdAlike(g, names, g.partition(partitioned))
			}
		})
	}
}

// generator makes documents, indexes and requests that meet each other often.
type generator struct{ *rand.Rand }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) partition(partitioned bool) string {
	if partitioned {
		return pick(g, "", "p", "q", "none")
	}
	return ""
}

// scalar returns a value that may be in a field.
func (g *generator) scalar() string {
	return pick(g, "null", "false", "true", "0", "1", "1.0", "2", "-3", "2.5", "1e2", `""`, `"a"`, `"A"`, `"ab"`, `"b"`, `"ä"`, `"a\u0308"`, `"é"`, `"x"`, `"xy"`, `"Xy"`, `"สวัส"`, `"中文"`)
}

func (g *generator) value() string {
	switch g.IntN(10) {
	case 0:
		return pick(g, "[]", "{}", `{"x":1}`, `{"x":"a"}`)
	case 1, 2, 3:
		var elements []string
		for range g.IntN(4) {
			elements = append(elements, g.scalar())
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	return g.scalar()
}

func (g *generator) docs(partitioned bool) (docs []string) {
	for i := range 60 {
		id := fmt.Sprintf("d%02d", i)
		if partitioned {
			id = pick(g, "p:", "q:", "q:q") + id
		}
		d := fmt.Sprintf(`{"_id":"%s-%d"`, id, g.IntN(1e9))
		for _, f := range []string{"a", "b", "c"} {
			if g.IntN(6) > 0 {
				d += fmt.Sprintf(`,"%s":%s`, f, g.value())
			}
		}
		docs = append(docs, d+"}")
	}
	return docs
}

// indexes makes some and returns their names.
func (g *generator) indexes(w *world, partitioned bool) (names []string) {
	for i := range 2 + g.IntN(6) {
		fields := []string{"a", "b", "c", "_id", "a.x", "a.[]", "b.[]"}
		g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		var columns []string
		elements := false
		for _, f := range fields[:pick(g, 1, 1, 1, 2, 2, 3)] {
			if is := strings.HasSuffix(f, "[]"); !is || !elements {
				columns = append(columns, fmt.Sprintf(`"%s":"%s"`, f, pick(g, "asc", "desc")))
				elements = elements || is
			}
		}
		def := `{"fields":{` + strings.Join(columns, ",") + `}`
		if g.IntN(4) == 0 {
			def += `,"partial_filter_selector":` + g.selector(1)
		}
		if g.IntN(3) == 0 {
			def += `,"include":` + pick(g, `["c","b"]`, `["a.x","c"]`)
		}
		if g.IntN(2) == 0 {
			def += `,"sparse":` + pick(g, "false", "false", "true")
		}
		name := fmt.Sprint("i", i)
		w.index(name, def+"}", partitioned && g.IntN(2) == 0)
		names = append(names, name)
	}
	return names
}

// condition returns what a field is held against.
func (g *generator) condition() string {
	v := g.value()
	switch g.IntN(20) {
	case 0, 1:
		return v
	case 2:
		return `{"$gt":` + v + `}`
	case 3:
		return `{"$gte":` + v + `,"$lt":` + g.value() + `}`
	case 4:
		return `{"$lte":` + v + `}`
	case 5:
		return `{"$ne":` + v + `}`
	case 6, 7:
		return `{"$in":[` + v + `,` + g.value() + `,` + g.scalar() + `]}`
	case 8:
		return `{"$nin":[` + v + `]}`
	case 9:
		return `{"$exists":` + pick(g, "true", "false") + `}`
	case 10:
		return `{"$type":"` + pick(g, "null", "boolean", "number", "string", "array", "object") + `"}`
	case 11:
		return `{"$beginsWith":` + pick(g, `"a"`, `"x"`, `""`, `"ä"`, `"ส"`, `"中"`) + `}`
	case 12:
		return `{"$elemMatch":{"$gte":` + g.scalar() + `}}`
	case 13:
		return `{"$all":[` + v + `]}`
	case 14, 15:
		return `{"$all":[` + g.scalar() + `]}`
	case 16:
		return `{"$in":[` + g.scalar() + `,` + g.scalar() + `]}`
	case 17:
		return `{"$elemMatch":{"$in":[` + g.scalar() + `,` + g.scalar() + `]}}`
	case 18:
		return `{"$size":` + pick(g, "0", "1", "2") + `}`
	}
	return `{"$not":{"$regex":"` + pick(g, "a", "^x") + `"}}`
}

func (g *generator) selector(depth int) string {
	if depth > 0 && g.IntN(3) == 0 {
		op := pick(g, "$or", "$or", "$and", "$nor")
		return fmt.Sprintf(`{"%s":[%s,%s]}`, op, g.selector(depth-1), g.selector(depth-1))
	}
	fields := []string{"a", "b", "c", "a.x"}
	s := fmt.Sprintf(`{"%s":%s`, pick(g, fields...), g.condition())
	switch g.IntN(6) {
	case 0:
		s += fmt.Sprintf(`,"_id":{"%s":"%s"}`, pick(g, "$gt", "$lte", "$beginsWith"), pick(g, "d3", "p", "q:d2", "q:q"))
	case 1, 2:
		s += fmt.Sprintf(`,"$or":[{"%s":%s},{"%s":%s}]`, pick(g, fields...), g.condition(), pick(g, fields...), g.condition())
	}
	return s + "}"
}

// holdAlike runs a random request in every way and holds the answers to what is
// right.
func (w *world) holdAlike(g *generator, names []string, partition string) {
	w.t.Helper()
	request := `"selector":` + g.selector(2)
	sort := ""
	if g.IntN(3) == 0 {
		sort = pick(g, `["a"]`, `[{"a":"desc"}]`, `["a",{"b":"desc"}]`, `["_id"]`, `[{"b":"desc"},{"_id":"desc"}]`)
		request += `,"sort":` + sort
	}
	for _, use := range append(slices.Clone(names), "") {
		req := request
		if use != "" {
			req += fmt.Sprintf(`,"use_index":"%s","allow_fallback":false`, use)
		}
		w.holdOne(g, req, partition)
	}
}

func (w *world) holdOne(g *generator, request, partition string) {
	w.t.Helper()
	q, all, err := w.find(partition, "{"+request+`,"limit":1000}`)
	if dberr.Is(err, dberr.Invalid) {
		return // no index for the sort, or not the one named
	}
	must(w.t, err)
	fail := func(format string, args ...any) {
		w.t.Helper()
		w.t.Fatalf("{%s} in %q, %s%s", request, partition, q.plan, fmt.Sprintf(format, args...))
	}
	want := w.matching(q, partition)
	if got := slices.Sorted(slices.Values(all.ids)); !slices.Equal(got, want) {
		fail("got  %q\nwant %q", got, want)
	}
	if !slices.IsSortedFunc(all.docs, sortOrder(q.req.Sort)) {
		fail("not in order: %q", all.docs)
	}
	var paged []string
	bookmark, size := "", 1+g.IntN(7)
	for {
		q, page, err := w.find(partition, fmt.Sprintf(`{%s,"limit":%d,"bookmark":"%s"}`, request, size, bookmark))
		must(w.t, err)
		if len(page.ids) == 0 {
			break
		}
		paged, bookmark = append(paged, page.ids...), q.Bookmark()
	}
	if !slices.Equal(paged, all.ids) {
		fail("in pages of %d %q\nat once       %q", size, paged, all.ids)
	}
	if skip := g.IntN(5); len(all.ids) > skip {
		_, some, err := w.find(partition, fmt.Sprintf(`{%s,"limit":3,"skip":%d}`, request, skip))
		must(w.t, err)
		if end := min(skip+3, len(all.ids)); !slices.Equal(some.ids, all.ids[skip:end]) {
			fail("from %d on %q of %q", skip, some.ids, all.ids)
		}
	}
	w.holdCovered(g, request, partition, all, fail)
}

// holdCovered asks for fields that an index may hold.
func (w *world) holdCovered(g *generator, request, partition string, all *collected, fail func(string, ...any)) {
	w.t.Helper()
	fields := pick(g, `["a"]`, `["b","_id"]`, `["b","a.x"]`, `["c","b"]`, `["_id"]`)
	f, err := selector.ParseFields([]byte(fields))
	must(w.t, err)
	want := map[string]string{}
	for i, d := range all.docs {
		body, _, err := splitDoc(d)
		must(w.t, err)
		want[all.ids[i]] = string(f.Project(&selector.Doc{ID: all.ids[i], Body: body}))
	}
	_, got, err := w.find(partition, "{"+request+`,"limit":1000,"fields":`+fields+`}`)
	must(w.t, err)
	if len(got.ids) != len(want) {
		fail("fields: %q of %q", got.ids, all.ids)
	}
	for i, id := range got.ids {
		if got.docs[i] != want[id] {
			fail("fields of %s: got %s, want %s", id, got.docs[i], want[id])
		}
	}
	if strings.Contains(request, `"sort"`) {
		return
	}
	q, _, err := w.find(partition, "{"+request+`,"count":true}`)
	must(w.t, err)
	if q.summary.count != len(all.ids) {
		fail("count %d, want %d", q.summary.count, len(all.ids))
	}
}

// matching returns the ids of the documents that a query is right to find.
func (w *world) matching(q *Query, partition string) (ids []string) {
	w.t.Helper()
	must(w.t, w.scope(partition).View(ctx, func(r *store.Reader) error {
		for d, err := range r.Docs(store.Span{}, true) {
			if err != nil {
				return err
			}
			if d.Winner == nil || d.Doc.ID.IsDesign() {
				continue
			}
			doc := &selector.Doc{ID: string(d.Doc.ID), Body: d.Winner.Body}
			ok := matches(w.t, q.req.Selector, doc)
			for _, s := range q.req.Sort {
				ok = ok && doc.Lookup(s.Path) != nil
			}
			if x, is := q.plan.Branches[0].path.(*fieldPath); is && len(q.req.UseIndex) > 0 && x.def.Partial != nil {
				ok = ok && matches(w.t, x.def.Partial, doc)
			}
			if ok {
				ids = append(ids, doc.ID)
			}
		}
		return nil
	}))
	slices.Sort(ids)
	return ids
}

func splitDoc(d string) (body []byte, id string, err error) {
	b := []byte("{")
	for m := jsonscan.MembersOf([]byte(d)); ; {
		n, v, ok := m.Next()
		if !ok {
			return append(bytes.TrimRight(b, ","), '}'), id, nil
		}
		if name := string(jsonscan.Text(nil, n)); name == "_id" {
			id = string(jsonscan.Text(nil, v))
		} else if name[0] != '_' {
			b = append(append(append(append(b, n...), ':'), v...), ',')
		}
	}
}

// sortOrder compares documents as a sort asks.
func sortOrder(sort []SortField) func(a, b string) int {
	return func(a, b string) int {
		x, xid, _ := splitDoc(a)
		y, yid, _ := splitDoc(b)
		for _, s := range sort {
			c := 0
			if s.Path.String() == "_id" {
				c = strings.Compare(xid, yid)
			} else {
				c = keyspace.CompareJSON((&selector.Doc{Body: x}).Lookup(s.Path), (&selector.Doc{Body: y}).Lookup(s.Path))
			}
			if s.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	}
}

// TestLongValues sorts by values that keys can't hold: those that differ soon
// enough come in order, the others are found.
func TestLongValues(t *testing.T) {
	w := newWorld(t, false)
	long := strings.Repeat("abcdefghij", 300)
	w.put(`{"_id":"1","a":"b`+long+`2"}`, `{"_id":"2","a":"b`+long+`1"}`, `{"_id":"3","a":"a`+long+`"}`)
	w.index("a", `{"fields":{"a":"asc"}}`, false)
	w.build()
	for request, want := range map[string]string{
		`{"selector":{"a":{"$gt":null}},"sort":["a"]}`:             "3 1 2",
		`{"selector":{"a":"b` + long + `1"}}`:                      "2",
		`{"selector":{"a":{"$gt":"b` + long + `1"}}}`:              "1",
		`{"selector":{"a":{"$lt":"b` + long + `2"}},"sort":["a"]}`: "3 2",
	} {
		_, c, err := w.find("", request)
		must(t, err)
		if got := strings.Join(c.ids, " "); got != want {
			t.Errorf("%.60s: got %s, want %s", request, got, want)
		}
	}
}

// TestMissingBehindLongValues asks for fields that are missing where the key has no
// room for telling so.
func TestMissingBehindLongValues(t *testing.T) {
	w := newWorld(t, false)
	long := strings.Repeat("abcdefghij", 300)
	w.put(`{"_id":"1","a":"`+long+`"}`, `{"_id":"2","a":"`+long+`","b":1}`, `{"_id":"3","a":"`+long+`","b":null}`, `{"_id":"4","a":"x","b":2}`)
	w.index("ab", `{"fields":{"a":"asc","b":"asc"},"sparse":false}`, false)
	w.build()
	w.put(`{"_id":"5","a":"` + long + `"}`)
	for request, want := range map[string]string{
		`{"selector":{"a":"` + long + `"}}`:                                         "1 2 3 5",
		`{"selector":{"a":"` + long + `","b":{"$exists":false}}}`:                   "1 5",
		`{"selector":{"a":"` + long + `","b":{"$exists":false}},"fields":["_id"]}`:  "1 5",
		`{"selector":{"a":"` + long + `","b":{"$lt":2}}}`:                           "2 3",
		`{"selector":{"a":{"$gt":null}},"sort":["a","b"]}`:                          "2 3 4",
		`{"selector":{"a":{"$gt":null}},"sort":["a","b"],"fields":["_id","a","b"]}`: "2 3 4",
	} {
		q, c, err := w.find("", request)
		must(t, err)
		slices.Sort(c.ids) // rows of keys that are cut lie in no order
		if got := strings.Join(c.ids, " "); got != want || q.Warning() != "" {
			t.Errorf("%.60s…: got %s, want %s; %s", request, got, want, q.Warning())
		}
	}
}

func matches(t testing.TB, s *selector.Selector, d *selector.Doc) bool {
	t.Helper()
	ok, err := s.Match(d, selector.NewBudget(t.Context(), 0))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}
