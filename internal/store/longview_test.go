package store

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// batches writes the same documents again and again, each time in one atomic batch, with the number of the batch.
type batches struct {
	w    *world
	d    *Database
	n    int
	revs []document.Rev
}

func newBatches(w *world, docs int) *batches {
	b := &batches{w: w, d: w.create("db", true), revs: make([]document.Rev, docs)}
	b.write()
	return b
}

func (b *batches) write() {
	b.w.t.Helper()
	b.n++
	edits := make([]document.Edit, len(b.revs))
	for i := range edits {
		edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p:%04d", i)), Parent: b.revs[i], Body: fmt.Appendf(nil, `{"n":%d}`, b.n)}
	}
	results, err := b.d.Whole().Write(ctx, edits, WriteOptions{Atomic: true})
	if err != nil {
		b.w.t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			b.w.t.Fatal(r.Err)
		}
		b.revs[i] = r.Rev
	}
}

// list reads all documents in pages, calls between two of them, and returns the batches that it saw.
func (b *batches) list(l *LongView, page int, between func(page int)) (seen []string) {
	b.w.t.Helper()
	for from := 0; from < len(b.revs); from += page {
		if from > 0 {
			between(from / page)
		}
		err := l.View(ctx, func(r *Reader) error {
			n := 0
			for e, err := range r.Docs(Span{From: fmt.Sprintf("p:%04d", from)}, true) {
				if err != nil {
					return err
				}
				if body := string(e.Winner.Body); !slices.Contains(seen, body) {
					seen = append(seen, body)
				}
				if n++; n == page {
					break
				}
			}
			return nil
		})
		if err != nil {
			b.w.t.Fatal(err)
		}
	}
	return seen
}

// TestLongViewsSeeWholeBatches lists documents in ten pages while an atomic batch of all of them is written between each two:
// the list has those of one batch.
func TestLongViewsSeeWholeBatches(t *testing.T) {
	w := newWorld(t, Options{})
	b := newBatches(w, 1000)
	l := b.d.Whole().LongView()
	defer l.Release()
	want := fmt.Sprintf(`[{"n":%d}]`, b.n)
	if seen := b.list(l, 100, func(int) { b.write() }); fmt.Sprint(seen) != want {
		t.Errorf("a list saw parts of the batches %v", seen)
	}
	l.Release()
	want = fmt.Sprintf(`[{"n":%d}]`, b.n)
	if seen := b.list(l, 100, func(int) {}); fmt.Sprint(seen) != want {
		t.Errorf("after it was released: %v, want %s", seen, want)
	}
}

// TestLongViewsEnd has lists whose clients are slow: the snapshot of one is given up when it is too old, also while nobody
// reads, and that of the one that has waited longest when too many wait.
func TestLongViewsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &countedViews{Engine: kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Age: time.Hour}})}
		w := openWorld(t, e, Options{})
		defer w.closeAll()
		b := newBatches(w, 20)
		one := func() *LongView { return b.d.Whole().LongView() }
		l := one()
		seen := b.list(l, 5, func(page int) {
			b.write()
			time.Sleep(LongViewAge/2 - time.Second)
			if page == 3 {
				synctest.Wait()
				if n := e.open.Load(); n != 0 {
					t.Errorf("%d snapshots are held after their time", n)
				}
			}
		})
		if fmt.Sprint(seen) != `[{"n":1} {"n":4}]` {
			t.Errorf("with a page after the end of the time: %v", seen)
		}
		l.Release()

		most := w.limits.Idle
		all := make([]*LongView, most+1)
		first := func(l *LongView) {
			if err := l.View(ctx, func(r *Reader) error { _, err := r.Doc("p:0000"); return err }); err != nil {
				t.Error(err)
			}
		}
		for i := range all {
			all[i] = one()
			first(all[i])
		}
		if n := e.open.Load(); n != int64(most) {
			t.Errorf("%d snapshots are held, want %d", n, most)
		}
		before := fmt.Sprintf(`[{"n":%d}]`, b.n)
		b.write()
		for i := most; i >= 0; i-- {
			want := before
			if i == 0 {
				want = fmt.Sprintf(`[{"n":%d}]`, b.n)
			}
			if seen := b.list(all[i], 20, nil); fmt.Sprint(seen) != want {
				t.Errorf("list %d: %v, want %s", i, seen, want)
			}
			all[i].Release()
		}
		if n := e.open.Load(); n != 0 {
			t.Errorf("%d snapshots are held after all were released", n)
		}
	})
}

// TestLongViewsOutliveAnOutage has the connection of a list lost between two pages: it goes on at a new snapshot.
func TestLongViewsOutliveAnOutage(t *testing.T) {
	e := &breaking{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	w := openWorld(t, e, Options{})
	defer w.closeAll()
	b := newBatches(w, 20)
	l := b.d.Whole().LongView()
	defer l.Release()
	seen := b.list(l, 5, func(page int) {
		b.write()
		if page == 2 {
			e.lost.Add(1)
		}
	})
	if fmt.Sprint(seen) != `[{"n":1} {"n":3}]` {
		t.Errorf("the list saw %v", seen)
	}
}

// breaking is an engine across a network: the views that were begun before lost was last raised have no connection any more.
type breaking struct {
	kv.Engine
	lost atomic.Int64
}

func (e *breaking) Limits() kv.Limits {
	l := e.Engine.Limits()
	l.Distant = true
	return l
}

func (e *breaking) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Engine.View(ctx, func(v kv.Snapshot) error { return fn(&broken{v, e, e.lost.Load()}) })
}

type broken struct {
	kv.Snapshot
	e     *breaking
	since int64
}

func (s *broken) Read(r kv.Reads) (kv.Found, error) {
	if s.e.lost.Load() != s.since {
		return kv.Found{}, dberr.New(dberr.Unavailable, "", "The connection is lost.")
	}
	return s.Snapshot.Read(r)
}

// countedViews counts the snapshots that are open.
type countedViews struct {
	kv.Engine
	open atomic.Int64
}

func (e *countedViews) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	e.open.Add(1)
	defer e.open.Add(-1)
	return e.Engine.View(ctx, fn)
}
