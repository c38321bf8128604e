package view

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

// hanging runs maps as goFunctions does, but for documents with a member "hang",
// for which they have to be stopped.
type hanging struct {
	goFunctions
	calls *int
}

func (f hanging) Map(ctx context.Context, s Script, docs [][]byte) ([]index.Mapped, error) {
	*f.calls++
	all, err := f.goFunctions.Map(ctx, s, docs)
	if err != nil {
		return nil, err
	}
	stopped := 0
	for i, doc := range docs {
		if strings.Contains(string(doc), `"hang"`) {
			all[i] = index.Mapped{Err: dberr.New(dberr.Timeout, "", "Too slow."), Stopped: true}
			stopped++
		}
	}
	if stopped >= script.MaxStopped {
		return nil, &index.Broken{Err: dberr.New(dberr.Timeout, "", "Too slow.")}
	}
	return all, nil
}

// hangs returns documents that functions hang for: id and body in turn.
func hangs(from, to int) (pairs []string) {
	for n := from; n < to; n++ {
		pairs = append(pairs, fmt.Sprintf("h%02d", n), `{"hang":true}`)
	}
	return pairs
}

func brokenWorld(t *testing.T) (w *world, calls *int) {
	calls = new(int)
	w = newWorld(t, &Kind{functions: hanging{calls: calls}}, false)
	w.put("a", `{"n":1}`)
	return w, calls
}

// catchUp brings view v of a design document up to now.
func (w *world) catchUp(id string) error {
	w.Helper()
	x := w.index(id)
	var m store.Sequences
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) (err error) {
		m, err = r.Sequences()
		return err
	}))
	return w.indexes.CatchUp(ctx, w.db, x, m)
}

// TestBroken holds that a view whose function has to be stopped for too many
// documents fails: in one batch, one by one, while it is built and afterwards. Fewer
// do not harm. Who asks for it is told why, and nothing is tried again.
func TestBroken(t *testing.T) {
	const emits = "function(doc){ emit(doc.n); }"
	for name, make := range map[string]func(w *world){
		"while it is built": func(w *world) {
			w.put(hangs(0, script.MaxStopped)...)
			w.define("d", emits, "", "")
		},
		"afterwards": func(w *world) {
			w.define("d", emits, "", "")
			w.follow()
			w.put(hangs(0, script.MaxStopped)...)
		},
		"one by one": func(w *world) {
			w.put(hangs(0, 1)...)
			w.define("d", emits, "", "")
			for n := 1; n < script.MaxStopped; n++ {
				if w.follow(); w.rows("d", "", Range{}, 0) != "1 a null\n" {
					t.Errorf("after %d documents: %s", n, w.rows("d", "", Range{}, 0))
				}
				w.put(hangs(n, n+1)...)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, calls := brokenWorld(t)
			make(w)
			w.define("good", "function(doc){ emit(doc.hang ? 1 : 2); }", "", "")
			err := w.catchUp("d")
			if !dberr.Is(err, dberr.Internal) || !strings.Contains(err.Error(), fmt.Sprintf("had to be stopped for %d documents", script.MaxStopped)) {
				t.Fatalf("asked: %v", err)
			}
			x := w.index("d")
			if x.State != index.Failed || x.Failure() == nil || !strings.Contains(err.Error(), x.Reason) {
				t.Errorf("%s, %v", x.State, x.Failure())
			}
			before := *calls
			if err := w.catchUp("d"); err == nil || *calls != before {
				t.Errorf("asked again: %v, %d more runs", err, *calls-before)
			}
		})
	}
}

// TestBrokenIsOver holds what ends it: another definition, the same one after its
// deletion, and a server that starts. What was removed meanwhile is not in the index then.
func TestBrokenIsOver(t *testing.T) {
	const emits = "function(doc){ emit(doc.n); }"
	for name, end := range map[string]func(w *world){
		"another definition": func(w *world) { w.define("d", emits+" ", "", "") },
		"deletion": func(w *world) {
			w.put("_design/d", "")
			w.define("d", emits, "", "")
		},
		"start": func(w *world) { must(w, w.indexes.Start(ctx, w.store)) },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := brokenWorld(t)
			w.put("gone", `{"n":7}`)
			w.define("d", emits, "", "")
			w.follow()
			w.put(hangs(0, script.MaxStopped)...)
			if err := w.catchUp("d"); err == nil {
				t.Fatal("it is not broken")
			}
			w.define("other", "function(doc){ emit(doc.n); emit(1); }", "", "") // to forget removals
			must(t, w.db.Whole().View(ctx, func(r *store.Reader) error {
				doc, err := r.Doc("gone")
				if err == nil {
					defer func() {
						_, err := w.db.Purge(ctx, []store.Purging{{ID: "gone", Revs: []document.Rev{doc.Tree.Winner().Rev}}})
						must(t, err)
					}()
				}
				return err
			}))
			for n := range script.MaxStopped {
				w.put(fmt.Sprintf("h%02d", n), `{"n":2}`)
			}
			w.follow()
			end(w)
			w.follow()
			if got, want := w.rows("d", "", Range{}, 0), "1 a null\n2 h00 null\n2 h01 null\n2 h02 null\n2 h03 null\n2 h04 null\n"; got != want {
				t.Errorf("%s", got)
			}
			if x := w.index("d"); x.State != index.Readable || x.Failure() != nil {
				t.Errorf("%s, %v", x.State, x.Failure())
			}
		})
	}
}
