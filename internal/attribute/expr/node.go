package expr

import (
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
)

// nodeKind is what a node of a tree is.
type nodeKind uint8

const (
	nodeOr nodeKind = iota
	nodeAnd
	nodeNot
	nodeCompare // op is the comparator
	nodeBetween // value, lower and upper bound
	nodeIn      // value, and those it may be
	nodeCall    // op is the function
	nodeSum     // op is + or -
	nodePath
	nodeValue
)

// node is a part of an expression. Trees that older parameters become are made without
// parts and names.
type node struct {
	kind   nodeKind
	op     string
	args   []*node
	parts  []part // of a path, as written
	name   string // the placeholder of a value
	parens bool   // written in parentheses

	// after resolving
	path  path
	value attribute.Value
	among *among // of an IN in a condition
}

// part is one part of a path as it is written.
type part struct {
	kind string // tokenWord, tokenName or tokenIndex
	text string
}

// Functions and where they may be used.
const (
	exists      = "attribute_exists"
	notExists   = "attribute_not_exists"
	isType      = "attribute_type"
	beginsWith  = "begins_with"
	contains    = "contains"
	size        = "size"
	ifNotExists = "if_not_exists"
	listAppend  = "list_append"
)

type function struct {
	operands int
	of       place
}

// place is where a node stands.
type place uint8

const (
	asCondition place = iota // where a truth value is wanted
	asOperand                // where a value is wanted
	inUpdate                 // where a SET wants a value
)

var functions = map[string]function{
	exists: {1, asCondition}, notExists: {1, asCondition}, isType: {2, asCondition}, beginsWith: {2, asCondition}, contains: {2, asCondition},
	size: {1, asOperand}, ifNotExists: {2, inUpdate}, listAppend: {2, inUpdate},
}

// step is a step of a document path: into a map by a name, or into a list.
type step struct {
	name  string
	index int // -1 for a name
}

const byName = -1

func (s step) String() string {
	if s.index == byName {
		return s.name
	}
	return "[" + strconv.Itoa(s.index) + "]"
}

// path is a document path; the first step is a name.
type path []step

// String returns the path as AWS shows it: [a, b, [1]].
func (p path) String() string {
	steps := make([]string, len(p))
	for i, s := range p {
		steps[i] = s.String()
	}
	return "[" + strings.Join(steps, ", ") + "]"
}

// in returns the value at the path in an item.
func (p path) in(item attribute.Item) (attribute.Value, bool) {
	v, ok := item.Get(p[0].name)
	for i := 1; i < len(p) && ok; i++ {
		v, ok = p[i].into(v)
	}
	return v, ok
}

// into returns what a step leads to.
func (s step) into(v attribute.Value) (attribute.Value, bool) {
	if s.index == byName {
		return v.Map().Get(s.name)
	}
	if list := v.List(); s.index < len(list) {
		return list[s.index], true
	}
	return attribute.Value{}, false
}
