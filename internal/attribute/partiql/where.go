package partiql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
)

// maxDepth is how deep conditions may lie in each other: deeper than that they have
// more operators than are allowed, or parentheses that say nothing.
const maxDepth = 302

// where reads a clause WHERE, if there is one.
func (p *parser) where() (*Where, error) {
	if !p.take("WHERE") {
		return nil, nil
	}
	t, err := p.or()
	if err != nil {
		return nil, err
	}
	return newWhere(t)
}

func (p *parser) or() (term, error)  { return p.binary("OR", p.and) }
func (p *parser) and() (term, error) { return p.binary("AND", p.not) }

// binary reads operands of an operator that associates to the left.
func (p *parser) binary(operator string, operand func() (term, error)) (term, error) {
	left, err := operand()
	for err == nil && p.take(operator) {
		var right term
		right, err = operand()
		if err == nil {
			left = left.with(operator, right)
		}
	}
	return left, err
}

// nested reads a condition that lies in another.
func (p *parser) nested(read func() (term, error)) (term, error) {
	if p.depth++; p.depth > maxDepth {
		return term{}, malformed("Conditions lie too deep in each other")
	}
	defer func() { p.depth-- }()
	return read()
}

func (p *parser) not() (term, error) {
	if !p.take("NOT") {
		return p.primary()
	}
	t, err := p.nested(p.not)
	if err != nil {
		return t, err
	}
	return single(expr.Operation("NOT", t.tree)), nil
}

// primary reads a comparison, or a condition in parentheses.
func (p *parser) primary() (term, error) {
	if p.take("(") {
		t, err := p.nested(p.or)
		if err == nil {
			err = p.expect(")")
		}
		return t, err
	}
	left, err := p.operand(inCondition)
	if err != nil {
		return term{}, err
	}
	return p.comparison(left)
}

// comparison reads what follows the first operand of a condition.
func (p *parser) comparison(left expr.Tree) (term, error) {
	function, _ := left.Operands()
	isTest := function != "" && function != "size"
	negated := p.take("NOT")
	t, err := p.test(left)
	switch {
	case err != nil:
		return t, err
	case t.tree.None() && isTest && !negated:
		return called(left), nil
	case isTest:
		return t, attribute.Invalid("The function is not allowed to be used this way in an expression; function: %s", function)
	case t.tree.None():
		return t, attribute.Invalid("WHERE clause must contain an expression that resolves to a boolean")
	case negated && t.op != "IN" && t.op != "BETWEEN":
		return t, p.unexpected()
	case negated:
		return single(expr.Operation("NOT", t.tree)), nil
	}
	return t, nil
}

// test reads an operator and its other operands; without one there is no tree.
func (p *parser) test(left expr.Tree) (term, error) {
	switch operator := p.next().kind; operator {
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		p.at++
		if operator == "!=" {
			operator = "<>"
		}
		right, err := p.operand(asOperand)
		return compared(operator, left, right), err
	case "BETWEEN":
		p.at++
		return p.between(left)
	case "IN":
		p.at++
		return p.in(left)
	case "IS":
		p.at++
		return p.kind(left)
	}
	return term{}, nil
}

func (p *parser) between(left expr.Tree) (term, error) {
	low, err := p.operand(asOperand)
	if err == nil {
		err = p.expect("AND")
	}
	if err != nil {
		return term{}, err
	}
	high, err := p.operand(asOperand)
	return compared("BETWEEN", left, low, high), err
}

// in reads the values that one may be, in parentheses or in brackets, or a list.
func (p *parser) in(left expr.Tree) (term, error) {
	var operands []expr.Tree
	var err error
	if p.is("(") {
		operands, err = p.operands(asOperand)
	} else if p.isLiteral() {
		var v attribute.Value
		v, err = p.literal(0)
		for _, e := range v.List() {
			operands = append(operands, expr.Literal(e))
		}
	}
	if err == nil && (len(operands) == 0 || !left.IsPath()) {
		err = errIn
	}
	if err != nil {
		return term{}, err
	}
	return compared("IN", left, operands...), nil
}

// typeNames are what IS knows.
var typeNames = map[string]string{
	"NULL": "NULL", "BOOLEAN": "BOOL", "BLOB": "B", "STRING": "S", "NUMERIC": "N", "STRUCT": "M", "TUPLE": "M", "LIST": "L",
}

// kind reads what follows IS.
func (p *parser) kind(left expr.Tree) (term, error) {
	negated := p.take("NOT")
	t := p.next()
	p.at = min(p.at+1, len(p.tokens)-1)
	wanted := strings.ToUpper(t.text)
	if t.kind == tokenString || t.kind == tokenQuoted {
		wanted = "'" + t.text + "'"
	}
	var tree expr.Tree
	switch {
	case !left.IsPath():
		return term{}, errIs
	case wanted == "MISSING":
		tree = expr.Operation("attribute_not_exists", left)
	case typeNames[wanted] != "":
		tree = expr.Operation("attribute_type", left, expr.Literal(attribute.String(typeNames[wanted])))
	default:
		return term{}, attribute.Invalid("Unsupported data type for IS operator: %s. Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]", wanted)
	}
	if negated {
		tree = expr.Operation("NOT", tree)
	}
	return single(tree), nil
}

// place is where an operand stands: the functions that may be there. Those that may
// begin a condition are conditions themselves, but for size.
type place []string

var (
	inCondition = place{"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
	inUpdate    = place{"list_append", "if_not_exists"}
	asOperand   = place{"size"}
)

// isCall reports whether a function follows.
func (p *parser) isCall() bool {
	t := p.next()
	return t.kind != tokenEnd && t.kind != tokenQuoted && t.kind != tokenString && isFirst(t.text[0]) && p.tokens[p.at+1].kind == "("
}

// operand reads a value, a path or a function.
func (p *parser) operand(at place) (tree expr.Tree, err error) {
	switch {
	case p.isCall():
		return p.call(at)
	case p.is("MISSING"):
		return tree, attribute.Invalid("MISSING must be compared using IS operator")
	case p.isLiteral():
		v, err := p.literal(0)
		return expr.Literal(v), err
	}
	return p.path()
}

// call reads a function.
func (p *parser) call(at place) (tree expr.Tree, err error) {
	t := p.next()
	name := strings.ToLower(t.text)
	if !slices.Contains(at, name) {
		return tree, p.invalidAt(t, "Unrecognized function: %s", name)
	}
	p.at++
	below := asOperand
	if slices.Contains(inUpdate, name) {
		below = inUpdate
	}
	operands, err := p.operands(below)
	return expr.Operation(name, operands...), err
}

// operands reads operands in parentheses.
func (p *parser) operands(at place) (operands []expr.Tree, err error) {
	if err = p.expect("("); err != nil || p.take(")") {
		return nil, err
	}
	if p.depth++; p.depth > maxDepth {
		return nil, malformed("Functions lie too deep in each other")
	}
	defer func() { p.depth-- }()
	err = p.commaList(func() error {
		o, err := p.operand(at)
		operands = append(operands, o)
		return err
	})
	if err == nil {
		err = p.expect(")")
	}
	return operands, err
}

// path reads a document path.
func (p *parser) path() (tree expr.Tree, err error) {
	if !p.is(tokenName) && !p.is(tokenQuoted) {
		return tree, p.unexpected()
	}
	name, err := p.name()
	tree = expr.Attribute(name)
	for err == nil {
		switch {
		case p.take("."):
			if !p.is(tokenName) && !p.is(tokenQuoted) {
				return tree, malformed("Invalid path dot component")
			}
			name, err = p.name()
			tree = tree.Member(name)
		case p.take("["):
			tree, err = p.element(tree)
		default:
			return tree, nil
		}
	}
	return tree, err
}

// element reads what is in the brackets of a path: an index, or a name as a string.
func (p *parser) element(tree expr.Tree) (expr.Tree, error) {
	t := p.next()
	switch t.kind {
	case "*":
		return tree, attribute.Invalid("Wildcard path component like a[*].b are not supported")
	case "-":
		digits := p.tokens[p.at+1]
		return tree, p.invalidAt(digits, "List index is not within the allowable range; index: [-%s]", digits.text)
	case tokenString:
		tree = tree.Member(t.text)
	case tokenNumber:
		index, err := strconv.ParseInt(t.text, 10, 32)
		if err != nil {
			return tree, p.invalidAt(t, "List index is not within the allowable range; index: [%s]", t.text)
		}
		tree = tree.Element(int(index))
	default:
		return tree, p.unexpected()
	}
	p.at++
	return tree, p.expect("]")
}
