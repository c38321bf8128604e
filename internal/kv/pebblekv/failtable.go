package pebblekv

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble survives a table that can't be written: it tries again, without a
// pause and without an end, and those who write wait inside it meanwhile. On a
// full disk they would wait for ever. So after a number of failures in a row
// the file system stops as it does for vital files, and tables are made in
// memory from then on, which lets the writers out. No manifest on disk names
// those tables, and nobody is told any more that a write is stored.
const tableFailures = 20

// tables is what failStop knows of the tables.
type tables struct {
	failed atomic.Int32 // in a row
	memory *vfs.MemFS
	broken atomic.Bool // new tables are made in memory
}

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// createTable makes a table's file, watched for failures.
func (f *failStop) createTable(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if f.tables.broken.Load() {
		return f.createInMemory(name)
	}
	inner, err := f.FS.Create(name, c)
	if f.tableFailed(err) {
		return f.createInMemory(name)
	}
	if err != nil {
		return nil, err
	}
	return &tableFile{File: inner, fs: f}, nil
}

func (f *failStop) createInMemory(name string) (vfs.File, error) {
	if err := f.tables.memory.MkdirAll(f.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return f.tables.memory.Create(name, vfs.WriteCategoryUnspecified)
}

// tableFailed counts the outcome of an operation on a table. It reports
// whether the disk has now failed too often.
func (f *failStop) tableFailed(err error) bool {
	if err == nil || !f.armed.Load() {
		return false
	}
	if f.tables.failed.Add(1) < tableFailures {
		return false
	}
	f.caught(err)
	f.tables.broken.Store(true)
	return true
}

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
	fs *failStop
}

// Write implements vfs.File.
func (t *tableFile) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	t.fs.tableFailed(err)
	return n, err
}

// Sync implements vfs.File. A table that is synced ends a row of failures.
func (t *tableFile) Sync() error { return t.synced(t.File.Sync()) }

// SyncData implements vfs.File.
func (t *tableFile) SyncData() error { return t.synced(t.File.SyncData()) }

func (t *tableFile) synced(err error) error {
	if err == nil {
		t.fs.tables.failed.Store(0)
	}
	t.fs.tableFailed(err)
	return err
}
