package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// told is an indexer with one index, which notes what it is told.
type recording struct{ lines []string }

func (x *recording) Define(kv.Txn, *Database, document.ID, []byte) (bool, error) { return false, nil }
func (x *recording) Load(kv.Snapshot, Scope) (IndexSet, error)                   { return x, nil }
func (x *recording) Renew(kv.Txn, Scope, IndexSet) error                         { return nil }
func (x *recording) Defined(Scope)                                               {}
func (x *recording) Check(*Reader) ([]error, error)                              { return nil, nil }
func (x *recording) Follows() bool                                               { return false }
func (x *recording) Following() Following                                        { return Following{} }
func (x *recording) Slow() bool                                                  { return false }
func (x *recording) Derive(context.Context, *Revision) (any, error)              { return nil, nil }

func (x *recording) Apply(_ kv.Txn, before, after *Revision) error {
	line := ""
	for _, r := range []*Revision{before, after} {
		if r == nil {
			r = &Revision{Body: []byte("nothing")}
		}
		line += fmt.Sprintf("%s -> ", r.Body)
	}
	x.lines = append(x.lines, line[:len(line)-4])
	return nil
}

// TestPurgedAndBack purges a document and brings its revision again with another
// body, in one commit: indexes are told of the other body.
func TestPurgedAndBack(t *testing.T) {
	x := &recording{}
	w := newWorld(t, Options{Indexer: x})
	d := w.create("db", false)
	w.mustWrite(d, replicated(t, "a", `{"n":1}`, "1-aa"))
	purge := func(g *group) error {
		_, err := g.purge(Purging{ID: "a", Revs: []document.Rev{rev(t, "1-aa")}}, &removing{})
		return err
	}
	_, write := writing(t, d, replicated(t, "a", `{"n":2}`, "1-aa"))
	for _, err := range together(d, purge, write) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, last := w.get(d, "a"), x.lines[len(x.lines)-1]; got != `1-aa {"n":2}` || last != `{"n":1} -> {"n":2}` {
		t.Errorf("it is %s, the indexes were told %q", got, x.lines)
	}
	w.check()
}
