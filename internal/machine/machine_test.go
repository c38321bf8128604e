package machine

import (
	"testing"
	"testing/fstest"
)

// TestMemory has systems that say in different ways how much memory there is.
func TestMemory(t *testing.T) {
	const gb = 1 << 30
	meminfo := "MemTotal:        8388608 kB\nMemFree:          100 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		env   string
		want  int64
	}{
		"nothing is told":    {nil, "", 0},
		"the machine":        {map[string]string{"proc/meminfo": meminfo}, "", 8 * gb},
		"no number":          {map[string]string{"proc/meminfo": "MemTotal: lots kB\n"}, "", 0},
		"the environment":    {map[string]string{"proc/meminfo": meminfo}, "512MiB", gb / 2},
		"only that":          {nil, "1GiB", gb},
		"bytes":              {nil, "1000", 1000},
		"bytes with a unit":  {nil, "1000B", 1000},
		"off":                {nil, "off", 0},
		"nonsense":           {nil, "-1MiB", 0},
		"too much":           {nil, "9223372036854775807TiB", 0},
		"more than there is": {map[string]string{"proc/meminfo": meminfo}, "1TiB", 8 * gb},
		"version 2, a container of its own": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, "", gb / 2},
		"version 2, a service": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/sectional.service\n",
			"sys/fs/cgroup/system.slice/sectional.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "2147483648\n",
		}, "", 2 * gb},
		"version 2, the path outside": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, "", gb},
		"a path that leads outside": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/x/memory.max": "1073741824\n",
		}, "", gb},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/a\n4:hugetlb,memory:/a/b\n0::/x\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/cpu/a/memory.limit_in_bytes": "1\n",
		}, "", gb},
		"version 1 without a limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, "", 8 * gb},
	} {
		system := fstest.MapFS{}
		for file, text := range c.files {
			system[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := Memory(func(string) string { return c.env }, system); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
