package pebblekv

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
)

func TestRecent(t *testing.T) {
	r := newRecent(4)
	r.add(5, []uint64{1, 2})
	r.add(6, []uint64{2, 3})
	for _, c := range []struct {
		start uint64
		key   uint64
		want  bool
	}{
		{4, 1, true}, {5, 1, false}, {5, 2, true}, {6, 2, false}, {4, 9, false}, {5, 3, true},
	} {
		if got := r.conflicts(c.start, []uint64{c.key}); got != c.want {
			t.Errorf("key %d written after commit %d: %v, want %v", c.key, c.start, got, c.want)
		}
	}

	// Over its bound it forgets the oldest commit and refuses whoever needs it.
	r.add(7, []uint64{4})
	if !r.conflicts(4, []uint64{9}) {
		t.Error("a transaction from before the forgotten commit does not conflict")
	}
	if r.conflicts(5, []uint64{9}) || !r.conflicts(5, []uint64{2}) {
		t.Error("a transaction from after the forgotten commit is judged wrongly")
	}

	r.forget(6)
	if r.conflicts(6, []uint64{1, 2, 3}) || !r.conflicts(6, []uint64{4}) {
		t.Error("forget(6) forgot too much or too little")
	}
	if len(r.last) != 1 || r.size != 1 {
		t.Errorf("%d keys and size %d are kept, want 1", len(r.last), r.size)
	}
}

// TestManyRecentWrites overruns the memory for conflicts: an old transaction is
// rerun though nothing touched its keys.
func TestManyRecentWrites(t *testing.T) {
	e := open(t, Options{FS: vfs.NewMem()})
	defer e.Close()
	e.commit.recent = newRecent(10)
	runs := 0
	update(t, e, func(tx kv.Txn) error {
		if runs++; runs == 1 {
			for i := range 20 {
				update(t, e, func(tx kv.Txn) error { return tx.Put([]byte{byte(i + 1)}, nil) })
			}
		}
		return tx.Put([]byte("mine"), nil)
	})
	if runs != 2 {
		t.Errorf("the closure ran %d times, want 2", runs)
	}
}

// TestNothingIsKept shows that states, running transactions and remembered
// writes go when nobody needs them any more.
func TestNothingIsKept(t *testing.T) {
	e := open(t, Options{FS: vfs.NewMem()})
	defer e.Close()
	for range 100 {
		update(t, e, func(tx kv.Txn) error { return tx.Put([]byte("a"), nil) })
		_ = e.Update(context.Background(), func(kv.Txn) error { return errDisk })
	}
	func() {
		defer func() { _ = recover() }()
		_ = e.Update(context.Background(), func(kv.Txn) error { panic("in the closure") })
	}()
	m := e.Metrics()
	if m.Snapshots != 1 || len(e.states.mu.running.starts) != 0 || len(e.commit.recent.last) != 0 {
		t.Errorf("kept: %d snapshots, %d transactions, %d writes",
			m.Snapshots, len(e.states.mu.running.starts), len(e.commit.recent.last))
	}
	if m.Commits != 100 || m.SingleDeleteMisuses != 0 {
		t.Errorf("%d commits, %d misuses", m.Commits, m.SingleDeleteMisuses)
	}
}
