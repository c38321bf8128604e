package segment

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// scratchFile makes a file in memory: the library syncs what it writes, which on a disk
// takes longer than a merge of small segments. It has a path only as long as it is open.
func scratchFile(scratch string) (file, error) {
	fd, err := unix.MemfdCreate("sectional-merge", unix.MFD_CLOEXEC)
	if err != nil {
		return diskFile(scratch)
	}
	f := os.NewFile(uintptr(fd), "sectional-merge")
	made := file{fmt.Sprintf("/proc/self/fd/%d", fd), func() { _ = f.Close() }}
	if _, err := os.Stat(made.path); err != nil { // there is no /proc
		made.remove()
		return diskFile(scratch)
	}
	return made, nil
}
