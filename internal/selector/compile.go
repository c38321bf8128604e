package selector

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"sync"

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

// cost is how many steps a comparison with v takes. Collating a text takes more
// than going through it.
func (o *operand) cost(v value) int {
	n := len(o.json) + len(v.b)
	if o.kind == jsonscan.String {
		return n >> 3
	}
	return n >> bytesPerStep
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

func (t *equalTest) match(v value, b *Budget) bool {
	return b.spend(t.cost(v)) && t.equals(v) == t.want
}

type orderTest struct {
	operand
	holds func(int) bool
}

func (t *orderTest) match(v value, b *Budget) bool {
	return b.spend(t.cost(v)) && t.holds(t.compare(v))
}

func compileEqual(want bool) func([]byte) (tester, error) {
	return func(arg []byte) (tester, error) { return &equalTest{prepare(arg), want}, nil }
}

func compileOrder(holds func(int) bool) func([]byte) (tester, error) {
	return func(arg []byte) (tester, error) { return &orderTest{prepare(arg), holds}, nil }
}

// inTest looks for a value, or for any element of an array, among operands.
type inTest struct {
	operands
	want bool
}

func compileIn(want bool) func([]byte) (tester, error) {
	return func(arg []byte) (tester, error) {
		return &inTest{newOperands(arg), want}, nil
	}
}

func (t *inTest) match(v value, b *Budget) bool {
	if v.kind() != jsonscan.Array {
		return t.hold(v, b) == t.want
	}
	for it := jsonscan.ElementsOf(v.b); ; {
		e, ok := it.Next()
		if !ok {
			return !t.want
		}
		if t.hold(value{b: e, raw: v.raw}, b) || b.err != nil {
			return t.want
		}
	}
}

// operands are several, among which a value is found in one look-up.
type operands struct {
	texts map[string]bool // the characters of all strings
	// keys are the places in the order of collation of those that could be equal
	// to a value that is written otherwise: all but strings of printable ASCII.
	keys map[string]bool
	odd  bool // there are strings among them
}

func newOperands(arg []byte) operands {
	o := operands{texts: map[string]bool{}, keys: map[string]bool{}}
	var key []byte
	for it := jsonscan.ElementsOf(arg); ; {
		b, ok := it.Next()
		if !ok {
			return o
		}
		p := prepare(b)
		if p.kind == jsonscan.String {
			o.texts[string(p.text)] = true
		}
		if !p.plain {
			o.odd = o.odd || p.kind == jsonscan.String
			key, _ = keyspace.AppendCollated(key[:0], b) // b is valid JSON
			o.keys[string(key)] = true
		}
	}
}

// hold reports whether v is equal to one of the operands.
func (o *operands) hold(v value, b *Budget) bool {
	if v.kind() == jsonscan.String {
		if known := o.texts[string(v.string())]; known || v.raw || !o.odd {
			return known
		}
	}
	if len(o.keys) == 0 || !b.spend(1+len(v.b)>>3) {
		return false
	}
	buf := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buf)
	if *buf = v.appendKey((*buf)[:0]); len(*buf) > maxKeyBuffer {
		defer func() { *buf = nil }()
	}
	return o.keys[string(*buf)]
}

// appendKey appends the value's place in the order of collation.
func (v value) appendKey(dst []byte) []byte {
	if v.text {
		dst, _ = keyspace.AppendCollated(dst, jsonscan.AppendQuoted(nil, string(v.b)))
		return dst
	}
	dst, _ = keyspace.AppendCollated(dst, v.b)
	return dst
}

var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// maxKeyBuffer bounds what a buffer carries from one value to the next.
const maxKeyBuffer = 1 << 14

// allTest is $all. Its values are the same only if their strings are, byte by
// byte; CouchDB also tells 1 from 1.0 here, and here alone, which we don't.
type allTest struct {
	sorted []operand // without those that are the same
	single bool      // there is one operand, which may be the whole array
}

func compileAll(arg []byte) (tester, error) {
	t := &allTest{}
	for it := jsonscan.ElementsOf(arg); ; {
		b, ok := it.Next()
		if !ok {
			break
		}
		t.sorted = append(t.sorted, prepare(b))
	}
	t.single = len(t.sorted) == 1
	slices.SortFunc(t.sorted, func(x, y operand) int { return keyspace.CompareRawJSON(x.json, y.json) })
	t.sorted = slices.CompactFunc(t.sorted, func(x, y operand) bool { return keyspace.CompareRawJSON(x.json, y.json) == 0 })
	return t, nil
}

func (t *allTest) match(v value, b *Budget) bool {
	if v.kind() != jsonscan.Array || len(t.sorted) == 0 {
		return false
	}
	if t.single && b.spend(t.sorted[0].cost(v)) && keyspace.CompareRawJSON(v.b, t.sorted[0].json) == 0 {
		return true
	}
	found := make([]bool, len(t.sorted))
	missing := len(t.sorted)
	for it := jsonscan.ElementsOf(v.b); missing > 0 && b.err == nil; {
		e, ok := it.Next()
		if !ok {
			return false
		}
		b.spend(bits.Len(uint(len(t.sorted))) * (1 + len(e)>>bytesPerStep))
		i, ok := slices.BinarySearchFunc(t.sorted, e, func(x operand, e []byte) int { return keyspace.CompareRawJSON(x.json, e) })
		if ok && !found[i] {
			found[i] = true
			missing--
		}
	}
	return missing == 0
}

type existsTest bool

func compileExists(arg []byte) (tester, error) { return existsTest(string(arg) == "true"), nil }

// A value that is there meets $exists: true only. Missing ones never come here.
func (t existsTest) match(value, *Budget) bool { return bool(t) }

type typeTest string

func compileType(arg []byte) (tester, error) { return typeTest(jsonscan.Text(nil, arg)), nil }

func (t typeTest) match(v value, _ *Budget) bool {
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
func (t *modTest) match(v value, _ *Budget) bool {
	if v.text || len(v.b) > maxInteger || !isInteger(v.b) {
		return false
	}
	n, err := strconv.ParseInt(string(v.b), 10, 64)
	if err == nil && t.divisor.IsInt64() && t.remainder.IsInt64() && n != math.MinInt64 {
		return n%t.divisor.Int64() == t.remainder.Int64()
	}
	long, ok := new(big.Int).SetString(string(v.b), 10)
	return ok && long.Rem(long, t.divisor).Cmp(t.remainder) == 0
}

type prefixTest []byte

func compileBeginsWith(arg []byte) (tester, error) { return prefixTest(jsonscan.Text(nil, arg)), nil }

func (t prefixTest) match(v value, _ *Budget) bool {
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

func (t sizeTest) match(v value, _ *Budget) bool {
	return v.kind() == jsonscan.Array && jsonscan.Len(v.b) == int(t)
}
