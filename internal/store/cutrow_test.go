package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// cutWorld is a store whose rows are cut at a few bytes, with what rows of it should have.
type cutWorld struct {
	*world
	faults *kvtest.Faults
	d      *Database
	r      kvtest.Rand
	rows   map[string][]byte
}

func newCutWorld(t *testing.T, seed uint64) *cutWorld {
	w, faults := newModelWorld(t, Options{LongestRow: 10})
	return &cutWorld{world: w, faults: faults, d: w.create("db", false), r: kvtest.NewRand(seed), rows: map[string][]byte{}}
}

// key is one of a few keys, which begin with each other.
func (w *cutWorld) key() []byte {
	id := strings.Repeat("a", w.r.IntN(6))
	return keyspace.Local.Key(w.d.number, keyspace.T(""), keyspace.T("_local/"+id))
}

// transaction changes some rows, reading what it likes, and gives up now and then.
func (w *cutWorld) transaction() {
	steps := make([]int, 1+w.r.IntN(8))
	for i := range steps {
		steps[i] = w.r.IntN(1000)
	}
	keys := make([][]byte, len(steps))
	values := make([][]byte, len(steps))
	for i := range steps {
		keys[i] = w.key()
		values[i] = (&Local{Rev: 1, Body: bytes.Repeat([]byte{'a' + byte(steps[i]%3)}, steps[i]%50)}).encode()
	}
	stop, after := w.r.IntN(5) == 0, maps.Clone(w.rows)
	err := w.commit(ctx, func(tx kv.Txn) error {
		after = maps.Clone(w.rows)
		for i, step := range steps {
			key := keys[i]
			switch step % 7 {
			case 0, 1:
				delete(after, string(key))
				if err := tx.Delete(key); err != nil {
					return err
				}
			case 2:
				if err := w.walk(tx, after, true); err != nil {
					return err
				}
			case 3:
				if value, err := tx.GetForUpdate(key); !same(value, err, after[string(key)]) {
					return fmt.Errorf("%x is %q %w in a transaction, want %q", key, value, err, after[string(key)])
				}
			default:
				after[string(key)] = values[i]
				if err := tx.Put(key, values[i]); err != nil {
					return err
				}
			}
		}
		if stop {
			return errStop
		}
		return nil
	})
	switch {
	case err == nil:
		w.rows = after
	case !errors.Is(err, errStop) || !stop:
		w.t.Fatal(err)
	}
}

func same(value []byte, err error, want []byte) bool {
	if want == nil {
		return errors.Is(err, kv.ErrNotFound)
	}
	return err == nil && bytes.Equal(value, want)
}

func (w *cutWorld) locals() kv.Range { return kv.Prefix(keyspace.Local.Key(w.d.number)) }

// walk holds what an iterator gives against rows; with change it removes some on the way.
func (w *cutWorld) walk(v kv.Snapshot, rows map[string][]byte, change bool) error {
	want := slices.Sorted(maps.Keys(rows))
	values := maps.Clone(rows)
	reverse := w.r.IntN(2) == 0
	if reverse {
		slices.Reverse(want)
	}
	f, err := v.Read(kv.Reads{Walks: []kv.Walk{{Range: w.locals(), IterOptions: kv.IterOptions{Reverse: reverse, Want: 2}}}})
	if err != nil {
		return err
	}
	defer f.Close()
	it := f.Walks[0]
	for _, key := range want {
		if !it.Next() || string(it.Key()) != key {
			return fmt.Errorf("no %x in a walk", key)
		}
		if tx, ok := v.(kv.Txn); ok && change && len(key)%2 == 0 { // the iterator is behind it
			if err := tx.Delete([]byte(key)); err != nil {
				return err
			}
			delete(rows, key)
		}
		value, err := it.Borrow()
		if !same(value, err, values[key]) {
			return fmt.Errorf("%x is %q (%v) in a walk, want %q", key, value, err, values[key])
		}
		if value, err = it.Value(); !same(value, err, values[key]) {
			return fmt.Errorf("%x has the value %q (%v) in a walk, want %q", key, value, err, values[key])
		}
	}
	if it.Next() {
		return fmt.Errorf("%x is in a walk", it.Key())
	}
	return it.Err()
}

// compare reads everything in all ways.
func (w *cutWorld) compare() {
	w.t.Helper()
	err := w.engine.View(ctx, func(v kv.Snapshot) error {
		keys := [][]byte{w.key(), w.key(), w.key()}
		values, err := v.GetMany(keys)
		if err != nil {
			return err
		}
		f, err := v.Read(kv.Reads{Keys: keys})
		if err != nil {
			return err
		}
		for i, key := range keys {
			value, err := v.Get(key)
			want := w.rows[string(key)]
			if !same(value, err, want) || !bytes.Equal(values[i], want) || !bytes.Equal(f.Values[i], want) {
				return fmt.Errorf("%x is %q (%v), %q and %q, want %q", key, value, err, values[i], f.Values[i], want)
			}
		}
		return w.walk(v, maps.Clone(w.rows), false)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Check(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// pieces are the rows of pieces, and of what counts them.
func (w *cutWorld) pieces() (n int) {
	show := func(key, _ []byte) string { n++; return "" }
	rows(w.t, w.base, kv.Prefix(keyspace.RowCut.Key(w.d.number)), show)
	rows(w.t, w.base, kv.Prefix(keyspace.RowPiece.Key(w.d.number)), show)
	return n
}

// named is how many of them the rows need.
func (w *cutWorld) named() (n int) {
	for _, value := range w.rows {
		if len(value) > 10 {
			n += 1 + (len(value)+9)/10
		}
	}
	return n
}

// TestCutRows runs random transactions, reruns and lost commits among them, over rows that
// nearly all lie in pieces. What a transaction leaves that has not read is removed later.
func TestCutRows(t *testing.T) {
	testrun.Sequential(t)
	left := 0
	for seed := range uint64(30) {
		w := newCutWorld(t, seed)
		for round := range 30 {
			w.faults.Randomly(seed<<16+uint64(round), kvtest.Rates{kvtest.Rerun: 15, kvtest.LostCommit: 10, kvtest.LostAnswer: 10})
			w.transaction()
			w.faults.Randomly(0, nil)
			w.compare()
			if w.pieces() > w.named() {
				left++
			}
			if round%10 == 9 {
				w.later(piecesEvery)
				w.sweep()
				if got, want := w.pieces(), w.named(); got != want {
					t.Fatalf("seed %d: there are %d rows of pieces, want %d", seed, got, want)
				}
			}
		}
		w.rows = map[string][]byte{}
		if err := w.engine.Discard(ctx, w.locals()); err != nil {
			t.Fatal(err)
		}
		if n := w.pieces(); n != 0 {
			t.Fatalf("seed %d: %d rows of pieces are left of rows that were discarded", seed, n)
		}
		w.compare()
		w.later(piecesEvery)
		w.sweep()
		if job := rows(t, w.base, kv.Prefix(keyspace.Job.Key(0, keyspace.T(jobPieces))), showKey); job != "" {
			t.Errorf("nothing lies in pieces, and there is %s", job)
		}
	}
	if left == 0 {
		t.Error("nothing was ever left")
	}
}

// TestReadBeforeChanged: who reads a long value and replaces or removes it leaves nothing.
func TestReadBeforeChanged(t *testing.T) {
	w := newCutWorld(t, 1)
	key := w.key()
	long := func(c string) []byte { return []byte("\x01\x01" + strings.Repeat(c, 100)) }
	for _, change := range []func(tx kv.Txn) error{
		func(tx kv.Txn) error { return tx.Put(key, []byte("\x01\x01{}")) },
		func(tx kv.Txn) error { return tx.Delete(key) },
		func(tx kv.Txn) error { return errors.Join(tx.Put(key, long("b")), tx.Delete(key)) },
	} {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.commit(ctx, func(tx kv.Txn) error { return tx.Put(key, long("a")) }))
		must(w.commit(ctx, func(tx kv.Txn) error { return tx.Put(key, long("c")) })) // a long one reads
		if n := w.pieces(); n != 1+11 {
			t.Errorf("a value of 102 bytes that replaces another takes %d rows", n)
		}
		must(w.commit(ctx, func(tx kv.Txn) error {
			_, err := tx.Get(key)
			return errors.Join(err, change(tx))
		}))
		if n := w.pieces(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	}
}

// TestLooksCut: bytes that somebody stores so that they look like a row in pieces are
// given as they are, and rows from before are read.
func TestLooksCut(t *testing.T) {
	w, _ := newModelWorld(t, Options{LongestRow: 1000})
	d := w.create("db", false)
	said := cutInto(bytes.Repeat([]byte("x"), 5000), 1000).encode()
	e := edit(t, "doc", "", `{"a":1}`)
	e.Attachments = []document.Attachment{{Name: "a", ContentType: "text/plain", Data: said}}
	w.mustWrite(d, e)
	n := 0
	show := func(_, value []byte) string {
		if n++; !bytes.Equal(value, said) {
			t.Errorf("stored as %q", value)
		}
		return ""
	}
	if rows(t, w.engine, kv.Prefix(keyspace.BlobChunk.Key(d.number)), show); n != 1 {
		t.Errorf("%d chunks", n)
	}
	long := strings.Repeat("y", 5000)
	key := d.Whole().localKey("_local/old")
	if err := w.base.Update(ctx, func(tx kv.Txn) error { return tx.Put(key, (&Local{Rev: 7, Body: []byte(long)}).encode()) }); err != nil {
		t.Fatal(err)
	}
	read := func(rev uint64) {
		t.Helper()
		err := d.Whole().View(ctx, func(r *Reader) error {
			l, err := r.Local("_local/old")
			if err == nil && (l.Rev != rev || string(l.Body) != long) {
				t.Errorf("an old row is %d %q", l.Rev, l.Body)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read(7)
	if _, err := d.Whole().PutLocal(ctx, "_local/old", 7, []byte(long)); err != nil {
		t.Fatal(err)
	}
	read(8)
}

// TestPiecesDamaged: what pieces lack is an error, and Check tells of it.
func TestPiecesDamaged(t *testing.T) {
	for name, damage := range map[string]func(tx kv.Txn, key []byte, c cutRow) error{
		"gone": func(tx kv.Txn, key []byte, c cutRow) error { return tx.Delete(c.keys(key)[1]) },
		"other": func(tx kv.Txn, key []byte, c cutRow) error {
			return tx.Put(c.keys(key)[1], bytes.Repeat([]byte("?"), 1000))
		},
		"uncounted": func(tx kv.Txn, key []byte, c cutRow) error { return tx.Delete(keyspace.CutKey(key, c.stamp)) },
		"more": func(tx kv.Txn, key []byte, c cutRow) error {
			return tx.Put(keyspace.PieceKey(key, c.stamp, c.count()), []byte("?"))
		},
	} {
		w := openWorld(t, kvtest.NewModel(kvtest.ModelOptions{}), Options{LongestRow: 1000})
		d := w.create("db", false)
		if _, err := d.Whole().PutLocal(ctx, "_local/long", 0, bytes.Repeat([]byte("x"), 5000)); err != nil {
			t.Fatal(err)
		}
		w.check()
		key := d.Whole().localKey("_local/long")
		err := w.base.Update(ctx, func(tx kv.Txn) error {
			value, err := tx.Get(key)
			if err != nil {
				return err
			}
			c, err := decodeCut(value)
			return errors.Join(err, damage(tx, key, c))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Check(ctx); err == nil {
			t.Errorf("%s: Check finds nothing", name)
		}
		w.closeAll()
	}
}
