// Package machine owns how much memory the process may use: what the machine has, or the container, or what the
// environment says. What is made of it is the server's. Begin reading at Memory.
package machine

import (
	"bufio"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory the process may use: the least of what GOMEMLIMIT says, of the limits of its control groups, of
// either version, and of what the machine has; 0 where nobody can tell, as on other systems than Linux. system
// is the root of the file system.
func Memory(environment func(string) string, system fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, n := range append(limits(system), physical(system), goLimit(environment("GOMEMLIMIT"))) {
		if n > 0 {
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// goLimit reads GOMEMLIMIT as the Go runtime does; 0 for none.
func goLimit(text string) int64 {
	unit := int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0
	}
	return n * unit
}

// physical returns the memory of the machine.
func physical(system fs.FS) int64 {
	for name, value := range lines(system, "proc/meminfo", ":") {
		if name != "MemTotal" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil || n > math.MaxInt64>>10 {
			return 0
		}
		return n << 10
	}
	return 0
}

// limits returns those of the process's control groups, and of the groups that these are in: each bounds it. In a
// container the path of the group is often that outside, and its files lie at the top.
func limits(system fs.FS) (all []int64) {
	for _, group := range groups(system) {
		for dir := group.path; ; dir = path.Dir(dir) {
			if n := number(system, path.Join(group.root, dir, group.file)); n > 0 {
				all = append(all, n)
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	return all
}

// group is a control group of the process that may bound its memory.
type group struct{ root, path, file string }

// groups reads them from the lines of /proc/self/cgroup, NUMBER:CONTROLLERS:PATH, of which those of version 2 name no controllers.
func groups(system fs.FS) (all []group) {
	for _, rest := range lines(system, "proc/self/cgroup", ":") {
		controllers, dir, ok := strings.Cut(rest, ":")
		dir = strings.TrimPrefix(path.Clean("/"+dir), "/")
		switch {
		case !ok:
		case controllers == "":
			for _, root := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				all = append(all, group{root, dir, "memory.max"})
			}
		case strings.Contains(","+controllers+",", ",memory,"):
			all = append(all, group{"sys/fs/cgroup/memory", dir, "memory.limit_in_bytes"})
		}
	}
	return all
}

// number reads a file with a number; 0 for another word, such as max.
func number(system fs.FS, name string) int64 {
	text, err := fs.ReadFile(system, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// lines calls yield with the lines of a file, cut in two.
func lines(system fs.FS, name, at string) func(yield func(first, rest string) bool) {
	return func(yield func(first, rest string) bool) {
		file, err := system.Open(name)
		if err != nil {
			return
		}
		defer file.Close()
		for s := bufio.NewScanner(file); s.Scan(); {
			if first, rest, ok := strings.Cut(s.Text(), at); ok && !yield(first, strings.TrimSpace(rest)) {
				return
			}
		}
	}
}
