package query

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
)

var ctx = context.Background()

// cacheBytes holds all documents of the tests and benchmarks.
const cacheBytes = 128 << 20

// world is a database with indexes, whose builds run when they are waited for.
type world struct {
	t       testing.TB
	indexes *index.Indexes
	db      *store.Database
}

func newWorld(t testing.TB, partitioned bool) *world {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: cacheBytes})
	must(t, err)
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}, geo.Fields{}, text.New(text.Options{Analyze: func(definition []byte) (text.Analyzers, error) {
		return analyze.New(definition)
	}})}, Idle: true})
	s, err := store.Open(ctx, e, store.Options{Indexer: x, Idle: true})
	must(t, err)
	must(t, x.Start(ctx, s))
	_, err = s.Create(ctx, "db", store.Creation{Partitioned: partitioned})
	must(t, err)
	db, err := s.Database(ctx, "db")
	must(t, err)
	t.Cleanup(func() {
		x.Close()
		if err := s.Check(ctx); err != nil {
			t.Errorf("the store is not sound at the end: %v", err)
		}
		must(t, s.Close())
		must(t, e.Close())
	})
	return &world{t, x, db}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes documents, given with their _id.
func (w *world) put(docs ...string) {
	w.t.Helper()
	edits := make([]document.Edit, len(docs))
	for i, d := range docs {
		body, _, err := document.Split([]byte(d))
		must(w.t, err)
		id, _ := jsonscan.Member([]byte(d), "_id")
		edits[i] = document.Edit{ID: document.ID(jsonscan.Text(nil, id)), Body: body}
	}
	results, err := w.db.Whole().Write(ctx, edits, store.WriteOptions{})
	must(w.t, err)
	for _, r := range results {
		must(w.t, r.Err)
	}
}

// index makes a design document with one index of the same name. It is still to
// be built.
func (w *world) index(name, definition string, partitioned bool) {
	w.t.Helper()
	w.put(fmt.Sprintf(`{"_id":"_design/%s","language":"query","views":{"%s":{"map":%s}},"options":{"partitioned":%v}}`,
		name, name, definition, partitioned))
}

// places makes a geo index, which is still to be built.
func (w *world) places(name, definition string, partitioned bool) {
	w.t.Helper()
	w.put(fmt.Sprintf(`{"_id":"_design/%s","language":"query","st_indexes":{"%s":{"index":%s}},"options":{"partitioned":%v}}`, name, name, definition, partitioned))
}

// build brings all indexes up to date.
func (w *world) build() {
	w.t.Helper()
	must(w.t, w.indexes.Run(ctx, w.db))
}

// scope is the whole database or a partition of it.
func (w *world) scope(partition string) store.Scope {
	if partition == "" {
		return w.db.Whole()
	}
	return w.db.Within(document.Partition(partition))
}

// collected takes the rows of an answer.
type collected struct {
	ids  []string
	docs []string
	req  *Request
	page int // rows after which a page is full; 0 for no bound
	rows int
}

func (c *collected) Row(row *Row) (bool, error) {
	c.ids = append(c.ids, row.Doc.ID)
	c.docs = append(c.docs, c.text(row))
	c.rows++
	return c.rows == c.page, nil
}

// text returns a row in the form of the answers of _find.
func (c *collected) text(row *Row) string {
	if row.Rev == nil || c.req != nil && !c.req.Fields.All() {
		return string(c.req.Fields.Project(&row.Doc))
	}
	return string(couchwire.AppendDocument(nil, &couchwire.Revision{ID: row.Rev.ID, Rev: row.Rev.Rev, Body: row.Rev.Body}, couchwire.Form{}))
}

func (c *collected) Page() error {
	c.rows = 0
	return nil
}

// find runs a request.
func (w *world) find(partition, request string) (*Query, *collected, error) {
	w.t.Helper()
	req, err := Parse([]byte(request))
	if err != nil {
		return nil, nil, err
	}
	q, c := New(req, w.scope(partition), w.indexes), &collected{req: req}
	return q, c, q.Run(ctx, c)
}

// String returns the plan as text, for tests and people.
func (p *Plan) String() string {
	var b strings.Builder
	for _, x := range p.Branches {
		fmt.Fprint(&b, x.label())
		if x.descending {
			b.WriteString(" descending")
		}
		if x.Covering() {
			b.WriteString(" covering")
		}
		b.WriteByte('\n')
		for i := range x.ranges {
			fmt.Fprintf(&b, "  %s\n", &x.ranges[i])
		}
		if len(x.ranges) == 0 {
			b.WriteString("  nothing\n")
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}
