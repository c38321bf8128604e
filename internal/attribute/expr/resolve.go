package expr

import (
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/attribute"
)

// resolver is the second pass over a tree: what placeholders stand for, and whether
// operands are what their operators want as far as that can be said without an item.
type resolver struct {
	Kind
	*Placeholders
}

// resolve looks at the operands of a node before the node.
func (r resolver) resolve(n *node) error {
	switch n.kind {
	case nodePath:
		return r.resolvePath(n)
	case nodeValue:
		v, ok := r.values[n.name]
		if !ok {
			return r.invalid("An expression attribute value used in expression is not defined; attribute value: %s", n.name)
		}
		n.value, r.used[n.name] = v, true
		return nil
	case nodeCall:
		if err := r.checkCount(n); err != nil {
			return err
		}
	}
	for _, a := range n.args {
		if err := r.resolve(a); err != nil {
			return err
		}
	}
	return r.checkOperands(n)
}

func (r resolver) resolvePath(n *node) error {
	p := make(path, len(n.parts))
	for i, part := range n.parts {
		p[i] = step{part.text, byName}
		switch part.kind {
		case tokenName:
			name, ok := r.names[part.text]
			if !ok {
				return r.undefinedName(part.text)
			}
			p[i].name, r.used[part.text] = name, true
		case tokenIndex:
			p[i].name = ""
			p[i].index, _ = strconv.Atoi(part.text) // checked before
		}
	}
	if len(p) > maxSteps {
		return r.invalid("The document path has too many nesting levels; nesting levels: %d", len(p))
	}
	n.path = p
	return nil
}

func (r resolver) undefinedName(name string) error {
	return r.invalid("An expression attribute name used in the document path is not defined; attribute name: %s", name)
}

// checkOperands checks the operands of an operator or function.
func (r resolver) checkOperands(n *node) error {
	switch n.kind {
	case nodeCompare:
		if err := r.distinct(n.op, n.args); err != nil || n.op == "=" || n.op == "<>" {
			return err
		}
		return r.operandTypes(n.op, n.args, attribute.S, attribute.N, attribute.B)
	case nodeBetween:
		return r.checkBetween(n)
	case nodeIn:
		if operands := len(n.args) - 1; operands > maxOperands {
			return r.invalid("The IN operator is provided with too many operands; number of operands: %d", operands)
		}
		return r.distinct("IN", n.args)
	case nodeSum:
		return r.operandTypes(n.op, n.args, attribute.N)
	case nodeCall:
		return r.checkCall(n)
	}
	return nil
}

// distinct refuses a path that is compared with itself.
func (r resolver) distinct(operator string, args []*node) error {
	first := args[0]
	if first.kind != nodePath {
		return nil
	}
	for _, a := range args[1:] {
		if a.kind == nodePath && slices.Equal(a.path, first.path) {
			return r.invalid("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", operator, first.path)
		}
	}
	return nil
}

// typeOf returns the type of a node as far as it is known: of a value, and of what
// functions give.
func (n *node) typeOf() attribute.Type {
	switch {
	case n.kind == nodeValue:
		return n.value.Type()
	case n.kind == nodeCall && n.op == size, n.kind == nodeSum:
		return attribute.N
	case n.kind == nodeCall && n.op == listAppend:
		return attribute.L
	}
	return attribute.None
}

// operandTypes refuses operands that are known to be of other types than those.
func (r resolver) operandTypes(operator string, args []*node, types ...attribute.Type) error {
	for _, a := range args {
		if t := a.typeOf(); t != attribute.None && !slices.Contains(types, t) {
			return r.operandType(operator, t.String())
		}
	}
	return nil
}

func (r resolver) operandType(operator, found string) error {
	return r.invalid("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, found)
}

func (r resolver) checkBetween(n *node) error {
	if err := r.distinct("BETWEEN", n.args); err != nil {
		return err
	}
	if err := r.operandTypes("BETWEEN", n.args, attribute.S, attribute.N, attribute.B); err != nil {
		return err
	}
	low, high := n.args[1], n.args[2]
	if low.kind != nodeValue || high.kind != nodeValue {
		return nil
	}
	const bounds = "lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s"
	order, ok := attribute.Compare(low.value, high.value)
	switch {
	case !ok:
		return r.invalid("The BETWEEN operator requires same data type for lower and upper bounds; "+bounds, low.value, high.value)
	case order > 0:
		return r.invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "+bounds, low.value, high.value)
	}
	return nil
}

func (r resolver) checkCall(n *node) error {
	switch n.op {
	case exists, notExists, ifNotExists: // but not attribute_type, whatever is documented
		if n.args[0].kind != nodePath {
			return r.invalid("Operator or function requires a document path; operator or function: %s", n.op)
		}
	}
	if n.op != listAppend {
		if err := r.distinct(n.op, n.args); err != nil {
			return err
		}
	}
	switch n.op {
	case size:
		return r.operandTypes(size, n.args, attribute.S, attribute.B, attribute.SS, attribute.NS, attribute.BS, attribute.L, attribute.M)
	case beginsWith:
		return r.operandTypes(beginsWith, n.args, attribute.S, attribute.B)
	case listAppend:
		return r.operandTypes(listAppend, n.args, attribute.L)
	case isType:
		return r.checkTypeName(n.args[1])
	}
	return nil
}

// checkTypeName checks the second operand of attribute_type. The sets of types are in
// the order in which AWS shows them.
func (r resolver) checkTypeName(n *node) error {
	switch {
	case n.kind != nodeValue:
		return r.operandType(isType, "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	case n.value.Type() != attribute.S:
		return r.operandType(isType, n.value.Type().String())
	case attribute.TypeOf(n.value.Text()) == attribute.None:
		return r.invalid("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", n.value.Text())
	}
	return nil
}
