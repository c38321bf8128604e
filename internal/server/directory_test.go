package server

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entries are the names and modes of all that lies below a directory.
func entries(t *testing.T, dir string) string {
	t.Helper()
	var found strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			found.WriteString(info.Mode().String() + " " + path + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found.String()
}

// TestNoDataNothingMade has commands that work on data meet places without any: they say so, and make nothing there.
func TestNoDataNothingMade(t *testing.T) {
	for _, place := range []struct{ name, says string }{
		{"empty", "there is no data in"}, {"others", "there is no data in"}, {"file", "is not a directory"}, {"none", "there is no data directory"},
	} {
		top := t.TempDir()
		dir := filepath.Join(top, place.name)
		switch place.name {
		case "file":
			writeFile(t, dir)
		case "others":
			writeFile(t, filepath.Join(dir, "notes"))
		case "empty":
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		before := entries(t, top)
		ctx := context.Background()
		for name, command := range map[string]func() error{
			"check": func() error { return Check(ctx, dir, EngineOptions{}, io.Discard, nil) },
			"backup": func() error {
				return Backup(ctx, BackupOptions{Data: dir, Backups: filepath.Join(top, "backups"), Out: io.Discard})
			},
			"copy": func() error {
				_, err := copied(t, dir, filepath.Join(top, "target"))
				return err
			},
		} {
			if err := command(); err == nil || !strings.Contains(err.Error(), place.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s, %s: %v", name, place.name, err)
			}
			if after := entries(t, top); after != before {
				t.Fatalf("%s, %s: there was\n%sand is\n%s", name, place.name, before, after)
			}
		}
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOthersDirectory has a server and a copy refuse a directory in which others keep things, whose modes they would
// change; what a new volume or an account has in it is no reason to.
func TestOthersDirectory(t *testing.T) {
	source := t.TempDir()
	if err := start(t, Options{Data: source, User: "adm", Password: "pass"}).stop(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "home")
	writeFile(t, filepath.Join(dir, "letters", "mine"))
	before := entries(t, dir)
	err := refuses(t, Options{Data: dir, User: "adm", Password: "pass"})
	if err == nil || !strings.Contains(err.Error(), "as letters") {
		t.Errorf("a server: %v", err)
	}
	if _, err := copied(t, source, dir); err == nil || !strings.Contains(err.Error(), "as letters") {
		t.Errorf("a copy: %v", err)
	}
	if after := entries(t, dir); after != before {
		t.Errorf("there was\n%sand is\n%s", before, after)
	}
	fresh := t.TempDir()
	for _, name := range []string{".profile", "lost+found/x", localConfig} {
		writeFile(t, filepath.Join(fresh, name))
	}
	if err := start(t, Options{Data: fresh, User: "adm", Password: "pass"}).stop(); err != nil {
		t.Error(err)
	}
	writeFile(t, filepath.Join(fresh, "backups", "x")) // later it is the operator's matter
	if err := start(t, Options{Data: fresh, User: "adm", Password: "pass"}).stop(); err != nil {
		t.Error(err)
	}
}
