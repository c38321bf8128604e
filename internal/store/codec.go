package store

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/sectional/sectional/internal/document"
)

var errFormat = errors.New("store: row has an unknown format")

// packer appends the parts of a row's value; unpacker reads them back. The
// formats are drawn in docs/formats/rows.md.
type packer struct{ b []byte }

func (p *packer) byte(c byte)     { p.b = append(p.b, c) }
func (p *packer) uint(n uint64)   { p.b = binary.AppendUvarint(p.b, n) }
func (p *packer) text(s string)   { p.uint(uint64(len(s))); p.b = append(p.b, s...) }
func (p *packer) bytes(s []byte)  { p.uint(uint64(len(s))); p.b = append(p.b, s...) }
func (p *packer) float(f float64) { p.b = binary.BigEndian.AppendUint64(p.b, math.Float64bits(f)) }

func (p *packer) rev(r document.Rev) {
	p.uint(uint64(r.Gen))
	p.text(r.Hash)
}

type unpacker struct {
	b   []byte
	bad bool
}

// newUnpacker starts reading a value whose first byte is its version.
func newUnpacker(b []byte, version byte) unpacker {
	u := unpacker{b: b}
	if u.byte() != version {
		u.bad = true
	}
	return u
}

// newUnpackerUpTo starts reading a value of any version from 1 to newest, and tells
// which it is.
func newUnpackerUpTo(b []byte, newest byte) (u unpacker, version byte) {
	u = unpacker{b: b}
	version = u.byte()
	u.bad = u.bad || version == 0 || version > newest
	return u, version
}

func (u *unpacker) byte() byte {
	if len(u.b) == 0 {
		u.bad = true
		return 0
	}
	c := u.b[0]
	u.b = u.b[1:]
	return c
}

func (u *unpacker) uint() uint64 {
	n, l := binary.Uvarint(u.b)
	if l <= 0 {
		u.bad = true
		return 0
	}
	u.b = u.b[l:]
	return n
}

// take returns the next n bytes, sharing the value's memory.
func (u *unpacker) take(n uint64) []byte {
	if u.bad || n > uint64(len(u.b)) {
		u.bad = true
		return nil
	}
	s := u.b[:n:n]
	u.b = u.b[n:]
	return s
}

func (u *unpacker) bytes() []byte { return u.take(u.uint()) }
func (u *unpacker) text() string  { return string(u.bytes()) }

func (u *unpacker) float() float64 {
	b := u.take(8)
	if u.bad {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

func (u *unpacker) rev() document.Rev {
	gen := u.uint()
	if gen > math.MaxUint32 {
		u.bad = true
	}
	return document.Rev{Gen: uint32(gen), Hash: u.text()}
}

// done reports whether the whole value was read well.
func (u *unpacker) done() error {
	if u.bad || len(u.b) > 0 {
		return errFormat
	}
	return nil
}

// ok reports whether everything so far was read well.
func (u *unpacker) ok() error {
	if u.bad {
		return errFormat
	}
	return nil
}
