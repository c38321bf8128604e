package document

import (
	"encoding/base64"
	"math/big"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// sortable writes six bits a character; texts sort as the bytes do.
var sortable = base64.NewEncoding("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz").WithPadding(base64.NoPadding).Strict()

// A number is 0, or ± 0.D × 10^e, where D has up to 38 digits and begins and ends
// with another one than 0. It is written as a digit for its sign, three for e, and D:
//
//	0     '1'
//	12.5  '2' "202" "125"    e is raised by exponentZero
//	-12.5 '0' "797" "874" '~' as 9 less each digit, so that what is larger sorts first
//
// The end of D must be above a further digit in a negative number, hence the '~'.
const (
	numberDigits   = 38   // DynamoDB's
	leastExponent  = -129 // 1E-130 is 0.1E-129
	maxExponent    = 126  // 9.9E+125 is 0.99E+126
	exponentZero   = 200
	exponentDigits = 3

	signNegative, signZero, signPositive = '0', '1', '2'
	negativeEnd                          = '~'
)

// numberValue is a number taken apart.
type numberValue struct {
	sign     byte
	exponent int
	digits   string // D
}

func appendNumberValue(dst []byte, text string) ([]byte, error) {
	n, err := parseNumber(text)
	if err != nil {
		return nil, err
	}
	dst = append(dst, n.sign)
	if n.sign == signZero {
		return dst, nil
	}
	at := len(dst)
	dst = strconv.AppendInt(dst, int64(n.exponent+exponentZero), 10) // three digits: between 71 and 326
	if len(dst)-at < exponentDigits {
		dst = append(dst[:at], '0')
		dst = strconv.AppendInt(dst, int64(n.exponent+exponentZero), 10)
	}
	dst = append(dst, n.digits...)
	if n.sign == signNegative {
		complement(dst[at:])
		dst = append(dst, negativeEnd)
	}
	return dst, nil
}

// complement replaces each digit by what it lacks to 9.
func complement(digits []byte) {
	for i, c := range digits {
		digits[i] = '0' + '9' - c
	}
}

// parseNumber reads a number in JSON's grammar.
func parseNumber(text string) (n numberValue, err error) {
	if compact, err := jsonscan.Compact([]byte(text)); err != nil || string(compact) != text || jsonscan.KindOf(compact) != jsonscan.Number {
		return n, illegalID("A number in a key is not one: " + text)
	}
	d, err := parseDecimal([]byte(text))
	if err != nil {
		return n, errNumberRange
	}
	if d.digits.Sign() == 0 {
		return numberValue{sign: signZero}, nil
	}
	n.sign = signPositive
	if d.digits.Sign() < 0 {
		n.sign = signNegative
	}
	all := new(big.Int).Abs(d.digits).String()
	n.exponent = len(all) + d.exponent
	n.digits = strings.TrimRight(all, "0")
	if len(n.digits) > numberDigits || n.exponent < leastExponent || n.exponent > maxExponent {
		return n, errNumberRange
	}
	return n, nil
}

var errNumberRange = illegalID("A number in a key has more than 38 digits or is out of range")

// parseNumberValue returns the number as text: with as few digits as it has.
func parseNumberValue(text string) (string, error) {
	if text == string(signZero) {
		return "0", nil
	}
	b := []byte(text)
	if len(b) < 1+exponentDigits+1 {
		return "", errNotComposite
	}
	sign, b := b[0], b[1:]
	if sign == signNegative {
		b = b[:len(b)-1]
		complement(b)
	}
	exponent, err := strconv.Atoi(string(b[:exponentDigits]))
	digits, ok := new(big.Int).SetString(string(b[exponentDigits:]), 10)
	if err != nil || !ok {
		return "", errNotComposite
	}
	d := decimal{digits, exponent - exponentZero - (len(b) - exponentDigits)}
	if sign == signNegative {
		d.digits.Neg(d.digits)
	}
	return string(d.append(nil)), nil
}
