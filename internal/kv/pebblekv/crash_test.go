package pebblekv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// small makes memtables and files so small that a short workload flushes,
// rotates its log and compacts.
func small(p *pebble.Options) {
	p.MemTableSize = 128 << 10
	p.TargetFileSizes[0] = 32 << 10
	p.LBaseMaxBytes = 128 << 10
}

// crash is what a crash at one moment leaves.
type crash struct {
	acked int // calls that had returned
	fs    *crashfs.FS
}

// TestCrashAtEachWrite crashes before each write to the file system during a
// workload. What is found afterwards is the state after all the calls that had
// returned, or after the one that was running as well.
func TestCrashAtEachWrite(t *testing.T) {
	testrun.Sequential(t)
	const seldom, often = 100 << 10, 600 // bytes from which on a transaction becomes tables
	for _, c := range []struct{ calls, unsynced, bulk int }{{60, 0, seldom}, {60, 50, seldom}, {25, 50, often}} {
		t.Run(fmt.Sprintf("unsynced=%d%% bulk=%d", c.unsynced, c.bulk), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, c.calls)
			crashes := recordCrashes(t, w, c.unsynced, c.bulk)
			if len(crashes) < 30 {
				t.Errorf("only %d moments to crash at", len(crashes))
			}
			for i, c := range crashes {
				verify(t, w, c, i)
			}
		})
	}
}

// recordCrashes runs w and keeps what a crash at each write would have left.
// Every third write is left out to save time, and more of them in short runs.
func recordCrashes(t *testing.T, w *workload, unsynced, bulk int) []crash {
	mem := crashfs.New()
	rng := rand.New(rand.NewPCG(1, uint64(unsynced)))
	var acked atomic.Int64
	var recording atomic.Bool
	var mu sync.Mutex
	var crashes []crash
	writes := 0
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !recording.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes%3 == 0 || testing.Short() && writes%6 > 1 {
			return nil
		}
		n := int(acked.Load())
		clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng})
		crashes = append(crashes, crash{acked: n, fs: clone})
		return nil
	})
	e := open(t, Options{FS: errorfs.Wrap(mem, hook), tune: small, bulk: bulk})
	recording.Store(true)
	for i, call := range w.calls {
		if err := call(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		acked.Store(int64(i + 1))
		if i%25 == 24 {
			if err := e.Compact(context.Background(), kv.Range{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if e.bulks.taken.Load() == 0 {
		t.Error("no transaction became tables")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return crashes
}

// verify opens what a crash left, and at times closes and opens it again.
func verify(t *testing.T, w *workload, c crash, i int) {
	t.Helper()
	for opened := 0; opened == 0 || opened == 1 && i%8 == 0; opened++ {
		e := open(t, Options{FS: c.fs, tune: small, bulk: 600})
		if stored := dump(t, e); !w.between(stored, c.acked, c.acked+1) {
			t.Errorf("crash %d: after %d calls had returned, this is there:\n%s", i, c.acked, stored)
		}
		if err := e.Close(); err != nil {
			t.Errorf("crash %d: Close: %v", i, err)
		}
	}
}

// TestCrashUnderLoad crashes at random moments while many goroutines write and
// read. Nothing that was acknowledged or seen by a View may be gone, and no
// transaction may be there by half.
func TestCrashUnderLoad(t *testing.T) {
	const workers, crashes = 8, 25
	mem := crashfs.New()
	e := open(t, Options{FS: mem, tune: small, bulk: 600})
	l := &loadRun{e: e}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() { l.write(t, n, stop) })
	}
	for range 2 {
		wg.Go(func() { l.read(t, stop) })
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range crashes {
		l.until(t, int64(i+1)*20)
		acked, seen := l.counters()
		clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		r := open(t, Options{FS: clone, tune: small, bulk: 600})
		checkCrash(t, r, acked, seen)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// loadRun has workers of which each counts up its own rows and a common one.
type loadRun struct {
	e     *Engine
	acked [8]atomic.Int64
	seen  [8]atomic.Int64
	total atomic.Int64
}

// until waits until n transactions were acknowledged.
func (l *loadRun) until(t *testing.T, n int64) {
	for l.total.Load() < n {
		// A read-only transaction waits for durability: no busy loop.
		update(t, l.e, func(tx kv.Txn) error {
			_, err := tx.Get([]byte("common"))
			if err == kv.ErrNotFound {
				return nil
			}
			return err
		})
	}
}

func (l *loadRun) counters() (acked, seen [8]int64) {
	for i := range acked {
		acked[i], seen[i] = l.acked[i].Load(), l.seen[i].Load()
	}
	return acked, seen
}

// write counts up the three rows of worker n, with ballast, and at times the
// common row, on which workers conflict.
func (l *loadRun) write(t *testing.T, n int, stop <-chan struct{}) {
	for i := int64(1); ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		update(t, l.e, func(tx kv.Txn) error {
			for _, part := range "abc" {
				value := fmt.Sprintf("%d %s", i, strings.Repeat("x", 500))
				if err := tx.Put(fmt.Appendf(nil, "w%d/%c", n, part), []byte(value)); err != nil {
					return err
				}
			}
			if i%5 != 0 {
				return nil
			}
			old, err := tx.GetForUpdate([]byte("common"))
			if err != nil && err != kv.ErrNotFound {
				return err
			}
			return tx.Put([]byte("common"), fmt.Append(nil, count(old)+1))
		})
		l.acked[n].Store(i)
		l.total.Add(1)
	}
}

// read notes what Views see.
func (l *loadRun) read(t *testing.T, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		for n := range l.seen {
			view(t, l.e, func(s kv.Snapshot) error {
				v, err := s.Get(fmt.Appendf(nil, "w%d/b", n))
				if err == kv.ErrNotFound {
					return nil
				}
				// The two readers may come in any order.
				for c := count(v); ; {
					old := l.seen[n].Load()
					if c <= old || l.seen[n].CompareAndSwap(old, c) {
						return err
					}
				}
			})
		}
	}
}

// count returns the number a value begins with.
func count(value []byte) int64 {
	text, _, _ := strings.Cut(string(value), " ")
	n, _ := strconv.ParseInt(text, 10, 64) // an absent value counts 0
	return n
}

func checkCrash(t *testing.T, e *Engine, acked, seen [8]int64) {
	t.Helper()
	view(t, e, func(s kv.Snapshot) error {
		common := int64(0)
		for n := range acked {
			var parts [3]int64
			for i, part := range "abc" {
				v, err := s.Get(fmt.Appendf(nil, "w%d/%c", n, part))
				if err != nil && err != kv.ErrNotFound {
					return err
				}
				parts[i] = count(v)
			}
			if parts[0] != parts[1] || parts[1] != parts[2] {
				t.Errorf("worker %d: half a transaction: %v", n, parts)
			}
			if parts[0] < acked[n] || parts[0] < seen[n] {
				t.Errorf("worker %d: %d is there, %d was acknowledged and %d seen", n, parts[0], acked[n], seen[n])
			}
			common += parts[0] / 5
		}
		v, err := s.Get([]byte("common"))
		if err != nil && err != kv.ErrNotFound {
			return err
		}
		if count(v) != common {
			t.Errorf("the common counter is %d, want %d", count(v), common)
		}
		return nil
	})
}
