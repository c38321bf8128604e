package pebblekv

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sectional/sectional/internal/kv"
)

// TestCheckpoint opens a checkpoint that was made while the engine was written to,
// read only, and leaves nothing but what was asked for.
func TestCheckpoint(t *testing.T) {
	mem := vfs.NewMem()
	e := open(t, Options{FS: mem, tune: small})
	defer func() { e.Close() }()
	update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("before")) })
	path, err := e.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("after")) })
	c := open(t, Options{FS: mem, Dir: path, ReadOnly: true})
	wantView(t, c, "a", "before")
	if err := putNoise(context.Background(), c, "b", 10); err == nil {
		t.Error("an engine that was opened to read takes a write")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.RemoveCheckpoint("data"); err == nil {
		t.Error("the data itself was removed as a checkpoint")
	}
	second, err := e.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.RemoveCheckpoint(path); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, Options{FS: mem, tune: small})
	for _, path := range []string{path, second} {
		if _, err := mem.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

// TestCheckpointFails lets each kind of write to a checkpoint fail: there is no
// checkpoint then, and the engine goes on.
func TestCheckpointFails(t *testing.T) {
	for _, part := range []string{"MANIFEST", "OPTIONS", "marker", ".log", ""} {
		var failed atomic.Bool
		hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasPrefix(op.Path, "data/"+checkpointPrefix) && strings.Contains(op.Path, part) {
				if op.Kind != errorfs.OpRemoveAll && op.Kind != errorfs.OpRemove {
					failed.Store(true)
					return syscall.ENOSPC
				}
			}
			return nil
		})
		e := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), hook), tune: small})
		update(t, e, func(t kv.Txn) error { return t.Put([]byte("a"), []byte("row")) })
		if _, err := e.Checkpoint(context.Background()); err == nil || !failed.Load() {
			t.Errorf("%q: a checkpoint that can't be written: %v", part, err)
		}
		if e.Stopped() {
			t.Errorf("%q: the engine stopped", part)
		}
		if err := putNoise(kv.Freeing(context.Background()), e, "b", 10); err != nil {
			t.Errorf("%q: a write afterwards: %v", part, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
