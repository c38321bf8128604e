package compiled

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// counted remembers how many UTF-16 code units the string has that was counted last.
type counted struct {
	first *byte
	bytes int
	units int
}

// units counts the UTF-16 code units of s, which is ascii when there are as
// many as bytes. ok is false when the budget is spent.
func (m *Machine) units(s []byte) (n int, ok bool) {
	if len(s) == 0 {
		return 0, true
	}
	if m.counted.first == &s[0] && m.counted.bytes == len(s) {
		return m.counted.units, true
	}
	if !m.spend(4 + len(s)/4) {
		return 0, false
	}
	n = units(s)
	if len(s) >= 64 {
		m.counted = counted{&s[0], len(s), n}
	}
	return n, true
}

// units counts the UTF-16 code units of s: one for each byte that begins a character,
// and another one for characters of four bytes.
func units(s []byte) int {
	const ones = 0x0101010101010101
	n := len(s)
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64(s)
		if w&(0x80*ones) == 0 {
			continue
		}
		n -= bits.OnesCount64(w >> 7 &^ (w >> 6) & ones)
		n += bits.OnesCount64(w >> 7 & (w >> 6) & (w >> 5) & (w >> 4) & ones)
	}
	for _, c := range s {
		if c >= 0x80 && c < 0xc0 {
			n--
		}
		if c >= 0xf0 {
			n++
		}
	}
	return n
}

// offset returns the byte where code unit n of s begins; ok is false within a
// surrogate pair, or when the budget is spent.
func (m *Machine) offset(s []byte, n int) (at int, ok bool) {
	if !m.spend(2 * min(n, len(s))) {
		return 0, false
	}
	for i := 0; i < len(s); {
		if n == 0 {
			return i, true
		}
		n--
		switch c := s[i]; {
		case c < 0x80:
			i++
		case c < 0xe0:
			i += 2
		case c < 0xf0:
			i += 3
		default:
			if n == 0 {
				m.interpret()
				return 0, false
			}
			n--
			i += 4
		}
	}
	return len(s), n == 0
}

// cut returns the code units of s, which has length of them, from one to another.
func (m *Machine) cut(s []byte, length, from, to int) value {
	if from >= to {
		return textOf(nil)
	}
	if length == len(s) {
		return textOf(s[from:to:to])
	}
	i, ok := m.offset(s, from)
	if !ok {
		return m.interpret()
	}
	j, ok := m.offset(s[i:], to-from)
	if !ok {
		return m.interpret()
	}
	return textOf(s[i : i+j : i+j])
}

// searched is how many bytes of a string are looked for at once, and window in how many
// at once. For so few, bytes.Index takes time in proportion to what it looks into.
const (
	searched = 32
	window   = 512
)

// index is bytes.Index; -1 also when the budget is spent. A longer part may nearly be
// there at every place, so the rest of it is charged wherever its beginning is.
func (m *Machine) index(s, part []byte) int {
	head := part[:min(len(part), searched)]
	for i := 0; ; {
		end := min(i+window, len(s))
		if !m.spend(8 + end - i) {
			return -1
		}
		n := bytes.Index(s[i:end], head)
		switch {
		case n < 0 && end == len(s):
			return -1
		case n < 0:
			i = end - len(head) + 1
			continue
		case len(part) == len(head):
			return i + n
		}
		if i += n; !m.spend(32 + len(part)/8) {
			return -1
		}
		if bytes.HasPrefix(s[i:], part) {
			return i
		}
		i++
	}
}

// within finds part in s from code unit from on; the result counts code units. ok is
// false after a failure.
func (m *Machine) within(s, part []byte, from int) (at int, ok bool) {
	begin := 0
	if from > 0 {
		if begin, ok = m.offset(s, from); !ok {
			m.interpret()
			return 0, false
		}
	}
	n := m.index(s[begin:], part)
	if n < 0 || m.err != nil {
		return -1, m.err == nil
	}
	before, ok := m.units(s[begin : begin+n])
	return from + before, ok
}

// charAt returns one code unit as a string; ok is false outside of s.
func (m *Machine) charAt(s []byte, n int) (v value, ok bool) {
	length, ok := m.units(s)
	if !ok {
		return value{}, true
	}
	if n < 0 || n >= length {
		return value{}, false
	}
	return m.cut(s, length, n, n+1), true
}

// plainCase reports whether r has one lower and one upper case form each, of
// one character, on which all versions of Unicode agree.
func plainCase(r rune) bool {
	switch {
	case r < 0x80:
		return true
	case r == 0xb5 || r == 0xdf || r == 0x130 || r == 0x131 || r == 0x149:
		return false
	case r < 0x180, 0x410 <= r && r <= 0x44f:
		return true
	}
	return 0x3000 <= r && r < 0xa000 || 0xac00 <= r && r < 0xd7a4 || 0x1f300 <= r && r < 0x1f700
}

// changeCase maps every character of s.
func (m *Machine) changeCase(s []byte, change func(rune) rune) value {
	if !m.spend(8*len(s)) || !m.room(len(s)+len(s)/2) {
		return value{}
	}
	start := len(m.text)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r >= utf8.RuneSelf && !m.spend(32) || !plainCase(r) {
			return m.interpret()
		}
		m.text = utf8.AppendRune(m.text, change(r))
		i += n
	}
	return m.made(start)
}

// trim takes white space away at both ends.
func (m *Machine) trim(s []byte) value {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if !isSpace(r) {
			break
		}
		if s = s[n:]; !m.spend(4) {
			return value{}
		}
	}
	for len(s) > 0 {
		r, n := utf8.DecodeLastRune(s)
		if !isSpace(r) {
			break
		}
		if s = s[:len(s)-n]; !m.spend(4) {
			return value{}
		}
	}
	return textOf(s)
}

// isSpace reports whether trim takes r away.
func isSpace(r rune) bool {
	switch r {
	case ' ', '\f', '\n', '\r', '\t', '\v', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return 0x2000 <= r && r <= 0x200a
}

// equalText reports whether two strings are equal; false also when the budget is spent.
func (m *Machine) equalText(a, b []byte) bool {
	return len(a) == len(b) && m.spend(len(a)/8) && string(a) == string(b)
}

// compareText orders strings by UTF-16 code units: as bytes are, except that
// characters beyond U+FFFF, which are surrogates there, come before U+E000 to
// U+FFFF. When the budget is spent m.err says so, and the result means nothing.
func (m *Machine) compareText(a, b []byte) int {
	n := min(len(a), len(b))
	if !m.spend(n) {
		return 0
	}
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			return int(y) - int(x)
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
