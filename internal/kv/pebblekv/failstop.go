package pebblekv

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// failStop is a file system that stops at the first failed write of a file
// Pebble can't do without: its logs, manifests and markers.
//
// Pebble panics or ends the process when one of them can't be written, and has
// no way to go on. A server should rather go on reading and say that it can't
// write. So the failure is told to the engine (which from then on acknowledges
// nothing) and Pebble is told that all went well. That is only sound because
// nothing changes on disk any more: later writes to these files are swallowed
// and no file is removed. The directory stays as it would have been had the
// process crashed at the moment of the failure, and opening it again recovers
// from exactly that. Tables and blob files are still written, so that memtables
// can be flushed and read; no manifest on disk will ever name them. What happens
// when tables can't be written either is in failtable.go.
//
// Until arm is called failures are passed on, so that Open fails.
type failStop struct {
	vfs.FS
	armed   atomic.Bool
	stopped atomic.Bool
	onStop  func(error)
	tables  tables
	dir     string // of the data
	space   *space
	now     func() time.Time
	pause   func(time.Duration, <-chan struct{})
	closing chan struct{} // closed when nobody waits any more
	closed  sync.Once
	rest    func(*paced, time.Time) time.Duration // how long a compaction rests after a write (pace.go); set before armed
	copy    manifestCopy
	synced  atomic.Pointer[syncedLog] // of the log that was synced last
}

func newFailStop(inner vfs.FS, space *space, o *Options, onStop func(error)) *failStop {
	f := &failStop{FS: inner, dir: o.Dir, space: space, now: o.Now, pause: o.pause, onStop: onStop, closing: make(chan struct{})}
	f.tables.memory = vfs.NewMem()
	f.copy.fs, f.copy.dir = inner, o.Dir
	return f
}

// arm begins to catch failures.
func (f *failStop) arm() { f.armed.Store(true) }

// caught reports whether err has to be hidden from Pebble, and stops the file
// system then.
func (f *failStop) caught(err error) bool {
	if err == nil || !f.armed.Load() {
		return false
	}
	// onStop first: whoever sees the swallowed write sees the failure.
	f.onStop(err)
	f.stopped.Store(true)
	return true
}

// vital reports whether Pebble can't survive a failure to write the file.
func (f *failStop) vital(name string) bool {
	if f.outside(name) {
		return false
	}
	base := f.PathBase(name)
	return strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST-") ||
		strings.HasPrefix(base, "marker.")
}

// Create implements vfs.FS.
func (f *failStop) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if isTable(name) && !f.outside(name) {
		return f.createTable(name, c)
	}
	return f.openVital(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

// ReuseForWrite implements vfs.FS.
func (f *failStop) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.openVital(newname, func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, c) })
}

// OpenDir implements vfs.FS. A directory is vital: its sync makes files appear.
func (f *failStop) OpenDir(name string) (vfs.File, error) {
	inner, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	if f.outside(name) {
		return inner, nil
	}
	return &vitalFile{File: inner, fs: f}, nil
}

func (f *failStop) openVital(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if !f.vital(name) {
		return open()
	}
	if f.stopped.Load() {
		return f.void()
	}
	inner, err := open()
	if f.caught(err) {
		return f.void()
	}
	if err != nil {
		return nil, err
	}
	return &vitalFile{File: inner, fs: f, name: f.PathBase(name)}, nil
}

// void returns a file that is nowhere, in place of one not made any more.
func (f *failStop) void() (vfs.File, error) {
	inner, err := vfs.NewMem().Create("void", vfs.WriteCategoryUnspecified)
	return &vitalFile{File: inner, fs: f}, err
}

// Remove implements vfs.FS.
func (f *failStop) Remove(name string) error {
	if f.stopped.Load() {
		return nil
	}
	vital := f.vital(name)
	if vital {
		if err := f.copy.removing(f.PathBase(name)); f.caught(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	err := f.FS.Remove(name)
	if vital && f.caught(err) {
		return nil
	}
	return err
}

// RemoveAll implements vfs.FS.
func (f *failStop) RemoveAll(name string) error {
	if f.stopped.Load() {
		return nil
	}
	return f.FS.RemoveAll(name)
}

// Rename implements vfs.FS.
func (f *failStop) Rename(oldname, newname string) error {
	if f.stopped.Load() {
		return nil
	}
	return f.FS.Rename(oldname, newname)
}

// Unwrap implements vfs.FS.
func (f *failStop) Unwrap() vfs.FS { return f.FS }

// vitalFile is a file whose failure stops the file system.
type vitalFile struct {
	vfs.File
	fs       *failStop
	name     string // without the directory; "" of a directory
	uncopied []byte // what was written of a manifest and is not in its copy
	unsynced bool   // the last operation was not a sync that has succeeded
	noted    bool   // the copy knows of the log

	written, reserved, max int64 // bytes: so far, reserved on the disk, and up to where Pebble wants them reserved
}

// reserveStep is how much of a log is reserved on the disk ahead of what is written.
// Pebble wants a whole memtable's, which a small database never fills.
const reserveStep = 2 << 20

// do runs a writing operation unless the file system has stopped.
func (v *vitalFile) do(op func() error) error {
	if v.fs.stopped.Load() {
		return nil
	}
	if err := op(); !v.fs.caught(err) {
		return err
	}
	return nil
}

// Write implements vfs.File.
func (v *vitalFile) Write(p []byte) (n int, err error) {
	n = len(p)
	v.written += int64(n)
	v.unsynced = true
	if err := v.reserve(); err != nil {
		return 0, err
	}
	if v.manifest() {
		v.uncopied = append(v.uncopied, p...) // before the write: a file system in memory changes p under the race detector
	}
	err = v.do(func() (err error) { n, err = v.File.Write(p); return err })
	if err == nil {
		n = len(p)
	}
	return n, err
}

// manifest reports whether the file is a manifest, of which a copy is kept.
func (v *vitalFile) manifest() bool { return strings.HasPrefix(v.name, manifestPrefix) }

// WriteAt implements vfs.File.
func (v *vitalFile) WriteAt(p []byte, off int64) (n int, err error) {
	n = len(p)
	err = v.do(func() (err error) { n, err = v.File.WriteAt(p, off); return err })
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Preallocate implements vfs.File: Write does it by and by.
func (v *vitalFile) Preallocate(offset, length int64) error {
	v.max = offset + length
	return v.reserve()
}

// reserve has at least a half step reserved beyond what is written.
func (v *vitalFile) reserve() error {
	for v.reserved < min(v.written+reserveStep/2, v.max) {
		step := min(reserveStep, v.max-v.reserved)
		if err := v.do(func() error { return v.File.Preallocate(v.reserved, step) }); err != nil {
			return err
		}
		v.reserved += step
	}
	return nil
}

// Sync implements vfs.File.
func (v *vitalFile) Sync() error { return v.do(func() error { return v.synced(v.File.Sync()) }) }

// SyncData implements vfs.File.
func (v *vitalFile) SyncData() error {
	return v.do(func() error { return v.synced(v.File.SyncData()) })
}

// synced tells the copy of the manifest what is on the disk now.
func (v *vitalFile) synced(err error) error {
	v.unsynced = err != nil
	if n, ok := logNumber(v.name); ok && err == nil {
		v.fs.synced.Store(&syncedLog{n, v.written})
	}
	if err == nil && len(v.uncopied) > 0 {
		err = v.fs.copy.append(v.name, v.uncopied)
		v.uncopied = nil
	}
	if err == nil && !v.noted && v.written > 0 {
		v.noted = true // the file is in its directory, which Pebble has synced after it made the log
		err = v.fs.copy.note(v.name, knownLog{length: v.written})
	}
	return err
}

// SyncTo implements vfs.File.
func (v *vitalFile) SyncTo(length int64) (full bool, err error) {
	err = v.do(func() (err error) { full, err = v.File.SyncTo(length); return err })
	return full, err
}

// Close implements vfs.File. A log that Pebble closes in order is synced.
func (v *vitalFile) Close() error {
	err := v.File.Close()
	if err == nil && !v.unsynced && v.written > 0 && !v.fs.stopped.Load() {
		err = v.fs.copy.note(v.name, knownLog{length: v.written, closed: true})
	}
	if v.fs.caught(err) {
		return nil
	}
	return err
}
