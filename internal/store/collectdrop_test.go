package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// TestCollectionBesideDrops collects old tombstones while partitions are being dropped:
// those of a partition whose documents go are left to the drop, those of one that
// gets tombstones are collected whether the drop has come to them or not, and nobody
// else's wait.
func TestCollectionBesideDrops(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.aging(d, "1_hour")
	const old = dropPage + 50
	var edits []document.Edit
	for _, p := range []string{"gone", "dead", "live"} {
		for n := range old {
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("%s:%03d", p, n)), Path: []document.Rev{rev(t, "1-aa")}, Deleted: true})
		}
		edits = append(edits, document.Edit{ID: document.ID(p + ":x"), Body: []byte("{}")})
	}
	if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)
	if _, err := d.stepOf(jobCollect, ""); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * time.Hour)
	for p, tombstones := range map[document.Partition]bool{"gone": false, "dead": true} {
		if err := d.DropPartition(ctx, p, tombstones); err != nil {
			t.Fatal(err)
		}
	}
	step := func(kind, p string) {
		t.Helper()
		if more, err := d.stepOf(kind, p); !more || err != nil {
			t.Fatalf("%s of %s: there is more: %v, %v", kind, p, more, err)
		}
	}
	step(jobTombstones, "dead")
	step(jobPartition, "gone")
	for more := true; more; {
		var err error
		if more, err = d.stepOf(jobCollect, ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := markers(t, d); n != 2*old {
		t.Errorf("%d tombstones were collected beside the drops, want %d", n, 2*old)
	}
	w.check()
	w.sweep()
	w.check()
	totals, err := d.Whole().Totals(ctx)
	if err != nil || totals.Docs != 1 || totals.Deleted != 1 {
		t.Errorf("%d documents and %d tombstones are left (%v)", totals.Docs, totals.Deleted, err)
	}
	for id, want := range map[string]string{"gone:000": "1-zz {}", "dead:000": "not_found: missing", "dead:149": "not_found: missing", "live:000": "not_found: missing"} {
		e := replicated(t, id, "{}", "1-zz")
		if id != "gone:000" {
			e = replicated(t, id, "{}", "1-aa") // the collected revision, as an old replica has it
		}
		w.mustWrite(d, e)
		if got := w.get(d, id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// TestCollectedWithTheStep collects a tombstone in the very commit in which the drop of
// its partition has come to it, after it and before it.
func TestCollectedWithTheStep(t *testing.T) {
	for _, first := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		w.aging(d, "1_hour")
		w.mustWrite(d, document.Edit{ID: "p:a", Path: []document.Rev{rev(t, "1-aa")}, Deleted: true})
		if _, err := d.stepOf(jobCollect, ""); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Hour)
		if err := d.DropPartition(ctx, "p", true); err != nil {
			t.Fatal(err)
		}
		collect := func(g *group) error {
			s, err := g.doc("p:a")
			if err == nil {
				_, err = g.collect(dated{id: "p:a", seq: s.head.seq}, bodies{"p:a": {rev(t, "1-aa")}})
			}
			return err
		}
		page := dropping{d: d}
		seen := jobs.Job{ID: d.job(jobTombstones, "p", w.now).ID}
		if err := d.Whole().View(ctx, func(r *Reader) error { return page.read(r, &seen) }); err != nil {
			t.Fatal(err)
		}
		drop := func(g *group) error {
			now, err := jobs.Get(g.tx, seen.ID)
			if err != nil {
				return err
			}
			j, err := w.jobs.Lock(g.tx, &now)
			if err == nil {
				_, err = page.write(g, &j.Job)
			}
			if err == nil {
				err = w.jobs.Save(g.tx, &j)
			}
			return err
		}
		fns := []func(*group) error{drop, collect}
		if first {
			fns = []func(*group) error{collect, drop}
		}
		for _, err := range together(d, fns...) {
			if err != nil {
				t.Error(err)
			}
		}
		w.check()
		w.sweep()
		w.check()
		if totals, err := d.Whole().Totals(ctx); err != nil || totals.Docs+totals.Deleted > 0 {
			t.Errorf("collected first: %v: %+v (%v)", first, totals, err)
		}
	}
}

// markers counts the deletion markers of a database.
func markers(t *testing.T, d *Database) (n int) {
	t.Helper()
	err := d.store.engine.View(ctx, func(v kv.Snapshot) error {
		return kv.Each(v, kv.Prefix(keyspace.Marker.Key(d.number)), func(_, _ []byte) error { n++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
