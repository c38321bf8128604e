package script

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// confine takes from this process what a child never needs: writing to files, opening anything at all (files, sockets),
// and memory far beyond its limit, so that even one huge allocation fails. The memory limit proper is watched, because
// Go reserves far more address space than it uses.
func confine(memory int64) error {
	if err := errors.Join(closeInherited(), poller()); err != nil {
		return err
	}
	const beyond = 768 << 20
	most := uint64(memory) + beyond
	for _, r := range []struct {
		what int
		most uint64
	}{
		{syscall.RLIMIT_DATA, most},
		{syscall.RLIMIT_FSIZE, 0},
		{syscall.RLIMIT_CORE, 0},
		{syscall.RLIMIT_NOFILE, 0},
	} {
		if err := syscall.Setrlimit(r.what, &syscall.Rlimit{Cur: r.most, Max: r.most}); err != nil {
			return err
		}
	}
	return nil
}

// poller has Go's runtime open the descriptors with which it waits for timers and pipes. Otherwise it would do so at the
// first timer, when nothing can be opened any more.
func poller() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	return errors.Join(r.Close(), w.Close())
}

// closeInherited closes descriptors that whoever started the server left open for all its children. What Go's runtime has
// opened for itself stays.
func closeInherited() error {
	const directory = "/proc/self/fd/"
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil || number <= 2 {
			continue
		}
		target, err := os.Readlink(directory + e.Name())
		if err != nil || ofRuntime(target) {
			continue // the first is the directory itself, closed by now
		}
		if err := syscall.Close(number); err != nil {
			return err
		}
	}
	return nil
}

// ofRuntime reports whether a descriptor is one with which Go's runtime waits, or watches how many processors it has.
func ofRuntime(target string) bool {
	return strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/sys/fs/cgroup/")
}
