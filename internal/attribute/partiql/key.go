package partiql

import (
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
)

// Where is what a clause WHERE says: a conjunction.
type Where struct {
	whole *expr.Condition
	terms []term
}

// term is a condition, and the terms that all must hold for it; a term of one has
// none. A comparison of an attribute with values says so.
type term struct {
	tree   expr.Tree
	all    []term
	name   string // "" if it is another condition
	op     string
	values []attribute.Value
}

func single(tree expr.Tree) term { return term{tree: tree} }

// mirrored are the comparators that say the same with their operands exchanged.
var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// compared returns the term of an operator between operands.
func compared(operator string, left expr.Tree, right ...expr.Tree) term {
	t := term{tree: expr.Operation(operator, append([]expr.Tree{left}, right...)...), op: operator}
	if other := mirrored[operator]; other != "" && !left.IsPath() {
		left, right, t.op = right[0], []expr.Tree{left}, other
	}
	name, ok := left.Name()
	for _, o := range right {
		v, isValue := o.Value()
		ok = ok && isValue
		t.values = append(t.values, v)
	}
	if ok {
		t.name = name
	}
	return t
}

// terms returns the terms that all must hold.
func (t term) terms() []term {
	if t.all != nil {
		return t.all
	}
	return []term{t}
}

// called returns the term of a function that is a condition.
func called(tree expr.Tree) term {
	operator, operands := tree.Operands()
	if operator != "begins_with" || len(operands) != 2 {
		return single(tree)
	}
	t := compared(operator, operands[0], operands[1])
	t.tree = tree
	return t
}

// with returns the term of AND or OR.
func (t term) with(operator string, other term) term {
	both := single(expr.Operation(operator, t.tree, other.tree))
	if operator == "AND" {
		both.all = append(t.terms(), other.terms()...)
	}
	return both
}

// newWhere checks a condition.
func newWhere(t term) (*Where, error) {
	whole, err := t.tree.Condition()
	return &Where{whole, t.terms()}, err
}

// Condition returns all that must hold.
func (w *Where) Condition() *expr.Condition { return w.whole }

// Key returns the key that a statement about one item binds by equality, in the order
// of keys, and the condition that is left, nil for none. Errors: KeyError for a key
// that is not bound, is compared otherwise or more than once.
func (w *Where) Key(keys ...expr.Key) (key []attribute.Attribute, rest *expr.Condition, err error) {
	if w == nil {
		return nil, nil, errIncomplete
	}
	left := w.terms
	for _, k := range keys {
		at := slices.IndexFunc(left, func(t term) bool { return t.name == k.Name && t.op == "=" })
		if at < 0 {
			return nil, nil, errIncomplete
		}
		v := left[at].values[0]
		left = slices.Delete(slices.Clone(left), at, at+1)
		if slices.ContainsFunc(left, func(t term) bool { return t.name == k.Name }) {
			return nil, nil, &KeyError{error: attribute.Invalid("Multiple conditions on same key %s. Only single item Update/Insert/Delete are supported", k.Name)}
		}
		if v.Type() != k.Type {
			return nil, nil, &KeyError{attribute.Invalid("Key attribute's data type should match its data type in table's schema: Key %s", k.Name), true}
		}
		key = append(key, attribute.Attribute{Name: k.Name, Value: v})
	}
	rest, err = conjunction(left)
	return key, rest, err
}

// conjunction returns the condition that all terms hold, nil for none.
func conjunction(terms []term) (*expr.Condition, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	all := terms[0].tree
	for _, t := range terms[1:] {
		all = expr.Operation("AND", all, t.tree)
	}
	return all.Condition()
}

// Access is how what a SELECT wants is read.
type Access struct {
	// Hashes are the partition keys, each once; nil for all of the table or index.
	Hashes []attribute.Value
	// Bounds are those of the range key, nil for all. They are only there with Hashes.
	Bounds *expr.Bounds
	// Filter is what else must hold, nil for nothing.
	Filter *expr.Condition
}

// Access returns how to read a table or an index with these keys; rangeKey has no name
// where there is none. A statement that binds no partition key reads everything.
// Errors: Validation for values that can't be of the keys.
func (w *Where) Access(hash, rangeKey expr.Key) (a Access, err error) {
	if w == nil {
		return a, nil
	}
	at := slices.IndexFunc(w.terms, func(t term) bool { return t.name == hash.Name && (t.op == "=" || t.op == "IN") })
	if at < 0 {
		a.Filter = w.whole
		return a, nil
	}
	left := slices.Delete(slices.Clone(w.terms), at, at+1)
	for _, v := range w.terms[at].values {
		if _, err := expr.BoundsOf(hash, "=", v); err != nil {
			return a, err
		}
		if !slices.ContainsFunc(a.Hashes, func(other attribute.Value) bool { return attribute.Equal(v, other) }) {
			a.Hashes = append(a.Hashes, v)
		}
	}
	at = slices.IndexFunc(left, func(t term) bool {
		return rangeKey.Name != "" && t.name == rangeKey.Name && t.op != "<>" && t.op != "IN"
	})
	if at >= 0 {
		if a.Bounds, err = expr.BoundsOf(rangeKey, left[at].op, left[at].values...); err != nil {
			return a, err
		}
		left = slices.Delete(left, at, at+1)
	}
	a.Filter, err = conjunction(left)
	return a, err
}
