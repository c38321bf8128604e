package document

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"
)

// decimal is a JSON number without rounding: digits × 10^exponent.
type decimal struct {
	digits   *big.Int
	exponent int
}

// maxDigits bounds the length of a number that is computed with, the distance
// of its exponent from 0, and the length of what comes out.
const maxDigits = 1000

var errDigits = errors.New("a number has more than 1000 digits")

// parseDecimal reads a well-formed number.
func parseDecimal(text []byte) (d decimal, err error) {
	mantissa, exponent := text, []byte("0")
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		mantissa, exponent = text[:e], text[e+1:]
	}
	if len(mantissa) > maxDigits {
		return d, errDigits
	}
	if d.exponent, err = strconv.Atoi(string(exponent)); err != nil || d.exponent > maxDigits || d.exponent < -maxDigits {
		return d, errDigits
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	d.exponent -= len(fraction)
	d.digits, _ = new(big.Int).SetString(string(whole)+string(fraction), 10)
	return d, nil
}

// align returns the digits of two numbers at the lower of their exponents.
func align(a, b decimal) (x, y *big.Int, exponent int, err error) {
	exponent = min(a.exponent, b.exponent)
	if max(a.exponent, b.exponent)-exponent > 2*maxDigits {
		return nil, nil, 0, errDigits
	}
	return a.scaled(exponent), b.scaled(exponent), exponent, nil
}

// scaled returns the digits at an exponent that is not above the number's own.
func (d decimal) scaled(exponent int) *big.Int {
	if d.exponent == exponent {
		return d.digits
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.exponent-exponent)), nil)
	return scale.Mul(scale, d.digits)
}

func (d decimal) add(other decimal) (sum decimal, err error) {
	x, y, exponent, err := align(d, other)
	if err != nil {
		return sum, err
	}
	return decimal{new(big.Int).Add(x, y), exponent}, nil
}

func (d decimal) compare(other decimal) (int, error) {
	x, y, _, err := align(d, other)
	if err != nil {
		return 0, err
	}
	return x.Cmp(y), nil
}

// plainZeros is how many zeros are written between the point and the first
// digit, or after the last one, before an exponent is shorter to read.
const plainZeros = 20

// append writes the number: as an integer or with its point, and where that
// would be mostly zeros with an exponent. The digits after the point stay, as
// in 1.50 + 1 = 2.50.
func (d decimal) append(dst []byte) []byte {
	text := new(big.Int).Abs(d.digits).String()
	if d.digits.Sign() < 0 {
		dst = append(dst, '-')
	}
	point := len(text) + d.exponent // how many digits are before the point
	switch {
	case d.exponent > plainZeros || point < -plainZeros:
		return strconv.AppendInt(append(append(dst, text...), 'e'), int64(d.exponent), 10)
	case d.exponent >= 0:
		dst = append(dst, text...)
		if text == "0" {
			return dst
		}
		return append(dst, bytes.Repeat([]byte("0"), d.exponent)...)
	case point > 0:
		return append(append(append(dst, text[:point]...), '.'), text[point:]...)
	}
	dst = append(append(dst, "0."...), bytes.Repeat([]byte("0"), -point)...)
	return append(dst, text...)
}
