package expr

import (
	"errors"
	"fmt"
	"math"

	"github.com/sectional/sectional/internal/attribute"
)

// Kind is a parameter that has an expression.
type Kind string

// The parameters.
const (
	ConditionExpression    Kind = "ConditionExpression"
	FilterExpression       Kind = "FilterExpression"
	KeyConditionExpression Kind = "KeyConditionExpression"
	ProjectionExpression   Kind = "ProjectionExpression"
	UpdateExpression       Kind = "UpdateExpression"
)

// invalid returns the error of an expression.
func (k Kind) invalid(text string, args ...any) error {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	if k == statement {
		return attribute.Invalid(text)
	}
	return attribute.Invalid("Invalid " + string(k) + ": " + text)
}

// The limits of expressions.
const (
	maxLength    = 4096
	maxOperators = 300
	maxOperands  = 100 // of IN
	maxSteps     = 32  // of a document path
)

// parser reads an expression. The grammar is the one of the Developer Guide, where
// operands and conditions may be in parentheses, once.
type parser struct {
	text   string
	tokens []token
	at     int
}

// newParser returns a parser of a text. Errors: what can be said without reading it.
func newParser(kind Kind, text string) (*parser, error) {
	switch {
	case text == "":
		return nil, kind.invalid("The expression can not be empty;")
	case len(text) > maxLength:
		return nil, kind.invalid("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	p := &parser{text: text, tokens: tokenize(text)}
	if p.opensTooMuch() {
		return nil, kind.invalid(errRedundant.Error())
	}
	return p, nil
}

// maxOpened is how many parentheses may open one after the other: each but the last
// two has an operator of its own, else it is redundant.
const maxOpened = maxOperators + 2

// opensTooMuch reports whether more do, which would be read over and over again until
// the mistake is found.
func (p *parser) opensTooMuch() bool {
	run := 0
	for _, t := range p.tokens {
		if run++; t.kind != "(" {
			run = 0
		}
		if run > maxOpened {
			return true
		}
	}
	return false
}

// syntaxError is a token that can't be where it is.
type syntaxError struct {
	token int
	text  string
}

func (e *syntaxError) Error() string { return e.text }

// errRedundant goes before every other error.
var errRedundant error = &syntaxError{math.MaxInt, "The expression has redundant parentheses;"}

// fail returns the error of the next token, shown with its neighbours.
func (p *parser) fail() error {
	t := p.tokens[p.at]
	from := p.tokens[max(p.at-1, 0)].start
	to := p.tokens[min(p.at+1, len(p.tokens)-1)].end
	return &syntaxError{p.at, `Syntax error; token: "` + t.text + `", near: "` + p.text[from:to] + `"`}
}

func (p *parser) is(kind string) bool { return p.tokens[p.at].kind == kind }

// take passes over a token of a kind.
func (p *parser) take(kind string) bool {
	if !p.is(kind) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(kind string) error {
	if !p.take(kind) {
		return p.fail()
	}
	return nil
}

// commaList reads one or more with commas between them.
func (p *parser) commaList(read func() error) error {
	for {
		if err := read(); err != nil {
			return err
		}
		if !p.take(",") {
			return nil
		}
	}
}

// parseCondition reads a whole text as a condition.
func parseCondition(kind Kind, text string) (*node, error) {
	p, err := newParser(kind, text)
	if err != nil {
		return nil, err
	}
	n, err := p.or()
	if err == nil {
		err = p.expect(tokenEnd)
	}
	if err != nil {
		return nil, kind.invalid(err.Error())
	}
	return n, nil
}

// checkOperators refuses a number of operators that is too large.
func (k Kind) checkOperators(n int) error {
	if n > maxOperators {
		return k.invalid("The expression contains too many operators; operator count: %d", maxOperators+1)
	}
	return nil
}

// operators counts the operators and functions of a tree.
func (n *node) operators() int {
	count := 0
	if n.kind != nodePath && n.kind != nodeValue {
		count = 1
	}
	for _, a := range n.args {
		count += a.operators()
	}
	return count
}

func (p *parser) or() (*node, error)  { return p.binary("OR", nodeOr, p.and) }
func (p *parser) and() (*node, error) { return p.binary("AND", nodeAnd, p.not) }

// binary reads operands of an operator that associates to the left.
func (p *parser) binary(operator string, kind nodeKind, operand func() (*node, error)) (*node, error) {
	n, err := operand()
	for err == nil && p.take(operator) {
		var right *node
		if right, err = operand(); err == nil {
			n = &node{kind: kind, args: []*node{n, right}}
		}
	}
	return n, err
}

func (p *parser) not() (*node, error) {
	if !p.take("NOT") {
		return p.primary()
	}
	n, err := p.not()
	return &node{kind: nodeNot, args: []*node{n}}, err
}

// primary reads a comparison, or a condition in parentheses. A parenthesis may begin
// either, so both are tried; the mistake that is told is the later one.
func (p *parser) primary() (*node, error) {
	if !p.is("(") {
		return p.comparison()
	}
	at := p.at
	n, err := p.inParens(p.or)
	if err == nil && (n.kind != nodeCall || !p.compares()) {
		return n, nil
	}
	if errors.Is(err, errRedundant) {
		return nil, err
	}
	p.at = at
	n, err2 := p.comparison()
	if err2 == nil || err == nil {
		return n, err2
	}
	return nil, later(err, err2)
}

// later returns the error of the later token.
func later(a, b error) error {
	var x, y *syntaxError
	if errors.As(a, &x) && errors.As(b, &y) && x.token > y.token {
		return a
	}
	return b
}

// inParens reads what is in parentheses.
func (p *parser) inParens(read func() (*node, error)) (*node, error) {
	p.at++
	n, err := read()
	if err == nil {
		err = p.expect(")")
	}
	if err == nil && n.parens {
		err = errRedundant
	}
	if err != nil {
		return nil, err
	}
	n.parens = true
	return n, nil
}

// compares reports whether an operator follows that wants an operand before it.
func (p *parser) compares() bool {
	return isComparator(p.tokens[p.at].kind) || p.is("BETWEEN") || p.is("IN")
}

func isComparator(kind string) bool {
	switch kind {
	case "=", "<>", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func (p *parser) comparison() (*node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	n := &node{args: []*node{left}}
	switch t := p.tokens[p.at]; {
	case isComparator(t.kind):
		p.at++
		n.kind, n.op = nodeCompare, t.kind
		return n, p.operandInto(n)
	case p.take("BETWEEN"):
		n.kind = nodeBetween
		return n, p.bounds(n)
	case p.take("IN"):
		n.kind = nodeIn
		return n, p.list(n)
	case left.kind == nodeCall:
		return left, nil
	}
	return nil, p.fail()
}

// operandInto reads an operand of n.
func (p *parser) operandInto(n *node) error {
	a, err := p.operand()
	n.args = append(n.args, a)
	return err
}

func (p *parser) bounds(n *node) error {
	err := p.operandInto(n)
	if err == nil {
		err = p.expect("AND")
	}
	if err == nil {
		err = p.operandInto(n)
	}
	return err
}

// list reads operands in parentheses.
func (p *parser) list(n *node) error {
	err := p.expect("(")
	if err == nil {
		err = p.commaList(func() error { return p.operandInto(n) })
	}
	if err == nil {
		err = p.expect(")")
	}
	return err
}

// operand reads a value, a path or a function.
func (p *parser) operand() (*node, error) {
	switch t := p.tokens[p.at]; t.kind {
	case tokenValue:
		p.at++
		return &node{kind: nodeValue, name: t.text}, nil
	case "(":
		return p.inParens(p.operand)
	case tokenWord:
		if p.tokens[p.at+1].kind == "(" {
			p.at++
			n := &node{kind: nodeCall, op: t.text}
			return n, p.list(n)
		}
	}
	return p.path()
}

// path reads a document path.
func (p *parser) path() (*node, error) {
	n := &node{kind: nodePath}
	if err := p.name(n); err != nil {
		return nil, err
	}
	for {
		var err error
		switch {
		case p.take("."):
			err = p.name(n)
		case p.take("["):
			if err = p.part(n, tokenIndex); err == nil {
				err = p.expect("]")
			}
		default:
			return n, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) name(n *node) error {
	if p.is(tokenName) {
		return p.part(n, tokenName)
	}
	return p.part(n, tokenWord)
}

// part reads a part of a path.
func (p *parser) part(n *node, kind string) error {
	t := p.tokens[p.at]
	if err := p.expect(kind); err != nil {
		return err
	}
	n.parts = append(n.parts, part{kind, t.text})
	return nil
}
