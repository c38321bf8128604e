// Package crashfs is a file system in memory that can lose power, for tests of what is
// on disk afterwards. It owns what Pebble's lacks for that. Begin reading at FS.
package crashfs

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is Pebble's file system in memory, crashable while files are linked. vfs.MemFS
// takes a read lock twice in Link, and so waits for itself for ever when a CrashClone
// comes in between (version 2.1.7).
type FS struct {
	*vfs.MemFS
	links sync.RWMutex // held by those who link; whoever clones waits for them here
}

// New returns an empty file system.
func New() *FS { return &FS{MemFS: vfs.NewCrashableMem()} }

// Link implements vfs.FS.
func (f *FS) Link(from, to string) error {
	f.links.RLock()
	defer f.links.RUnlock()
	return f.MemFS.Link(from, to)
}

// CrashClone returns what a crash at this moment would leave, as vfs.MemFS does.
func (f *FS) CrashClone(c vfs.CrashCloneCfg) *FS {
	f.links.Lock()
	defer f.links.Unlock()
	return &FS{MemFS: f.MemFS.CrashClone(c)}
}
