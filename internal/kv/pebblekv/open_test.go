package pebblekv

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func TestDirectoryInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	e := open(t, Options{Dir: dir})
	_, err := Open(quiet(Options{Dir: dir}))
	if !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second Open of the directory: %v", err)
	}
	update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("1")) })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	again := open(t, Options{Dir: dir})
	defer again.Close()
	wantView(t, again, "a", "1")
}

func TestDirectoryUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(quiet(Options{Dir: file})); !dberr.Is(err, dberr.Internal) {
		t.Errorf("Open of a file: %v", err)
	}
}

// TestDiscardReleasesSpace drops a large range and finds it gone from the disk.
func TestDiscardReleasesSpace(t *testing.T) {
	testrun.Sequential(t)
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	value := bytes.Repeat([]byte("incompressible? "), 64)
	for i := range 20 {
		update(t, e, func(tx kv.Txn) error {
			for j := range 200 {
				if err := tx.Put(append([]byte("drop"), byte(i), byte(j)), value); err != nil {
					return err
				}
			}
			return tx.Put([]byte{'k', byte(i)}, value)
		})
	}
	ctx := context.Background()
	if err := e.Compact(ctx, kv.Range{}); err != nil {
		t.Fatal(err)
	}
	before, _ := e.DiskSize(kv.Range{})
	if err := e.Discard(ctx, kv.Prefix([]byte("drop"))); err != nil {
		t.Fatal(err)
	}
	if err := e.Compact(ctx, kv.Prefix([]byte("drop"))); err != nil {
		t.Fatal(err)
	}
	after, err := e.DiskSize(kv.Range{})
	if err != nil || after > before/10 {
		t.Errorf("%d bytes before and %d after the range was dropped (%v)", before, after, err)
	}
	wantView(t, e, "k\x05", string(value))
}
