package expr

import (
	"strings"

	"github.com/sectional/sectional/internal/attribute"
)

// Condition is what a condition or a filter says. It may be used by several at once.
type Condition struct {
	root      *node
	parameter string // which said it, for CheckNoKeys
}

// Condition parses a ConditionExpression or a FilterExpression. Errors: Validation.
func (p *Placeholders) Condition(kind Kind, text string) (*Condition, error) {
	root, err := p.condition(kind, text)
	if err != nil {
		return nil, err
	}
	return newCondition(root, string(kind)), nil
}

// newCondition makes the condition that a tree is, which has been checked.
func newCondition(root *node, parameter string) *Condition {
	root.prepare(hashes{})
	return &Condition{root, parameter}
}

// condition parses and checks a text.
func (p *Placeholders) condition(kind Kind, text string) (*node, error) {
	root, err := parseCondition(kind, text)
	if err == nil {
		err = kind.checkShape(root, asCondition)
	}
	if err == nil {
		err = kind.checkOperators(root.operators())
	}
	if err == nil {
		err = resolver{kind, p}.resolve(root)
	}
	return root, err
}

// Holds reports whether the condition holds for an item; one that is not there is an
// item without attributes. The time that it takes is in proportion to the operators
// and the size of the item.
func (c *Condition) Holds(item attribute.Item) bool { return c.root.holds(item) }

// Parts returns how many operators, paths and values the condition has at most to look at.
func (c *Condition) Parts() int { return c.root.count() }

// CheckNoKeys refuses a filter of a Query that uses key attributes, as those are for
// the key condition.
func (c *Condition) CheckNoKeys(keys ...string) error {
	used := c.root.usedKey(keys)
	switch {
	case used == nil:
		return nil
	case c.parameter == string(FilterExpression):
		return attribute.Invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", used[0].name)
	}
	return attribute.Invalid("%s can only contain non-primary key attributes: Primary key attribute: %s", c.parameter, used[0].name)
}

// CheckKeyPaths refuses a condition that looks into key attributes, which are scalars.
func (c *Condition) CheckKeyPaths(keys ...string) error { return c.root.checkKeyPaths(keys) }

func (n *node) count() int {
	count := 1
	for _, a := range n.args {
		count += a.count()
	}
	return count
}

// usedKey returns the first path that begins with a key attribute.
func (n *node) usedKey(keys []string) path {
	if n.kind == nodePath && n.path[0].isOneOf(keys) {
		return n.path
	}
	for _, a := range n.args {
		if used := a.usedKey(keys); used != nil {
			return used
		}
	}
	return nil
}

func (s step) isOneOf(names []string) bool {
	for _, name := range names {
		if name != "" && name == s.name {
			return true
		}
	}
	return false
}

func (n *node) checkKeyPaths(keys []string) error {
	if n.kind == nodePath && len(n.path) > 1 && n.path[0].isOneOf(keys) {
		return attribute.Invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", n.path[0].name)
	}
	for _, a := range n.args {
		if err := a.checkKeyPaths(keys); err != nil {
			return err
		}
	}
	return nil
}

// holds evaluates a node that is a condition.
func (n *node) holds(item attribute.Item) bool {
	switch n.kind {
	case nodeOr:
		return n.args[0].holds(item) || n.args[1].holds(item)
	case nodeAnd:
		return n.args[0].holds(item) && n.args[1].holds(item)
	case nodeNot:
		return !n.args[0].holds(item)
	case nodeCompare:
		return n.compare(item)
	case nodeBetween:
		v, ok := n.args[0].operand(item)
		low, lowOK := n.args[1].operand(item)
		high, highOK := n.args[2].operand(item)
		return ok && lowOK && highOK && ordered("<=", low, v) && ordered("<=", v, high)
	case nodeIn:
		return n.isIn(item)
	case nodeCall:
		return n.call(item)
	}
	return false
}

// operand evaluates a node that is an operand; ok is false where there is none.
func (n *node) operand(item attribute.Item) (v attribute.Value, ok bool) {
	switch n.kind {
	case nodeValue:
		return n.value, true
	case nodePath:
		return n.path.in(item)
	case nodeCall: // size
		v, ok = n.args[0].operand(item)
		if !ok {
			return v, false
		}
		return sizeOf(v)
	}
	return v, false
}

// sizeOf returns what the function size gives: the bytes of a string or binary value,
// the elements of others.
func sizeOf(v attribute.Value) (attribute.Value, bool) {
	switch v.Type() {
	case attribute.S, attribute.B:
		return attribute.Int(int64(len(v.Text()))), true
	case attribute.SS, attribute.NS, attribute.BS, attribute.L, attribute.M:
		return attribute.Int(int64(v.Len())), true
	}
	return v, false
}

func (n *node) compare(item attribute.Item) bool {
	a, aOK := n.args[0].operand(item)
	b, bOK := n.args[1].operand(item)
	switch n.op {
	case "=":
		return aOK && bOK && attribute.Equal(a, b)
	case "<>": // also where one is not there
		return !aOK || !bOK || !attribute.Equal(a, b)
	}
	return aOK && bOK && ordered(n.op, a, b)
}

// ordered reports whether values that have an order have this one.
func ordered(comparator string, a, b attribute.Value) bool {
	order, ok := attribute.Compare(a, b)
	if !ok {
		return false
	}
	switch comparator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (n *node) isIn(item attribute.Item) bool {
	v, ok := n.args[0].operand(item)
	return ok && n.among.has(v, item)
}

func (n *node) call(item attribute.Item) bool {
	v, ok := n.args[0].operand(item)
	switch n.op {
	case exists:
		return ok
	case notExists:
		return !ok
	}
	if !ok {
		return false
	}
	w, ok := n.args[1].operand(item)
	if !ok {
		return false
	}
	switch n.op {
	case isType:
		return v.Type().String() == w.Text()
	case beginsWith:
		return v.Type() == w.Type() && isText(v) && strings.HasPrefix(v.Text(), w.Text())
	}
	return containsValue(v, w)
}

func isText(v attribute.Value) bool { return v.Type() == attribute.S || v.Type() == attribute.B }

// containsValue is the function contains.
func containsValue(v, w attribute.Value) bool {
	switch v.Type() {
	case attribute.S, attribute.B:
		return v.Type() == w.Type() && strings.Contains(v.Text(), w.Text())
	case attribute.L:
		for _, e := range v.List() {
			if attribute.Equal(e, w) {
				return true
			}
		}
		return false
	}
	return v.Has(w)
}
