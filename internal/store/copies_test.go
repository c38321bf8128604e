package store

import (
	"context"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
)

// countRows counts what an engine has.
func countRows(t *testing.T, e kv.Engine) (n int) {
	t.Helper()
	err := e.View(ctx, func(v kv.Snapshot) error {
		return kv.Each(v, kv.Range{}, func(_, _ []byte) error { n++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAbandon: what a copy has left that was given up is told of and removed, and nothing else.
func TestAbandon(t *testing.T) {
	from, to := ofModel(t, "db", 5), ofModel(t, "there", 5)
	before := countRows(t, to)
	c, err := PrepareCopy(ctx, from, to, "db")
	if err != nil {
		t.Fatal(err)
	}
	given := context.Canceled
	_, err = kvcopy.Copy(ctx, from, to, kvcopy.Options{From: c.From, To: c.To,
		Begin:  func(ctx context.Context, _ kvcopy.Sum) error { return c.Begin(ctx, to, kvcopy.Settled) },
		Finish: func(context.Context, kv.Tracking, kvcopy.Sum) error { return given }})
	if err == nil || countRows(t, to) < before+5 {
		t.Fatalf("%v, %d rows", err, countRows(t, to))
	}
	left, err := CopiesIn(ctx, to)
	if err != nil || len(left.Here) != 1 || left.Here[0] != "db" || len(left.Away) > 0 || left.Half || left.Moved != "" {
		t.Errorf("%+v %v", left, err)
	}
	if err := Abandon(ctx, to, kvcopy.Settled, "db"); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, to); n > before+1 { // the number of the next database
		t.Errorf("%d rows, and %d before", n, before)
	}
	if err := Abandon(ctx, to, kvcopy.Settled, "db"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("again: %v", err)
	}
	if err := Abandon(ctx, to, kvcopy.Settled, "there"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("what is whole: %v", err)
	}
	if err := c.Finish(ctx, from, to, kvcopy.Settled, true); err == nil {
		t.Error("what was abandoned is published")
	}
	if err := copyDatabase(from, to, "db", false); err != nil || !serves(t, to, "db") || !serves(t, to, "there") {
		t.Errorf("copied again: %v", err)
	}
}

// TestTakeBack: a database whose target is lost is as it was when it moved, with sequences that begin where the two forked.
func TestTakeBack(t *testing.T) {
	from, to := ofModel(t, "db", 5), ofModel(t, "", 0)
	if err := copyDatabase(from, to, "db", false); err != nil {
		t.Fatal(err)
	}
	if left, err := CopiesIn(ctx, from); err != nil || len(left.Away) != 1 || left.Away[0] != (Away{"db", "the other", true}) {
		t.Errorf("%+v %v", left, err)
	}
	there := openWorld(t, to, Options{})
	d, err := there.Database(ctx, "db")
	if err != nil {
		t.Fatal(err)
	}
	there.put(d, "p:later", "", "{}")
	late := d.Whole().FormatSeq(8)
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	if err := TakeBack(ctx, from, kvcopy.Settled, "db"); err != nil {
		t.Fatal(err)
	}
	if err := TakeBack(ctx, from, kvcopy.Settled, "db"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("again: %v", err)
	}
	here := openWorld(t, from, Options{})
	if d, err = here.Database(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	if q, own := d.Whole().OwnSeq(late); !own || q != 7 {
		t.Errorf("a sequence of the target is %d, own %v", q, own)
	}
	if err := here.Close(); err != nil {
		t.Fatal(err)
	}
	if !serves(t, from, "db") {
		t.Error("it does not serve")
	}
}

// TestTakeBackAll: so is a whole store; and what was left of a whole copy can be removed.
func TestTakeBackAll(t *testing.T) {
	from, to := ofModel(t, "db", 5), ofModel(t, "", 0)
	none := func([]byte) bool { return false }
	c, err := PrepareStoreCopy(ctx, from, to, none)
	if err != nil {
		t.Fatal(err)
	}
	if err := TakeBackAll(ctx, from, kvcopy.Settled); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("what has not moved: %v", err)
	}
	_, err = kvcopy.Copy(ctx, from, to, kvcopy.Options{Apart: IsSeal,
		Begin: func(ctx context.Context, _ kvcopy.Sum) error { return c.Begin(ctx, to, kvcopy.Settled) },
		Finish: func(ctx context.Context, tr kv.Tracking, _ kvcopy.Sum) error {
			return c.Leave(ctx, Refusing(tr, nil), "the other")
		}})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := CopiesIn(ctx, from); err != nil || left.Moved != "the other" {
		t.Errorf("%+v %v", left, err)
	}
	if left, err := CopiesIn(ctx, to); err != nil || !left.Half {
		t.Errorf("%+v %v", left, err)
	}
	if err := TakeBackAll(ctx, from, kvcopy.Settled); err != nil || !serves(t, from, "db") {
		t.Errorf("%v", err)
	}
	if err := AbandonAll(ctx, from, kvcopy.Settled); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("what is whole: %v", err)
	}
	if err := AbandonAll(ctx, to, kvcopy.Settled); err != nil || countRows(t, to) != 0 {
		t.Errorf("%v, %d rows", err, countRows(t, to))
	}
}
