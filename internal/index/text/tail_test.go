package text

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/store"
)

// amended reads the index with its tail; ok is false if that is left to the index.
func (w *world) amended(fn func(r *segment.Reader) error) (ok bool, err error) {
	x := w.index()
	var over *segment.Reader
	var tail *index.Tail
	err = w.db.Whole().View(ctx, func(r *store.Reader) (err error) {
		if tail, err = w.indexes.Tail(r, x); tail != nil && err == nil {
			over, err = w.kind.NewReader(r, x, "")
		}
		return err
	})
	if tail == nil || err != nil {
		return false, err
	}
	if ok, err = w.kind.Amend(ctx, over, w.db, x, "", tail); ok {
		w.indexes.Keep(w.db, tail)
		err = fn(over)
	}
	return ok, errors.Join(err, over.Close())
}

// TestTailsAtOnce has several clients write and search in turn, while the index follows
// them: each finds what it wrote, and nothing of what it wrote before, whoever made the
// piece of the tail that has it.
func TestTailsAtOnce(t *testing.T) {
	w := newWorld(t, testKind(Options{}))
	w.follow()
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			id, rev := document.ID(fmt.Sprintf("p:%d", c)), document.Rev{}
			for n := range 40 {
				word := fmt.Sprintf("word%dof%d", n, c)
				rs, err := w.db.Whole().Write(ctx, []document.Edit{{ID: id, Parent: rev, Body: fmt.Appendf(nil, `{"t":%q}`, word+" "+fmt.Sprint("of", c))}}, store.WriteOptions{})
				if err = errors.Join(err, rs[0].Err); err != nil {
					t.Error(err)
					return
				}
				rev = rs[0].Rev
				ok, err := w.amended(func(r *segment.Reader) error {
					for term, want := range map[string]uint64{word: 1, fmt.Sprint("of", c): 1, fmt.Sprintf("word%dof%d", n-1, c): 0} {
						found, err := r.TermFieldReader(ctx, []byte(term), "t", false, false, false)
						if err != nil {
							return err
						}
						if found.Count() != want {
							return fmt.Errorf("%s is in %d documents instead of %d", term, found.Count(), want)
						}
					}
					return nil
				})
				if !ok || err != nil {
					t.Errorf("after %s: %v %v", word, ok, err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	for following := true; following; {
		select {
		case <-done:
			following = false
		default:
			must(t, w.indexes.Run(ctx, w.db))
		}
	}
}

// hanging is functions that have to be stopped for documents with a member "hang".
type hanging struct{ goFunctions }

func (f hanging) Index(ctx context.Context, s Script, docs [][]byte) ([]Result, error) {
	all, err := f.goFunctions.Index(ctx, s, docs)
	for i := range all {
		if strings.Contains(string(docs[i]), `"hang"`) {
			all[i] = Result{Err: errors.New("stopped"), Stopped: true}
		}
	}
	return all, err
}

// TestTailsLeftToTheIndex: a query takes in a hundred documents, and not one more; none of
// which the function had to be stopped; nothing of an index that is being built.
func TestTailsLeftToTheIndex(t *testing.T) {
	k := testKind(Options{})
	k.o.Functions = hanging{}
	w := newWorld(t, k)
	amends := func(what string, want bool, docs uint64) {
		t.Helper()
		ok, err := w.amended(func(r *segment.Reader) error {
			if n, err := r.DocCount(); n != docs || err != nil {
				return fmt.Errorf("%d documents, want %d: %w", n, docs, err)
			}
			return nil
		})
		if ok != want || err != nil {
			t.Errorf("%s: %v %v", what, ok, err)
		}
	}
	amends("being built", false, 0)
	w.follow()
	amends("nothing", true, 0)
	w.many(0, 60, "red")
	amends("60 documents", true, 60)
	w.many(60, 100, "red")
	amends("40 more", true, 100)
	w.many(100, 101, "red")
	amends("one more", false, 0)
	w.follow()
	amends("followed", true, 101)
	w.put("p:hang", `{"t":"x","hang":true}`)
	amends("a function that had to be stopped", false, 0)
	w.follow()
	amends("which was counted", true, 101)
}
