package attribute

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// decimal takes the number apart.
func (n Number) decimal() decimal {
	d, _ := parseDecimal(string(n))
	return d
}

// shortInteger is how many characters an integer may have of which two surely add up
// to an int64.
const shortInteger = 18

// short returns the number if it is a short integer.
func (n Number) short() (i int64, ok bool) {
	if len(n) > shortInteger {
		return 0, false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	return i, err == nil
}

// Compare returns -1, 0 or 1 as n is below, equal to or above m.
func (n Number) Compare(m Number) int {
	if n == m {
		return 0
	}
	if a, ok := n.short(); ok {
		if b, ok := m.short(); ok {
			return cmp.Compare(a, b)
		}
	}
	return n.decimal().compare(m.decimal())
}

func (d decimal) compare(e decimal) int {
	if c := cmp.Compare(d.sign(), e.sign()); c != 0 {
		return c
	}
	return d.sign() * d.compareMagnitude(e)
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d decimal) compareMagnitude(e decimal) int {
	if c := cmp.Compare(d.exponent, e.exponent); c != 0 {
		return c
	}
	return strings.Compare(d.digits, e.digits)
}

// Add returns n + m. Errors: Validation for a sum that is out of range or has more
// than 38 digits. AWS calls both an overflow, as Alternator's tests saw.
func (n Number) Add(m Number) (Number, error) { return n.combine(m, (*big.Int).Add) }

// Sub returns n - m; errors as of Add.
func (n Number) Sub(m Number) (Number, error) { return n.combine(m, (*big.Int).Sub) }

func (n Number) combine(m Number, operation func(z, x, y *big.Int) *big.Int) (Number, error) {
	a, b := n.decimal(), m.decimal()
	low := min(a.last(), b.last())
	sum := operation(new(big.Int), a.scaled(low), b.scaled(low))
	negative := sum.Sign() < 0
	digits := sum.Abs(sum).String()
	d := decimal{negative: negative}.of(digits, low+len(digits)-1)
	if len(d.digits) > maxDigits {
		return "", errOverflow
	}
	if err := d.check(); err != nil {
		return "", err
	}
	return d.number(), nil
}

// last returns the exponent of the last digit.
func (d decimal) last() int { return d.exponent - max(len(d.digits)-1, 0) }

// scaled returns the number as a multiple of 10^low, where low is not above last. As
// all numbers are in range it has less than 300 digits.
func (d decimal) scaled(low int) *big.Int {
	if d.digits == "" {
		return new(big.Int)
	}
	i, _ := new(big.Int).SetString(d.digits+zeros(d.last()-low), 10)
	if d.negative {
		i.Neg(i)
	}
	return i
}
