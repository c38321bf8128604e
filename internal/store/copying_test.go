package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/kv/kvtest"
)

// copyDatabase brings a database from one engine to another.
func copyDatabase(from, to kv.Engine, name string, keep bool) error {
	c, err := PrepareCopy(ctx, from, to, name)
	if err != nil {
		return err
	}
	if c.Moved {
		if err := c.Finish(ctx, from, to, kvcopy.Settled, false); err != nil {
			return err
		}
		return c.Arrived(ctx, from, kvcopy.Settled)
	}
	_, err = kvcopy.Copy(ctx, from, to, kvcopy.Options{
		From: c.From, To: c.To,
		Begin: func(ctx context.Context, _ kvcopy.Sum) error { return c.Begin(ctx, to, kvcopy.Settled) },
		Finish: func(ctx context.Context, t kv.Tracking, _ kvcopy.Sum) error {
			_, err := c.Counted(ctx, from, to)
			if err == nil && !keep {
				err = c.Leave(ctx, Refusing(t, nil), "the other")
			}
			if err != nil {
				return err
			}
			return c.Finish(ctx, from, to, kvcopy.Settled, keep)
		},
	})
	if err != nil || keep {
		return err
	}
	return c.Arrived(ctx, from, kvcopy.Settled)
}

// dropped drops a database of an engine's store.
func dropped(t *testing.T, e kv.Engine, name string) error {
	t.Helper()
	w := openWorld(t, e, Options{})
	defer w.Close()
	return w.Drop(ctx, name)
}

// ofModel returns a store over a model engine, with a database of a few documents, some of which
// lie in pieces.
func ofModel(t *testing.T, name string, n int) kv.Engine {
	t.Helper()
	e := kvtest.NewModel(kvtest.ModelOptions{})
	t.Cleanup(func() { e.Close() })
	if name != "" {
		w := openWorld(t, e, Options{LongestRow: 100})
		d := w.create(name, true)
		for i := range n {
			w.put(d, fmt.Sprintf("p:%d", i), "", `{"text":"`+strings.Repeat("x", 100*i)+`"}`)
		}
		gone := edit(t, "p:gone", w.put(d, "p:gone", "", "{}"), "{}")
		gone.Deleted = true
		w.write(d, gone)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

var more atomic.Int64

// serves reports whether a store has a database that takes writes, and what is wrong with
// the store.
func serves(t *testing.T, e kv.Engine, name string) bool {
	t.Helper()
	w := openWorld(t, e, Options{})
	defer w.Close()
	if err := w.Check(ctx); err != nil {
		t.Fatalf("Check: %v", err)
	}
	d, err := w.Database(ctx, name)
	if dberr.Is(err, dberr.NotFound) || dberr.Is(err, dberr.Unavailable) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	w.put(d, fmt.Sprintf("p:more%d", more.Add(1)), "", "{}")
	return true
}

// TestMoveTooManyJobs: a database with so many jobs that they do not fit the row which says where
// it went stays where it is, and moves when they have ended.
func TestMoveTooManyJobs(t *testing.T) {
	from, to := kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Key: 24 << 10, Value: 1 << 20, Txn: 8 << 20, Age: time.Minute}}), ofModel(t, "", 0)
	w := openWorld(t, from, Options{})
	d := w.create("db", true)
	const many = 150
	subject := func(i int) string { return fmt.Sprint(strings.Repeat("s", 8000), i) }
	later := func(fn func(tx kv.Txn, i int) error) {
		t.Helper()
		for i := range many {
			if err := w.commit(ctx, func(tx kv.Txn) error { return fn(tx, i) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	later(func(tx kv.Txn, i int) error {
		return w.jobs.Put(tx, d.job(jobDiscard, subject(i), w.time().Add(time.Hour)))
	})
	if err := copyDatabase(from, to, "db", false); !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "jobs") {
		t.Errorf("with many jobs: %v", err)
	}
	if !serves(t, from, "db") || serves(t, to, "db") {
		t.Error("the database is not where it was")
	}
	later(func(tx kv.Txn, i int) error { return w.jobs.Remove(tx, d.job(jobDiscard, subject(i), time.Time{}).ID) })
	if err := copyDatabase(from, to, "db", false); err != nil {
		t.Error(err)
	}
	if serves(t, from, "db") || !serves(t, to, "db") {
		t.Error("the database did not move")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestDiscardsComeAlong: rows that a copied database is about to get rid of, as those of an index that was dropped, are removed
// where they lie at the target, and not those of the database that has the source's number there; nor does a job remove such
// rows that an older build has brought.
func TestDiscardsComeAlong(t *testing.T) {
	for _, keep := range []bool{false, true} {
		row := func(number uint64) []byte {
			return keyspace.FieldRow.Key(number, keyspace.U(1), keyspace.T(""), keyspace.T("v"), keyspace.T("id"))
		}
		put := func(w *world, number uint64) {
			t.Helper()
			if err := w.commit(ctx, func(tx kv.Txn) error { return tx.Put(row(number), []byte{1}) }); err != nil {
				t.Fatal(err)
			}
		}
		from, to := ofModel(t, "", 0), ofModel(t, "", 0)
		w := openWorld(t, from, Options{})
		d := w.create("db", false)
		put(w, d.number)
		prefix := keyspace.FieldRow.Key(d.number, keyspace.U(1))
		if err := w.commit(ctx, func(tx kv.Txn) error { return d.DiscardLater(tx, prefix) }); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w = openWorld(t, to, Options{})
		other := w.create("other", false)
		put(w, other.number)
		if other.number != d.number {
			t.Fatalf("the databases have the numbers %d and %d", d.number, other.number)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := copyDatabase(from, to, "db", keep); err != nil {
			t.Fatal(err)
		}
		w = openWorld(t, to, Options{})
		defer w.Close()
		copied, err := w.Database(ctx, "db")
		if err != nil {
			t.Fatal(err)
		}
		has := func(number uint64) bool {
			return rows(t, to, kv.Prefix(row(number)), showKey) != ""
		}
		if !has(copied.number) {
			t.Error("the row was not copied")
		}
		wrong := copied.job(jobDiscard, string(prefix), w.time())
		if err := w.commit(ctx, func(tx kv.Txn) error { return w.jobs.Put(tx, wrong) }); err != nil {
			t.Fatal(err)
		}
		w.later(time.Hour)
		w.sweep()
		if !has(other.number) || has(copied.number) {
			t.Errorf("keep %v: the other database has its row: %v, the copied one: %v", keep, has(other.number), has(copied.number))
		}
		w.wantNoJobs(t)
	}
}

// TestMoveInterrupted has calls of either engine fail at each step of a move, in every way:
// at no moment do both stores have the database, and the next attempt brings it over.
func TestMoveInterrupted(t *testing.T) {
	halfway := 0
	for _, fault := range []kvtest.Fault{kvtest.Refused, kvtest.LostCommit, kvtest.LostAnswer} {
		for side := range 2 {
			for n := 1; ; n++ {
				from, to := ofModel(t, "db", 5), ofModel(t, "there", 5)
				engines := []*kvtest.Faults{kvtest.NewFaults(from), kvtest.NewFaults(to)}
				engines[side].Fail(n, fault)
				err := copyDatabase(engines[0], engines[1], "db", false)
				if engines[side].Calls() < n {
					break
				}
				if err != nil {
					if serves(t, from, "db") && serves(t, to, "db") {
						t.Fatalf("fault %d at call %d of side %d: both have it", fault, n, side)
					}
					if !serves(t, from, "db") && !serves(t, to, "db") {
						if err := dropped(t, from, "db"); !dberr.Is(err, dberr.Unavailable) {
							t.Fatalf("fault %d at call %d of side %d: the only one is dropped: %v", fault, n, side, err)
						}
						halfway++
					}
					if err := copyDatabase(from, to, "db", false); err != nil {
						t.Fatalf("fault %d at call %d of side %d: it does not go on: %v", fault, n, side, err)
					}
				}
				if serves(t, from, "db") || !serves(t, to, "db") || !serves(t, to, "there") {
					t.Fatalf("fault %d at call %d of side %d: it has not moved", fault, n, side)
				}
				if err := dropped(t, from, "db"); err != nil {
					t.Fatalf("fault %d at call %d of side %d: what has moved is not dropped: %v", fault, n, side, err)
				}
			}
		}
	}
	if halfway == 0 {
		t.Error("no move was interrupted between the source and the target")
	}
}

// TestForks reads feeds of a copy with sequences of its source: they are right up to where
// the two forked, and later ones are where they forked. A copy of the copy knows both.
func TestForks(t *testing.T) {
	one, two, three := ofModel(t, "db", 5), ofModel(t, "", 0), ofModel(t, "", 0)
	if err := copyDatabase(one, two, "db", true); err != nil {
		t.Fatal(err)
	}
	open := func(e kv.Engine) (*world, *Database) {
		w := openWorld(t, e, Options{})
		t.Cleanup(func() { w.Close() })
		d, err := w.Database(ctx, "db")
		if err != nil {
			t.Fatal(err)
		}
		return w, d
	}
	wants := func(d *Database, text string, want Seq) {
		t.Helper()
		if got, own := d.Whole().OwnSeq(text); !own || got != want {
			t.Errorf("%s is %d, own %v; not %d", text, got, own, want)
		}
	}
	_, source := open(one)
	w, forked := open(two)
	for q := range Seq(12) {
		wants(forked, source.Whole().FormatSeq(q), min(q, 7))
		wants(forked, forked.Whole().FormatSeq(q), q)
	}
	if q, own := source.Whole().OwnSeq(forked.Whole().FormatSeq(3)); own {
		t.Errorf("the source takes the copy's sequence for its %d", q)
	}
	if source.Held() != 0 || forked.Held() != 7 {
		t.Errorf("held up to %d at the source, %d at the copy", source.Held(), forked.Held())
	}
	w.put(forked, "p:new", "", "{}")
	if err := copyDatabase(two, three, "db", true); err != nil {
		t.Fatal(err)
	}
	_, third := open(three)
	wants(third, source.Whole().FormatSeq(9), 7)
	wants(third, forked.Whole().FormatSeq(9), 8)
	wants(third, forked.Whole().FormatSeq(8), 8)
	wants(third, third.Whole().FormatSeq(9), 9)
}

// TestCopyIsRefused holds what a copy does not begin with.
func TestCopyIsRefused(t *testing.T) {
	one, two := ofModel(t, "db", 5), ofModel(t, "db", 5)
	if err := copyDatabase(one, two, "db", false); !dberr.Is(err, dberr.Exists) {
		t.Errorf("over another: %v", err)
	}
	if err := copyDatabase(one, two, "none", false); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("what is not there: %v", err)
	}
	elsewhere := ofModel(t, "", 0)
	if err := copyDatabase(one, elsewhere, "db", false); err != nil {
		t.Fatal(err)
	}
	err := copyDatabase(one, ofModel(t, "", 0), "db", false)
	if !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "moved to the other") {
		t.Errorf("what has moved: %v", err)
	}
	w := openWorld(t, one, Options{})
	defer w.Close()
	if _, err := w.Create(ctx, "db", Creation{}); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("made anew: %v", err)
	}
	if err := w.Drop(ctx, "db"); err != nil {
		t.Error(err)
	}
	if err := w.Drop(ctx, "db"); !errors.Is(err, errNoDatabase) {
		t.Errorf("dropped twice: %v", err)
	}
	w.create("db", false)
}
