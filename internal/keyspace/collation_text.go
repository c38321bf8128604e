package keyspace

import (
	"bytes"
	"cmp"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// The order of strings. Everything that depends on how strings collate is in
// this file, behind two functions that must agree: appendCollatedString and
// CompareText. They rest on golang.org/x/text/collate, whose tables are those
// of CLDR 23: right for ASCII and Latin, a few per cent of diverse pairs stand
// elsewhere than in a current ICU. A table encoder of the current root collation
// takes its place; CollationVersion rises with it.

// appendCollatedString appends the sort key of s, escaped and ended.
func appendCollatedString(dst, s []byte) []byte {
	if string(s) == highest {
		return append(dst, 0xff, 0x00, 0x01)
	}
	if isASCII(s) {
		return appendASCIIKey(dst, s)
	}
	k := keyers.Get().(*keyer)
	defer keyers.Put(k)
	return appendEscaped(dst, k.key(s))
}

// CompareText compares two strings (their characters, not JSON) by collation.
// Strings that differ may be equal: a letter composed and decomposed, one with
// a control character more.
func CompareText(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	if isASCII(a) && isASCII(b) {
		return compareASCII(a, b)
	}
	if ha, hb := string(a) == highest, string(b) == highest; ha || hb {
		return compareBools(ha, hb)
	}
	k := keyers.Get().(*keyer)
	defer keyers.Put(k)
	return k.collator.Compare(a, b)
}

// highest is the one string that CouchDB puts above all others.
const highest = "\uffff"

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

func isASCII(s []byte) bool {
	for _, c := range s {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// keyer is a collator with its buffer; neither may be used by two goroutines.
type keyer struct {
	collator *collate.Collator
	buf      collate.Buffer
}

var keyers = sync.Pool{New: func() any { return newKeyer() }}

func newKeyer() *keyer { return &keyer{collator: collate.New(language.Und)} }

// key gives the sort key of s, valid until the next call.
func (k *keyer) key(s []byte) []byte {
	k.buf.Reset()
	return k.collator.Key(&k.buf, s)
}

// asciiWeights holds what each ASCII character adds to the three levels of a
// sort key. In root collation no sequence of ASCII characters contracts or
// expands, so that a key of ASCII text is, level by level, the weights of its
// characters in a row; the tests hold this against the collator.
type asciiWeights struct {
	level [3][0x80][]byte // escaped
	// primary and tertiary are the same as numbers, 0 where a character has
	// none. All ASCII characters have one secondary weight or none, and those
	// without a primary have none at all, so the secondary level decides nothing.
	primary  [0x80]uint32
	tertiary [0x80]uint32
}

var asciiTable = sync.OnceValue(func() *asciiWeights {
	t := new(asciiWeights)
	k := newKeyer()
	for c := range t.primary {
		rest := k.key([]byte{byte(c)})
		var weights [3]uint32
		for l := range t.level {
			n := levelLen(rest, l)
			weights[l] = bigEndian(rest[:n])
			t.level[l][c] = appendEscapedBytes(nil, rest[:n])
			rest = rest[min(n+2, len(rest)):]
		}
		t.primary[c], t.tertiary[c] = weights[0], weights[2]
	}
	return t
})

// levelLen gives the length of level l, with which key begins. Weights of the
// first level have two bytes, or three if the first byte has its high bit set;
// of the second two, of the third one; two zero bytes part the levels.
func levelLen(key []byte, l int) int {
	i := 0
	for i < len(key) && !bytes.HasPrefix(key[i:], []byte{0, 0}) {
		switch {
		case l == 0 && key[i] >= 0x80:
			i += 3
		case l < 2:
			i += 2
		default:
			i++
		}
	}
	return i
}

func bigEndian(b []byte) (n uint32) {
	for _, c := range b {
		n = n<<8 | uint32(c)
	}
	return n
}

func appendASCIIKey(dst, s []byte) []byte {
	t := asciiTable()
	for l := range t.level {
		if l > 0 {
			dst = append(dst, 0x00, 0xff, 0x00, 0xff)
		}
		for _, c := range s {
			dst = append(dst, t.level[l][c&0x7f]...)
		}
	}
	return append(dst, 0x00, 0x01)
}

// compareASCII compares the primary weights and then the tertiary ones.
func compareASCII(a, b []byte) int {
	t := asciiTable()
	if c := compareWeights(&t.primary, a, b); c != 0 {
		return c
	}
	return compareWeights(&t.tertiary, a, b)
}

// compareWeights compares the weights of a and b in a row, passing over
// characters that have none.
func compareWeights(weights *[0x80]uint32, a, b []byte) int {
	i, j := 0, 0
	for {
		var wa, wb uint32
		for wa == 0 && i < len(a) {
			wa = weights[a[i]&0x7f]
			i++
		}
		for wb == 0 && j < len(b) {
			wb = weights[b[j]&0x7f]
			j++
		}
		if wa != wb {
			return cmp.Compare(wa, wb)
		}
		if wa == 0 {
			return 0
		}
	}
}

// appendEscaped appends s so that it ends itself and compares as before:
// a zero byte becomes 00 FF, and 00 01 ends.
func appendEscaped(dst, s []byte) []byte {
	return append(appendEscapedBytes(dst, s), 0x00, 0x01)
}

func appendEscapedBytes(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, 0)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), 0x00, 0xff)
		s = s[i+1:]
	}
}

// skipEscaped gives what lies behind bytes that appendEscaped wrote.
func skipEscaped(b []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 || i+1 >= len(b) {
			return nil, false
		}
		end := b[i+1] == 0x01
		b = b[i+2:]
		if end {
			return b, true
		}
	}
}
