package keyspace

import (
	"bytes"
	"cmp"
	"math"
)

// maxExponent bounds the decimal exponent. Literals beyond it have more than a
// quintillion zeros; they compare as if their exponent were the bound.
const maxExponent = math.MaxInt64 / 4

// decimal is the exact value of a JSON number literal: sign × 0.D × 10^exp,
// where D are the digits of head and then tail, neither beginning nor ending
// with a zero. head and tail are parts of the literal (before and after the
// point), so that no digit is copied or lost. Zero has sign 0 and no digits.
type decimal struct {
	sign       int
	exp        int64
	head, tail []byte
}

// parseDecimal reads a literal of JSON's grammar.
func parseDecimal(lit []byte) decimal {
	d := decimal{sign: 1}
	if lit[0] == '-' {
		d.sign = -1
		lit = lit[1:]
	}
	if i := bytes.IndexAny(lit, "eE"); i >= 0 {
		d.exp = parseExponent(lit[i+1:])
		lit = lit[:i]
	}
	d.head, d.tail, _ = bytes.Cut(lit, []byte{'.'})
	d.exp += int64(len(d.head))
	d.stripLeading()
	d.stripTrailing()
	if len(d.head)+len(d.tail) == 0 {
		return decimal{}
	}
	return d
}

func parseExponent(s []byte) int64 {
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		s = s[1:]
	}
	var e int64
	for _, c := range s {
		if e = e*10 + int64(c-'0'); e > maxExponent/10 {
			e = maxExponent / 10
		}
	}
	if negative {
		return -e
	}
	return e
}

func (d *decimal) stripLeading() {
	for len(d.head) > 0 && d.head[0] == '0' {
		d.head = d.head[1:]
		d.exp--
	}
	if len(d.head) > 0 {
		return
	}
	for len(d.tail) > 0 && d.tail[0] == '0' {
		d.tail = d.tail[1:]
		d.exp--
	}
}

func (d *decimal) stripTrailing() {
	d.tail = bytes.TrimRight(d.tail, "0")
	if len(d.tail) == 0 {
		d.head = bytes.TrimRight(d.head, "0")
	}
}

// digit returns the value of the i-th digit of D, 0 beyond its end.
func (d *decimal) digit(i int) byte {
	if i < len(d.head) {
		return d.head[i] - '0'
	}
	if i -= len(d.head); i < len(d.tail) {
		return d.tail[i] - '0'
	}
	return 0
}

func (d *decimal) digits() int { return len(d.head) + len(d.tail) }

// CompareNumbers compares two JSON number literals by their exact values.
func CompareNumbers(a, b []byte) int {
	if isDigits(a) && isDigits(b) { // without leading zeros, as JSON has them
		if len(a) != len(b) {
			return cmp.Compare(len(a), len(b))
		}
		return bytes.Compare(a, b)
	}
	x, y := parseDecimal(a), parseDecimal(b)
	if x.sign != y.sign {
		return cmp.Compare(x.sign, y.sign)
	}
	c := cmp.Compare(x.exp, y.exp)
	for i, n := 0, max(x.digits(), y.digits()); c == 0 && i < n; i++ {
		c = cmp.Compare(x.digit(i), y.digit(i))
	}
	return c * x.sign
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// appendNumber appends tag, exponent and digits. Digits go in pairs, one more
// than the value of the pair, and end with 0, so that the shorter of two with
// equal beginnings is the smaller. A negative number has the complement of all
// these bytes.
func appendNumber(dst, lit []byte) []byte {
	d := parseDecimal(lit)
	if d.sign == 0 {
		return append(dst, tagZero)
	}
	tag := byte(tagPositive)
	if d.sign < 0 {
		tag = tagNegative
	}
	dst = append(dst, tag)
	from := len(dst)
	dst = appendExponent(dst, d.exp)
	for i, n := 0, d.digits(); i < n; i += 2 {
		dst = append(dst, d.digit(i)*10+d.digit(i+1)+1)
	}
	dst = append(dst, 0)
	if d.sign < 0 {
		for i := from; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// An exponent within ±smallExponent is one byte around exponentZero. Others
// have a byte that says their sign and length, then big-endian bytes; those
// of a negative one are of its two's complement.
const (
	exponentZero  = 0x80
	smallExponent = 0x60
)

func appendExponent(dst []byte, e int64) []byte {
	if -smallExponent <= e && e <= smallExponent {
		return append(dst, byte(exponentZero+e))
	}
	magnitude := uint64(e)
	if e < 0 {
		magnitude = uint64(^e)
	}
	n := 1
	for n < 8 && magnitude>>(8*n) != 0 {
		n++
	}
	if e > 0 {
		dst = append(dst, byte(exponentZero+smallExponent+n))
	} else {
		dst = append(dst, byte(exponentZero-smallExponent-n))
	}
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(uint64(e)>>(8*i)))
	}
	return dst
}
