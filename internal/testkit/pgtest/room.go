package pgtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Room is a disk of a bounded size, in memory.
type Room struct{ Dir string }

// NewRoom makes a disk for the length of a test, of a size as mount takes it ("64m"). Where this process may not, the
// test is passed over.
func NewRoom(t testing.TB, size string) Room {
	t.Helper()
	dir, err := os.MkdirTemp("", "sectional-room")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) }) // in the temporary directory, where a leftover does no harm
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=1777,size="+size); err != nil {
		t.Skipf("NOT TESTED: no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return Room{dir}
}

// Resize gives the disk another size.
func (r Room) Resize(size string) error {
	return syscall.Mount("none", r.Dir, "tmpfs", syscall.MS_REMOUNT, "size="+size)
}

// DatabaseIn is Database with its tables on a disk of their own.
func (c *Cluster) DatabaseIn(t testing.TB, r Room) (url string) {
	t.Helper()
	dir := filepath.Join(r.Dir, "tables")
	err := os.Mkdir(dir, 0o700)
	if err == nil && c.asUser != nil {
		err = os.Chown(dir, int(c.asUser.Uid), int(c.asUser.Gid))
	}
	if err == nil {
		err = c.Admin(t.Context(), "CREATE TABLESPACE small LOCATION '"+dir+"'")
	}
	if err == nil {
		url, err = c.Database(t.Context(), "TABLESPACE small")
	}
	if err != nil {
		t.Fatal(err)
	}
	return url
}
