package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// words makes a text index, which is still to be built.
func (w *world) words(name, definition string, partitioned bool) {
	w.t.Helper()
	w.put(fmt.Sprintf(`{"_id":"_design/%s","language":"query","indexes":{"%s":{"index":%s}},"options":{"partitioned":%v}}`, name, name, definition, partitioned))
}

// TestTextPath plans and runs over text indexes.
func TestTextPath(t *testing.T) {
	w := newWorld(t, false)
	w.put(`{"_id":"a","name":"Ada","age":36,"note":"the quick brown fox"}`, `{"_id":"b","name":"Bob","age":7,"note":"brown bears"}`,
		`{"_id":"c","name":"Cleo","age":7,"note":"nothing"}`, `{"_id":"d","age":"old","note":"quick"}`)
	w.words("every", `{}`, false)
	w.words("ages", `{"fields":[{"name":"age","type":"number"}],"default_field":{"enabled":false}}`, false)
	w.index("name", `{"fields":["name"]}`, false)
	w.build()
	for _, c := range []struct{ request, plan, ids string }{
		{`{"selector":{"$text":"quick"}}`, "_design/every/every", "d a"}, // the shorter text is the better
		{`{"selector":{"$text":"QUICK brown"}}`, "_design/every/every", "a"},
		{`{"selector":{"$text":"brown","age":7}}`, "_design/every/every", "b"},
		{`{"selector":{"$text":"brown"},"sort":[{"age:number":"desc"}]}`, "_design/every/every", "a b"},
		{`{"selector":{"$text":"brown","age":{"$gt":1}},"sort":["age"]}`, "_design/every/every", "b a"},
		{`{"selector":{"age":{"$gt":0},"note":{"$gt":null}},"sort":["age"]}`, "_design/every/every", "d b c a"}, // a text is not a number: it counts as 0
		{`{"selector":{"$or":[{"note":"quick"},{"name":"Ada"}]},"sort":[{"note":"desc"},"name"]}`, "_design/every/every", "a d"},
		{`{"selector":{"name":{"$gt":"A"}},"sort":["name"]}`, "_design/name/name", "a b c"}, // no guess where there is an index
		{`{"selector":{"note":{"$type":"string"}},"sort":["note:string"]}`, "_design/every/every", "b c d a"},
		{`{"selector":{"age":7}}`, "_design/ages/ages", "b c"},
		{`{"selector":{"age":{"$gt":7}}}`, "_design/every/every", "a d"},
		{`{"selector":{"age":{"$gt":7}},"use_index":"ages"}`, "_design/ages/ages", "a"},
		{`{"selector":{"name":"Bob"}}`, "_design/name/name", "b"}, // json is preferred
		{`{"selector":{"note":"quick"}}`, "_design/every/every", "d"},
		{`{"selector":{"note":{"$exists":false}}}`, "_all_docs", ""},
		{`{"selector":{"$or":[{"name":"Bob"},{"note":"quick"}]}}`, "_design/every/every", "b d"},
		{`{"selector":{"$text":"quick"},"count":true}`, "_design/every/every", ""},
		{`{"selector":{"$text":"quick"},"skip":1}`, "_design/every/every", "a"},
		{`{"selector":{"$and":[{"$text":"quick"},{"$text":"fox"}]}}`, "_design/every/every", "a"},
		{`{"selector":{"$or":[{"$text":"fox"},{"$text":"bears"}]},"sort":["name:string"]}`, "_design/every/every", "a b"},
		{`{"selector":{"$or":[{"$text":"fox"},{"age":7}]},"sort":["name:string"]}`, "_design/every/every", "a b c"},
		{`{"selector":{"$or":[{"$text":"fox"},{"age":7}],"name":{"$gt":"B"}},"sort":["name:string"]}`, "_design/every/every", "b c"},
		{`{"selector":{"$or":[{"$text":"fox"},{"name":{"$exists":false}}]},"sort":["note:string"]}`, "_design/every/every", "d a"},
		{`{"selector":{"$or":[{"$text":"nowhere"},{"$and":[{"$text":"brown"},{"age":{"$ne":7}}]}]}}`, "_design/every/every", "a"},
		{`{"selector":{"$text":"quick"},"use_index":"every"}`, "_design/every/every", "d a"},
	} {
		q, got, err := w.find("", c.request)
		must(t, err)
		plan, _, _ := strings.Cut(q.plan.String(), "\n")
		if ids := strings.Join(got.ids, " "); ids != c.ids || plan != c.plan {
			t.Errorf("%s: %q by %s", c.request, ids, q.plan)
		}
	}
	for request, code := range map[string]string{
		`{"selector":{"$text":"a"},"use_index":"ages","allow_fallback":false}`:    "invalid_index",
		`{"selector":{"a":{"$elemMatch":{"$text":"b"}}}}`:                         "bad_field",
		`{"selector":{"$or":[{"$text":"a"},{"a":{"$elemMatch":{"$text":"b"}}}]}}`: "bad_field",
		`{"selector":{"$not":{"$text":"a"}}}`:                                     "bad_arg", `{"selector":{"$text":"a"},"sort":["age"]}`: "text_sort_error",
		`{"selector":{"note":{"$gt":null}},"sort":["note"]}`:                 "text_sort_error",
		`{"selector":{"$or":[{"age":1},{"age":"1"}]},"sort":["age"]}`:        "text_sort_error",
		`{"selector":{"age":7},"sort":["height:number"],"use_index":"none"}`: "",
		`{"selector":{"$text":"a"},"bookmark":"nonsense"}`:                   "invalid_bookmark",
	} {
		_, _, err := w.find("", request)
		var e *dberr.Error
		if code == "" && err == nil {
			continue
		}
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v, want %s", request, err, code)
		}
	}
	w.words("partial", `{"partial_filter_selector":{"age":7}}`, false)
	w.build()
	if _, got, err := w.find("", `{"selector":{"$text":"quick","age":7}}`); err != nil || len(got.ids) > 0 {
		t.Errorf("a partial index that nobody named: %v %v", got, err)
	}
	w.words("same", `{}`, false)
	w.build()
	if _, got, err := w.find("", `{"selector":{"$text":"quick"}}`); err != nil || len(got.ids) != 2 {
		t.Errorf("two names of an index: %v %v", got, err)
	}
	w.words("other", `{"default_field":{"analyzer":"keyword"}}`, false)
	w.build()
	for request, want := range map[string]error{`{"selector":{"$text":"quick"}}`: errManyTexts, `{"selector":{"$text":"quick"},"use_index":"every"}`: nil, `{"selector":{"note":"quick"}}`: nil} {
		if _, _, err := w.find("", request); !errors.Is(err, want) {
			t.Errorf("%s with several text indexes: %v", request, err)
		}
	}
	plain := newWorld(t, false)
	for _, silent := range []string{"silent", "dumb"} {
		if _, _, err := plain.find("", `{"selector":{"$text":"a"}}`); !errors.Is(err, errNoText) {
			t.Errorf("$text before there is an index %s: %v", silent, err)
		}
		plain.words(silent, `{"default_field":false}`, false)
		plain.build()
	}
}

// TestTextFollows finds what was written a moment ago, and not what is gone.
func TestTextFollows(t *testing.T) {
	w := newWorld(t, true)
	w.words("own", `{}`, true)
	w.words("global", `{}`, false)
	w.put(`{"_id":"p:a","note":"quick"}`, `{"_id":"q:a","note":"quick"}`)
	find := func(partition, request, want string) {
		t.Helper()
		q, got, err := w.find(partition, request)
		must(t, err)
		if ids := strings.Join(got.ids, " "); ids != want {
			t.Errorf("%s in %q: %s, want %s by %s", request, partition, ids, want, q.plan)
		}
	}
	find("", `{"selector":{"$text":"quick"}}`, "p:a q:a")
	find("p", `{"selector":{"$text":"quick"}}`, "p:a")
	w.put(`{"_id":"p:b","note":"quick"}`)
	find("p", `{"selector":{"$text":"quick"},"update":false}`, "p:a")
	find("p", `{"selector":{"$text":"quick"}}`, "p:a p:b")
	find("q", `{"selector":{"note":"quick"}}`, "q:a")
}

// must1 returns a request that can be read.
func must1(r *Request, err error) *Request {
	if err != nil {
		panic(err)
	}
	return r
}

// TestTenantsText reads the database's partitioned text index for a tenant, who has other
// ids and nobody else's documents.
func TestTenantsText(t *testing.T) {
	w := newWorld(t, true)
	w.words("shared", `{}`, true)
	w.words("global", `{"default_field":{"analyzer":"keyword"}}`, false)
	w.put(`{"_id":"p:a","note":"quick","n":1}`, `{"_id":"p:b","note":"quick bears","n":2}`, `{"_id":"q:a","note":"quick","n":1}`)
	find := func(tenant, request, want string) {
		t.Helper()
		req, err := Parse([]byte(request))
		must(t, err)
		q, got := New(req, w.db.Tenant(document.Partition(tenant)), w.indexes), &collected{req: req}
		must(t, q.Run(ctx, got))
		if ids, by := strings.Join(got.ids, " "), q.plan.Branches[0].label(); ids != want || by != "_design/shared/shared" {
			t.Errorf("%s of %s: %q by %s, want %q", request, tenant, ids, by, want)
		}
		if q.Bookmark() != NoBookmark {
			req.Bookmark = q.Bookmark()
			rest := &collected{req: req}
			if err := New(req, w.db.Tenant(document.Partition(tenant)), w.indexes).Run(ctx, rest); err != nil || len(rest.ids) > 0 {
				t.Errorf("%s of %s goes on with %v %v", request, tenant, rest.ids, err)
			}
		}
	}
	find("p", `{"selector":{"$text":"quick"}}`, "a b")
	find("q", `{"selector":{"$text":"quick"}}`, "a")
	find("q", `{"selector":{"$text":"bears"}}`, "")
	find("p", `{"selector":{"note":"quick bears"}}`, "b")
	find("p", `{"selector":{"_id":"b","$text":"quick"}}`, "b")
	find("p", `{"selector":{"_id":"p:b","$text":"quick"}}`, "")
	find("p", `{"selector":{"$or":[{"$text":"bears"},{"n":1}]},"sort":[{"n":"desc"}]}`, "b a")
	w.put(`{"_id":"p:c","note":"quick","n":3}`) // it follows
	find("p", `{"selector":{"$text":"quick"},"sort":["n:number"]}`, "a b c")
	find("p", `{"selector":{"n":{"$gte":2}},"use_index":"shared"}`, "b c")
	w.put(`{"_id":"p:_design/own","language":"query","indexes":{"i":{"index":{"partial_filter_selector":{"n":1}}}}}`, `{"_id":"p:_design/mine","language":"query","indexes":{"i":{"index":{"index_array_lengths":false}}}}`)
	q := New(must1(Parse([]byte(`{"selector":{"$text":"quick"}}`))), w.db.Tenant("p"), w.indexes)
	if err := q.Run(ctx, &collected{req: q.req}); err != nil || q.plan.Branches[0].label() != "_design/mine/i" {
		t.Errorf("with an index of its own: %v", err)
	}
	find("p", `{"selector":{"$text":"quick"},"use_index":"shared"}`, "a c b")
}

// TestTextPages reads answers page by page, from the index and from all documents.
func TestTextPages(t *testing.T) {
	w := newWorld(t, false)
	r := rand.New(rand.NewPCG(5, 5))
	values := strings.Split(`null|true|0|7|-2.5|"a"|"ab"|"b c"|[]|{}|[1,"a"]|{"x":7}`, "|")
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf(`{"_id":"d%03d","a":%s,"b":%s}`, i, values[r.IntN(len(values))], values[r.IntN(len(values))]))
	}
	w.put(all...)
	w.words("words", `{}`, false)
	w.words("unmeasured", `{"index_array_lengths":false}`, false)
	for _, selector := range []string{`{"a":7}`, `{"a":{"$gt":0}}`, `{"a":{"$lt":"b"}}`, `{"a":{"$ne":7},"b":{"$in":["a",0,null]}}`, `{"$or":[{"a":"a"},{"b":{"$gte":7}}]}`, `{"a.x":7}`, `{"a":{"$size":2}}`} {
		_, want, err := w.find("", fmt.Sprintf(`{"selector":{"$and":[%s,{"_id":{"$gt":null}}]},"use_index":"_all_docs","limit":1000}`, selector))
		must(t, err)
		slices.Sort(want.ids)
		for _, by := range []string{"words", "unmeasured"} {
			got := w.pages(selector, by)
			if len(want.ids) == 0 || !slices.Equal(got, want.ids) {
				t.Errorf("%s by %s: %v, want %v", selector, by, got, want.ids)
			}
		}
	}
}

// pages returns the ids that a selector finds by an index, page by page.
func (w *world) pages(selector, by string) (ids []string) {
	w.t.Helper()
	for bookmark := ""; ; {
		q, page, err := w.find("", fmt.Sprintf(`{"selector":%s,"limit":7,"bookmark":%q,"use_index":%q,"allow_fallback":false}`, selector, bookmark, by))
		must(w.t, err)
		if len(page.ids) == 0 {
			slices.Sort(ids)
			return ids
		}
		ids, bookmark = append(ids, page.ids...), q.Bookmark()
	}
}

// secretive is a redactor that shows nothing of a document but its id.
type secretive struct{}

func (secretive) Redact(*store.Revision) ([]byte, error) { return []byte("{}"), nil }

// TestTextIsNotRedacted keeps those from asking for words who must not see them.
func TestTextIsNotRedacted(t *testing.T) {
	w := newWorld(t, false)
	w.words("every", `{}`, false)
	w.put(`{"_id":"a","note":"quick"}`)
	if _, got, err := w.find("", `{"selector":{"$text":"quick"}}`); err != nil || len(got.ids) != 1 {
		t.Errorf("%v %v", got, err)
	}
	for _, request := range []string{`{"selector":{"$text":"quick"}}`, `{"selector":{"note":"quick"},"use_index":"every","allow_fallback":false}`} {
		req, err := Parse([]byte(request))
		must(t, err)
		if err := New(req, w.db.Whole().RedactedBy(&secretive{}), w.indexes).Run(ctx, &collected{req: req}); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%s: %v", request, err)
		}
	}
}

// TestDamagedText: whoever meets damage, in planning, reading or explaining, is told so, and
// the next one has an index that was built again.
func TestDamagedText(t *testing.T) {
	for name, ask := range map[string]func(w *world) error{
		"plan": func(w *world) error { // two that look alike are read to compare them
			_, _, err := w.find("", `{"selector":{"note":"quick"}}`)
			return err
		},
		"read": func(w *world) error {
			_, _, err := w.find("", `{"selector":{"note":"quick"},"use_index":"one"}`)
			return err
		},
		"explain": func(w *world) error {
			req, err := Parse([]byte(`{"selector":{"$text":"quick"},"use_index":"one","execution_stats":true}`))
			must(w.t, err)
			_, err = Explain(ctx, req, w.db.Whole(), w.indexes)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.words("one", `{}`, false)
			if name == "plan" {
				w.words("two", `{"index_array_lengths":false}`, false)
			}
			w.put(`{"_id":"a","note":"quick"}`, `{"_id":"b","note":"slow"}`)
			w.build()
			must(t, w.db.Commit(ctx, func(tx kv.Txn) error {
				var chunks [][]byte
				err := kv.Each(tx, kv.Prefix(keyspace.TextChunk.Key(w.db.Number())), func(key, _ []byte) error {
					chunks = append(chunks, slices.Clone(key))
					return nil
				})
				for _, key := range chunks {
					value, got := tx.Get(key)
					if value[len(value)/2] ^= 1; err == nil && got == nil {
						err = tx.Put(key, value)
					}
				}
				return err
			}))
			told := 0
			for told < 3 { // the planner meets one, and then the other
				err := ask(w)
				if err == nil {
					break
				}
				if told++; !dberr.Is(err, dberr.Unavailable) {
					t.Fatalf("who asks is told %v", err)
				}
			}
			if told == 0 || told == 3 {
				t.Fatalf("%d were told of the damage", told)
			}
			if _, got, err := w.find("", `{"selector":{"$text":"quick"},"use_index":"one"}`); err != nil || len(got.ids) != 1 {
				t.Errorf("at the end: %v %v", got, err)
			}
		})
	}
}
