package server

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackupsInTurn makes one backup right after the other: the server has let go
// of the first one's checkpoint when its command ends. And the socket is for its
// user alone.
func TestBackupsInTurn(t *testing.T) {
	dir, backups := filepath.Join(t.TempDir(), "data"), t.TempDir()
	a := &instance{o: Options{Data: dir, Config: configured(t, ""), Log: io.Discard}}
	must(t, os.Mkdir(dir, 0o700))
	must(t, a.open(t.Context()))
	defer func() { must(t, a.close()) }()
	if a.control == nil {
		t.Fatal("there is no socket")
	}
	info, err := os.Stat(filepath.Join(dir, controlSocket))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info.Mode(), err)
	}
	for range 30 {
		if err := Backup(context.Background(), BackupOptions{Data: dir, Backups: backups, NoVerify: true, Out: io.Discard}); err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "checkpoint-*"))
		if err != nil || len(left) > 0 {
			t.Fatalf("%q is left %v", left, err)
		}
	}
	_, end, err := checkpointOf(context.Background(), BackupOptions{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := Backup(context.Background(), BackupOptions{Data: dir, Backups: backups, NoVerify: true, Out: io.Discard}); err == nil || !strings.Contains(err.Error(), "another backup") {
		t.Errorf("beside another: %v", err)
	}
	end(false)
}
