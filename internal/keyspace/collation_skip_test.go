package keyspace

import "bytes"

// skipCollated returns what follows the value that b begins with, one made by
// AppendCollated or AppendRaw; false if b does not begin with a whole value.
func skipCollated(b []byte) (rest []byte, ok bool) {
	depth := 0
	for len(b) > 0 {
		tag := b[0]
		b = b[1:]
		switch tag {
		case tagArray, tagObject, rawTagArray, rawTagObject:
			depth++
		case tagEnd:
			depth--
		case tagString:
			b, ok = skipKey(b)
		case rawTagString:
			b, ok = skipEscaped(b)
		case tagPositive, tagNegative:
			b, ok = skipNumber(b, tag == tagNegative)
		case tagZero, tagNull, tagFalse, tagTrue, rawTagNull, rawTagFalse, rawTagTrue:
			ok = true
		default:
			return nil, false
		}
		if depth < 0 || isLeaf(tag) && !ok {
			return nil, false
		}
		if depth == 0 {
			return b, true
		}
	}
	return nil, false
}

func isLeaf(tag byte) bool {
	switch tag {
	case tagArray, tagObject, rawTagArray, rawTagObject, tagEnd:
		return false
	}
	return true
}

// skipKey returns what follows the sort key that b begins with.
func skipKey(b []byte) ([]byte, bool) {
	i := bytes.IndexByte(b, endLevels)
	if i < 0 {
		return nil, false
	}
	return b[i+1:], true
}

// skipNumber returns what follows the exponent and digits of a number.
func skipNumber(b []byte, negative bool) ([]byte, bool) {
	var flip byte
	if negative {
		flip = 0xff
	}
	if len(b) == 0 {
		return nil, false
	}
	n := int(b[0]^flip) - exponentZero
	if n < 0 {
		n = -n
	}
	if n = max(n-smallExponent, 0); len(b) < 1+n {
		return nil, false
	}
	b = b[1+n:]
	i := bytes.IndexByte(b, flip)
	if i < 0 {
		return nil, false
	}
	return b[i+1:], true
}

// skipEscaped returns what follows bytes that appendEscaped wrote.
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
