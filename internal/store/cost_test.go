package store

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// counted is an engine that notes each row that a View reads.
type counted struct {
	kv.Engine
	touched [][]byte
}

func (e *counted) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Engine.View(ctx, func(v kv.Snapshot) error { return fn(&countedSnapshot{v, e}) })
}

type countedSnapshot struct {
	kv.Snapshot
	e *counted
}

func (s *countedSnapshot) touch(key []byte) { s.e.touched = append(s.e.touched, bytes.Clone(key)) }

func (s *countedSnapshot) Get(key []byte) ([]byte, error) {
	s.touch(key)
	return s.Snapshot.Get(key)
}

func (s *countedSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	for _, key := range keys {
		s.touch(key)
	}
	return s.Snapshot.GetMany(keys)
}

func (s *countedSnapshot) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(s, r) }

func (s *countedSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	it, err := s.Snapshot.Iterate(r, o)
	return &countedIterator{it, s}, err
}

type countedIterator struct {
	kv.Iterator
	s *countedSnapshot
}

func (it *countedIterator) Next() bool {
	ok := it.Iterator.Next()
	if ok {
		it.s.touch(it.Key())
	}
	return ok
}

func (it *countedIterator) Seek(key []byte) bool {
	ok := it.Iterator.Seek(key)
	if ok {
		it.s.touch(it.Key())
	}
	return ok
}

// reads returns the rows that fn reads in a scope.
func (e *counted) reads(t *testing.T, s Scope, fn func(*Reader) error) [][]byte {
	t.Helper()
	e.touched = nil
	if err := s.View(ctx, fn); err != nil {
		t.Fatal(err)
	}
	return e.touched
}

// The ways to read a scope, and how many rows each may touch where three
// documents lie.
var readings = []struct {
	name  string
	bound int
	read  func(*Reader) error
}{
	{"point read", 2, func(r *Reader) error { _, err := r.Winner(r.shown("p:hot")); return err }},
	{"feed", 3, func(r *Reader) error { return drain(r.Changes(0, false)) }},
	{"feed from the end", 3, func(r *Reader) error { return drain(r.Changes(0, true)) }},
	{"documents", 3 * 6, func(r *Reader) error { return drain(r.Docs(Span{}, true)) }},
	{"documents from the end", 3 * 6, func(r *Reader) error { return drain(r.Docs(Span{Descending: true}, true)) }},
	{"winners", 3 * 6, func(r *Reader) error { return drain(r.Winners(Span{})) }},
	{"several", 2 * 3, func(r *Reader) error {
		b := NewBatchReader()
		defer b.Release()
		return b.Read(r, []document.ID{r.shown("p:later"), r.shown("p:hot"), r.shown("p:before")})
	}},
	{"replicas", 3*6 + defaultRevsLimit/32 + 3, func(r *Reader) error {
		for d, err := range r.Replicas(Span{}) {
			if err != nil {
				return err
			}
			for i := range d.Leaves {
				if _, err := d.Leaf(i); err != nil {
					return err
				}
			}
		}
		return nil
	}},
	{"ids", 3 * 6, func(r *Reader) error { return drain(r.Docs(Span{}, false)) }},
	{"totals", 1, func(r *Reader) error { _, err := r.Totals(); return err }},
	{"last sequence", 1, func(r *Reader) error { _, err := r.LastSeq(); return err }},
	{"pending", 4, func(r *Reader) error { _, err := r.Pending(1); return err }},
}

func drain[T any](walk func(func(T, error) bool)) (err error) {
	walk(func(_ T, e error) bool { err = e; return e == nil })
	return err
}

// countedWorld is a store with p:before, p:hot and p:later.
func countedWorld(t *testing.T) (*world, *counted, *Database) {
	e := &counted{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	w := openWorld(t, e, Options{})
	t.Cleanup(func() { w.check(); w.closeAll() })
	d := w.create("db", true)
	for _, id := range []string{"p:before", "p:later"} {
		w.put(d, id, "", `{}`)
	}
	return w, e, d
}

func TestManyUpdatesLeaveNothingBehind(t *testing.T) {
	testrun.Sequential(t)
	const updates = 20_000 // in forty commits, more than any bound allows rows
	w, e, d := countedWorld(t)
	parent := document.Rev{}
	for n := 0; n < updates; {
		var edits []document.Edit
		for range 500 {
			edits = append(edits, document.Edit{ID: "p:hot", Parent: parent, Body: fmt.Appendf(nil, `{"n":%d}`, n)})
			parent = document.NewRev(parent, false, edits[len(edits)-1].Body, nil)
			n++
		}
		rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
		if err != nil || rs[499].Rev != parent {
			t.Fatalf("%v %v", rs[499], err)
		}
	}
	w.now = w.now.Add(time.Hour)
	w.sweep()
	for _, s := range []Scope{d.Whole(), d.Within("p"), d.Tenant("p")} {
		for _, r := range readings {
			if n := len(e.reads(t, s, r.read)); n > r.bound {
				t.Errorf("%s of %q touches %d rows after %d updates; bound %d", r.name, s.partition, n, updates, r.bound)
			}
		}
	}
	chunks := len(e.reads(t, d.Whole(), func(r *Reader) error {
		doc, err := r.Doc("p:hot")
		if err != nil {
			return err
		}
		return r.Load(doc)
	}))
	if most := defaultRevsLimit/32 + 3; chunks > most {
		t.Errorf("the whole tree takes %d rows; bound %d", chunks, most)
	}
}

func TestPartitionReadsTouchItsRowsAlone(t *testing.T) {
	testrun.Sequential(t)
	w, e, d := countedWorld(t)
	w.put(d, "p:hot", "", `{}`)
	for i := range 200 {
		for _, p := range []string{"o", "p0", "p:", "pp", "q"} {
			if p != "p:" {
				w.put(d, fmt.Sprintf("%s:%d", p, i), "", `{}`)
			}
		}
	}
	for _, s := range []Scope{d.Within("p"), d.Tenant("p")} {
		for _, r := range readings {
			touched := e.reads(t, s, r.read)
			if len(touched) > r.bound {
				t.Errorf("%s touches %d rows; bound %d", r.name, len(touched), r.bound)
			}
			for _, key := range touched {
				if !ofPartition(key, "p") {
					t.Errorf("%s reads %s", r.name, keyspace.Print(key))
				}
			}
		}
	}
}

// ofPartition reports whether a row belongs to a partition.
func ofPartition(key []byte, p document.Partition) bool {
	if _, parts, err := keyspace.Doc.Decode(key); err == nil {
		return document.ID(parts[0].String()).Partition() == p
	}
	for _, s := range []*keyspace.Space{&keyspace.PartitionFeed, &keyspace.Partition} {
		if _, parts, err := s.Decode(key); err == nil {
			return parts[0].String() == string(p)
		}
	}
	return false
}

// TestFeedBackwardsInPages reads feeds from their end in pages: each entry is
// touched once.
func TestFeedBackwardsInPages(t *testing.T) {
	w, e, d := countedWorld(t)
	for n := range 300 {
		w.put(d, fmt.Sprintf("p:%03d", n), "", `{}`)
	}
	for _, s := range []Scope{d.Whole(), d.Within("p"), d.Tenant("p")} {
		const page = 20
		before, rows, touched := Seq(math.MaxUint64), 0, 0
		for more := true; more; {
			more = false
			touched += len(e.reads(t, s, func(r *Reader) error {
				n := 0
				for c, err := range r.ChangesBefore(0, before) {
					if err != nil || c.Seq >= before {
						return fmt.Errorf("%d after %d: %w", c.Seq, before, err)
					}
					before = c.Seq
					rows++
					if n++; n == page {
						more = true
						return nil
					}
				}
				return nil
			}))
		}
		if rows != 302 || touched > rows+rows/page {
			t.Errorf("%q: %d entries, %d rows touched", s.partition, rows, touched)
		}
	}
}

// TestJobsFindTheirDatabase drops partitions of one of many databases: the work
// opens no other, and reads its one entry of the catalogue after a start, else none.
func TestJobsFindTheirDatabase(t *testing.T) {
	const others, drops = 50, 30
	w, e, d := countedWorld(t)
	for n := range others {
		w.create(fmt.Sprintf("other%03d", n), true)
	}
	for _, restarted := range []bool{true, false} {
		for n := range drops {
			p := document.Partition(fmt.Sprintf("q%d", n))
			w.put(d, string(p)+":1", "", `{}`)
			if err := d.DropPartition(ctx, p, false); err != nil {
				t.Fatal(err)
			}
		}
		bound := 0
		if restarted {
			w.closeDatabases()
			bound = 1 // the entry of the one that is opened
		}
		e.touched = nil
		if err := w.jobs.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Working(ctx); err != nil {
			t.Fatal(err)
		}
		catalogue := 0
		for _, key := range e.touched {
			if bytes.HasPrefix(key, keyspace.Catalogue.Key(0)) {
				catalogue++
			}
		}
		if restarted && len(w.openNames()) != 1 || catalogue > bound {
			t.Errorf("after a start %v: %d databases are open, %d rows of the catalogue were read; bound %d", restarted, len(w.openNames()), catalogue, bound)
		}
		d = w.database("db")
		for n := range drops {
			if _, err := d.Within(document.Partition(fmt.Sprintf("q%d", n))).Totals(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list, err := w.Working(ctx); err != nil || len(list) > 0 {
		t.Errorf("left: %v %v", list, err)
	}
}
