package expr

import (
	"strconv"
)

// checkShape is the first pass over a tree, in the order of its text: reserved words,
// indexes of lists, names of functions, where these stand and how many operands they
// have.
func (k Kind) checkShape(n *node, at place) error {
	switch n.kind {
	case nodePath:
		return k.checkParts(n)
	case nodeCall:
		if err := k.checkFunction(n, at); err != nil {
			return err
		}
	}
	below := asOperand
	switch n.kind {
	case nodeOr, nodeAnd, nodeNot:
		below = asCondition
	default:
		if at == inUpdate {
			below = inUpdate
		}
	}
	for _, a := range n.args {
		if err := k.checkShape(a, below); err != nil {
			return err
		}
	}
	return nil
}

func (k Kind) checkParts(n *node) error {
	for _, p := range n.parts {
		switch p.kind {
		case tokenWord:
			if isReserved(p.text) {
				return k.invalid("Attribute name is a reserved keyword; reserved keyword: %s", p.text)
			}
		case tokenIndex:
			if _, err := strconv.ParseInt(p.text, 10, 32); err != nil {
				return k.invalid("List index is not within the allowable range; index: [%s]", p.text)
			}
		}
	}
	return nil
}

func (k Kind) checkFunction(n *node, at place) error {
	f, ok := functions[n.op]
	switch {
	case !ok:
		return k.invalid("Invalid function name; function: %s", n.op)
	case at == inUpdate && f.of != inUpdate:
		return k.invalid("The function is not allowed in an update expression; function: %s", n.op)
	case at != inUpdate && f.of == inUpdate:
		return k.invalid("The function is not allowed in a condition expression; function: %s", n.op)
	case at != f.of, n.op == listAppend && n.holdsListAppend():
		return k.invalid("The function is not allowed to be used this way in an expression; function: %s", n.op)
	case at != inUpdate: // an update's are counted later
		return k.checkCount(n)
	}
	return nil
}

// holdsListAppend reports whether an operand of a list_append is another, which AWS
// refuses as Alternator's tests saw.
func (n *node) holdsListAppend() bool {
	for _, a := range n.args {
		if a.kind == nodeCall && a.op == listAppend {
			return true
		}
	}
	return false
}

func (k Kind) checkCount(n *node) error {
	if len(n.args) != functions[n.op].operands {
		return k.invalid("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", n.op, len(n.args))
	}
	return nil
}
