package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sectional/sectional/internal/dberr"
)

// checkpointPrefix begins the names of the directories of checkpoints, below the
// data directory.
const checkpointPrefix = "checkpoint-"

// checkpoints counts the checkpoints of an engine.
type checkpoints struct{ number atomic.Uint64 }

// Checkpoint makes a copy of the database as it is now, with everything that was
// acknowledged, in a directory of its own below the data directory. Tables are
// linked, so that it takes little room at first; it keeps what compactions
// replace from going, though, until it is removed, which is the caller's task.
// What a crash leaves is removed when the engine is opened.
func (e *Engine) Checkpoint(ctx context.Context) (path string, err error) {
	if err := e.enter(ctx); err != nil {
		return "", err
	}
	defer e.open.RUnlock()
	if err := e.stopped(); err != nil {
		return "", err
	}
	path = e.disk.PathJoin(e.disk.dir, fmt.Sprint(checkpointPrefix, e.checkpoints.number.Add(1)))
	if err := e.db.Checkpoint(path, pebble.WithFlushedWAL()); err != nil {
		return "", dberr.Wrap("pebblekv.Checkpoint", err)
	}
	return path, nil
}

// RemoveCheckpoint removes what Checkpoint made.
func (e *Engine) RemoveCheckpoint(path string) error {
	if !e.disk.outside(path) {
		return dberr.New(dberr.Invalid, "", "%s is not a checkpoint.", path)
	}
	return dberr.Wrap("pebblekv.RemoveCheckpoint", e.disk.FS.RemoveAll(path))
}

// outside reports whether a path is within a checkpoint. What fails there does not
// concern the engine's own files.
func (f *failStop) outside(name string) bool {
	rest, below := strings.CutPrefix(name, f.PathJoin(f.dir, checkpointPrefix))
	return f.dir != "" && below && rest != ""
}

// removeCheckpoints removes what a crash has left.
func (f *failStop) removeCheckpoints() error {
	names, err := f.FS.List(f.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if path := f.PathJoin(f.dir, name); err == nil && f.outside(path) {
			err = f.FS.RemoveAll(path)
		}
	}
	return err
}
