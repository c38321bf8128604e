package pebblekv

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

var errDisk = errors.New("injected disk error")

// TestFailEachWrite lets the n-th write to the disk fail, for each n, once or
// from then on, of vital files or of all. The engine must say so if it can't go
// on, read all the same, take no further writes, and leave a directory that
// opens with everything acknowledged.
func TestFailEachWrite(t *testing.T) {
	testrun.Sequential(t)
	for _, c := range []struct {
		name         string
		lasting, all bool
	}{
		{"once", false, false}, {"lasting", true, false}, {"once, any file", false, true}, {"lasting, any file", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, 60)
			failures := 0
			for n := int64(1); failWrite(t, w, n, c.lasting, c.all); n += 1 + n/15 {
				failures++
			}
			if failures < 30 {
				t.Errorf("only %d writes failed", failures)
			}
		})
	}
}

// TestNoTableCanBeWritten lets every write of a table fail while logs can be
// written, as on a disk that is full but for its logs' own space: writers must
// come back with an error, and nothing acknowledged may be lost.
func TestNoTableCanBeWritten(t *testing.T) {
	testrun.Sequential(t)
	w := newWorkload(t, 400)
	mem := vfs.NewMem()
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && isTable(op.Path) {
			return errDisk
		}
		return nil
	})
	e := open(t, Options{FS: errorfs.Wrap(mem, hook), tune: small, bulk: 100 << 10})
	acked, unknown := runUntilFailure(t, w, e)
	if !e.Metrics().Stopped {
		t.Fatalf("the engine goes on after %d calls", acked)
	}
	if err := e.Close(); err != nil && !dberr.Is(err, dberr.Unavailable) {
		t.Logf("Close: %v", err) // what could not be flushed is in the log
	}
	reopen(t, w, mem, acked, unknown)
}

// failWrite runs w on a disk whose n-th write fails; it reports false if there
// are fewer writes.
func failWrite(t *testing.T, w *workload, n int64, lasting, all bool) bool {
	t.Helper()
	mem := vfs.NewMem()
	var writes atomic.Int64
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !all && !vital(op.Path) {
			return nil
		}
		if i := writes.Add(1); i == n || lasting && i > n {
			return errDisk
		}
		return nil
	})
	e, err := Open(quiet(Options{Dir: "data", FS: errorfs.Wrap(mem, hook), tune: small, bulk: 100 << 10}))
	if err != nil {
		if !errors.Is(err, errDisk) && !strings.Contains(err.Error(), errDisk.Error()) {
			t.Errorf("write %d: Open: %v, want the disk's error", n, err)
		}
		reopen(t, w, mem, 0, 0)
		return true
	}
	acked, unknown := runUntilFailure(t, w, e)
	stopped := e.Metrics().Stopped
	if stopped {
		if stored := dump(t, e); !w.between(stored, acked, acked) {
			t.Errorf("write %d: after %d calls the stopped engine shows:\n%s", n, acked, stored)
		}
		err := e.Update(context.Background(), func(kv.Txn) error { return nil })
		if !dberr.Is(err, dberr.Unavailable) {
			t.Errorf("write %d: a stopped engine answers %v", n, err)
		}
	}
	if err := e.Close(); err != nil && !stopped {
		t.Errorf("write %d: Close: %v", n, err)
	}
	reopen(t, w, mem, acked, unknown)
	return writes.Load() >= n
}

// runUntilFailure returns the number of calls acknowledged, and of those whose
// outcome is unknown.
func runUntilFailure(t *testing.T, w *workload, e *Engine) (acked, unknown int) {
	t.Helper()
	for _, call := range w.calls {
		err := call(context.Background(), e)
		switch {
		case err == nil && unknown == 0 && !dberr.Is(err, dberr.Unavailable):
			acked++
		case dberr.Is(err, dberr.UnknownOutcome) && unknown == 0:
			unknown++
		case dberr.Is(err, dberr.Unavailable):
			return acked, unknown
		default:
			t.Fatalf("after %d calls: %v", acked, err)
		}
	}
	return acked, unknown
}

// reopen opens the directory on a healthy disk.
func reopen(t *testing.T, w *workload, fs vfs.FS, acked, unknown int) {
	t.Helper()
	e := open(t, Options{FS: fs, tune: small, bulk: 100 << 10})
	defer e.Close()
	if stored := dump(t, e); !w.between(stored, acked, acked+unknown) {
		t.Errorf("after %d calls and %d left open this is there:\n%s", acked, unknown, stored)
	}
}

// vital says as failStop does which files must not fail.
func vital(path string) bool { return (&failStop{FS: vfs.Default}).vital(path) }

// TestViewsReadDurableStateOnly holds a sync back and looks at who sees the
// write that waits for it.
func TestViewsReadDurableStateOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &syncGate{}
		e := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), gate)})
		defer e.Close()
		update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("old")) })

		gate.shut()
		var first, second, refused atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("new")) })
			first.Store(true)
		})
		synctest.Wait()
		wantView(t, e, "a", "old")

		// The next transactions begin from the applied state.
		wg.Go(func() {
			update(t, e, func(tx kv.Txn) error {
				wantRow(t, tx, "a", "new")
				return tx.Put([]byte("b"), []byte("on top"))
			})
			second.Store(true)
		})
		wg.Go(func() {
			err := e.Update(context.Background(), func(tx kv.Txn) error {
				wantRow(t, tx, "a", "new")
				return errDisk
			})
			if err != errDisk {
				t.Errorf("a refused Update returned %v", err)
			}
			refused.Store(true)
		})
		synctest.Wait()
		if first.Load() || second.Load() || refused.Load() {
			t.Errorf("returned before the sync: first %v, second %v, refused %v", first.Load(), second.Load(), refused.Load())
		}
		wantView(t, e, "a", "old")

		gate.open()
		wg.Wait()
		wantView(t, e, "a", "new")
		wantView(t, e, "b", "on top")
	})
}

// TestFailureDuringSync lets the sync fail that several transactions wait for.
func TestFailureDuringSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &syncGate{}
		e := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), gate)})
		defer e.Close()
		update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("old")) })
		gate.shut()
		var wg sync.WaitGroup
		expect := func(kind dberr.Kind, fn func(kv.Txn) error) {
			wg.Go(func() {
				if err := e.Update(context.Background(), fn); !dberr.Is(err, kind) {
					t.Errorf("Update: %v, want kind %d", err, kind)
				}
			})
			synctest.Wait()
		}
		expect(dberr.UnknownOutcome, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("new")) })
		expect(dberr.UnknownOutcome, func(t kv.Txn) error { return t.Put([]byte("b"), nil) })
		expect(dberr.Unavailable, func(kv.Txn) error { return errDisk }) // it read what may be lost
		gate.fail()
		wg.Wait()
		wantView(t, e, "a", "old")
		expect(dberr.Unavailable, func(t kv.Txn) error { return nil })
		wg.Wait()
	})
}

// syncGate is an errorfs.Injector that holds back the writes of logs.
type syncGate struct {
	mu struct {
		sync.Mutex
		wait chan struct{} // nil: open
		err  error
	}
}

func (g *syncGate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.wait = make(chan struct{})
}

func (g *syncGate) open() { g.release(nil) }
func (g *syncGate) fail() { g.release(errDisk) }

func (g *syncGate) release(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.mu.wait)
	g.mu.wait, g.mu.err = nil, err
}

// String implements errorfs.Injector.
func (g *syncGate) String() string { return "sync gate" }

// MaybeError implements errorfs.Injector.
func (g *syncGate) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !strings.HasSuffix(op.Path, ".log") {
		return nil
	}
	g.mu.Lock()
	wait := g.mu.wait
	g.mu.Unlock()
	if wait != nil {
		<-wait
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.err
}

func wantView(t *testing.T, e *Engine, key, want string) {
	t.Helper()
	view(t, e, func(s kv.Snapshot) error { wantRow(t, s, key, want); return nil })
}

func wantRow(t *testing.T, s kv.Snapshot, key, want string) {
	t.Helper()
	got, err := s.Get([]byte(key))
	if err != nil || string(got) != want {
		t.Errorf("%s is %q (%v), want %q", key, got, err, want)
	}
}
