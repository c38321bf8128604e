package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// slow is an indexer with one index that takes its time over documents.
type slow struct {
	recording
	t       *testing.T
	mu      sync.Mutex
	waiting chan struct{} // gets a value for each document that says so, and is asked for another one
	derived map[string]int
}

func (x *slow) Load(kv.Snapshot, Scope) (IndexSet, error) { return x, nil }
func (x *slow) Slow() bool                                { return true }

func (x *slow) Derive(ctx context.Context, rev *Revision) (any, error) {
	x.mu.Lock()
	x.derived[string(rev.Body)]++
	x.mu.Unlock()
	if string(rev.Body) == `{"wait":true}` {
		x.waiting <- struct{}{}
		select {
		case x.waiting <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return "of " + string(rev.Body), nil
}

func (x *slow) Apply(tx kv.Txn, before, after *Revision) error {
	if after != nil {
		if want := "of " + string(after.Body); after.Derived(x) != want {
			x.t.Errorf("the commit got %v for %s", after.Derived(x), after.Body)
		}
	}
	return x.recording.Apply(tx, before, after)
}

func newSlow(t *testing.T) (*slow, *world) {
	x := &slow{t: t, waiting: make(chan struct{}), derived: map[string]int{}}
	return x, newWorld(t, Options{Indexer: x})
}

// TestRowsAreDerivedBeforeTheCommit has one writer's document take long: others write meanwhile, and who
// leaves is let go, with nothing stored.
func TestRowsAreDerivedBeforeTheCommit(t *testing.T) {
	x, w := newSlow(t)
	d := w.create("db", false)
	done := make(chan error, 1)
	begin := func(ctx context.Context) {
		_, err := d.Whole().Write(ctx, []document.Edit{{ID: "slow", Body: []byte(`{"wait":true}`)}}, WriteOptions{})
		done <- err
	}
	ctx, leave := context.WithCancel(t.Context())
	go begin(ctx)
	<-x.waiting
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go begin(t.Context())
	<-x.waiting
	for i := range 20 {
		w.mustWrite(d, document.Edit{ID: document.ID(fmt.Sprint("quick", i)), Body: []byte(`{}`)})
	}
	<-x.waiting
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := w.get(d, "slow"); got == "" {
		t.Error("it is not stored")
	}
	w.check()
}

// TestOtherWinners has commits find that another revision than the edit's becomes the winner: what the
// index needs of it is worked out by the writer too.
func TestOtherWinners(t *testing.T) {
	x, w := newSlow(t)
	d := w.create("db", false)
	w.mustWrite(d, replicated(t, "a", `{"n":1}`, "1-aa"))
	w.mustWrite(d, replicated(t, "a", `{"n":2}`, "1-bb"))
	w.mustWrite(d, replicated(t, "a", `{"n":3}`, "1-ab")) // loses: nothing changes for the index
	w.mustWrite(d, document.Edit{ID: "a", Parent: rev(t, "1-bb"), Deleted: true, Body: []byte(`{}`)})
	if got := w.get(d, "a"); got != `1-ab {"n":3}` {
		t.Errorf("it is %s", got)
	}
	if last := x.lines[len(x.lines)-1]; last != `{"n":2} -> {"n":3}` {
		t.Errorf("the index was told %s", last)
	}
	// Several in one commit, of which the first brings what the second makes the winner.
	if _, err := d.Whole().Write(t.Context(), []document.Edit{replicated(t, "b", `{"m":1}`, "1-aa"), replicated(t, "b", `{"m":2}`, "1-bb"), replicated(t, "b", `{"m":3}`, "1-ac")}, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := w.get(d, "b"); got != `1-bb {"m":2}` {
		t.Errorf("it is %s", got)
	}
	w.check()
}
