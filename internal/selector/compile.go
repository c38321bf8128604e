package selector

import (
	"bytes"
	"math"
	"math/big"
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
)

// operand is the prepared right side of a comparison.
type operand struct {
	kind  jsonscan.Kind
	json  []byte
	text  []byte // the characters of a string
	plain bool   // text is printable ASCII: nothing else is equal to it but other characters
}

func prepare(arg []byte) operand {
	o := operand{kind: jsonscan.KindOf(arg), json: arg}
	if o.kind == jsonscan.String {
		o.text = jsonscan.Text(nil, arg)
		o.plain = keyspace.PlainText(o.text)
	}
	return o
}

// compare orders v against the operand.
func (o *operand) compare(v value) int {
	k := v.kind()
	switch {
	case k != o.kind && v.raw:
		return keyspace.CompareRawKinds(k, o.kind)
	case k != o.kind:
		return keyspace.CompareKinds(k, o.kind)
	case k == jsonscan.String && v.raw:
		return bytes.Compare(v.string(), o.text)
	case k == jsonscan.String:
		return keyspace.CompareText(v.string(), o.text)
	case v.raw:
		return keyspace.CompareRawJSON(v.b, o.json)
	}
	return keyspace.CompareJSON(v.b, o.json)
}

// equals is compare == 0 with a short cut for strings.
func (o *operand) equals(v value) bool {
	if o.kind != v.kind() {
		return false
	}
	if o.kind == jsonscan.String {
		s := v.string()
		if bytes.Equal(s, o.text) {
			return true
		}
		if v.raw || o.plain && keyspace.PlainText(s) {
			return false
		}
		return keyspace.CompareText(s, o.text) == 0
	}
	return o.compare(v) == 0
}

type equalTest struct {
	operand
	want bool
}

func (t *equalTest) match(v value) bool { return t.equals(v) == t.want }

type orderTest struct {
	operand
	holds func(int) bool
}

func (t *orderTest) match(v value) bool { return t.holds(t.compare(v)) }

func compileEqual(want bool) func([]byte) (tester, error) {
	return func(arg []byte) (tester, error) { return &equalTest{prepare(arg), want}, nil }
}

func compileOrder(holds func(int) bool) func([]byte) (tester, error) {
	return func(arg []byte) (tester, error) { return &orderTest{prepare(arg), holds}, nil }
}

// inTest looks for a value, or for any element of an array, among operands.
type inTest struct {
	operands []operand
	// plain holds the operands that are printable ASCII and rest the others, so
	// that a long list of such strings costs one look-up.
	plain map[string]bool
	rest  []operand
	want  bool
}

func compileIn(want bool) func([]byte) (tester, error) {
	return func(arg []byte) (tester, error) {
		t := &inTest{operands: prepareAll(arg), plain: map[string]bool{}, want: want}
		for _, o := range t.operands {
			if o.plain {
				t.plain[string(o.text)] = true
			} else {
				t.rest = append(t.rest, o)
			}
		}
		return t, nil
	}
}

func prepareAll(arg []byte) (all []operand) {
	for it := jsonscan.ElementsOf(arg); ; {
		b, ok := it.Next()
		if !ok {
			return all
		}
		all = append(all, prepare(b))
	}
}

func (t *inTest) match(v value) bool {
	if v.kind() != jsonscan.Array {
		return t.holds(v) == t.want
	}
	for it := jsonscan.ElementsOf(v.b); ; {
		b, ok := it.Next()
		if !ok {
			return !t.want
		}
		if t.holds(value{b: b, raw: v.raw}) {
			return t.want
		}
	}
}

func (t *inTest) holds(v value) bool {
	operands := t.operands
	if v.kind() == jsonscan.String {
		if s := v.string(); keyspace.PlainText(s) {
			if t.plain[string(s)] {
				return true
			}
			operands = t.rest
		}
	}
	for i := range operands {
		if operands[i].equals(v) {
			return true
		}
	}
	return false
}

// allTest is $all. Its values are the same only if their strings are, byte by
// byte; CouchDB also tells 1 from 1.0 here, and here alone, which we don't.
type allTest struct{ operands []operand }

func compileAll(arg []byte) (tester, error) { return &allTest{prepareAll(arg)}, nil }

func (t *allTest) match(v value) bool {
	if v.kind() != jsonscan.Array || len(t.operands) == 0 {
		return false
	}
	if len(t.operands) == 1 && same(v.b, &t.operands[0]) {
		return true
	}
	for i := range t.operands {
		if !holdsElement(v.b, &t.operands[i]) {
			return false
		}
	}
	return true
}

func holdsElement(array []byte, o *operand) bool {
	for it := jsonscan.ElementsOf(array); ; {
		b, ok := it.Next()
		if !ok || same(b, o) {
			return ok
		}
	}
}

func same(v []byte, o *operand) bool { return keyspace.CompareRawJSON(v, o.json) == 0 }

type existsTest bool

func compileExists(arg []byte) (tester, error) { return existsTest(string(arg) == "true"), nil }

// A value that is there meets $exists: true only. Missing ones never come here.
func (t existsTest) match(value) bool { return bool(t) }

type typeTest string

func compileType(arg []byte) (tester, error) { return typeTest(jsonscan.Text(nil, arg)), nil }

func (t typeTest) match(v value) bool {
	switch v.kind() {
	case jsonscan.Null:
		return t == "null"
	case jsonscan.False, jsonscan.True:
		return t == "boolean"
	case jsonscan.Number:
		return t == "number"
	case jsonscan.String:
		return t == "string"
	case jsonscan.Array:
		return t == "array"
	}
	return t == "object"
}

type modTest struct{ divisor, remainder *big.Int }

func compileMod(arg []byte) (tester, error) {
	d, _ := jsonscan.Element(arg, 0)
	r, _ := jsonscan.Element(arg, 1)
	t := &modTest{new(big.Int), new(big.Int)}
	t.divisor.SetString(string(d), 10)
	t.remainder.SetString(string(r), 10)
	return t, nil
}

// match divides as machines do: the remainder has the sign of the value.
func (t *modTest) match(v value) bool {
	if v.text || !isInteger(v.b) {
		return false
	}
	n, err := strconv.ParseInt(string(v.b), 10, 64)
	if err == nil && t.divisor.IsInt64() && t.remainder.IsInt64() && n != math.MinInt64 {
		return n%t.divisor.Int64() == t.remainder.Int64()
	}
	b, ok := new(big.Int).SetString(string(v.b), 10)
	return ok && b.Rem(b, t.divisor).Cmp(t.remainder) == 0
}

type prefixTest []byte

func compileBeginsWith(arg []byte) (tester, error) { return prefixTest(jsonscan.Text(nil, arg)), nil }

func (t prefixTest) match(v value) bool {
	return v.kind() == jsonscan.String && bytes.HasPrefix(v.string(), t)
}

type sizeTest int

// compileSize takes a length no array has for numbers beyond an int.
func compileSize(arg []byte) (tester, error) {
	n, err := strconv.Atoi(string(arg))
	if err != nil {
		n = -1
	}
	return sizeTest(n), nil
}

func (t sizeTest) match(v value) bool {
	return v.kind() == jsonscan.Array && jsonscan.Len(v.b) == int(t)
}
