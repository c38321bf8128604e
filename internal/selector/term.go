package selector

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// appendTerm appends a JSON value as an Erlang term is printed with ~w, since
// CouchDB's error texts show operands so: strings as the numbers of their
// bytes, objects as {[{Name,Value},…]}. text prints the strings.
func appendTerm(dst, v []byte, text func(dst, s []byte) []byte) []byte {
	switch jsonscan.KindOf(v) {
	case jsonscan.String:
		return text(dst, jsonscan.Text(nil, v))
	case jsonscan.Number:
		return appendTermNumber(dst, v)
	case jsonscan.Array:
		dst = append(dst, '[')
		for e, sep := jsonscan.ElementsOf(v), ""; ; sep = "," {
			x, ok := e.Next()
			if !ok {
				return append(dst, ']')
			}
			dst = appendTerm(append(dst, sep...), x, text)
		}
	case jsonscan.Object:
		dst = append(dst, "{["...)
		for m, sep := jsonscan.MembersOf(v), ""; ; sep = "," {
			n, x, ok := m.Next()
			if !ok {
				return append(dst, "]}"...)
			}
			dst = append(append(dst, sep...), '{')
			dst = append(text(dst, jsonscan.Text(nil, n)), ',')
			dst = append(appendTerm(dst, x, text), '}')
		}
	}
	return append(dst, v...)
}

func appendBinary(dst, s []byte) []byte {
	dst = append(dst, "<<"...)
	for i, c := range s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return append(dst, ">>"...)
}

// appendTermNumber prints integers as they came and others as Erlang prints
// floats: the shortest digits, with an exponent where that is shorter.
func appendTermNumber(dst, v []byte) []byte {
	f, err := strconv.ParseFloat(string(v), 64)
	if isInteger(v) || err != nil {
		return append(dst, v...)
	}
	if f < 0 {
		dst, f = append(dst, '-'), -f
	}
	if f == 0 {
		return append(dst, "0.0"...)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exponent)
	return append(dst, layOut(digits, e)...)
}

// layOut writes the number d.ddd × 10^e in Erlang's form.
func layOut(digits string, e int) string {
	n := len(digits)
	scientific := digits[:1] + "." + orZero(digits[1:]) + "e" + strconv.Itoa(e)
	switch {
	case e < 0:
		if fixed := "0." + strings.Repeat("0", -e-1) + digits; len(fixed) <= len(scientific) {
			return fixed
		}
	case e >= n-1:
		if fixed := digits + strings.Repeat("0", e-n+1) + ".0"; len(fixed) <= len(scientific) {
			return fixed
		}
	default:
		return digits[:e+1] + "." + digits[e+1:]
	}
	return scientific
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// maxTerm is the length up to which a value is printed in an error text.
const maxTerm = 4096

// Shown returns a JSON value as error texts of our own print it: as JSON. Of a long one
// it says the length.
func Shown(v []byte) string {
	if len(v) > maxTerm {
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	return string(v)
}

// Term returns a JSON value as CouchDB's error texts print it: as an Erlang term
// with the bytes of strings as numbers. Of a long one it says the length.
func Term(v []byte) string {
	if len(v) > maxTerm {
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	return string(appendTerm(nil, v, appendBinary))
}

// PrettyTerm returns a JSON value as Term does, but with the characters of strings:
// CouchDB prints what it is asked to sort by so.
func PrettyTerm(v []byte) string {
	return string(appendTerm(nil, v, func(dst, s []byte) []byte {
		if len(s) == 0 {
			return append(dst, "<<>>"...)
		}
		return append(jsonscan.AppendQuoted(append(dst, "<<"...), string(s)), ">>"...)
	}))
}

// Truth reads a truth value into dst.
func Truth(dst *bool, v []byte) error {
	switch jsonscan.KindOf(v) {
	case jsonscan.True:
		*dst = true
	case jsonscan.False:
		*dst = false
	default:
		return dberr.New(dberr.Invalid, "invalid_boolean", "Invalid boolean value: %s", Term(v))
	}
	return nil
}
