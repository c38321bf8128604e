package compiled

import (
	"bytes"
	"math"
	"strconv"
)

// tens are the powers of ten that a float64 holds exactly, as far as needed.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decodeNumber decodes a JSON number. A number of at most 15 digits without an
// exponent is exact by one division, and, written without needless zeros, is
// also what JavaScript would write: the value then keeps its text. It fails when the
// budget is spent.
func (m *Machine) decodeNumber(raw []byte) value {
	if !m.spend(8 + len(raw)) {
		return value{}
	}
	i, negative := 0, false
	if raw[0] == '-' {
		i, negative = 1, true
	}
	var mantissa int64
	start, point := i, -1
	for ; i < len(raw); i++ {
		c := raw[i]
		if '0' <= c && c <= '9' {
			mantissa = mantissa*10 + int64(c-'0')
			continue
		}
		if c != '.' || i-start > 15 {
			return m.parseNumber(raw)
		}
		point = i
	}
	if i-start > 15 {
		return m.parseNumber(raw)
	}
	n := float64(mantissa)
	v := value{k: number, n: n}
	if point >= 0 {
		v.n = n / tens[len(raw)-point-1]
		if raw[len(raw)-1] != '0' && v.n >= 1e-6 {
			v.s = raw
		}
	} else if mantissa != 0 || !negative {
		v.s = raw
	}
	if negative {
		v.n = -v.n
	}
	return v
}

// parseNumber decodes any other JSON number. Up to 800 digits it may need a decimal of
// them, which is shifted as often as the exponent is large.
func (m *Machine) parseNumber(raw []byte) value {
	if !m.spend(32*min(len(raw), 800) + 2*len(raw)) {
		return value{}
	}
	n, _ := strconv.ParseFloat(string(raw), 64) // out of range: an infinity, as in JavaScript
	return value{k: number, n: n}
}

// appendNumber appends n as JavaScript's ToString writes it.
func appendNumber(dst []byte, n float64) []byte {
	switch {
	case math.IsNaN(n):
		return append(dst, "NaN"...)
	case math.IsInf(n, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(n, -1):
		return append(dst, "-Infinity"...)
	case n == 0:
		return append(dst, '0')
	case n == math.Trunc(n) && math.Abs(n) < 1e15:
		return strconv.AppendInt(dst, int64(n), 10)
	}
	if a := math.Abs(n); 1e-6 <= a && a < 1e21 {
		return strconv.AppendFloat(dst, n, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, n, 'e', -1, 64)
	// Go writes at least two digits of exponent, JavaScript no leading zero.
	if l := len(dst); dst[l-2] == '0' && (dst[l-3] == '-' || dst[l-3] == '+') {
		dst = append(dst[:l-2], dst[l-1])
	}
	return dst
}

// numeral says what a string is as a number.
type numeral uint8

const (
	notNumeral numeral = iota // NaN for certain
	integer                   // digits with or without a minus sign, at most 15
	decimal                   // any other form of a JSON number
	unclear                   // everything that engines have different ways for
)

// numeralOf classifies s.
func numeralOf(s []byte) numeral {
	if len(s) == 0 || s[0] <= ' ' || s[len(s)-1] <= ' ' || s[0] >= 0x80 || s[len(s)-1] >= 0x80 {
		return unclear
	}
	if c := s[0] | 0x20; 'a' <= c && c <= 'z' {
		if c == 'i' || c == 'n' {
			return unclear // Infinity and its relatives
		}
		return notNumeral
	}
	switch kind, end := jsonNumber(s); {
	case kind == notNumeral:
		return otherNumeral(s)
	case end == len(s):
		return kind
	default:
		return otherNumeral(s)
	}
}

// otherNumeral tells what can't be a number from what may be one that JSON does
// not know, such as "0x1f", "+5" and "1.".
func otherNumeral(s []byte) numeral {
	for i, c := range s {
		switch {
		case '0' <= c && c <= '9', c == '.', c == 'e', c == 'E', c == '_', c == '+':
		case c == '-':
			if i > 0 && s[i-1]|0x20 != 'e' {
				return notNumeral
			}
		case c == ':' || c == '/' || c == '#' || c == '@':
			return notNumeral
		default:
			return unclear
		}
	}
	return unclear
}

// jsonNumber reads the number that s begins with: its form and where it ends.
func jsonNumber(s []byte) (form numeral, end int) {
	i := 0
	if s[0] == '-' {
		i = 1
	}
	first := i
	i = digits(s, i)
	if i == first || s[first] == '0' && i > first+1 {
		return notNumeral, 0
	}
	form = integer
	if i-first > 15 || s[0] == '-' && s[first] == '0' {
		form = decimal
	}
	if i < len(s) && s[i] == '.' {
		j := digits(s, i+1)
		if j == i+1 {
			return notNumeral, 0
		}
		form, i = decimal, j
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if k := digits(s, j); k > j {
			form, i = decimal, k
		}
	}
	return form, i
}

func digits(s []byte, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// number is ToNumber. ok is false after a failure, which m.err then names.
func (m *Machine) number(v value) (n float64, ok bool) {
	switch v.k {
	case number, boolean, date:
		return v.n, true
	case undefined:
		return math.NaN(), true
	case null:
		return 0, true
	case failed, skipped, unset:
		return 0, false
	case text:
		return m.numberOfText(v.s)
	}
	v = m.primitive(v)
	if v.stops() {
		return 0, false
	}
	return m.number(v)
}

func (m *Machine) numberOfText(s []byte) (float64, bool) {
	if len(s) == 0 {
		return 0, true
	}
	if !m.spend(len(s)) {
		return 0, false
	}
	switch numeralOf(s) {
	case notNumeral:
		return math.NaN(), true
	case integer:
		return m.decodeNumber(s).n, m.err == nil
	case decimal:
		if len(s) < 20 && s[0] != '-' && !bytes.ContainsAny(s, "eE") {
			return m.decodeNumber(s).n, m.err == nil
		}
	}
	m.interpret()
	return 0, false
}

// integer is ToIntegerOrInfinity, for numbers that can't be beyond any length.
func (m *Machine) integer(v value) (n int, ok bool) {
	f, ok := m.number(v)
	switch {
	case !ok:
		return 0, false
	case math.IsNaN(f):
		return 0, true
	case math.Abs(f) > 1e15:
		m.interpret()
		return 0, false
	}
	return int(f), true
}
