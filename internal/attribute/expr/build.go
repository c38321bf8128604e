package expr

import (
	"slices"

	"github.com/sectional/sectional/internal/attribute"
)

// statement is the Kind of what is built: its errors stand without a parameter's name.
const statement Kind = ""

// Tree is a part of an expression that another language than that of the parameters
// has said. It is checked when a Condition, an Update or a Bounds is made of it. The zero
// Tree is none.
type Tree struct{ root *node }

// Literal returns the tree of a value.
func Literal(v attribute.Value) Tree { return Tree{&node{kind: nodeValue, value: v}} }

// Attribute returns the tree of a document path of one step.
func Attribute(name string) Tree {
	return Tree{&node{kind: nodePath, path: path{{name, byName}}}}
}

// Member returns the path to a member of the map at the path t.
func (t Tree) Member(name string) Tree { return t.step(step{name, byName}) }

// Element returns the path to an element of the list at the path t.
func (t Tree) Element(index int) Tree { return t.step(step{"", index}) }

func (t Tree) step(s step) Tree {
	if len(t.root.path) > maxSteps { // which check refuses
		return t
	}
	return Tree{&node{kind: nodePath, path: append(slices.Clip(t.root.path), s)}}
}

// None reports whether there is no tree.
func (t Tree) None() bool { return t.root == nil }

// IsPath reports whether a tree is a document path.
func (t Tree) IsPath() bool { return t.root != nil && t.root.kind == nodePath }

// Same reports whether two trees are the same document path.
func (t Tree) Same(other Tree) bool {
	return t.IsPath() && other.IsPath() && slices.Equal(t.root.path, other.root.path)
}

// Name returns the name of the attribute that a path of one step is.
func (t Tree) Name() (name string, ok bool) {
	if !t.IsPath() || len(t.root.path) > 1 {
		return "", false
	}
	return t.root.path[0].name, true
}

// Value returns the value that a tree is.
func (t Tree) Value() (v attribute.Value, ok bool) {
	if t.root == nil || t.root.kind != nodeValue {
		return v, false
	}
	return t.root.value, true
}

// Operands returns the operator or function that a tree is, and its operands.
func (t Tree) Operands() (operator string, operands []Tree) {
	for _, a := range t.root.args {
		operands = append(operands, Tree{a})
	}
	return t.root.op, operands
}

// operations are the kinds of nodes that operators make; all others are functions.
var operations = map[string]nodeKind{
	"OR": nodeOr, "AND": nodeAnd, "NOT": nodeNot, "BETWEEN": nodeBetween, "IN": nodeIn, "+": nodeSum, "-": nodeSum,
	"=": nodeCompare, "<>": nodeCompare, "<": nodeCompare, "<=": nodeCompare, ">": nodeCompare, ">=": nodeCompare,
}

// Operation returns the tree of an operator or function and its operands. The caller
// sees to it that conditions and operands are where they belong, and that an operator
// has as many as it takes; those of functions are counted here, later.
func Operation(operator string, operands ...Tree) Tree {
	kind, ok := operations[operator]
	if !ok {
		kind = nodeCall
	}
	n := &node{kind: kind, op: operator}
	for _, o := range operands {
		n.args = append(n.args, o.root)
	}
	return Tree{n}
}

// check checks a tree as the second pass over a text does.
func (t Tree) check() error {
	if err := statement.checkOperators(t.root.operators()); err != nil {
		return err
	}
	return t.root.checkBuilt()
}

func (n *node) checkBuilt() error {
	if n.kind == nodePath && len(n.path) > maxSteps {
		return statement.invalid("The document path has too many nesting levels; nesting levels: %d", len(n.path))
	}
	if n.kind == nodeCall {
		if err := statement.checkCount(n); err != nil {
			return err
		}
	}
	for _, a := range n.args {
		if err := a.checkBuilt(); err != nil {
			return err
		}
	}
	return resolver{Kind: statement}.checkOperands(n)
}

// Condition makes the condition that a tree is. Errors: Validation.
func (t Tree) Condition() (*Condition, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	return newCondition(t.root, ""), nil
}

// Action is a change of an attribute: SET and REMOVE, and ADD and DELETE of elements of
// a set. A REMOVE has no Value.
type Action struct {
	Keyword     string
	Path, Value Tree
}

// NewUpdate makes the update that does actions. Errors: Validation.
func NewUpdate(actions []Action) (*Update, error) {
	u := &Update{mismatch: errType}
	for _, keyword := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		s := section{keyword: keyword}
		for _, a := range actions {
			if a.Keyword == keyword {
				s.actions = append(s.actions, &action{keyword, a.Path.root, a.Value.root})
			}
		}
		if s.actions != nil {
			u.sections = append(u.sections, s)
			u.actions = append(u.actions, s.actions...)
		}
	}
	if err := statement.checkOperators(operatorsOf(u.sections)); err != nil {
		return nil, err
	}
	if err := u.checkBuilt(); err != nil {
		return nil, err
	}
	return u, u.fork(statement)
}

func (u *Update) checkBuilt() error {
	for _, a := range u.actions {
		if err := a.path.checkBuilt(); err != nil {
			return err
		}
		if a.value == nil {
			continue
		}
		if err := a.value.checkBuilt(); err != nil {
			return err
		}
		if err := (resolver{Kind: statement}).checkAction(a); err != nil {
			return err
		}
	}
	return nil
}

// NewProjection makes the projection of paths, of which there is one at least. Errors:
// Validation.
func NewProjection(paths []Tree) (*Projection, error) {
	p := &Projection{}
	for _, t := range paths {
		if err := t.root.checkBuilt(); err != nil {
			return nil, err
		}
		p.paths = append(p.paths, t.root)
	}
	var err error
	p.root, err = statement.newTree(p.paths)
	return p, err
}

// BoundsOf returns the bounds that a condition on a range key sets: a comparator other
// than <>, BETWEEN or begins_with, and its values. Errors: Validation.
func BoundsOf(key Key, operator string, values ...attribute.Value) (*Bounds, error) {
	t := keyTest{name: key.Name, op: operator, values: values}
	if err := t.check(key); err != nil {
		return nil, err
	}
	return t.bounds(), nil
}
