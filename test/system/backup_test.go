package system

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// run runs a command of the binary and wants it to succeed.
func run(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(process.Binary(), arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, out)
	}
	return string(out)
}

// writing writes numbered documents until it is stopped, and returns the number of those that were acknowledged.
type writing struct {
	stop  context.CancelFunc
	done  sync.WaitGroup
	mu    sync.Mutex
	acked int
}

func write(t *testing.T, c *client) *writing {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &writing{stop: stop}
	w.done.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			status, answer, err := c.do("PUT", fmt.Sprintf("/live/doc%06d", n), []byte(`{"text":"`+strings.Repeat("x", 500)+`"}`))
			if err != nil || status != http.StatusCreated {
				t.Errorf("%d %s %v", status, answer, err)
				return
			}
			w.mu.Lock()
			w.acked = n + 1
			w.mu.Unlock()
		}
	})
	return w
}

func (w *writing) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked
}

// TestBackup makes backups of a server that is being written to. Each has everything that was acknowledged before it
// began, in one piece without gaps; the second links what the first has. Both can be restored.
func TestBackup(t *testing.T) {
	dir, backups := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	c.must(t, 201, "PUT", "/live", "", nil)
	c.must(t, 201, "PUT", "/files", "", nil)
	c.must(t, 201, "PUT", "/files/f", `{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}`, nil)
	c.must(t, 200, "PUT", "/_node/_local/_config/couchdb/max_document_size", `"7777777"`, nil)
	w := write(t, c)
	process.Within(t, time.Minute, "documents are written", func() bool { return w.count() > 300 })
	var atLeast []int
	for range 2 {
		atLeast = append(atLeast, w.count())
		if out := run(t, "backup", "--data", dir, backups); !strings.Contains(out, "sound") || strings.Contains(out, "\r") {
			t.Errorf("the backup printed %q", out)
		}
		// What is in memory becomes tables when a server starts, so that the second backup has old ones to link.
		if len(atLeast) == 1 {
			w.stop()
			w.done.Wait()
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			run(t, "backup", "--data", dir, backups) // at rest
			s = process.Start(t, process.Options{Dir: dir})
			c = ask(s)
			w = write2(t, c, w.count())
			process.Within(t, time.Minute, "more documents are written", func() bool { return w.count() > atLeast[0]+100 })
		}
	}
	w.stop()
	w.done.Wait()
	made, err := filepath.Glob(filepath.Join(backups, "*Z"))
	if err != nil || len(made) != 3 {
		t.Fatalf("backups: %q %v", made, err)
	}
	if linked(t, made[1], made[2]) == 0 {
		t.Error("the last backup shares no table with the one before")
	}
	for i, b := range []string{made[0], made[2]} {
		restored := filepath.Join(t.TempDir(), "restored")
		run(t, "restore", b, "--data", restored)
		wantRestored(t, restored, atLeast[i])
		if out, err := exec.Command(process.Binary(), "restore", b, "--data", restored).CombinedOutput(); err == nil || !strings.Contains(string(out), "not empty") {
			t.Errorf("a restore over data: %v %s", err, out)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "checkpoint-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("checkpoints are left: %q %v", left, err)
	}
}

// write2 goes on where another writing ended.
func write2(t *testing.T, c *client, from int) *writing {
	t.Helper()
	c.must(t, 200, "GET", fmt.Sprintf("/live/doc%06d", from-1), "", nil)
	ctx, stop := context.WithCancel(t.Context())
	w := &writing{stop: stop, acked: from}
	w.done.Go(func() {
		for n := from; ctx.Err() == nil; n++ {
			if status, answer, err := c.do("PUT", fmt.Sprintf("/live/doc%06d", n), []byte(`{}`)); err != nil || status != http.StatusCreated {
				t.Errorf("%d %s %v", status, answer, err)
				return
			}
			w.mu.Lock()
			w.acked = n + 1
			w.mu.Unlock()
		}
	})
	return w
}

// wantRestored starts a server on restored data: it has at least the documents up to a number, without gaps, and the rest.
func wantRestored(t *testing.T, dir string, atLeast int) {
	t.Helper()
	s := process.Start(t, process.Options{Dir: dir})
	c := ask(s)
	var list struct{ Rows []struct{ ID string } }
	c.must(t, 200, "GET", "/live/_all_docs", "", &list)
	if len(list.Rows) < atLeast {
		t.Errorf("%d documents are back, and %d were acknowledged before the backup began", len(list.Rows), atLeast)
	}
	for i, row := range list.Rows {
		if want := fmt.Sprintf("doc%06d", i); row.ID != want {
			t.Fatalf("document %d is %s: the backup is not one moment", i, row.ID)
		}
	}
	c.must(t, 200, "GET", "/files/f/a", "", nil)
	var size string
	c.must(t, 200, "GET", "/_node/_local/_config/couchdb/max_document_size", "", &size)
	if size != "7777777" {
		t.Errorf("the setting is %q", size)
	}
	c.must(t, 201, "PUT", "/live/new", `{}`, nil)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
}

// linked counts the files that two backups share.
func linked(t *testing.T, a, b string) (n int) {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(b, "data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		one, err := os.Stat(filepath.Join(a, "data", name.Name()))
		if err != nil {
			continue
		}
		two, err := os.Stat(filepath.Join(b, "data", name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if os.SameFile(one, two) {
			n++
		}
	}
	return n
}

// TestCopyOfLiveDirectory refuses a copy of the directory of a running server, in words that say what to do, and
// opens the directory itself after a crash, and a copy of it when the server has ended.
func TestCopyOfLiveDirectory(t *testing.T) {
	dir := t.TempDir()
	s := process.Start(t, process.Options{Dir: dir})
	ask(s).must(t, 201, "PUT", "/db", "", nil)
	live := filepath.Join(t.TempDir(), "live")
	copyDirectory(t, dir, live)
	for _, line := range [][]string{{"check", "--data", live}, {"serve", "--data", live, "--listen", "127.0.0.1:0"}, {"backup", "--data", live, t.TempDir()}} {
		out, err := exec.Command(process.Binary(), line...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "sectional backup") || !strings.Contains(string(out), "in-use") {
			t.Errorf("%s on a copy: %v %s", line[0], err, out)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s = process.Start(t, process.Options{Dir: dir})
	ask(s).must(t, 200, "GET", "/db", "", nil)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	ended := filepath.Join(t.TempDir(), "ended")
	copyDirectory(t, dir, ended)
	check(t, ended)
}

// copyDirectory copies as `cp -r` does, but for sockets.
func copyDirectory(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", `mkdir -p "$2" && cd "$1" && for f in *; do [ -S "$f" ] || cp -r "$f" "$2"; done`, "sh", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}
