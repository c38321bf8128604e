package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// This file has what several test files use beside world.

var ctx = context.Background()

// newModelWorld is newWorld over the model engine, which has the smallest
// limits and refuses misuse, behind wrappers that check the contract and inject
// faults.
func newModelWorld(t testing.TB, o Options) (*world, *kvtest.Faults) {
	t.Helper()
	var w *world
	f := kvtest.NewFaults(kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{})))
	w = openWorld(t, f, o)
	t.Cleanup(func() {
		f.Randomly(0, nil)
		if err := w.Check(ctx); err != nil {
			t.Errorf("Check: %v", err)
		}
		w.Close()
		f.Close()
	})
	return w, f
}

// rev parses a revision, "" to the zero one.
func rev(t testing.TB, s string) document.Rev {
	t.Helper()
	if s == "" {
		return document.Rev{}
	}
	r, err := document.ParseRev(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// replicated makes an edit that brings its history, newest revision first.
func replicated(t testing.TB, id, body string, path ...string) document.Edit {
	t.Helper()
	e := document.Edit{ID: document.ID(id), Body: []byte(body)}
	for _, s := range path {
		e.Path = append(e.Path, rev(t, s))
	}
	return e
}

// mustWrite writes one edit and returns its revision.
func (w *world) mustWrite(d *Database, e document.Edit) string {
	w.t.Helper()
	r := w.write(d, e)
	if r.Err != nil {
		w.t.Fatalf("write %s: %v", e.ID, r.Err)
	}
	return r.Rev.String()
}

func (w *world) sweep() {
	w.t.Helper()
	if err := w.Sweep(ctx); err != nil {
		w.t.Fatalf("Sweep: %v", err)
	}
}

// stepOf does one step of a job of the database.
func (d *Database) stepOf(kind, subject string) (more bool, err error) {
	p, err := d.page(ctx, kind)
	if kind == jobCollect {
		p, err = &tombstonePage{d: d}, nil // whatever the clock does
	}
	if err == nil {
		_, more, err = d.step(ctx, d.job(kind, subject, time.Time{}).ID, p)
	}
	return more, err
}

func (w *world) check() {
	w.t.Helper()
	if err := w.Check(ctx); err != nil {
		w.t.Fatalf("Check: %v", err)
	}
	w.queueIsWhole()
}

// together runs requests in one commit and returns their outcomes.
func together(d *Database, fns ...func(*group) error) (errs []error) {
	batch := make([]*request, len(fns))
	for i, fn := range fns {
		batch[i] = &request{fn: fn, size: 1, done: make(chan error, 1)}
	}
	d.commit(batch, nil, func() {})
	for _, r := range batch {
		errs = append(errs, <-r.done)
	}
	return errs
}

// writing returns the request of a prepared write of edits.
func writing(t testing.TB, d *Database, edits ...document.Edit) (*write, func(*group) error) {
	t.Helper()
	w := &write{scope: d.Whole(), edits: make([]*pendingEdit, len(edits))}
	for i := range edits {
		w.edits[i] = &pendingEdit{Edit: edits[i], original: &edits[i]}
	}
	if err := w.admit(ctx); err != nil {
		t.Fatal(err)
	}
	return w, func(g *group) error { return apply(g, w.edits) }
}

// dump returns all rows of an engine, keys printed, values as render shows them.
func rows(t testing.TB, e kv.Engine, r kv.Range, show func(key, value []byte) string) string {
	t.Helper()
	var b strings.Builder
	err := e.View(ctx, func(v kv.Snapshot) error {
		return kv.Each(v, r, func(key, value []byte) error {
			b.WriteString(show(key, value))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hashed makes a revision text of a generation from a short name.
func hashed(gen int, name string) string {
	return fmt.Sprintf("%d-%s%s", gen, strings.Repeat("0", 32-2*len(name)), fmt.Sprintf("%x", name))
}

var errStop = errors.New("enough")

var eof = io.EOF

// hookEngine calls inView between the taking of a snapshot and the closure.
type hookEngine struct {
	kv.Engine
	inView func()
}

func (e *hookEngine) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Engine.View(ctx, func(v kv.Snapshot) error {
		if e.inView != nil {
			e.inView()
		}
		return fn(v)
	})
}

func databaseRange(d *Database) kv.Range { return kv.Prefix(keyspace.Database(d.number)) }

func showKey(key, _ []byte) string { return keyspace.Print(key) + "\n" }
