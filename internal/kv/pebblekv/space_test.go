package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// smallDisk is a disk in memory with a capacity, part of which others use.
type smallDisk struct {
	vfs.FS
	capacity int64
	others   atomic.Int64
	mu       struct {
		sync.Mutex
		reserved map[string]int64
	}
}

func newSmallDisk(capacity int64) *smallDisk {
	d := &smallDisk{FS: vfs.NewMem(), capacity: capacity}
	d.mu.reserved = map[string]int64{}
	return d
}

func (d *smallDisk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	used := d.others.Load()
	for _, dir := range []string{"data", "data/bulk"} {
		names, _ := d.FS.List(dir)
		for _, name := range names {
			path := d.FS.PathJoin(dir, name)
			if info, err := d.FS.Stat(path); err == nil && !info.IsDir() {
				used += max(info.Size(), d.mu.reserved[path])
			}
		}
	}
	return d.capacity - used
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	free := uint64(max(0, d.free()))
	return vfs.DiskUsage{AvailBytes: free, TotalBytes: uint64(d.capacity), UsedBytes: uint64(d.capacity) - free}, nil
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return &smallFile{f, d, name}, err
}

func (d *smallDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return &smallFile{f, d, name}, err
}

func (d *smallDisk) Remove(name string) error {
	d.mu.Lock()
	delete(d.mu.reserved, name)
	d.mu.Unlock()
	return d.FS.Remove(name)
}

type smallFile struct {
	vfs.File
	disk *smallDisk
	name string
}

func (f *smallFile) Write(p []byte) (int, error) {
	if f.disk.free() < int64(len(p)) {
		return 0, &errorWithPath{f.name}
	}
	return f.File.Write(p)
}

func (f *smallFile) Preallocate(_, n int64) error {
	if f.disk.free() < n {
		return syscall.ENOSPC
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.mu.reserved[f.name] = n
	return nil
}

// errorWithPath is ENOSPC as the disk returns it, within another error.
type errorWithPath struct{ path string }

func (e *errorWithPath) Error() string { return e.path + ": no room" }
func (e *errorWithPath) Unwrap() error { return syscall.ENOSPC }

const testDisk = 4 << 20

// openSmall opens an engine on a disk that it keeps partly free. move moves its clock on.
func openSmall(t *testing.T, d *smallDisk) (e *Engine, move func()) {
	t.Helper()
	now, pause := leaping()
	e = open(t, Options{FS: d, Now: now, pause: pause, tune: small, bulk: 100 << 10})
	e.KeepFree(Space{MinFree: 1 << 30, Reserve: 1 << 30})
	return e, func() { pause(time.Second, nil) }
}

var noises atomic.Uint64

// noise is a value that can't be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(noises.Add(1), uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func putNoise(ctx context.Context, e *Engine, key string, n int) error {
	return e.Update(ctx, func(t kv.Txn) error { return t.Put([]byte(key), noise(n)) })
}

// fill writes until it is refused, and returns how many rows there are.
func fill(t *testing.T, e *Engine, size int) int {
	t.Helper()
	for n := range 10000 {
		err := putNoise(context.Background(), e, fmt.Sprintf("row%05d", n), size)
		if dberr.Is(err, dberr.Full) {
			return n
		}
		if err != nil {
			t.Fatalf("row %d: %v", n, err)
		}
	}
	t.Fatal("the disk does not become full")
	return 0
}

func wantRows(t *testing.T, e *Engine, n int) {
	t.Helper()
	view(t, e, func(s kv.Snapshot) error {
		for i := range n {
			if _, err := s.Get(fmt.Appendf(nil, "row%05d", i)); err != nil {
				t.Errorf("row %d: %v", i, err)
			}
		}
		return nil
	})
}

// TestFullDisk fills a disk, with small commits and with those that become tables:
// writes are refused, what was acknowledged is read, what makes room is done, and
// then writes are taken again. Nothing stops the engine.
func TestFullDisk(t *testing.T) {
	testrun.Sequential(t)
	for _, size := range []int{1 << 10, 20 << 10, 200 << 10} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			d := newSmallDisk(testDisk)
			e, move := openSmall(t, d)
			defer func() { e.Close() }()
			n := fill(t, e, size)
			wantRows(t, e, n)
			if e.Metrics().Stopped {
				t.Error("the engine stopped")
			}
			if free := d.free(); free < testDisk/64 {
				t.Errorf("only %d bytes are left", free)
			}
			if err := e.Update(context.Background(), func(kv.Txn) error { return nil }); err != nil {
				t.Errorf("a transaction that writes nothing: %v", err)
			}
			freeing := kv.Freeing(context.Background())
			if err := e.Update(freeing, func(t kv.Txn) error { return t.Put([]byte("job"), nil) }); err != nil {
				t.Errorf("what makes room: %v", err)
			}
			if err := e.Discard(freeing, kv.Prefix([]byte("row"))); err != nil {
				t.Fatal(err)
			}
			if err := e.Compact(context.Background(), kv.Range{}); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(2 * time.Minute); e.Room() != nil && time.Now().Before(deadline); move() {
				runtime.Gosched() // files are removed in the background
			}
			if err := putNoise(context.Background(), e, "again", size); err != nil {
				t.Errorf("after making room: %v (%d bytes free)", err, d.free())
			}
			if _, err := d.Stat("data/reserve"); err != nil {
				t.Errorf("the reserve is not there again: %v", err)
			}
			if e.Metrics().Stopped {
				t.Error("the engine stopped")
			}
		})
	}
}

// TestFullWhileClosing: a compaction that goes on while the engine is being closed finds that the disk is full.
func TestFullWhileClosing(t *testing.T) {
	e, _ := openSmall(t, newSmallDisk(testDisk))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.space.flush()
}

// TestFirstLook: while the free room is looked at for the first time by one write, another is taken, since nothing is known.
func TestFirstLook(t *testing.T) {
	o := Options{FS: newSmallDisk(testDisk), Dir: "data"}.withDefaults()
	s := newSpace(&o)
	s.looking.Store(true)
	if err := s.admit(100, false); err != nil {
		t.Error(err)
	}
	s.looking.Store(false)
	s.look()
	if left := s.left.Load(); left <= 0 || left > testDisk {
		t.Errorf("%d bytes are left then", left)
	}
}

// TestFullWhileLooking: what is in memory is asked for without the lock that a write takes when it meets a full disk. Pebble's
// answer waits for a manifest that is being written, and that write may be the one.
func TestFullWhileLooking(t *testing.T) {
	e, _ := openSmall(t, newSmallDisk(testDisk))
	defer func() { e.Close() }()
	e.space.opened(func() int64 {
		met := make(chan struct{})
		go func() {
			e.space.hit()
			close(met)
		}()
		select {
		case <-met:
		case <-time.After(2 * time.Minute):
			t.Error("the write waits for who looks, who waits for the write")
		}
		return 0
	}, e.flushSoon)
	e.space.look()
}

// TestOthersFillTheDisk takes all room away from a running engine and gives it
// back: writes are refused in between and nothing else happens.
func TestOthersFillTheDisk(t *testing.T) {
	d := newSmallDisk(testDisk)
	e, move := openSmall(t, d)
	defer func() { e.Close() }()
	if err := putNoise(context.Background(), e, "row00000", 1000); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d.others.Add(d.free())
		move()
		if err := putNoise(context.Background(), e, "refused", 1000); !dberr.Is(err, dberr.Full) {
			t.Fatalf("on a full disk: %v", err)
		}
		wantRows(t, e, 1)
		if err := putNoise(kv.Freeing(context.Background()), e, "job", 10); err != nil {
			t.Errorf("what makes room: %v", err)
		}
		d.others.Store(0)
		move()
		if err := putNoise(context.Background(), e, "taken", 1000); err != nil {
			t.Errorf("with room again: %v", err)
		}
	}
}

// TestOpenOnFullDisk opens a directory on a disk without a free byte: the reserve
// lets it.
func TestOpenOnFullDisk(t *testing.T) {
	d := newSmallDisk(testDisk)
	e, _ := openSmall(t, d)
	n := fill(t, e, 10<<10)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	d.others.Add(d.free())
	e, _ = openSmall(t, d)
	defer func() { e.Close() }()
	wantRows(t, e, n)
	if _, err := d.Stat("data/reserve"); err == nil {
		t.Error("the reserve was not needed")
	}
	if err := putNoise(context.Background(), e, "refused", 10); !dberr.Is(err, dberr.Full) {
		t.Errorf("a write: %v", err)
	}
	if err := e.Discard(kv.Freeing(context.Background()), kv.Prefix([]byte("row"))); err != nil {
		t.Errorf("a drop: %v", err)
	}
}

// TestFlushesFail lets each flush fail while loads are stored well: writers must
// come back within a time, whatever else succeeds.
func TestFlushesFail(t *testing.T) {
	for _, failure := range []error{errDisk, syscall.ENOSPC} {
		t.Run(failure.Error(), func(t *testing.T) {
			var failing, begun atomic.Bool
			hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if failing.Load() && op.Kind == errorfs.OpFileWrite && isTable(op.Path) && !isBulk(op.Path) {
					begun.Store(true)
					return failure
				}
				return nil
			})
			e := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), hook), tune: small, bulk: 100 << 10})
			failing.Store(true)
			stop, loads := make(chan struct{}), sync.WaitGroup{}
			loads.Go(func() { storeTables(e, stop) })
			var err error
			for n := 0; err == nil || dberr.Is(err, dberr.Full); n++ {
				err = putNoise(kv.Freeing(context.Background()), e, fmt.Sprintf("row%05d", n), 1000)
			}
			close(stop)
			loads.Wait()
			if !begun.Load() || !dberr.Is(err, dberr.UnknownOutcome) && !dberr.Is(err, dberr.Unavailable) {
				t.Errorf("flushes failed %v, a writer got %v", begun.Load(), err)
			}
			if !e.Metrics().Stopped {
				t.Error("the engine goes on")
			}
			_ = e.Close() // what could not be flushed is in the log
		})
	}
}

func isBulk(path string) bool { return len(path) > 9 && path[:9] == "data/bulk" }

// storeTables stores tables until it is stopped or refused.
func storeTables(e *Engine, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		if err := putNoise(kv.Freeing(context.Background()), e, fmt.Sprintf("load%05d", n%4), 120<<10); err != nil {
			return
		}
	}
}

// TestAbandon ends a writer that waits inside Pebble for a disk that takes no
// table, and lets the engine be closed.
func TestAbandon(t *testing.T) {
	waiting := make(chan struct{})
	var once sync.Once
	var failing atomic.Bool
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind == errorfs.OpFileWrite && isTable(op.Path) {
			return syscall.ENOSPC
		}
		return nil
	})
	stuck := func(_ time.Duration, end <-chan struct{}) { // the clock stands still
		once.Do(func() { close(waiting) })
		<-end
	}
	start := time.Now()
	e := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), hook), tune: small, Now: func() time.Time { return start }, pause: stuck})
	failing.Store(true)
	done := make(chan error)
	go func() {
		var err error
		for n := 0; err == nil; n++ {
			err = putNoise(kv.Freeing(context.Background()), e, fmt.Sprintf("row%05d", n), 1000)
		}
		done <- err
	}()
	<-waiting
	e.Abandon()
	if err := <-done; !dberr.Is(err, dberr.UnknownOutcome) && !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("the writer got %v", err)
	}
	if err := e.Close(); err != nil && errors.Is(err, pebble.ErrClosed) {
		t.Error(err)
	}
}
