package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// mountSmall mounts an ext4 file system of so many megabytes from a file, or skips the test where that is not allowed.
func mountSmall(t *testing.T, megabytes int64) (dir string) {
	t.Helper()
	base := t.TempDir()
	image, dir := filepath.Join(base, "image"), filepath.Join(base, "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, megabytes<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
			t.Skipf("NOT TESTED: a full disk needs a small file system, and this process may not make one: %s: %v %s", line[0], err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return dir
}

// TestFullDisk fills a real file system while clients write: writes are refused with 507, reads go on, and so they do
// when others take the rest. A server that is killed then starts on the disk without a free byte, reads, drops a
// database, and takes writes again by itself.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a file system")
	}
	disk := mountSmall(t, 160)
	dir := filepath.Join(disk, "data")
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	c.must(t, 201, "PUT", "/keep", "", nil)
	c.must(t, 201, "PUT", "/keep/doc", `{"n":1}`, nil)
	c.must(t, 201, "PUT", "/fill", "", nil)
	stored := fillDisk(t, c)
	t.Logf("%d documents of 20 KB were stored", stored)
	wantFull(t, c, "/keep/refused")
	junk := filepath.Join(disk, "junk")
	takeRest(t, junk)
	wantFull(t, c, "/keep/refused")
	if memory, err := s.Memory("VmHWM"); err != nil || memory > 700<<20 && !process.Racing {
		t.Errorf("the server took %d MB at its peak (%v)", memory>>20, err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	takeRest(t, junk+"2")
	s = process.Start(t, process.Options{Dir: dir})
	c = ask(s)
	c.must(t, 200, "GET", "/keep/doc", "", nil)
	c.must(t, 200, "DELETE", "/fill", "", nil)
	process.Within(t, 2*time.Minute, "writes are taken again", func() bool {
		status, _, err := c.do("PUT", fmt.Sprintf("/keep/again%d", time.Now().UnixNano()), []byte(`{}`))
		return err == nil && status == http.StatusCreated
	})
	var up struct{ Status string }
	c.must(t, 200, "GET", "/_up", "", &up)
	if up.Status != "ok" {
		t.Errorf("_up says %q", up.Status)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
}

// fillDisk writes from several clients at once until each is refused, and returns how many documents were stored.
func fillDisk(t *testing.T, c *client) int {
	t.Helper()
	var all sync.WaitGroup
	counts := make([]int, 8)
	for w := range counts {
		all.Go(func() {
			for n := 0; n < 20000; n++ {
				status, answer, err := c.do("POST", "/fill/_bulk_docs", incompressible(w, n))
				if err != nil || status != http.StatusCreated {
					if !isFull(status, answer) {
						t.Errorf("%d %s %v", status, answer, err)
					}
					return
				}
				counts[w] += 5
			}
			t.Error("the disk does not become full")
		})
	}
	all.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// incompressible makes five documents of 20 KB.
func incompressible(w, n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	r := rand.New(rand.NewPCG(uint64(w), uint64(n)))
	var b bytes.Buffer
	b.WriteString(`{"docs":[`)
	for i := range 5 {
		if i > 0 {
			b.WriteByte(',')
		}
		text := make([]byte, 20<<10)
		for j := range text {
			text[j] = letters[r.IntN(len(letters))]
		}
		fmt.Fprintf(&b, `{"_id":"%d-%d-%d","text":"%s"}`, w, n, i, text)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func isFull(status int, answer []byte) bool {
	var e struct{ Error, Reason string }
	return status == http.StatusInsufficientStorage && json.Unmarshal(answer, &e) == nil && e.Error == "insufficient_storage" && e.Reason != ""
}

// wantFull wants writes to be refused, and reads to be answered.
func wantFull(t *testing.T, c *client, path string) {
	t.Helper()
	status, answer, err := c.do("PUT", path, []byte(`{}`))
	if err != nil || !isFull(status, answer) {
		t.Errorf("a write on a full disk: %d %s %v", status, answer, err)
	}
	c.must(t, 200, "GET", "/keep/doc", "", nil)
	var up struct{ Status string }
	c.must(t, 200, "GET", "/_up", "", &up)
	if up.Status != "full" {
		t.Errorf("_up says %q", up.Status)
	}
}

// takeRest fills the file system to its last byte.
func takeRest(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
