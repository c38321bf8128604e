package pebblekv

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// checkEvery is how many rows an iterator walks between two looks at the clock
// and the context: a look costs a tenth of a row.
const checkEvery = 64

// iterator walks a state without own writes.
type iterator struct {
	p       taken
	s       *snapshot
	reverse bool
	placed  bool // the first move was made
	moves   int
	err     error
}

var _ kv.Iterator = (*iterator)(nil)

// Next implements kv.Iterator.
func (it *iterator) Next() bool {
	if !it.mayMove() {
		return false
	}
	switch {
	case it.placed && it.reverse:
		return it.p.Prev()
	case it.placed:
		return it.p.Next()
	case it.reverse:
		it.placed = true
		return it.p.Last()
	}
	it.placed = true
	return it.p.First()
}

// Seek implements kv.Iterator.
func (it *iterator) Seek(key []byte) bool {
	if !it.mayMove() {
		return false
	}
	it.placed = true
	if !it.reverse {
		return it.p.SeekGE(key)
	}
	// The last key at or before key is the last one before its successor.
	return it.p.SeekLT(append(key[:len(key):len(key)], 0))
}

// mayMove reports whether the snapshot can still be read; now and then it
// looks.
func (it *iterator) mayMove() bool {
	if it.err != nil {
		return false
	}
	it.moves++
	if it.moves%checkEvery == 0 {
		if it.err = it.s.age.check(); it.err == nil {
			it.err = it.s.ctx.Err()
		}
	}
	return it.err == nil
}

// Key implements kv.Iterator.
func (it *iterator) Key() []byte { return it.p.Key() }

// Value implements kv.Iterator.
func (it *iterator) Value() ([]byte, error) {
	v, err := it.p.ValueAndErr()
	if err != nil {
		return nil, dberr.Wrap("pebblekv.Value", err)
	}
	out := make([]byte, len(v))
	copy(out, v)
	return out, nil
}

// Borrow implements kv.Iterator.
func (it *iterator) Borrow() ([]byte, error) {
	v, err := it.p.ValueAndErr()
	return v, dberr.Wrap("pebblekv.Borrow", err)
}

// Err implements kv.Iterator.
func (it *iterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return dberr.Wrap("pebblekv.Iterate", it.p.Error())
}

// Close implements kv.Iterator.
func (it *iterator) Close() error {
	p := it.p
	if p.Iterator == nil {
		return nil // twice, and it may be another's by now
	}
	it.p.Iterator = nil
	return dberr.Wrap("pebblekv.Iterate", it.s.state.giveBack(p))
}
