package indextest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestMaintainedKind runs the suite with a kind that has work of its own: it writes
// what came in as segments, and merges two neighbours of them at a time.
func TestMaintainedKind(t *testing.T) {
	Run(t, Subject{
		Kind:    journal{},
		Designs: []string{`{"journal":"a"}`, `{"journal":"b"}`, `{}`},
		Body:    func(r *rand.Rand) string { return fmt.Sprintf(`{"n":%d}`, r.IntN(9)) },
		Answers: answers,
		Engine: func(t *testing.T) kv.Engine {
			e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
			if err != nil {
				t.Fatal(err)
			}
			return e
		},
		Histories: 10,
	})
}

// resting is a journal that shows when nothing is left to do.
type resting struct {
	journal
	rests chan *index.Index
}

func (k resting) Maintain(ctx context.Context, p *index.Piece) (more bool, err error) {
	if more, err = k.journal.Maintain(ctx, p); !more {
		select {
		case k.rests <- p.Index:
		case <-ctx.Done():
		}
	}
	return more, err
}

// TestBackgroundMaintains lets the background merge what comes in, until the index is
// dropped, whose rows no piece of work brings back.
func TestBackgroundMaintains(t *testing.T) {
	k := resting{rests: make(chan *index.Index)}
	e := kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{}))
	x := index.New(index.Options{Kinds: []index.Kind{k}})
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Idle: true, Indexer: x})
	must(t, errors.Join(err, x.Start(ctx, s)))
	defer func() {
		x.Close()
		must(t, errors.Join(s.Close(), e.Close()))
	}()
	d, err := s.Create(ctx, "db", store.Creation{})
	must(t, err)
	write := func(e document.Edit) document.Rev {
		rs, err := d.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
		must(t, errors.Join(err, rs[0].Err))
		return rs[0].Rev
	}
	rev := write(document.Edit{ID: "_design/d", Body: []byte(`{"journal":1}`)})
	var ix *index.Index
	for _, want := range []string{"a {}\n", "a {}\nb {}\n"} {
		write(document.Edit{ID: document.ID(want[len(want)-5 : len(want)-4]), Body: []byte("{}")})
		for got := ""; got != want; {
			ix = <-k.rests
			must(t, d.Whole().View(ctx, func(r *store.Reader) error {
				got, _ = answers(r, ix) // of several segments too: another rest follows
				return nil
			}))
		}
	}
	write(document.Edit{ID: "_design/d", Parent: rev, Deleted: true, Body: []byte("{}")})
	err = (&index.Piece{Database: d, Index: ix}).Commit(ctx, func(tx kv.Txn) error { return tx.Put(rows{d.Number(), ix.Number}.key(9), nil) })
	if !errors.Is(err, index.ErrGone) {
		t.Errorf("a piece of work of a dropped index: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// journal is a kind for tests. An index is a manifest, which names its segments from
// the oldest on, and the segments: what documents became, nil where they went.
type journal struct{}

type (
	manifest struct {
		Next     int
		Segments []int
	}
	segment map[string]*string
)

func (journal) Name() string { return "journal" }

func (journal) Prefixes(db, number uint64) [][]byte {
	return [][]byte{keyspace.FieldRow.Key(db, keyspace.U(number))}
}

func (journal) Defined(d index.Design) []index.Definition {
	v, ok := jsonscan.Member(d.Body, "journal")
	if !ok {
		return nil
	}
	return []index.Definition{{Name: "journal", Source: slices.Clone(v)}}
}

func (journal) Open([]byte) (any, error) { return nil, nil }

func (journal) Finish(context.Context, *store.Database, *index.Index) error { return nil }

func (journal) Map(_ context.Context, d *store.Database, x *index.Index, docs []index.Change, _ bool) (index.Batch, error) {
	s := segment{}
	for _, c := range docs {
		if s[string(c.ID)] = nil; c.Rev != nil {
			body := string(c.Rev.Body)
			s[string(c.ID)] = &body
		}
	}
	return &journalBatch{rows{d.Number(), x.Number}, s}, nil
}

// Maintain merges the first two segments, so that one is left in the end.
func (journal) Maintain(ctx context.Context, p *index.Piece) (more bool, err error) {
	at := rows{p.Database.Number(), p.Index.Number}
	var m manifest
	var old, young segment
	err = p.Database.Whole().View(ctx, func(r *store.Reader) error {
		if err := at.read(r.Snapshot().Get, 0, &m); err != nil || len(m.Segments) < 2 {
			return err
		}
		return errors.Join(at.read(r.Snapshot().Get, m.Segments[0], &old), at.read(r.Snapshot().Get, m.Segments[1], &young))
	})
	if err != nil || len(m.Segments) < 2 {
		return false, err
	}
	maps.Copy(old, young)
	maps.DeleteFunc(old, func(_ string, body *string) bool { return body == nil })
	return true, p.Commit(ctx, func(tx kv.Txn) error {
		var now manifest
		if err := at.read(tx.GetForUpdate, 0, &now); err != nil {
			return err
		}
		if len(now.Segments) < 2 || !slices.Equal(now.Segments[:2], m.Segments[:2]) {
			return nil // somebody else did it
		}
		for _, n := range now.Segments[:2] {
			if err := tx.Delete(at.key(n)); err != nil {
				return err
			}
		}
		now.Next++
		now.Segments = append([]int{now.Next}, now.Segments[2:]...)
		return errors.Join(at.put(tx, now.Next, old), at.put(tx, 0, now))
	})
}

type journalBatch struct {
	rows
	segment
}

func (b *journalBatch) Apply(tx kv.Txn) error {
	var m manifest
	if err := b.read(tx.GetForUpdate, 0, &m); err != nil {
		return err
	}
	m.Next++
	m.Segments = append(m.Segments, m.Next)
	return errors.Join(b.put(tx, m.Next, b.segment), b.put(tx, 0, m))
}

func (*journalBatch) Skipped() uint64           { return 0 }
func (*journalBatch) Stopped() uint64           { return 0 }
func (b *journalBatch) Size() (rows, bytes int) { return 1, 32 * len(b.segment) }

// rows are those of an index: its segments, and under 0 its manifest.
type rows struct{ db, index uint64 }

func (r rows) key(n int) []byte {
	return keyspace.FieldRow.Key(r.db, keyspace.U(r.index), keyspace.T(""), keyspace.T(fmt.Sprintf("%08d", n)), keyspace.T(""))
}

func (r rows) put(tx kv.Txn, n int, v any) error {
	text, err := json.Marshal(v)
	return errors.Join(err, tx.Put(r.key(n), text))
}

// read leaves v as it is if there is no row.
func (r rows) read(get func([]byte) ([]byte, error), n int, v any) error {
	text, err := get(r.key(n))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return errors.Join(err, json.Unmarshal(text, v))
}

// answers reads what the documents are from all segments. More than one is left where
// the index's own work was not done.
func answers(r *store.Reader, x *index.Index) (string, error) {
	at := rows{r.Database().Number(), x.Number}
	var m manifest
	err := at.read(r.Snapshot().Get, 0, &m)
	all := segment{}
	for _, n := range m.Segments {
		err = errors.Join(err, at.read(r.Snapshot().Get, n, &all))
	}
	if len(m.Segments) > 1 {
		err = errors.Join(err, fmt.Errorf("%d segments are left", len(m.Segments)))
	}
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if all[id] != nil {
			fmt.Fprintf(&text, "%s %s\n", id, *all[id])
		}
	}
	return text.String(), err
}
