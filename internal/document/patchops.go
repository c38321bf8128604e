package document

import (
	"bytes"
	"errors"

	"github.com/sectional/sectional/internal/jsonscan"
)

// operator is what can become of a member.
type operator struct {
	name string
	// check says what the argument has to be, "" for one that is right. nil
	// takes any.
	check func(arg []byte) (wanted string)
	// apply makes the new value of the old one, which is nil where there is
	// none; nil removes the member.
	apply func(old, arg []byte) ([]byte, error)
}

func removing() *operator {
	return &operator{name: "null", apply: func(_, _ []byte) ([]byte, error) { return nil, nil }}
}

func setting(name string) *operator {
	return &operator{name: name, apply: func(_, arg []byte) ([]byte, error) { return arg, nil }}
}

// setOnInsert names the operator that does nothing to a document that is there.
const setOnInsert = "$setOnInsert"

// operatorNamed returns an operator that a patch may name, nil for another name.
func operatorNamed(name string) *operator {
	switch name {
	case "$set", setOnInsert:
		return setting(name)
	case "$inc":
		return &operator{name, wantNumber, increment}
	case "$append":
		return &operator{name, wantArray, appendElements}
	case "$max":
		return &operator{name, wantOrdered, func(old, arg []byte) ([]byte, error) { return extreme(old, arg, 1) }}
	case "$min":
		return &operator{name, wantOrdered, func(old, arg []byte) ([]byte, error) { return extreme(old, arg, -1) }}
	}
	return nil
}

func wantNumber(arg []byte) string {
	if jsonscan.KindOf(arg) == jsonscan.Number {
		if _, err := parseDecimal(arg); err == nil {
			return ""
		}
	}
	return "a number of 1000 digits at most"
}

func wantOrdered(arg []byte) string {
	if jsonscan.KindOf(arg) == jsonscan.String {
		return ""
	}
	if wanted := wantNumber(arg); wanted != "" {
		return wanted + ", or a string"
	}
	return ""
}

func wantArray(arg []byte) string {
	if arg[0] != '[' {
		return "an array, the elements to append"
	}
	return ""
}

// increment adds two numbers, without rounding.
func increment(old, arg []byte) ([]byte, error) {
	if old == nil {
		return arg, nil
	}
	if jsonscan.KindOf(old) != jsonscan.Number {
		return nil, errors.New("the member is " + kindOf(old) + ", not a number")
	}
	a, err := parseDecimal(old)
	if err != nil {
		return nil, err
	}
	b, err := parseDecimal(arg)
	if err != nil {
		return nil, err
	}
	sum, err := a.add(b)
	if err != nil {
		return nil, err
	}
	text := sum.append(nil)
	if !jsonscan.Finite(text) {
		return nil, errors.New("the sum is out of range")
	}
	return text, nil
}

// extreme returns the greater of two values, or with sign -1 the lesser: of two
// numbers, or of two strings by their bytes, which is right for ISO dates.
func extreme(old, arg []byte, sign int) ([]byte, error) {
	if old == nil {
		return arg, nil
	}
	if jsonscan.KindOf(old) != jsonscan.KindOf(arg) {
		return nil, errors.New("the member is " + kindOf(old) + ", not " + kindOf(arg))
	}
	if compared, err := compareValues(arg, old); err != nil || compared*sign <= 0 {
		return old, err
	}
	return arg, nil
}

func compareValues(a, b []byte) (int, error) {
	if a[0] == '"' {
		return bytes.Compare(jsonscan.Text(nil, a), jsonscan.Text(nil, b)), nil
	}
	x, err := parseDecimal(a)
	if err != nil {
		return 0, err
	}
	y, err := parseDecimal(b)
	if err != nil {
		return 0, err
	}
	return x.compare(y)
}

// appendElements appends the elements of one array to another.
func appendElements(old, arg []byte) ([]byte, error) {
	switch {
	case old == nil:
		return arg, nil
	case old[0] != '[':
		return nil, errors.New("the member is " + kindOf(old) + ", not an array")
	case len(arg) == 2:
		return old, nil
	case len(old) == 2:
		return arg, nil
	}
	out := append(make([]byte, 0, len(old)+len(arg)), old[:len(old)-1]...)
	return append(append(out, ','), arg[1:]...), nil
}
