package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noProgress = func(int64, int64) {}

func sound(string) error { return nil }

// checkpoint makes a directory that looks like one.
func checkpoint(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func made(t *testing.T, source, target string, second int) *Backup {
	t.Helper()
	b, err := Make(context.Background(), Source{Checkpoint: source, ExtraFiles: []string{filepath.Join(source, "missing.ini")}}, target, time.Date(2026, 11, 22, 8, 0, second, 0, time.UTC), noProgress, sound)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSecondBackupLinks links unchanged tables, and copies what may have changed:
// other files, and tables of another time, which a restore can lead to.
func TestSecondBackupLinks(t *testing.T) {
	source := checkpoint(t, map[string]string{"000001.sst": "one", "000002.sst": "two", "MANIFEST-000003": "names"})
	target := filepath.Join(t.TempDir(), "backups")
	made(t, source, target, 1)
	if err := os.Chtimes(filepath.Join(source, "000002.sst"), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	b := made(t, source, target, 2)
	if b.Files != 3 || b.Bytes != 11 || b.Copied != 8 {
		t.Errorf("%d files, %d bytes, %d copied", b.Files, b.Bytes, b.Copied)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is open to others: %v %v", info.Mode(), err)
	}
}

// TestFailedBackupLeavesNothing fails in the check.
func TestFailedBackupLeavesNothing(t *testing.T) {
	source, target := checkpoint(t, map[string]string{"000001.sst": "one"}), t.TempDir()
	broken := errors.New("broken")
	_, err := Make(context.Background(), Source{Checkpoint: source}, target, time.Now(), noProgress, func(string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("Make: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	_, err = Make(ctx, Source{Checkpoint: source}, target, time.Now(), noProgress, func(string) error { stop(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "sound") {
		t.Errorf("Make that was interrupted: %v", err)
	}
	if left, _ := os.ReadDir(target); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if _, err := Latest(target); !errors.Is(err, ErrNone) {
		t.Errorf("Latest: %v", err)
	}
}

// TestRestore takes the newest finished backup, refuses directories that hold
// something and backups that are not whole, and leaves nothing when it fails.
func TestRestore(t *testing.T) {
	source, target := checkpoint(t, map[string]string{"000001.sst": "one", "CURRENT": "x"}), t.TempDir()
	made(t, source, target, 1)
	last := made(t, source, target, 2)
	if err := os.Mkdir(filepath.Join(target, "2027-01-01T00-00-00.000Z"+unfinished), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := Latest(target)
	if err != nil || b.Path != last.Path {
		t.Fatalf("Latest: %v %v", b, err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	broken := errors.New("broken")
	if err := Restore(context.Background(), b, dir, noProgress, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Restore: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := Restore(context.Background(), b, dir, noProgress, sound); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "000001.sst")); err != nil || string(text) != "one" {
		t.Errorf("%q %v", text, err)
	}
	if err := Restore(context.Background(), b, dir, noProgress, sound); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("over data: %v", err)
	}
	if err := os.Remove(filepath.Join(b.Data(), "CURRENT")); err != nil {
		t.Fatal(err)
	}
	if err := Restore(context.Background(), b, t.TempDir(), noProgress, sound); err == nil || !strings.Contains(err.Error(), "CURRENT") {
		t.Errorf("a backup that lacks a file: %v", err)
	}
}

// TestDamagedDescription damages the description of the newest backup: what is older is not taken in its place without a word, and a
// whole backup can be made all the same.
func TestDamagedDescription(t *testing.T) {
	source, target := checkpoint(t, map[string]string{"000001.sst": "one"}), t.TempDir()
	older := made(t, source, target, 1)
	newest := made(t, source, target, 2)
	if err := os.WriteFile(filepath.Join(newest.Path, description), []byte("x{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{target, newest.Path} {
		if b, err := Latest(dir); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), newest.Path) {
			t.Errorf("%s: %+v, %v", dir, b, err)
		}
	}
	if b, err := At(target, older.Made); err != nil || b.Path != older.Path {
		t.Errorf("of before: %+v, %v", b, err)
	}
	if b := made(t, source, target, 3); b.Copied != b.Bytes {
		t.Errorf("%+v", b)
	}
}

// TestBackupWithTheNameOfTheStage has a description name a file as the directory in which a restore gathers the data: nothing is
// restored, and the directory stays as it was.
func TestBackupWithTheNameOfTheStage(t *testing.T) {
	target := t.TempDir()
	b := made(t, checkpoint(t, map[string]string{"000001.sst": "one", Restoring: "x"}), target, 1)
	dir := t.TempDir()
	b, err := Latest(b.Path)
	if err == nil {
		err = Restore(t.Context(), b, dir, noProgress, sound)
	}
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `names a file "restoring"`) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
