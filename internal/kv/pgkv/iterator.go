package pgkv

import (
	"bytes"
	"sort"

	"github.com/sectional/sectional/internal/kv"
)

// A walk reads pages: small ones at first and after each Seek, since most walks are short, and
// larger ones the longer it goes on, but not of more than pageBytes as far as the rows
// before tell.
const (
	firstPage   = 32
	largestPage = 1000
	pageGrowth  = 8
	pageBytes   = 1 << 20
)

// beyond is greater than every key that can be stored.
var beyond = bytes.Repeat([]byte{0xff}, storedKey+kv.LongHash+1)

// iterator walks the rows of a snapshot.
type iterator struct {
	r          *reader
	start, end []byte
	reverse    bool
	first      int // rows of the first page

	rows   []row
	bytes  []byte // what rows point into
	low    []byte // the page has the rows from here on
	high   []byte // up to here, as far as limit goes; nil before there is one
	limit  int    // how many rows were asked for
	at     int    // in rows
	placed bool   // the first move was made
	fed    bool   // rows are the first page, and no move was made
	on     bool   // at is a row
	err    error
}

// row is one of a page, by where it ends in the bytes: key, then value.
type row struct{ from, key, value int }

// newIterator returns an iterator over a range, before its first row.
func newIterator(r *reader, rg kv.Range, o kv.IterOptions) *iterator {
	it := &iterator{r: r, start: append([]byte{}, rg.Start...), end: beyond, reverse: o.Reverse, first: firstPage}
	if o.Want > 0 {
		it.first = min(o.Want, largestPage)
	}
	if rg.End != nil {
		it.end = append([]byte{}, rg.End...)
	}
	return it
}

// Next implements kv.Iterator.
func (it *iterator) Next() bool {
	switch {
	case it.err != nil || it.placed && !it.on:
		return false
	case it.fed:
		return it.begin()
	case !it.placed:
		return it.load(it.start, it.end, it.first)
	case it.at+1 < len(it.rows):
		it.at++
		return true
	case len(it.rows) < it.limit:
		it.on = false
		return false
	}
	last := it.Key()
	if it.reverse {
		return it.load(it.start, bytes.Clone(last), it.larger())
	}
	return it.load(after(last), it.end, it.larger())
}

// begin moves onto the first row of the first page, which has come.
func (it *iterator) begin() bool {
	it.placed, it.fed, it.at = true, false, 0
	it.on = len(it.rows) > 0
	return it.on
}

// larger is how many rows the next page has.
func (it *iterator) larger() int {
	n := min(it.limit*pageGrowth, largestPage)
	if average := len(it.bytes)/len(it.rows) + 1; n > pageBytes/average {
		n = max(pageBytes/average, 4)
	}
	return n
}

// Seek implements kv.Iterator.
func (it *iterator) Seek(key []byte) bool {
	if it.err != nil {
		return false
	}
	it.placed, it.fed = true, false
	if it.seekWithin(key) {
		return it.on
	}
	low, high := it.start, it.end
	if it.reverse {
		if next := after(key); bytes.Compare(next, high) < 0 {
			high = next
		}
	} else if bytes.Compare(key, low) > 0 {
		low = bytes.Clone(key)
	}
	return it.load(low, high, firstPage)
}

// seekWithin looks in the page; it reports whether that is enough to know: key lies between where the page begins and
// its last row, or behind that, and there is no further page.
func (it *iterator) seekWithin(key []byte) bool {
	last := len(it.rows) - 1
	if !it.covers(key) || len(it.rows) == it.limit && it.beyond(last, key) < 0 {
		return false
	}
	it.at = sort.Search(len(it.rows), func(i int) bool { return it.beyond(i, key) >= 0 })
	it.on = it.at <= last
	return true
}

// covers reports whether the page begins at or before key in the direction of travel.
func (it *iterator) covers(key []byte) bool {
	switch {
	case it.high == nil:
		return false
	case it.reverse:
		return bytes.Compare(key, it.high) < 0 || bytes.Equal(it.high, it.end)
	}
	return bytes.Compare(key, it.low) >= 0 || bytes.Equal(it.low, it.start)
}

// beyond compares row i with key in the direction of travel.
func (it *iterator) beyond(i int, key []byte) int {
	c := bytes.Compare(it.bytes[it.rows[i].from:it.rows[i].key], key)
	if it.reverse {
		return -c
	}
	return c
}

// load reads a page, from low up to high or back, and moves onto its first row.
func (it *iterator) load(low, high []byte, limit int) bool {
	it.placed, it.on, it.at, it.limit = true, false, 0, limit
	it.low, it.high = low, high
	name := stForward
	if it.reverse {
		name = stBackward
	}
	it.err = it.r.query(call{name: name, args: [][]byte{low, high, int8Of(int64(limit))}, row: it.take}, it.empty)
	if it.err != nil {
		it.rows, it.high = it.rows[:0], nil
	}
	it.on = len(it.rows) > 0
	return it.on
}

// take adds a row to the page: its key and value.
func (it *iterator) take(values [][]byte) {
	from := len(it.bytes)
	it.bytes = append(append(it.bytes, values[0]...), values[1]...)
	it.rows = append(it.rows, row{from, from + len(values[0]), len(it.bytes)})
}

func (it *iterator) empty() { it.rows, it.bytes = it.rows[:0], it.bytes[:0] }

// after is the smallest key greater than key.
func after(key []byte) []byte { return append(append(make([]byte, 0, len(key)+1), key...), 0) }

// Key implements kv.Iterator.
func (it *iterator) Key() []byte {
	r := it.rows[it.at]
	return it.bytes[r.from:r.key:r.key]
}

// Value implements kv.Iterator.
func (it *iterator) Value() ([]byte, error) {
	value, err := it.Borrow()
	return append(make([]byte, 0, len(value)), value...), err
}

// Borrow implements kv.Iterator.
func (it *iterator) Borrow() ([]byte, error) {
	r := it.rows[it.at]
	return it.bytes[r.key:r.value:r.value], nil
}

// Err implements kv.Iterator.
func (it *iterator) Err() error { return it.err }

// Close implements kv.Iterator.
func (it *iterator) Close() error { return nil }
