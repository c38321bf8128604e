package expr

import (
	"strings"

	"github.com/sectional/sectional/internal/attribute"
)

// KeyCondition is what a Query wants of the keys, of a table or an index that is not
// known yet.
type KeyCondition struct {
	tests []keyTest
	// legacy says that it came in KeyConditions.
	legacy bool
}

// keyTest is a condition on one attribute.
type keyTest struct {
	name   string
	op     string // a comparator, BETWEEN or begins_with
	values []attribute.Value
}

// Key is a key attribute: its name and its type, S, N or B.
type Key struct {
	Name string
	Type attribute.Type
}

// Range is what a Query reads: the items with a hash key whose range keys are within
// bounds.
type Range struct {
	Hash   attribute.Value
	Bounds *Bounds // nil for all
}

// Bounds are those of range keys. A bound of type None is not there.
type Bounds struct {
	Low, High         attribute.Value
	LowOpen, HighOpen bool // the bound itself is outside
	Prefix            bool // Low is what the keys begin with
}

// Contains reports whether a key is within the bounds.
func (b *Bounds) Contains(key attribute.Value) bool {
	if b.Prefix {
		return key.Type() == b.Low.Type() && strings.HasPrefix(key.Text(), b.Low.Text())
	}
	if b.Low.Type() != attribute.None {
		order, ok := attribute.Compare(key, b.Low)
		if !ok || order < 0 || order == 0 && b.LowOpen {
			return false
		}
	}
	if b.High.Type() != attribute.None {
		order, ok := attribute.Compare(key, b.High)
		return ok && (order < 0 || order == 0 && !b.HighOpen)
	}
	return true
}

// KeyCondition parses a KeyConditionExpression. Errors: Validation.
func (p *Placeholders) KeyCondition(text string) (*KeyCondition, error) {
	root, err := p.condition(KeyConditionExpression, text)
	if err != nil {
		return nil, err
	}
	k := &KeyCondition{}
	return k, k.collect(root)
}

func invalidKey(text string, args ...any) error { return KeyConditionExpression.invalid(text, args...) }

// collect adds the tests of a tree.
func (k *KeyCondition) collect(n *node) error {
	switch n.kind {
	case nodeAnd:
		if err := k.collect(n.args[0]); err != nil {
			return err
		}
		return k.collect(n.args[1])
	case nodeOr:
		return unusable("OR")
	case nodeNot:
		return unusable("NOT")
	case nodeIn:
		return unusable("IN")
	case nodeBetween:
		n.op = "BETWEEN"
	}
	if n.op == "<>" || n.kind == nodeCall && n.op != beginsWith {
		return unusable(n.op)
	}
	t, err := newKeyTest(n)
	if err != nil {
		return err
	}
	for _, other := range k.tests {
		if other.name == t.name {
			return invalidKey("KeyConditionExpressions must only contain one condition per key")
		}
	}
	k.tests = append(k.tests, t)
	return nil
}

func unusable(operator string) error {
	return invalidKey("Invalid operator used in KeyConditionExpression: %s", operator)
}

// newKeyTest returns the test that a node is: of one attribute, which may come last in
// a comparison.
func newKeyTest(n *node) (t keyTest, err error) {
	t.op = n.op
	at := -1
	for i, a := range n.args {
		switch {
		case a.kind == nodeCall:
			return t, invalidKey("KeyConditionExpressions cannot contain nested operations")
		case a.kind == nodeValue:
			t.values = append(t.values, a.value)
		case at >= 0:
			return t, invalidKey("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		case len(a.path) > 1:
			return t, invalidKey("KeyConditionExpressions cannot have conditions on nested attributes")
		default:
			at, t.name = i, a.path[0].name
		}
	}
	switch {
	case at < 0:
		return t, invalidKey("Invalid condition in KeyConditionExpression: No key attribute specified")
	case at > 0 && n.kind != nodeCompare:
		return t, invalidKey("Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its first operand", n.op)
	case at > 0:
		t.op = mirrored(t.op)
	}
	return t, nil
}

// mirrored returns the comparator that says the same with its operands exchanged.
func mirrored(comparator string) string {
	switch comparator[0] {
	case '<':
		return ">" + comparator[1:]
	case '>':
		return "<" + comparator[1:]
	}
	return comparator
}

// badParameter begins the texts about values that break a rule.
const badParameter = "One or more parameter values were invalid: "

// Range returns what is to be read of a table or index with a key schema; rangeKey has
// no name where there is none. Errors: Validation.
func (k *KeyCondition) Range(hash, rangeKey Key) (r Range, err error) {
	keys := 1
	if rangeKey.Name != "" {
		keys = 2
	}
	if len(k.tests) > keys && !k.legacy {
		return r, attribute.Invalid("The number of query conditions (%d) exceeds the number of key attributes defined in the schema (%d)", len(k.tests), keys)
	}
	onHash, ok := k.of(hash)
	if !ok {
		return r, attribute.Invalid("Query condition missed key schema element: %s", hash.Name)
	}
	onRange, hasRange := k.of(rangeKey)
	switch {
	case len(k.tests) > 1 && keys == 1:
		return r, errUnsupported
	case len(k.tests) > 1 && !hasRange:
		return r, attribute.Invalid("Query condition missed key schema element: %s", rangeKey.Name)
	}
	if err := onHash.check(hash); err != nil {
		return r, err
	}
	if onHash.op != "=" {
		return r, errUnsupported
	}
	r.Hash = onHash.values[0]
	if hasRange {
		err = onRange.check(rangeKey)
		r.Bounds = onRange.bounds()
	}
	return r, err
}

var errUnsupported = attribute.Invalid("Query key condition not supported")

// of returns the test of a key.
func (k *KeyCondition) of(key Key) (keyTest, bool) {
	for _, t := range k.tests {
		if t.name == key.Name {
			return t, true
		}
	}
	return keyTest{}, false
}

// check refuses values that can't be of a key.
func (t keyTest) check(key Key) error {
	for _, v := range t.values {
		if v.Type() != key.Type {
			return attribute.Invalid(badParameter + "Condition parameter type does not match schema type")
		}
		if v.Text() == "" {
			what := "string"
			if v.Type() == attribute.B {
				what = "binary"
			}
			return attribute.Invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", what, key.Name)
		}
	}
	if t.op == beginsWith && key.Type == attribute.N {
		return KeyConditionExpression.invalid("Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
	}
	return nil
}

// bounds returns the bounds that a test sets.
func (t keyTest) bounds() *Bounds {
	b := &Bounds{Low: t.values[0]}
	switch t.op {
	case "=":
		b.High = b.Low
	case "<", "<=":
		b.Low, b.High = attribute.Value{}, b.Low
		b.HighOpen = t.op == "<"
	case ">":
		b.LowOpen = true
	case "BETWEEN":
		b.High = t.values[1]
	case beginsWith:
		b.Prefix = true
	}
	return b
}
