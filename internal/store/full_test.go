package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// fullEngine refuses what does not make room while it is full, as an engine does
// whose disk is.
type fullEngine struct {
	kv.Engine
	full   atomic.Bool
	silent bool // Room says nothing, as just before an engine notices
}

var errTestFull = dberr.New(dberr.Full, "", "The disk is full.")

func (e *fullEngine) Room() error {
	if e.full.Load() && !e.silent {
		return errTestFull
	}
	return nil
}

func (e *fullEngine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if e.full.Load() && !kv.IsFreeing(ctx) {
		return errTestFull
	}
	return e.Engine.Update(ctx, fn, locked...)
}

func newFullWorld(t *testing.T) (*world, *fullEngine) {
	t.Helper()
	inner, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	e := &fullEngine{Engine: inner}
	w := openWorld(t, e, Options{})
	t.Cleanup(func() {
		e.full.Store(false)
		w.check()
		w.Close()
		e.Close()
	})
	return w, e
}

// TestFullDisk wants a full disk to refuse each kind of write and to take each
// kind that makes room.
func TestFullDisk(t *testing.T) {
	for _, silent := range []bool{false, true} {
		w, e := newFullWorld(t)
		e.silent = silent
		d := w.create("db", true)
		for _, id := range []document.ID{"a:1", "a:2", "b:1"} {
			w.mustWrite(d, document.Edit{ID: id, Body: []byte(`{}`)})
		}
		rev := w.mustWrite(d, document.Edit{ID: "b:2", Body: []byte(`{}`)})
		w.create("other", false)
		e.full.Store(true)
		if _, err := w.Create(ctx, "third", Creation{}); !dberr.Is(err, dberr.Full) {
			t.Errorf("Create: %v", err)
		}
		if r := w.write(d, document.Edit{ID: "a:3", Body: []byte(`{}`)}); !dberr.Is(r.Err, dberr.Full) {
			t.Errorf("a document: %v", r.Err)
		}
		for name, err := range map[string]error{
			"DropPartition": d.DropPartition(ctx, "a", false),
			"Drop":          w.Drop(ctx, "other"),
			"Sweep":         w.Sweep(ctx),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		r, err := document.ParseRev(rev)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Purge(ctx, []Purging{{ID: "b:2", Revs: []document.Rev{r}}}); err != nil {
			t.Errorf("Purge: %v", err)
		}
		if !silent {
			w.wantNoJobs(t)
		}
	}
}

// wantNoJobs wants a dropped database's rows to be removed at once when the disk
// is full.
func (w *world) wantNoJobs(t *testing.T) {
	t.Helper()
	if err := w.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	err := w.engine.View(ctx, func(v kv.Snapshot) error {
		return kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, _ []byte) error { return errors.New("there is a job left") })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFullGroup commits a write and a drop together on a full disk: each has its
// own answer.
func TestFullGroup(t *testing.T) {
	w, e := newFullWorld(t)
	e.silent = true
	d := w.create("db", true)
	w.mustWrite(d, document.Edit{ID: "a:1", Body: []byte(`{}`)})
	e.full.Store(true)
	run := func(*group) error { return nil }
	plain, freeing := &request{fn: run, done: make(chan error, 1)}, &request{fn: run, free: true, done: make(chan error, 1)}
	d.commit([]*request{plain, freeing}, nil, func() {})
	if err := <-plain.done; !dberr.Is(err, dberr.Full) {
		t.Errorf("the write: %v", err)
	}
	if err := <-freeing.done; err != nil {
		t.Errorf("the drop: %v", err)
	}
}
