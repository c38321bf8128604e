package compiled

import (
	"bytes"
	"unicode/utf8"
)

// units counts the UTF-16 code units of s, which is ascii when there are as
// many as bytes.
func units(s []byte) int {
	n := 0
	for _, c := range s {
		if c < 0x80 || c >= 0xc0 {
			n++
		}
		if c >= 0xf0 {
			n++
		}
	}
	return n
}

// offset returns the byte where code unit n of s begins; ok is false within a
// surrogate pair.
func offset(s []byte, n int) (at int, ok bool) {
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
				return 0, false
			}
			n--
			i += 4
		}
	}
	return len(s), n == 0
}

// cut returns the code units of s from one to another.
func (m *Machine) cut(s []byte, from, to int) value {
	if from >= to {
		return textOf(nil)
	}
	if !m.spend(len(s) / 8) {
		return value{}
	}
	if units(s) == len(s) {
		return textOf(s[from:to:to])
	}
	i, ok := offset(s, from)
	if !ok {
		return m.interpret()
	}
	j, ok := offset(s[i:], to-from)
	if !ok {
		return m.interpret()
	}
	return textOf(s[i : i+j : i+j])
}

// within finds part in s from code unit from on; the result counts code units.
func (m *Machine) within(s, part []byte, from int) int {
	if from > 0 {
		at, ok := offset(s, from)
		if !ok {
			m.err = ErrInterpret
			return -1
		}
		n := bytes.Index(s[at:], part)
		if n < 0 {
			return -1
		}
		return from + units(s[at:at+n])
	}
	n := bytes.Index(s, part)
	if n < 0 {
		return -1
	}
	return units(s[:n])
}

// charAt returns one code unit as a string; ok is false outside of s.
func (m *Machine) charAt(s []byte, n int) (v value, ok bool) {
	if !m.spend(len(s) / 8) {
		return value{}, true
	}
	if n < 0 || n >= units(s) {
		return value{}, false
	}
	return m.cut(s, n, n+1), true
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
	if !m.room(len(s) + len(s)/2) {
		return value{}
	}
	start := len(m.text)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if !plainCase(r) {
			return m.interpret()
		}
		m.text = utf8.AppendRune(m.text, change(r))
		i += n
	}
	return m.made(start)
}

// space is what trim takes away.
const space = " \f\n\r\t\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
