// Package packed is how rows, frames and bookmarks lay out what they hold: numbers
// as varints, texts after their length, one part after the other. Which parts a
// value has, and its version, are for the value's owner to say.
//
// A [Reader] takes anything: after the first part that is not there, or not as a
// [Writer] writes it, all further parts are zero, and its owner asks once, at the
// end, whether the value was whole. A number has one form, the shortest.
package packed

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrFormat is of a value that no Writer made, or one of a later version.
var ErrFormat = errors.New("a stored value has an unknown format")

// Writer appends parts to a value.
type Writer []byte

// Byte appends one byte, as versions and kinds are.
func (w *Writer) Byte(c byte) { *w = append(*w, c) }

// Uint appends a number.
func (w *Writer) Uint(n uint64) { *w = binary.AppendUvarint(*w, n) }

// Flag appends a byte that is 1 or 0.
func (w *Writer) Flag(b bool) {
	c := byte(0)
	if b {
		c = 1
	}
	w.Byte(c)
}

// Text appends a text and its length before it.
func (w *Writer) Text(s string) { w.Uint(uint64(len(s))); *w = append(*w, s...) }

// Bytes appends bytes and their length before them.
func (w *Writer) Bytes(b []byte) { w.Uint(uint64(len(b))); w.Raw(b) }

// Raw appends bytes whose length the reader knows, or which reach to the end.
func (w *Writer) Raw(b []byte) { *w = append(*w, b...) }

// Float appends a number in eight bytes.
func (w *Writer) Float(f float64) { *w = binary.BigEndian.AppendUint64(*w, math.Float64bits(f)) }

// List appends byte strings, and before them how many they are.
func (w *Writer) List(l [][]byte) { appendList(w, l, w.Bytes) }

// Texts appends texts as List does bytes.
func (w *Writer) Texts(l []string) { appendList(w, l, w.Text) }

func appendList[T any](w *Writer, l []T, add func(T)) {
	w.Uint(uint64(len(l)))
	for _, x := range l {
		add(x)
	}
}

// Reader takes a value apart. What it returns shares the value's memory.
type Reader struct {
	rest   []byte
	failed bool
}

// Read begins to read a value.
func Read(b []byte) Reader { return Reader{rest: b} }

// ReadVersion begins to read a value whose first byte is its version.
func ReadVersion(b []byte, version byte) Reader {
	r := Read(b)
	if r.Byte() != version {
		r.Fail()
	}
	return r
}

// ReadUpTo begins to read a value of any version from 1 up to newest, and returns
// which it is.
func ReadUpTo(b []byte, newest byte) (Reader, byte) {
	r := Read(b)
	version := r.Byte()
	if version == 0 || version > newest {
		r.Fail()
	}
	return r, version
}

// Fail says that what was read can't be: nothing further is read.
func (r *Reader) Fail() { r.rest, r.failed = nil, true }

// Failed reports whether something that was read was not there, or can't be.
func (r *Reader) Failed() bool { return r.failed }

// Rest returns what was not read yet, without reading it.
func (r *Reader) Rest() []byte { return r.rest }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail()
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	if len(r.rest) == 0 || r.rest[0] >= 0x80 {
		return r.long()
	}
	n := r.rest[0]
	r.rest = r.rest[1:]
	return uint64(n)
}

// long reads a number of several bytes.
func (r *Reader) long() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 1 && r.rest[size-1] == 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// UpTo reads a number that is at most limit.
func (r *Reader) UpTo(limit uint64) uint64 {
	n := r.Uint()
	if n > limit {
		r.Fail()
		return 0
	}
	return n
}

// Flag reads what Writer.Flag wrote.
func (r *Reader) Flag() bool {
	c := r.Byte()
	if c > 1 {
		r.Fail()
	}
	return c == 1
}

// Take reads the next n bytes.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.Fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Bytes reads bytes after their length.
func (r *Reader) Bytes() []byte { return r.Take(r.Uint()) }

// Text reads a text after its length.
func (r *Reader) Text() string { return string(r.Bytes()) }

// List reads byte strings after their number.
func (r *Reader) List() [][]byte {
	n := r.UpTo(uint64(len(r.rest))) // each takes a byte or more
	l := make([][]byte, 0, n)
	for ; n > 0; n-- {
		l = append(l, r.Bytes())
	}
	return l
}

// Texts reads texts after their number.
func (r *Reader) Texts() []string {
	l := make([]string, 0, 4)
	for _, b := range r.List() {
		l = append(l, string(b))
	}
	return l
}

// Float reads what Writer.Float wrote.
func (r *Reader) Float() float64 {
	if b := r.Take(8); b != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Err returns ErrFormat where something read was not there or can't be.
func (r *Reader) Err() error {
	if r.failed {
		return ErrFormat
	}
	return nil
}

// Done returns ErrFormat where Err does, and where something is left.
func (r *Reader) Done() error {
	if r.failed || len(r.rest) > 0 {
		return ErrFormat
	}
	return nil
}

// Number is the value of a row that holds one number and no version.
func Number(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// ReadNumber reads what Number wrote.
func ReadNumber(b []byte) (uint64, error) {
	r := Read(b)
	n := r.Uint()
	return n, r.Done()
}
