package kv

import (
	"bytes"
	"slices"
	"sort"
)

// longIterator walks the rows of base, and those of a run in the order of their whole keys.
// When it is in a run, base is on the row after it, or at its end.
type longIterator struct {
	l       *LongKeys
	base    Iterator
	r       Range // of whole keys
	reverse bool

	in     bool // it is in a run
	baseOK bool // in a run: base is on a row
	run    run
	err    error
}

// run is what an iterator holds of a run: rows that follow each other.
type run struct {
	beginning []byte
	rows      []runRow // in the order of travel
	at        int
	first     bool // there is none before them
	more      bool // there are some after them
	size      int
}

type runRow struct{ key, value []byte }

func newLongIterator(l *LongKeys, base Iterator, r Range, reverse bool) Iterator {
	return &longIterator{l: l, base: base, r: Range{Start: bytes.Clone(r.Start), End: bytes.Clone(r.End)}, reverse: reverse}
}

// Next implements Iterator.
func (it *longIterator) Next() bool {
	switch {
	case it.err != nil:
		return false
	case !it.in:
		return it.land(it.base.Next())
	case it.run.at+1 < len(it.run.rows):
		it.run.at++
		return true
	}
	return it.behindRows()
}

// behindRows moves to the row after those that are held.
func (it *longIterator) behindRows() bool {
	r := &it.run
	if !r.more {
		return it.land(it.baseOK)
	}
	last := r.rows[len(r.rows)-1].key
	return it.enter(it.base.Seek(it.edge(r.beginning)), last, false)
}

// land takes base being on a row, or at its end.
func (it *longIterator) land(ok bool) bool {
	it.in = false
	for ok && it.l.long(it.base.Key()) {
		if it.enter(ok, nil, false) {
			return true
		}
		if ok = it.err == nil && it.baseOK; ok {
			it.in = false
		}
	}
	return ok && it.err == nil
}

// edge is where base finds the first row of a run in the direction of travel.
func (it *longIterator) edge(beginning []byte) []byte {
	if it.reverse {
		return runEnd(beginning)
	}
	return runBegin(beginning)
}

// order compares whole keys in the direction of travel.
func (it *longIterator) order(a, b []byte) int {
	if it.reverse {
		a, b = b, a
	}
	return bytes.Compare(a, b)
}

// enter reads the run that base is in, if ok, from the key from on (nil for all), itself
// included if at is set. It reports whether there is a row of it to be given. Base moves on
// behind the run.
func (it *longIterator) enter(ok bool, from []byte, at bool) bool {
	it.in, it.baseOK = true, ok
	it.run = run{first: from == nil}
	if !ok {
		return false
	}
	r := &it.run
	r.beginning = bytes.Clone(it.base.Key()[:it.l.Stored])
	for it.baseOK && it.l.long(it.base.Key()) && bytes.HasPrefix(it.base.Key(), r.beginning) {
		row, err := it.read(r.beginning)
		if err != nil {
			it.err = err
			return false
		}
		if c := 1; it.r.Contains(row.key) {
			if from != nil {
				c = it.order(row.key, from)
			}
			if c > 0 || c == 0 && at {
				it.hold(row)
			}
		}
		it.baseOK = it.base.Next()
	}
	it.settle()
	return len(r.rows) > 0
}

// read returns the row that base is on.
func (it *longIterator) read(beginning []byte) (row runRow, err error) {
	value, err := it.base.Value()
	if err != nil {
		return row, err
	}
	rest, value, err := unpack(value)
	return runRow{key: append(beginning[:len(beginning):len(beginning)], rest...), value: value}, err
}

// window is how many bytes of a run are held.
func (it *longIterator) window() int {
	if it.l.Window > 0 {
		return it.l.Window
	}
	return defaultWindow
}

// hold keeps a row of a run, and lets go of the farthest where there are too many.
func (it *longIterator) hold(row runRow) {
	r := &it.run
	r.rows = append(r.rows, row)
	if r.size += len(row.key) + len(row.value); r.size > 2*it.window() {
		it.settle()
	}
}

// settle sorts the rows that are held and leaves as many as fit the window.
func (it *longIterator) settle() {
	r := &it.run
	slices.SortFunc(r.rows, func(a, b runRow) int { return it.order(a.key, b.key) })
	size, n := 0, 0
	for n < len(r.rows) && (n == 0 || size <= it.window()) {
		size += len(r.rows[n].key) + len(r.rows[n].value)
		n++
	}
	if n < len(r.rows) {
		clear(r.rows[n:])
		r.rows, r.more = r.rows[:n], true
	}
	r.size = size
}

// Seek implements Iterator.
func (it *longIterator) Seek(key []byte) bool {
	switch {
	case it.err != nil:
		return false
	case !it.l.long(key):
		return it.land(it.base.Seek(key))
	case it.seekBuffered(key):
		return true
	}
	beginning := bytes.Clone(key[:it.l.Stored])
	ok := it.base.Seek(it.edge(beginning))
	if !ok || !it.l.long(it.base.Key()) || !bytes.HasPrefix(it.base.Key(), beginning) {
		return it.land(ok)
	}
	return it.enter(ok, bytes.Clone(key), true) || it.err == nil && it.land(it.baseOK)
}

// seekBuffered looks for a key among the rows that are held; it reports whether it is between
// two of them, on one, or before the first of all.
func (it *longIterator) seekBuffered(key []byte) bool {
	r := &it.run
	if !it.in || len(r.rows) == 0 || !bytes.HasPrefix(key, r.beginning) {
		return false
	}
	at := sort.Search(len(r.rows), func(i int) bool { return it.order(r.rows[i].key, key) >= 0 })
	if at == len(r.rows) || at == 0 && !r.first && !bytes.Equal(r.rows[0].key, key) {
		return false
	}
	r.at = at
	return true
}

// Key implements Iterator.
func (it *longIterator) Key() []byte {
	if it.in {
		return it.run.rows[it.run.at].key
	}
	return it.base.Key()
}

// Value implements Iterator.
func (it *longIterator) Value() ([]byte, error) {
	if it.in {
		return append([]byte{}, it.run.rows[it.run.at].value...), nil
	}
	return it.base.Value()
}

// Borrow implements Iterator.
func (it *longIterator) Borrow() ([]byte, error) {
	if it.in {
		return it.run.rows[it.run.at].value, nil
	}
	return it.base.Borrow()
}

// Err implements Iterator.
func (it *longIterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.base.Err()
}

// Close implements Iterator.
func (it *longIterator) Close() error { return it.base.Close() }
