package pebblekv

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble survives a table that can't be written: it tries again, without a
// pause and without an end, and those who write wait inside it meanwhile. So
// each failure is followed by a pause here, and in the end the file system stops
// as it does for vital files: tables are made in memory from then on, which lets
// the writers out. No manifest on disk names those tables, and nobody is told
// any more that a write is stored.
//
// The end is a matter of time, not of how many tables failed: others may be
// written well meanwhile, by loads and compactions, and help nobody. It has come
// when no memtable could become a table for failingTooLong, or when a writer has
// waited inside Pebble for as long while tables failed. A disk that is merely
// full is no reason as long as nobody waits: writes are refused then (space.go),
// and the memtables become tables when there is room.
const (
	failingTooLong  = 1500 * time.Millisecond
	flushPause      = 200 * time.Millisecond
	compactionPause = time.Second
)

// Pebble's names for what a table is written for.
const (
	writeFlush      vfs.DiskWriteCategory = "pebble-memtable-flush"
	writeCompaction vfs.DiskWriteCategory = "pebble-compaction"
	writeOwn        vfs.DiskWriteCategory = vfs.WriteCategoryUnspecified // bulk.go, checkpoints
)

// tables is what failStop knows of the tables.
type tables struct {
	memory *vfs.MemFS
	broken atomic.Bool // new tables are made in memory
	// since when each kind has failed, Unix nanoseconds; 0: the last one succeeded
	flushFails, compactionFails atomic.Int64
	handed                      atomic.Int64 // since when a writer is inside Pebble; 0: none is
	// a range was discarded while the disk was tight: its rows leave the disk with
	// the next compactions
	discarded atomic.Bool
}

// ended notes how a flush or a compaction went.
func (t *tables) ended(fails *atomic.Int64, err error) {
	if err == nil {
		fails.Store(0)
	}
}

// handing notes that a writer goes into Pebble, and returns the function that notes
// that it came out. There is one at a time.
func (f *failStop) handing() func() {
	f.tables.handed.Store(f.now().UnixNano())
	return func() { f.tables.handed.Store(0) }
}

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// createTable makes a table's file, watched for failures.
func (f *failStop) createTable(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if f.tables.broken.Load() {
		return f.createInMemory(name)
	}
	inner, err := f.beginTable(name, c)
	if f.tableFailed(err, c) {
		return f.createInMemory(name)
	}
	if err != nil {
		return nil, err
	}
	return &tableFile{File: inner, fs: f, category: c}, nil
}

// beginTable makes the file, unless it is a compaction's and the disk has no room
// for more than what flushes and drops need. After a drop compactions make room, so
// they are let in until there is some, or they meet the end of the disk.
func (f *failStop) beginTable(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c != writeFlush && c != writeOwn && f.armed.Load() {
		f.space.refresh()
		tight := f.space.tight.Load()
		if tight && !f.tables.discarded.Load() {
			return nil, syscall.ENOSPC
		}
		if !tight {
			f.tables.discarded.Store(false)
		}
	}
	return f.FS.Create(name, c)
}

func (f *failStop) createInMemory(name string) (vfs.File, error) {
	if err := f.tables.memory.MkdirAll(f.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return f.tables.memory.Create(name, vfs.WriteCategoryUnspecified)
}

// tableFailed is told the outcome of an operation on a table. It reports whether
// tables have failed for too long, and pauses otherwise. Who writes a table for
// a commit of its own is told at once and has other ways.
func (f *failStop) tableFailed(err error, c vfs.DiskWriteCategory) bool {
	if err == nil || c == writeOwn {
		return false
	}
	fails, pause := &f.tables.compactionFails, compactionPause
	if c == writeFlush {
		fails, pause = &f.tables.flushFails, flushPause
	} else {
		f.tables.discarded.Store(false)
	}
	now := f.now().UnixNano()
	fails.CompareAndSwap(0, now)
	if f.tooLong(now, fails.Load(), c == writeFlush && (!errors.Is(err, syscall.ENOSPC) || !f.armed.Load())) {
		f.giveUp(err)
		return true
	}
	f.pause(pause, f.closing)
	return false
}

// tooLong reports whether there is no use in waiting: tables have failed for too
// long, and either that is enough or a writer waits for them.
func (f *failStop) tooLong(now, since int64, enough bool) bool {
	handed := f.tables.handed.Load()
	waits := handed != 0 && now-handed >= int64(failingTooLong)
	return now-since >= int64(failingTooLong) && (enough || waits)
}

// giveUp stops the file system, for tables too. While the engine is being opened
// that ends the opening, which waits for tables.
func (f *failStop) giveUp(err error) {
	f.armed.Store(true)
	f.caught(err)
	f.tables.broken.Store(true)
	f.endPauses()
}

// endPauses ends the pauses.
func (f *failStop) endPauses() { f.closed.Do(func() { close(f.closing) }) }

// Open implements vfs.FS.
func (f *failStop) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if f.tables.broken.Load() && isTable(name) {
		if file, err := f.tables.memory.Open(name, o...); err == nil {
			return file, nil
		}
	}
	return f.FS.Open(name, o...)
}

// Stat implements vfs.FS.
func (f *failStop) Stat(name string) (vfs.FileInfo, error) {
	if f.tables.broken.Load() && isTable(name) {
		if info, err := f.tables.memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return f.FS.Stat(name)
}

// tableFile is a table that is being written.
type tableFile struct {
	vfs.File
	fs       *failStop
	category vfs.DiskWriteCategory
	pace     paced
}

// Write implements vfs.File.
func (t *tableFile) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	t.fs.tableFailed(err, t.category)
	t.rest()
	return n, err
}

// rest lets a compaction wait while others need the processors more.
func (t *tableFile) rest() {
	if t.category != writeCompaction || !t.fs.armed.Load() {
		return
	}
	if d := t.fs.rest(&t.pace, t.fs.now()); d > 0 {
		t.fs.pause(d, t.fs.closing)
		t.pace.since = t.fs.now()
	}
}

// Sync implements vfs.File.
func (t *tableFile) Sync() error { return t.synced(t.File.Sync()) }

// SyncData implements vfs.File.
func (t *tableFile) SyncData() error { return t.synced(t.File.SyncData()) }

func (t *tableFile) synced(err error) error {
	t.fs.tableFailed(err, t.category)
	return err
}

// flushed and compacted note how a flush and a compaction went.
func (e *Engine) flushed(i pebble.FlushInfo) {
	e.disk.tables.ended(&e.disk.tables.flushFails, i.Err)
	e.filesChanged()
}

func (e *Engine) compacted(i pebble.CompactionInfo) {
	e.disk.tables.ended(&e.disk.tables.compactionFails, i.Err)
	e.filesChanged()
}
