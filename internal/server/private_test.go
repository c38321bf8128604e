//go:build unix

package server

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// othersMay returns what others may use below a directory.
func othersMay(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, info.Mode().String()+" "+path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDataIsPrivate runs a server under a mask that lets others read and write, in a
// new directory and in one that was made so: nothing in it is for others.
func TestDataIsPrivate(t *testing.T) {
	for _, there := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "data")
		syscall.Umask(0)
		if there {
			if err := os.MkdirAll(filepath.Join(dir, "bulk"), 0o777); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"LOCK", "local.ini", "bulk/left"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("[mine]\nkey = 1\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		s := start(t, Options{Data: dir})
		if a, err := http.Get(s.base + "/_up"); err != nil {
			t.Error(err)
		} else {
			a.Body.Close()
		}
		if found := othersMay(t, dir); len(found) > 0 {
			t.Errorf("others may use, while the server runs (made before: %v): %s", there, strings.Join(found, ", "))
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if found := othersMay(t, dir); len(found) > 0 {
			t.Errorf("others may use (made before: %v): %s", there, strings.Join(found, ", "))
		}
	}
}

// TestTighteningIsTold: what others were able to read is in the log, once.
func TestTighteningIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for range 2 {
		if err := keepPrivate(dir, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "others were able to read"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}
