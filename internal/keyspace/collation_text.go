package keyspace

import (
	"bytes"
	"cmp"
	"sync"
	"unicode/utf8"
)

// The order of strings is that of ICU's root collation at tertiary strength,
// as CouchDB asks for it: nothing is ignored but characters without weight, and
// the text is taken as it is, not normalized first. Composed and decomposed
// letters are equal all the same, because the table says so; only marks out of
// canonical order, which no normalized text holds, are elsewhere than their
// normalized form.
//
// A sort key is three levels of weights: what character (primary), which accent
// (secondary), which case or variant (tertiary). A later level counts only where
// all earlier ones are equal. collation_table.go gives the weights of a text,
// collation_levels.go the bytes of the two later levels. A key is
//
//	primaries [04 secondaries] [03] tertiaries 01
//
// where a level of common weights alone is empty, so that lower-case text has
// its primaries and one byte more. No byte but the last is 01. The separators between
// levels are lower than any primary's first byte (05 to FE): of two texts the
// shorter one comes first. FF stands for highest.
const (
	lowWeight      = 0x00 // in the tertiary level: a weight below the common one follows
	endLevels      = 0x01 // ends the key; the rest of each level is common weights
	firstTrail     = 0x02 // lowest byte after the first one of a weight
	beginTertiary  = 0x03 // a tertiary level that begins above the common weight
	beginSecondary = 0x04
	firstLead      = 0x05
	lastLead       = 0xfe
	leadHighest    = 0xff
)

// highest is the one string that CouchDB puts above all others.
const highest = "\uffff"

// appendCollatedString appends the sort key of s.
func appendCollatedString(dst, s []byte) []byte {
	if key, ok := appendASCIIKey(dst, s); ok {
		return key
	}
	if string(s) == highest {
		return append(dst, leadHighest, endLevels)
	}
	k := keyers.Get().(*keyer)
	dst = k.appendKey(dst, s)
	k.release()
	return dst
}

// CompareText compares two strings (their characters, not JSON) by collation.
// Strings that differ may be equal: a letter composed and decomposed, one with
// a control character more.
func CompareText(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	if c, ok := compareASCII(a, b); ok {
		return c
	}
	if ha, hb := string(a) == highest, string(b) == highest; ha || hb {
		return compareBools(ha, hb)
	}
	k := keyers.Get().(*keyer)
	k.left = k.appendKey(k.left[:0], a)
	k.right = k.appendKey(k.right[:0], b)
	c := bytes.Compare(k.left, k.right)
	k.release()
	return c
}

// PlainText reports whether s holds only printable ASCII. Two such strings are
// equal by collation only if their bytes are equal.
func PlainText(s []byte) bool {
	for _, c := range s {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

// keyer holds what making a key needs; no two goroutines may use one.
type keyer struct {
	table       *rootTable
	text        []rune
	secondary   secondaries
	tertiary    tertiaries
	left, right []byte // for CompareText
}

var keyers = sync.Pool{New: func() any { return &keyer{table: root()} }}

// maxPooledBuffer bounds what a keyer carries from one text to the next.
const maxPooledBuffer = 1 << 14

func (k *keyer) release() {
	if cap(k.text) <= maxPooledBuffer && cap(k.left) <= maxPooledBuffer && cap(k.right) <= maxPooledBuffer {
		keyers.Put(k)
	}
}

func (k *keyer) appendKey(dst, s []byte) []byte {
	k.text = k.text[:0]
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		k.text = append(k.text, r)
		s = s[n:]
	}
	k.secondary.reset()
	k.tertiary.reset()
	for i := 0; i < len(k.text); {
		var e entry
		e, i = k.table.match(k.text, i)
		dst = k.appendEntry(dst, e, k.text[i-1])
	}
	dst = k.secondary.appendTo(dst)
	return k.tertiary.appendTo(dst)
}

// appendEntry appends the primaries of e and notes its other weights. r is the
// character that has the entry, if it is one of a single character.
func (k *keyer) appendEntry(dst []byte, e entry, r rune) []byte {
	switch e.kind() {
	case entrySingle:
		k.secondary.common++
		k.tertiary.add(e.tertiary())
		return appendCode(dst, e.code())
	case entryElements:
		for _, x := range k.table.elementsOf(e) {
			dst = appendCode(dst, x.primary)
			k.secondary.add(x.secondary)
			k.tertiary.add(x.tertiary)
		}
		return dst
	}
	if r >= hangulFirst && r <= hangulLast {
		return k.appendSyllable(dst, r)
	}
	k.secondary.common++
	k.tertiary.common++
	return appendCode(dst, k.table.implicitCode(r))
}

// Hangul syllables are letters in a row: an initial, a vowel and, but for the
// first of each 28, a final.
const (
	hangulFirst  = 0xac00
	hangulLast   = 0xd7a3
	hangulVowels = 21
	hangulFinals = 28
	firstInitial = 0x1100
	firstVowel   = 0x1161
	beforeFinals = 0x11a7
)

func (k *keyer) appendSyllable(dst []byte, r rune) []byte {
	r -= hangulFirst
	for _, letter := range [...]rune{
		firstInitial + r/(hangulVowels*hangulFinals),
		firstVowel + r/hangulFinals%hangulVowels,
		beforeFinals + r%hangulFinals,
	} {
		if letter != beforeFinals {
			dst = k.appendEntry(dst, k.table.entryOf(letter), letter)
		}
	}
	return dst
}

// appendCode appends the bytes of a primary, which are left-aligned in code
// and hold no 0.
func appendCode(dst []byte, code uint32) []byte {
	for ; code != 0; code <<= 8 {
		dst = append(dst, byte(code>>24))
	}
	return dst
}

// appendASCIIKey appends the key of s if it is ASCII. Each such character has
// no weight or a primary of one byte and the common secondary weight; letters
// of upper case have their own tertiary weight, all others the common one; and
// no sequence of them contracts. The tests hold that against the table.
func appendASCIIKey(dst, s []byte) (key []byte, ok bool) {
	primaries := &root().ascii
	key = dst
	upper := false
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return dst, false
		}
		if w := primaries[c]; w != 0 {
			key = append(key, w)
			upper = upper || isUpper(c)
		}
	}
	if !upper {
		return append(key, endLevels), true
	}
	t := tertiaries{out: append(key, beginTertiary)}
	for _, c := range s {
		if isUpper(c) {
			t.add(tertiaryUpper)
		} else if primaries[c] != 0 {
			t.common++
		}
	}
	return append(t.out, endLevels), true
}

func isUpper(c byte) bool { return c-'A' < 26 }

// compareASCII compares two texts as far as they are ASCII: the first different
// primaries decide, whatever follows, or else the first different case. It is
// not ok if one of the texts has other characters before that.
func compareASCII(a, b []byte) (c int, ok bool) {
	primaries := &root().ascii
	i, j := 0, 0
	for {
		var ca, cb, pa, pb byte
		for pa == 0 && i < len(a) {
			ca = a[i]
			if ca >= utf8.RuneSelf {
				return 0, false
			}
			pa = primaries[ca]
			i++
		}
		for pb == 0 && j < len(b) {
			cb = b[j]
			if cb >= utf8.RuneSelf {
				return 0, false
			}
			pb = primaries[cb]
			j++
		}
		switch {
		case pa != pb:
			return cmp.Compare(pa, pb), true
		case pa == 0:
			return c, true
		case c == 0:
			c = compareBools(isUpper(ca), isUpper(cb))
		}
	}
}

// appendEscaped appends s so that it ends itself and compares as before:
// a zero byte becomes 00 FF, and 00 01 ends.
func appendEscaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, 0)
		if i < 0 {
			return append(append(dst, s...), 0x00, 0x01)
		}
		dst = append(append(dst, s[:i]...), 0x00, 0xff)
		s = s[i+1:]
	}
}
