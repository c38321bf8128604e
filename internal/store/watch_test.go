package store

import (
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// TestWatchDoc: only a change of the document wakes those who wait for it, and what
// nobody waits for any more is forgotten.
func TestWatchDoc(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	woken := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	write := func(id document.ID, parent document.Rev, deleted bool) document.Rev {
		t.Helper()
		got, err := d.Whole().Write(t.Context(), []document.Edit{{ID: id, Parent: parent, Deleted: deleted, Body: []byte("{}")}}, WriteOptions{})
		if err != nil || got[0].Err != nil {
			t.Fatal(err, got)
		}
		return got[0].Rev
	}
	a, leaveA := d.WatchDoc("a")
	b, leaveB := d.WatchDoc("b")
	defer leaveB()
	again, leaveAgain := d.WatchDoc("a")
	defer leaveAgain()
	leaveA()
	leaveA()
	write("c", document.Rev{}, false)
	if woken(again) || woken(b) {
		t.Error("a change of another document woke somebody")
	}
	rev := write("a", document.Rev{}, false)
	if !woken(a) || !woken(again) || woken(b) {
		t.Errorf("after a change of a: %v %v %v", woken(a), woken(again), woken(b))
	}
	a, leaveA = d.WatchDoc("a")
	defer leaveA()
	write("a", rev, true)
	if !woken(a) {
		t.Error("a deletion did not wake")
	}
	w.WakeDocWatches()
	if !woken(b) {
		t.Error("WakeDocWatches did not wake")
	}
	_, leave := d.WatchDoc("b")
	if n := d.watch.waiting.docs; n != 1 {
		t.Errorf("%d documents are watched", n)
	}
	leave()
	if n := d.watch.waiting.docs; n != 0 || len(d.watch.waiting.channels) != 0 {
		t.Errorf("%d documents are watched by nobody", n)
	}
	b, leave = d.WatchDoc("b")
	defer leave()
	if err := w.Drop(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	if !woken(b) {
		t.Error("dropping the database did not wake")
	}
	late, _ := d.WatchDoc("b")
	if !woken(late) {
		t.Error("a database that is gone is waited for")
	}
}
