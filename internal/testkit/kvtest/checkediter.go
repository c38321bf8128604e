package kvtest

import (
	"bytes"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// checkedIterator watches an iterator's moves and hands out its keys and values.
type checkedIterator struct {
	s        *checkedSnapshot
	it       kv.Iterator
	r        kv.Range
	reverse  bool
	on       bool // it is on a row
	closed   bool
	key      []byte // the row's key
	out      []byte // the copy of key that the caller holds, if any
	value    []byte // the row's value, if it was borrowed
	borrowed []byte // the copy of value that the caller holds, if any
	last     []byte // the key before, nil after a Seek
}

// move ends the life of the key borrowed out and notes where the iterator went.
func (it *checkedIterator) move(op string, move func() bool) bool {
	defer it.s.enter(op)()
	if it.closed {
		it.s.c.t.Errorf("kv: %s on a closed iterator", op)
		return false
	}
	it.recall()
	it.on = move()
	if !it.on {
		it.s.c.kinds(op, it.it.Err(), dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
		return false
	}
	it.key = bytes.Clone(it.it.Key())
	it.inside(op)
	it.last = it.key
	return true
}

// recall takes back the key and the value borrowed out: whoever kept one finds it
// overwritten.
func (it *checkedIterator) recall() {
	if it.out != nil && !bytes.Equal(it.out, it.key) {
		it.s.c.t.Errorf("kv: the key %q of an iterator was changed to %q", it.key, it.out)
	}
	if it.borrowed != nil && !bytes.Equal(it.borrowed, it.value) {
		it.s.c.t.Errorf("kv: the value %q borrowed at %q was changed to %q", it.value, it.key, it.borrowed)
	}
	scribble(it.out)
	scribble(it.borrowed)
	it.out, it.borrowed = nil, nil
}

// inside checks that the key lies in the range and beyond the one before.
func (it *checkedIterator) inside(op string) {
	if !it.r.Contains(it.key) {
		it.s.c.t.Errorf("kv: %s led to %q, outside of [%q, %q)", op, it.key, it.r.Start, it.r.End)
	}
	if it.last == nil {
		return
	}
	if c := bytes.Compare(it.last, it.key); c == 0 || c > 0 != it.reverse {
		it.s.c.t.Errorf("kv: %s led from %q to %q", op, it.last, it.key)
	}
}

// Next implements kv.Iterator.
func (it *checkedIterator) Next() bool { return it.move("Next", it.it.Next) }

// Seek implements kv.Iterator.
func (it *checkedIterator) Seek(key []byte) bool {
	it.last = nil
	args, scribble := borrowed(key)
	defer scribble()
	return it.move("Seek", func() bool { return it.it.Seek(args[0]) })
}

// Key implements kv.Iterator.
func (it *checkedIterator) Key() []byte {
	defer it.s.enter("Key")()
	if !it.on || it.closed {
		it.s.c.t.Error("kv: Key of an iterator that is at no row")
		return nil
	}
	if it.out == nil {
		it.out = bytes.Clone(it.key)
	}
	return it.out
}

// Value implements kv.Iterator.
func (it *checkedIterator) Value() ([]byte, error) {
	defer it.s.enter("Value")()
	if !it.on || it.closed {
		it.s.c.t.Error("kv: Value of an iterator that is at no row")
	}
	value, err := it.it.Value()
	it.s.c.kinds("Value", err, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	return value, err
}

// Borrow implements kv.Iterator.
func (it *checkedIterator) Borrow() ([]byte, error) {
	defer it.s.enter("Borrow")()
	if !it.on || it.closed {
		it.s.c.t.Error("kv: Borrow of an iterator that is at no row")
	}
	if it.borrowed != nil {
		return it.borrowed, nil
	}
	value, err := it.it.Borrow()
	it.s.c.kinds("Borrow", err, dberr.SnapshotTooOld, dberr.Unavailable, dberr.Internal)
	if err != nil {
		return nil, err
	}
	it.value = bytes.Clone(value)
	it.borrowed = bytes.Clone(value)
	return it.borrowed, nil
}

// Err implements kv.Iterator.
func (it *checkedIterator) Err() error { return it.it.Err() }

// Close implements kv.Iterator.
func (it *checkedIterator) Close() error {
	defer it.s.enter("Close")()
	if it.closed {
		it.s.c.t.Error("kv: an iterator was closed twice")
		return nil
	}
	it.recall()
	it.closed = true
	it.s.open.Add(-1)
	return it.it.Close()
}
