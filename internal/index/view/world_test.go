package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/script/compiled"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

var ctx = context.Background()

// goFunctions runs maps compiled, and reduce functions written in Go, which the
// source names.
type goFunctions struct{ reduces, rereduces *int }

func (f goFunctions) Map(_ context.Context, s Script, docs [][]byte) ([]index.Mapped, error) {
	m, why := compiled.Compile(s.Map)
	if m == nil {
		return nil, errors.New(why)
	}
	all := make([]index.Mapped, len(docs))
	machine := m.NewMachine()
	for i, doc := range docs {
		rows, err := machine.Run(context.Background(), doc, nil)
		all[i].Err = err
		for _, r := range rows {
			all[i].Rows = append(all[i].Rows, index.Emitted{Key: r.Key, Value: r.Value})
		}
	}
	return all, nil
}

func (f goFunctions) Reduce(_ context.Context, s Script, groups []Rows) (all []Reduction, err error) {
	if f.reduces != nil {
		*f.reduces++
	}
	for _, g := range groups {
		if jsonscan.Len(g.Keys) != jsonscan.Len(g.Values) {
			return nil, errors.New("keys and values differ in number")
		}
		all = append(all, call(s.Reduce, g.Values, false))
	}
	return all, nil
}

func (f goFunctions) Rereduce(_ context.Context, s Script, values [][]byte) (all []Reduction, err error) {
	if f.rereduces != nil {
		*f.rereduces++
	}
	for _, v := range values {
		all = append(all, call(s.Reduce, v, true))
	}
	return all, nil
}

// call is the reduce functions: "length" counts, "list" gathers all values,
// "throw" throws, "hang" meets a limit.
func call(name string, values []byte, again bool) Reduction {
	switch name {
	case "throw":
		return Reduction{Err: errors.New("thrown")}
	case "hang":
		return Reduction{Err: dberr.New(dberr.Timeout, "os_process_error", "The function did not end in time."), Limit: true}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(values, &list); err != nil {
		return Reduction{Err: err}
	}
	if name == "length" {
		n := len(list)
		if again {
			n = 0
			for _, v := range list {
				var m int
				if err := json.Unmarshal(v, &m); err != nil {
					return Reduction{Err: err}
				}
				n += m
			}
		}
		return Reduction{Value: fmt.Append(nil, n)}
	}
	var flat []string
	for _, v := range list {
		if text := strings.Trim(string(v), "[]"); !again {
			flat = append(flat, string(v))
		} else if text != "" {
			flat = append(flat, text)
		}
	}
	return Reduction{Value: []byte("[" + strings.Join(flat, ",") + "]")}
}

// world is a store with views.
type world struct {
	testing.TB
	kind    *Kind
	indexes *index.Indexes
	store   *store.Store
	db      *store.Database
}

func newWorld(t testing.TB, k *Kind, partitioned bool) *world {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	must(t, err)
	return newWorldOver(t, e, k, partitioned)
}

func newWorldOver(t testing.TB, e kv.Engine, k *Kind, partitioned bool) *world {
	t.Helper()
	var err error
	w := &world{TB: t, kind: k, indexes: index.New(index.Options{Kinds: []index.Kind{k}, Idle: true})}
	w.store, err = store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Idle: true, Indexer: w.indexes})
	must(t, err)
	t.Cleanup(func() {
		w.indexes.Close()
		must(t, w.store.Close())
		must(t, e.Close())
	})
	w.db, err = w.store.Create(ctx, "db", store.Creation{Partitioned: partitioned})
	must(t, err)
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes documents, over what is there: id and body in turn.
func (w *world) put(pairs ...string) {
	w.Helper()
	var edits []document.Edit
	for i := 0; i < len(pairs); i += 2 {
		e := document.Edit{ID: document.ID(pairs[i]), Body: []byte(pairs[i+1])}
		must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
			if d, err := r.Winner(e.ID); err == nil {
				e.Parent = d.Rev
			}
			return nil
		}))
		if pairs[i+1] == "" {
			e.Body, e.Deleted = []byte("{}"), true
		}
		edits = append(edits, e)
	}
	rs, err := w.db.Whole().Write(ctx, edits, store.WriteOptions{})
	must(w, err)
	for _, r := range rs {
		must(w, r.Err)
	}
}

// define writes a design document with one view v.
func (w *world) define(id, mapping, reduce, more string) {
	w.Helper()
	v := map[string]any{"map": mapping}
	if reduce != "" {
		v["reduce"] = reduce
	}
	b, err := json.Marshal(map[string]any{"v": v})
	must(w, err)
	w.put("_design/"+id, `{"views":`+string(b)+more+`}`)
}

// follow brings all indexes up to date.
func (w *world) follow() {
	w.Helper()
	must(w, w.indexes.Run(ctx, w.db))
}

// index returns the index of view v of a design document.
func (w *world) index(id string) (x *index.Index) {
	w.Helper()
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r)
		if n := s.Lookup(document.ID("_design/"+id), KindName, "v"); n != nil {
			x = n.Index
		}
		return err
	}))
	if x == nil {
		w.Fatalf("no view in %s", id)
	}
	return x
}

// read reads view v of a design document.
func (w *world) read(id string, p document.Partition, fn func(*Reader) error) {
	w.Helper()
	x := w.index(id)
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
		v, err := NewReader(r, x, p)
		if err != nil {
			return err
		}
		defer v.Close()
		return fn(v)
	}))
}

// rows returns the rows of a range as text, with offset and total.
func (w *world) rows(id string, p document.Partition, q Range, skip uint64) (text string) {
	w.Helper()
	w.read(id, p, func(v *Reader) error {
		s, err := v.Span(q)
		if err != nil {
			return err
		}
		if s, err = v.Skip(s, skip); err != nil {
			return err
		}
		for r, err := range v.Rows(s) {
			if err != nil {
				return err
			}
			text += fmt.Sprintf("%s %s %s\n", r.Key, r.ID, r.Value)
		}
		return nil
	})
	return text
}

// groups returns the groups of a range as text.
func (w *world) groups(id string, p document.Partition, q Range, level, page int) (text string) {
	w.Helper()
	var rest Span
	for first := true; first || !rest.Empty(); first = false {
		var groups []Group
		w.read(id, p, func(v *Reader) (err error) {
			if first {
				if rest, err = v.Span(q); err != nil {
					return err
				}
			}
			groups, rest, err = v.Groups(rest, level, page)
			return err
		})
		must(w, w.kind.Values(ctx, w.db, w.index(id), groups))
		for _, g := range groups {
			if g.Failed != nil {
				text += fmt.Sprintf("%s failed: %v\n", g.Key, g.Failed)
			} else {
				text += fmt.Sprintf("%s %s\n", g.Key, g.Value)
			}
		}
	}
	return text
}

func openEngine(t *testing.T) kv.Engine {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	must(t, err)
	return e
}
