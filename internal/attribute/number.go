package attribute

import "strings"

// Number is a number of DynamoDB's: up to 38 significant decimal digits, 0 or a
// magnitude from 1E-130 to 9.99…E+125. The text is its normal form, in which equal
// numbers are equal: as DynamoDB prints it, without an exponent, without zeros that
// say nothing, without a plus and without a minus before 0.
type Number string

// The bounds of numbers.
const (
	maxDigits     = 38
	leastExponent = -130
	maxExponent   = 125
)

// decimal is a number taken apart: d.ddd × 10^exponent, where the digits begin and
// end with another one than 0. Without digits it is 0.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// ParseNumber reads a number as DynamoDB does, in the grammar of Java's BigDecimal:
// a sign, digits with or without a point, an exponent. Errors: Validation for another
// text, for more than 38 digits and for what is out of range.
func ParseNumber(text string) (Number, error) {
	if _, normal := normalSize(text); normal {
		return Number(text), nil
	}
	d, ok := parseDecimal(text)
	if !ok {
		if text == "" {
			return "", errNotNumeric
		}
		return "", Invalid("The parameter cannot be converted to a numeric value: %s", text)
	}
	if err := d.check(); err != nil {
		return "", err
	}
	return d.number(), nil
}

// check reports what is out of range.
func (d decimal) check() error {
	switch {
	case d.digits == "":
		return nil
	case d.exponent > maxExponent:
		return errOverflow
	case d.exponent < leastExponent:
		return errUnderflow
	case len(d.digits) > maxDigits:
		return errPrecision
	}
	return nil
}

func allDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// parseDecimal takes a text apart; false if it is not a number.
func parseDecimal(text string) (d decimal, ok bool) {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		d.negative = text[0] == '-'
		text = text[1:]
	}
	exponent := 0
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		if exponent, ok = parseExponent(text[e+1:]); !ok {
			return d, false
		}
		text = text[:e]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return d, false
	}
	return d.of(whole+fraction, len(whole)-1+exponent), true
}

// of returns a decimal with the sign of d, of digits the first of which has the
// exponent.
func (d decimal) of(digits string, exponent int) decimal {
	significant := strings.TrimLeft(digits, "0")
	exponent -= len(digits) - len(significant)
	if significant = strings.TrimRight(significant, "0"); significant == "" {
		return decimal{}
	}
	return decimal{d.negative, significant, exponent}
}

// exponentLength is how many digits an exponent may have: as many as Java takes.
const exponentLength = 10

func parseExponent(text string) (exponent int, ok bool) {
	negative := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if text == "" || !allDigits(text) {
		return 0, false
	}
	if text = strings.TrimLeft(text, "0"); len(text) > exponentLength {
		return 0, false
	}
	for i := range len(text) {
		exponent = exponent*10 + int(text[i]-'0')
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

// number returns the normal form of a decimal that is in range.
func (d decimal) number() Number {
	if d.digits == "" {
		return "0"
	}
	var b strings.Builder
	if d.negative {
		b.WriteByte('-')
	}
	switch whole := d.exponent + 1; {
	case whole <= 0:
		b.WriteString("0.")
		b.WriteString(zeros(-whole))
		b.WriteString(d.digits)
	case whole >= len(d.digits):
		b.WriteString(d.digits)
		b.WriteString(zeros(whole - len(d.digits)))
	default:
		b.WriteString(d.digits[:whole])
		b.WriteByte('.')
		b.WriteString(d.digits[whole:])
	}
	return Number(b.String())
}

func zeros(n int) string { return strings.Repeat("0", n) }
