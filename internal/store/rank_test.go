package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
)

// written is an engine that counts the rows that transactions write.
type written struct {
	kv.Engine
	rows int
}

func (e *written) Update(ctx context.Context, fn func(kv.Txn) error) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error { return fn(&writtenTxn{tx, e}) })
}

type writtenTxn struct {
	kv.Txn
	e *written
}

func (t *writtenTxn) Put(key, value []byte) error {
	t.e.rows++
	return t.Txn.Put(key, value)
}

func (t *writtenTxn) Delete(key []byte) error {
	t.e.rows++
	return t.Txn.Delete(key)
}

// TestRankSettlesChangesTogether loads documents that take turns in more
// partitions than one commit ranks: each of those is moved once.
func TestRankSettlesChangesTogether(t *testing.T) {
	e := &written{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	w := openWorld(t, e, Options{})
	t.Cleanup(w.closeAll)
	d := w.create("db", true)
	const partitions = rankPartitions + 100
	load := func(round int) {
		t.Helper()
		var edits []document.Edit
		for i := range partitions {
			edits = append(edits, edit(t, fmt.Sprintf("p%d:%d", i, round), "", `{}`))
		}
		if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	rank := func() int {
		t.Helper()
		e.rows = 0
		if more, err := d.rank(ctx); more || err != nil {
			t.Fatalf("more %v, %v", more, err)
		}
		return e.rows
	}
	for round := range 2 {
		load(round)
	}
	if got, most := rank(), partitions*(len(rankings)+1)+10; got > most {
		t.Errorf("a first pass over %d partitions wrote %d rows, want at most %d", partitions, got, most)
	}
	load(2) // at the same moment: only when a partition was written to last stays as it is
	if got, most := rank(), partitions*(2*(len(rankings)-1)+1)+10; got > most {
		t.Errorf("a second pass wrote %d rows, want at most %d", got, most)
	}
	w.check()
}

// TestRankPassesRest has passes that take long: the next one waits in proportion,
// up to a bound.
func TestRankPassesRest(t *testing.T) {
	took := time.Duration(0)
	e := &slowed{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	w := openWorld(t, e, Options{})
	t.Cleanup(w.closeAll)
	d := w.create("db", true)
	e.view = func() { w.now = w.now.Add(took) }
	c := newMaintenance()
	passed := func(after time.Duration) bool {
		t.Helper()
		w.put(d, fmt.Sprintf("p:%d", w.now.UnixNano()), "", `{}`)
		w.now = w.now.Add(after)
		c.unranked["db"] = true
		before := c.ranked
		e.on = true
		err := w.rankNow(ctx, c, w.now, false)
		e.on = false
		if err != nil {
			t.Fatal(err)
		}
		return c.ranked != before
	}
	for _, step := range []struct {
		after, took time.Duration
		want        bool
	}{
		{rankEvery, 0, true},
		{rankEvery - time.Second, 0, false},
		{time.Second, time.Second, true}, // which takes more than a second
		{rankEvery + time.Second, 0, false},
		{rankLatest, time.Hour, true},
		{rankLatest - time.Second, 0, false},
		{time.Second, 0, true},
		{-time.Hour, 0, true}, // the clock was set back
	} {
		took = step.took
		if got := passed(step.after); got != step.want {
			t.Errorf("%v later: passed %v, want %v", step.after, got, step.want)
		}
	}
}

// slowed is an engine that calls view at each View while it is on.
type slowed struct {
	kv.Engine
	on   bool
	view func()
}

func (e *slowed) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	if e.on {
		e.view()
	}
	return e.Engine.View(ctx, fn)
}
