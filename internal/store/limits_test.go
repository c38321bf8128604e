package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestLongIDs: an id that the engine has no room for is refused as such, whichever way
// it comes, and the longest that it has room for does for all rows of a document.
func TestLongIDs(t *testing.T) {
	w, _ := newModelWorld(t, Options{})
	d := w.create("db", true)
	longest := 0
	for n := 1; n < 2*w.engine.Limits().Key; n++ {
		if d.checkID(document.ID("p:"+strings.Repeat("x", n))) != nil {
			break
		}
		longest = n
	}
	if least := w.engine.Limits().Key - 2*besideID; longest < least {
		t.Errorf("the longest id has %d bytes after its partition, fewer than %d", longest, least)
	}
	id := document.ID("p:" + strings.Repeat("x", longest))
	large := fmt.Sprintf(`{"n":%q}`, bytes.Repeat([]byte("n"), 3*chunkSize))
	first := w.mustWrite(d, document.Edit{ID: id, Body: []byte(large)})
	w.mustWrite(d, replicated(t, string(id), large, "2-"+strings.Repeat("00", 16), "1-"+strings.Repeat("00", 16)))
	second := w.mustWrite(d, document.Edit{ID: id, Parent: rev(t, first), Body: []byte(large)})
	w.mustWrite(d, document.Edit{ID: id, Parent: rev(t, second), Deleted: true, Body: []byte(`{}`)})
	w.sweep()
	if _, err := d.Purge(ctx, []Purging{{ID: id, Revs: []document.Rev{rev(t, "2-"+strings.Repeat("00", 16))}}}); err != nil {
		t.Error(err)
	}

	for _, e := range []document.Edit{
		{ID: id + "x", Body: []byte(`{}`)},
		replicated(t, string(id)+"x", `{}`, "1-aa"),
	} {
		if r := w.write(d, e); !dberr.Is(r.Err, dberr.Invalid) || r.Err.Error() != errLongID.Error() {
			t.Errorf("an id that is too long: %v", r.Err)
		}
	}
	if _, err := d.Whole().Write(ctx, []document.Edit{{ID: id + "x", Body: []byte(`{}`)}}, WriteOptions{Atomic: true}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("an id that is too long in an atomic batch: %v", err)
	}
	if _, err := d.Whole().PutLocal(ctx, document.ID("_local/"+strings.Repeat("x", w.engine.Limits().Key)), 0, []byte(`{}`)); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("the id of a local document that is too long: %v", err)
	}
	view(t, d.Whole(), func(r *Reader) error {
		if _, err := r.Winner(id + "x"); !dberr.Is(err, dberr.NotFound) {
			t.Errorf("reading an id that is too long: %v", err)
		}
		return nil
	})
}

// TestPurgeOfMany: one commit removes only so many bodies of a document, and forgets only so
// many purges; what is left goes later.
func TestPurgeOfMany(t *testing.T) {
	testrun.Sequential(t)
	w, _ := newModelWorld(t, Options{})
	d := w.create("db", false)
	last := ""
	for n := range dropBodyRows + 50 {
		last = w.mustWrite(d, edit(t, "a", last, fmt.Sprintf(`{"n":%d}`, n)))
	}
	purge := func(id document.ID, last string) {
		t.Helper()
		done, err := d.Purge(ctx, []Purging{{ID: id, Revs: []document.Rev{rev(t, last)}}})
		if err != nil || len(done[0].Revs) != 1 {
			t.Fatalf("%v %v", done, err)
		}
	}
	purge("a", last)
	if n := w.bodiesOf(d, "a"); n == 0 || n > 50 {
		t.Errorf("after the purge %d bodies are there, want those that were too many", n)
	}
	if err := d.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if n := w.bodiesOf(d, "a"); n != 0 {
		t.Errorf("%d bodies are left", n)
	}

	for n := range forgetPurges + 20 {
		purge(document.ID(fmt.Sprint(n)), w.mustWrite(d, edit(t, fmt.Sprint(n), "", `{}`)))
	}
	if err := d.SetPurgedInfosLimit(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{forgetPurges + 21 + 1 - forgetPurges, 1} {
		id := document.ID(fmt.Sprintf("x%d", n))
		purge(id, w.mustWrite(d, edit(t, string(id), "", `{}`)))
		if got, err := d.Purged(ctx); err != nil || len(got) != want {
			t.Errorf("%d purges are remembered (%v), want %d", len(got), err, want)
		}
	}
}

// bodiesOf counts the bodies of a document.
func (w *world) bodiesOf(d *Database, id document.ID) (n int) {
	w.t.Helper()
	err := d.Whole().View(ctx, func(r *Reader) error {
		found, err := d.bodiesOf(r.v, []document.ID{id}, 1<<20)
		n = len(found[id])
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
