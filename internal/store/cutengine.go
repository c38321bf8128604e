package store

import (
	"bytes"
	"context"
	"sync"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// chunking is an engine whose rows may be longer than an entry of the engine beneath. What
// else that can, only it can.
type chunking struct {
	kv.Engine
	limits kv.Limits
	max    int  // the longest value that lies in one row
	cuts   bool // rows may be cut
	// cutting is called in each transaction that cuts a row of a database.
	cutting func(tx kv.Txn, key []byte) error
	views   sync.Pool // of *wholeView
	txns    sync.Pool // of *wholeTxn
}

// Whole returns e with cut rows whole, for who reads rows of a store's engine that is not open as
// a store. It cuts none.
func Whole(e kv.Engine) kv.Engine {
	return newWholeRows(e, longestRow, false, nil)
}

func newWholeRows(e kv.Engine, most int, cuts bool, cutting func(kv.Txn, []byte) error) *chunking {
	w := &chunking{Engine: e, limits: e.Limits(), max: most, cuts: cuts, cutting: cutting}
	w.views.New, w.txns.New = newWholeView, newWholeTxn
	return w
}

// wholeView is a View that is running, used again and again: reading a document makes
// nothing of its own for it.
type wholeView struct {
	plain     wholeSnapshot
	versioned versionedSnapshot
	fn        func(kv.Snapshot) error
	run       func(kv.Snapshot) error // its method
}

func newWholeView() any {
	w := &wholeView{}
	w.run = w.view
	return w
}

func (w *wholeView) view(s kv.Snapshot) error {
	if v, ok := s.(kv.Versioned); ok {
		w.versioned.s, w.versioned.Versioned = s, v
		return w.fn(&w.versioned)
	}
	w.plain.s = s
	return w.fn(&w.plain)
}

// View implements kv.Engine.
func (e *chunking) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	w := e.views.Get().(*wholeView)
	w.fn = fn
	err := e.Engine.View(ctx, w.run)
	w.plain.s, w.versioned.s, w.versioned.Versioned, w.fn = nil, nil, nil, nil
	e.views.Put(w)
	return err
}

// Update implements kv.Engine.
func (e *chunking) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.update(fn, func(fn func(kv.Txn) error) error { return e.Engine.Update(ctx, fn, locked...) })
}

// update calls run, an Update of the engine beneath, with fn in transactions with whole rows.
func (e *chunking) update(fn func(kv.Txn) error, run func(func(kv.Txn) error) error) error {
	t := e.txns.Get().(*wholeTxn)
	t.e, t.fn = e, fn
	err := run(t.run)
	t.e, t.fn, t.t, t.s, t.rows = nil, nil, nil, nil, nil
	e.txns.Put(t)
	return err
}

// Discard implements kv.Engine: pieces go with their rows.
func (e *chunking) Discard(ctx context.Context, r kv.Range) error {
	for _, r := range cutRanges(r) {
		if err := e.Engine.Discard(ctx, r); err != nil {
			return err
		}
	}
	return e.Engine.Discard(ctx, r)
}

// cutRanges returns where the pieces of the rows of a range lie, and what says how many there
// are; none for a range that is not a part of a database: one of all of its rows has them.
func cutRanges(r kv.Range) (ranges []kv.Range) {
	for _, s := range []*keyspace.Space{&keyspace.RowCut, &keyspace.RowPiece} {
		start, ok := s.Under(r.Start)
		end, ended := s.Under(r.End)
		if ok && ended && sameDatabase(r.Start, r.End) {
			ranges = append(ranges, kv.Range{Start: start, End: end})
		}
	}
	return ranges
}

func sameDatabase(a, b []byte) bool {
	of, _ := keyspace.DatabaseOf(a)
	other, _ := keyspace.DatabaseOf(b)
	return bytes.Equal(of, other)
}

// wholeTxn is a transaction whose rows may be longer than an entry, used again and again.
type wholeTxn struct {
	wholeSnapshot
	t kv.Txn
	e *chunking
	// rows are the cut rows that were read and written. What a row no longer names goes at
	// the end: an iterator may be behind the transaction.
	rows map[string]*metRow
	fn   func(kv.Txn) error
	run  func(kv.Txn) error // its method
}

func newWholeTxn() any {
	t := &wholeTxn{}
	t.txn, t.run = t, t.within
	return t
}

// within runs the closure, perhaps again.
func (t *wholeTxn) within(tx kv.Txn) error {
	t.t, t.s, t.rows = tx, tx, nil
	if err := t.fn(t); err != nil {
		return err
	}
	return t.finish()
}

type metRow struct {
	stored  []cutRow // that the row was found to have, or that were written
	now     cutRow   // what it has, if it is cut
	cut     bool
	changed bool
}

// meet notes that a row was found to be cut.
func (t *wholeTxn) meet(key []byte, c cutRow) {
	m := t.rows[string(key)]
	if m == nil {
		if t.rows == nil {
			t.rows = map[string]*metRow{}
		}
		m = &metRow{now: c, cut: true}
		t.rows[string(key)] = m
	}
	for _, known := range m.stored {
		if known == c {
			return
		}
	}
	m.stored = append(m.stored, c)
}

// leave notes that a row is not cut any more.
func (t *wholeTxn) leave(key []byte) {
	if m := t.rows[string(key)]; m != nil {
		m.cut, m.changed = false, true
	}
}

// GetForUpdate implements kv.Txn.
func (t *wholeTxn) GetForUpdate(key []byte) ([]byte, error) {
	value, err := t.t.GetForUpdate(key)
	if err != nil {
		return nil, err
	}
	return t.whole(key, value)
}

// GetManyForUpdate implements kv.Txn.
func (t *wholeTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	values, err := t.t.GetManyForUpdate(keys)
	if err == nil {
		err = t.wholeAll(keys, values)
	}
	return values, err
}

// Put implements kv.Txn.
func (t *wholeTxn) Put(key, value []byte) error {
	if t.e.fits(key, value) {
		t.leave(key)
		return t.t.Put(key, value)
	}
	if err := t.before(key); err != nil {
		return err
	}
	c := cutInto(value, t.e.max)
	for n, k := range c.keys(key) {
		if err := t.t.Put(k, value[n*c.piece:min(len(value), (n+1)*c.piece)]); err != nil {
			return err
		}
	}
	t.meet(key, c)
	m := t.rows[string(key)]
	m.now, m.cut, m.changed = c, true, true
	if err := t.t.Put(keyspace.CutKey(key, c.stamp), packed.Number(uint64(c.count()))); err != nil {
		return err
	}
	if err := t.e.cutting(t.t, key); err != nil {
		return err
	}
	return t.t.Put(key, c.encode())
}

// fits reports whether a value is written as it is: it is short, or rows of the kind are not
// cut, or none are, or the engine refuses it, or its key leaves no room for those of pieces.
func (e *chunking) fits(key, value []byte) bool {
	return len(value) <= e.max || len(value) > e.limits.Value || len(key) > e.limits.Key-keyspace.PieceRoom || !e.cuts || !keyspace.MayBeCut(key)
}

// before looks at what a row has that is going to be cut: its pieces go.
func (t *wholeTxn) before(key []byte) error {
	value, err := t.t.GetMany([][]byte{key})
	if err != nil || !isCut(key, value[0]) {
		return err
	}
	c, err := decodeCut(value[0])
	if err == nil {
		t.meet(key, c)
	}
	return err
}

// Delete implements kv.Txn.
func (t *wholeTxn) Delete(key []byte) error {
	t.leave(key)
	return t.t.Delete(key)
}

// DeleteOnce implements kv.Txn.
func (t *wholeTxn) DeleteOnce(key []byte) error {
	t.leave(key)
	return t.t.DeleteOnce(key)
}

// finish removes the pieces that rows do not name any more which the transaction changed.
func (t *wholeTxn) finish() error {
	for key, m := range t.rows {
		if !m.changed {
			continue
		}
		for _, c := range m.stored {
			if m.cut && m.now.stamp == c.stamp {
				continue
			}
			if err := dropCut(t.t, []byte(key), c.stamp, c.count()); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropCut removes the pieces of a value that its row does not name, and what says how many
// there are.
func dropCut(tx kv.Txn, key []byte, stamp string, count int) error {
	for _, k := range pieceKeys(key, stamp, count) {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return tx.Delete(keyspace.CutKey(key, stamp))
}
