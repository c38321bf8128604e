package pebblekv

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
)

// Space says what of the disk the engine leaves free. Sizes are in bytes, and
// neither is ever more than an eighth of the disk.
type Space struct {
	// MinFree is the free room below which writes are refused, but for those
	// that make room. 0 refuses none before the disk is full.
	MinFree int64
	// Reserve is the size of the two files that are given up when the disk is
	// full: half of it so that a running engine can remove data, half so that one
	// can start. 0 is none.
	Reserve int64
}

// The files of the reserve in the data directory. The second one is given up only
// while the engine is opened, which takes room: others may fill the disk again
// after the first is gone.
var reserveFiles = [2]string{"reserve", "reserve-open"}

// leastFree is what is left free whatever the settings say: where a write has met
// the end of the disk, less is none.
const leastFree = 1 << 20

// lookEvery is how old what is known of the free room may be.
const lookEvery = 50 * time.Millisecond

// unknown is the free room while nobody has looked, or nobody can: all writes are taken, and only trying can tell.
const unknown = 1 << 62

// space watches the room on the disk.
//
// A full disk is met in three steps, so that it never comes to the fourth,
// which is failstop.go's. Writes are refused while MinFree is still there: what
// was acknowledged has to become tables, and drops have to be written. When half
// of that is gone (others fill the disk, or compactions), compactions begin no
// more tables and the reserve is given up. When a write meets a full disk all
// the same, the reserve is given up then and the write is tried again.
//
// Once there is room for both again, the reserve is made anew and writes are
// taken. There is no goroutine for this: whoever wants to write looks.
type space struct {
	fs  vfs.FS // the disk itself
	dir string
	log *slog.Logger
	now func() time.Time
	// unflushed returns the bytes in logs, which become tables before the logs go;
	// flush begins that. Both are nil until the engine is open.
	unflushed func() int64
	flush     func()

	full  atomic.Bool
	tight atomic.Bool  // compactions begin no tables
	left  atomic.Int64 // free bytes, less what was written since
	at    atomic.Int64 // when that was looked at, Unix nanoseconds

	looking atomic.Bool // somebody is

	state struct {
		sync.Mutex
		want     Space
		reserved [2]bool   // the files of the reserve that are there
		opened   bool      // the engine is open
		useless  bool      // the file system can't reserve room
		met      time.Time // when a write met a full disk last
	}
}

func newSpace(o *Options) *space {
	s := &space{fs: o.FS, dir: o.Dir, log: o.Logger, now: o.Now}
	s.left.Store(unknown)
	for i := range reserveFiles {
		_, err := s.fs.Stat(s.path(i))
		s.state.reserved[i] = err == nil
	}
	return s
}

// path is where a file of the reserve lies.
func (s *space) path(i int) string { return s.fs.PathJoin(s.dir, reserveFiles[i]) }

// opened notes that the engine is open, and who reports what is in memory.
func (s *space) opened(unflushed func() int64, flush func()) {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.opened = true
	s.unflushed, s.flush = unflushed, flush
}

// keep sets what is left free.
func (s *space) keep(want Space) {
	s.state.Lock()
	s.state.want = want
	if want.Reserve <= 0 {
		s.release(0, "it is switched off")
		s.release(1, "it is switched off")
	}
	s.state.Unlock()
	s.look()
}

var errFull = &dberr.Error{Op: "pebblekv.Update", Kind: dberr.Full,
	Reason: "The disk is full. What is there can be read and dropped."}

// admit refuses a write for which there is no room; bytes is its size.
func (s *space) admit(bytes int, freeing bool) error {
	s.left.Add(-int64(bytes))
	s.refresh()
	if freeing || !s.full.Load() && s.left.Load() >= 0 {
		return nil
	}
	s.left.Add(int64(bytes))
	return errFull
}

// refresh looks if what is known is old or there may be too little.
func (s *space) refresh() {
	if age := s.now().UnixNano() - s.at.Load(); age > int64(lookEvery) || !s.full.Load() && s.left.Load() < 0 {
		s.look()
	}
}

// look measures the free room and draws the consequences.
func (s *space) look() {
	if !s.looking.CompareAndSwap(false, true) {
		return
	}
	s.state.Lock()
	unflushed, flush := s.unflushed, s.flush
	s.state.Unlock()
	var bytes int64
	if unflushed != nil {
		// Not under the lock: it may wait for a write of Pebble's that meets a full disk and asks for the lock (hit).
		bytes = unflushed()
	}
	s.state.Lock()
	filled := s.measure(bytes)
	s.state.Unlock()
	s.looking.Store(false)
	if filled && flush != nil {
		flush()
	}
}

// measure is look under the lock, with the bytes in logs that are in no table yet; it reports whether the disk has become full.
func (s *space) measure(unflushed int64) (filled bool) {
	before := s.full.Load()
	s.at.Store(s.now().UnixNano())
	usage, err := s.fs.GetDiskUsage(s.dir)
	if err != nil { // nothing is known, so that only trying can tell
		s.left.Store(unknown)
		s.full.Store(s.now().Sub(s.state.met) < time.Second)
		return false
	}
	free, low, reserve := int64(usage.AvailBytes), s.part(max(s.state.want.MinFree, leastFree), usage), s.part(s.state.want.Reserve, usage)/2
	if s.state.useless {
		reserve = 0
	}
	if free < low/2 && s.state.reserved[0] {
		s.release(0, "the disk is nearly full")
		free += reserve
	}
	need := low + unflushed
	s.left.Store(free - need)
	for _, there := range s.state.reserved {
		if !there {
			need += reserve
		}
	}
	if s.full.Load() {
		need += low / 4 // so that it does not come and go with every table
	}
	s.judge(free, need)
	for i, there := range s.state.reserved {
		if !s.full.Load() && !there && reserve > 0 {
			s.reserve(i, reserve)
		}
	}
	s.tight.Store(free < low/2)
	return s.full.Load() && !before
}

// part bounds a size by the disk's.
func (s *space) part(size int64, usage vfs.DiskUsage) int64 {
	return max(0, min(size, int64(usage.TotalBytes/8)))
}

// judge sets whether the disk is full, and says so when that changes.
func (s *space) judge(free, need int64) {
	full := free < need
	if s.full.Swap(full) == full {
		return
	}
	if full {
		s.log.Error("the disk is full: writes are refused, reads and drops go on", "free", free, "needed", need)
	} else {
		s.log.Info("there is room on the disk again: writes are taken", "free", free)
	}
}

// hit is called when a write met a full disk, before it is tried again.
func (s *space) hit() {
	s.state.Lock()
	defer s.state.Unlock()
	s.release(0, "a write met a full disk")
	if !s.state.opened {
		s.release(1, "there is no room to start")
	}
	s.state.met = s.now()
	s.at.Store(0) // what is known is old now
	s.tight.Store(true)
	if !s.full.Swap(true) {
		s.log.Error("the disk is full: writes are refused, reads and drops go on")
	}
}

// release returns a file of the reserve up. The caller holds the lock.
func (s *space) release(i int, why string) {
	if !s.state.reserved[i] {
		return
	}
	s.state.reserved[i] = false
	if err := s.fs.Remove(s.path(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("the reserve can't be given up", "err", err)
		return
	}
	s.log.Warn("room kept in reserve is given up", "why", why)
}

// reserve makes a file of the reserve. The caller holds the lock.
func (s *space) reserve(i int, size int64) {
	err := s.preallocate(s.path(i), size)
	if err == nil {
		s.state.reserved[i] = true
		return
	}
	s.state.useless = !errors.Is(err, syscall.ENOSPC)
	_ = s.fs.Remove(s.path(i)) // an empty file is of no use, and of no harm
	s.log.Warn("no room can be reserved; a server on a full disk may not start", "err", err)
}

func (s *space) preallocate(path string, size int64) error {
	file, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return errors.Join(file.Preallocate(0, size), file.Sync(), file.Close())
}

// KeepFree sets what of the disk is left free; it may be called at any time.
// Until it is called writes are refused only once the disk is full.
func (e *Engine) KeepFree(s Space) { e.space.keep(s) }

// Left returns how many bytes the disk has beside what is left free, as they were a moment ago.
func (e *Engine) Left() int64 {
	e.space.refresh()
	return max(0, e.space.left.Load())
}

// unflushed returns the bytes of the logs that are in no table yet.
func (e *Engine) unflushed() int64 { return int64(e.db.Metrics().WAL.Size) }

// flushSoon makes tables of what is in memory, so that its logs go, unless there
// is so much that it is under way, or the engine is being closed: compactions go on
// for a moment then, and may find that the disk is full.
func (e *Engine) flushSoon() {
	if !e.open.TryRLock() {
		return
	}
	defer e.open.RUnlock()
	if e.db.Metrics().MemTable.Count > 1 {
		return
	}
	if _, err := e.db.AsyncFlush(); err != nil {
		e.log.Warn("the memtable can't be flushed", "err", err)
	}
}

// Room implements kv.Roomer.
func (e *Engine) Room() error {
	e.space.refresh()
	if e.space.full.Load() {
		return errFull
	}
	return nil
}
