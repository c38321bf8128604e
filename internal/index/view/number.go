package view

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// number is a JSON number as CouchDB's reduce functions compute with it: whole
// ones are exact and as long as they need to be, until a fraction meets them.
type number struct {
	kind  uint8
	small int64
	float float64
	big   *big.Int
}

const (
	smallNumber = iota
	bigNumber
	floatNumber
)

func whole(n int64) number { return number{small: n} }

// parseNumber reads a number's JSON.
func parseNumber(raw []byte) number {
	if n, ok := parseShort(raw); ok {
		return n
	}
	if bytes.ContainsAny(raw, ".eE") {
		f, _ := strconv.ParseFloat(string(raw), 64) // out of range gives an infinity, which sums report
		return number{kind: floatNumber, float: f}
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return number{small: n}
	}
	n, ok := new(big.Int).SetString(string(raw), 10)
	if !ok {
		return number{}
	}
	return number{kind: bigNumber, big: n}
}

// powers are those of ten.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseShort reads numbers of up to 15 digits without an exponent, which most
// are: digits and power are exact doubles then, so that their quotient is the
// nearest one to the number.
func parseShort(raw []byte) (number, bool) {
	digits, negative := raw, len(raw) > 0 && raw[0] == '-'
	if negative {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > 15 {
		return number{}, false
	}
	n, point := int64(0), -1
	for i, c := range digits {
		switch {
		case c == '.' && point < 0:
			point = i
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
		default:
			return number{}, false
		}
	}
	if point < 0 {
		if negative {
			n = -n
		}
		return number{small: n}, true
	}
	f := float64(n) / powers[len(digits)-1-point]
	if negative {
		f = -f
	}
	return number{kind: floatNumber, float: f}, true
}

// append writes the number as JSON: one with a fraction keeps a point or an
// exponent, so that it is read back as such.
func (n number) append(dst []byte) []byte {
	switch n.kind {
	case smallNumber:
		return strconv.AppendInt(dst, n.small, 10)
	case bigNumber:
		return n.big.Append(dst, 10)
	}
	at := len(dst)
	format := byte('f')
	if a := math.Abs(n.float); a != 0 && (a < 1e-6 || a >= 1e16) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, n.float, format, -1, 64)
	if !bytes.ContainsAny(dst[at:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// finite reports whether the number can be written.
func (n number) finite() bool {
	return n.kind != floatNumber || !math.IsInf(n.float, 0) && !math.IsNaN(n.float)
}

func (n number) asFloat() float64 {
	switch n.kind {
	case smallNumber:
		return float64(n.small)
	case bigNumber:
		f, _ := new(big.Float).SetInt(n.big).Float64()
		return f
	}
	return n.float
}

func (n number) asBig() *big.Int {
	if n.kind == bigNumber {
		return n.big
	}
	return big.NewInt(n.small)
}

func fromBig(b *big.Int) number {
	if b.IsInt64() {
		return number{small: b.Int64()}
	}
	return number{kind: bigNumber, big: b}
}

func (n number) plus(m number) number {
	switch {
	case n.kind == floatNumber || m.kind == floatNumber:
		return number{kind: floatNumber, float: n.asFloat() + m.asFloat()}
	case n.kind == smallNumber && m.kind == smallNumber:
		sum := n.small + m.small
		if (sum > n.small) == (m.small > 0) {
			return number{small: sum}
		}
	}
	return fromBig(new(big.Int).Add(n.asBig(), m.asBig()))
}

func (n number) times(m number) number {
	if n.kind == floatNumber || m.kind == floatNumber {
		return number{kind: floatNumber, float: n.asFloat() * m.asFloat()}
	}
	return fromBig(new(big.Int).Mul(n.asBig(), m.asBig()))
}

func (n number) compare(m number) int {
	if n.kind == floatNumber || m.kind == floatNumber {
		return cmp.Compare(n.asFloat(), m.asFloat())
	}
	if n.kind == smallNumber && m.kind == smallNumber {
		return cmp.Compare(n.small, m.small)
	}
	return n.asBig().Cmp(m.asBig())
}
