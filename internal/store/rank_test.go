package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// written is an engine that counts the rows that transactions write.
type written struct {
	kv.Engine
	rows int
}

func (e *written) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error { return fn(&writtenTxn{tx, e}) }, locked...)
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
	testrun.Sequential(t)
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
		if err := d.rank(ctx); err != nil {
			t.Fatal(err)
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

// TestRankingsAreMadeWhenAskedFor looks for rows of rankings before somebody asks for
// one; whoever asks is told what is so.
func TestRankingsAreMadeWhenAskedFor(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	w := openWorld(t, e, Options{})
	t.Cleanup(w.closeAll)
	d := w.create("db", true)
	rows := func() (n int) {
		t.Helper()
		err := e.View(ctx, func(v kv.Snapshot) error {
			for _, space := range []keyspace.Space{keyspace.Rank, keyspace.Ranked, keyspace.RankCheckpoint} {
				if err := kv.Each(v, kv.Prefix(space.Key(d.number)), func(_, _ []byte) error { n++; return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	largest := func(want string) {
		t.Helper()
		rows, _, lag, err := d.Partitions(ctx, ByDocs, true, 2, "")
		if err != nil || lag != 0 {
			t.Fatalf("lag %v, %v", lag, err)
		}
		got := ""
		for _, row := range rows {
			got += fmt.Sprintf(" %s=%d", row.Partition, row.Docs)
		}
		if got != want {
			t.Errorf("the largest are%s, want%s", got, want)
		}
	}
	w.put(d, "a:1", "", `{}`)
	w.put(d, "a:2", "", `{}`)
	first := w.put(d, "b:1", "", `{}`)
	w.put(d, "c:1", "", `{}`)
	if err := d.DropPartition(ctx, "c", false); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if n := rows(); n != 0 {
		t.Errorf("%d rows of rankings that nobody asked for", n)
	}
	largest(" a=2 b=1")
	second := w.put(d, "b:2", "", `{}`)
	w.put(d, "b:3", "", `{}`)
	largest(" b=3 a=2")
	if _, err := d.Purge(ctx, []Purging{{ID: "b:1", Revs: []document.Rev{rev(t, first)}}, {ID: "b:2", Revs: []document.Rev{rev(t, second)}}}); err != nil {
		t.Fatal(err)
	}
	largest(" a=2 b=1")
	if err := d.DropPartition(ctx, "a", false); err != nil {
		t.Fatal(err)
	}
	largest(" b=1")
	w.sweep()
	largest(" b=1")
}
