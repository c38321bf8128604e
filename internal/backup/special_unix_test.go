//go:build unix

package backup

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSpecialFile puts a pipe in the place of a backup's file. A restore would wait for somebody to write into it, and not end when
// it is told to.
func TestSpecialFile(t *testing.T) {
	source, target := checkpoint(t, map[string]string{"000001.sst": "one"}), t.TempDir()
	b := made(t, source, target, 1)
	path := filepath.Join(b.Data(), "000001.sst")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(path, []byte("one"), 0) }() // waits for who reads
	if err := Restore(t.Context(), b, filepath.Join(t.TempDir(), "data"), noProgress, sound); err == nil {
		t.Error("a pipe is taken for a file")
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Log(err) // nobody reads it
	}
	reader.Close()
}
