package partiql

import (
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
)

// update reads what follows UPDATE.
func (p *parser) update() (*Statement, error) {
	s := &Statement{Kind: Update}
	err := p.table(s)
	var actions []expr.Action
	for err == nil && (p.is("SET") || p.isWord("REMOVE")) {
		set := p.take("SET")
		if !set {
			p.at++
		}
		err = p.commaList(func() error {
			a, err := p.action(set)
			actions = append(actions, a)
			return err
		})
	}
	if err == nil && actions == nil {
		err = malformed("Expected SET or REMOVE")
	}
	if err == nil {
		s.Where, err = p.where()
	}
	if err == nil {
		err = p.returning(s)
	}
	if err == nil {
		s.Update, err = expr.NewUpdate(actions)
	}
	return s, err
}

// action reads one change.
func (p *parser) action(set bool) (a expr.Action, err error) {
	if a.Path, err = p.path(); err != nil {
		return a, err
	}
	if !set {
		a.Keyword = "REMOVE"
		return a, nil
	}
	if err = p.expect("="); err != nil {
		return a, err
	}
	if f := strings.ToUpper(p.next().text); p.isCall() && (f == "SET_ADD" || f == "SET_DELETE") {
		return p.setAction(a, f)
	}
	a.Keyword = "SET"
	a.Value, err = p.sum()
	return a, err
}

// setAction reads SET_ADD or SET_DELETE, which change the set at the path that they
// are assigned to.
func (p *parser) setAction(a expr.Action, function string) (expr.Action, error) {
	at := p.next()
	p.at++
	first := p.tokens[p.at+1]
	operands, err := p.operands(inUpdate)
	switch {
	case err != nil:
		return a, err
	case len(operands) != 2:
		return a, p.invalidAt(at, function+" must have exactly two arguments")
	case !a.Path.Same(operands[0]):
		return a, p.invalidAt(at, "The first argument to "+function+" must equal the assignment value")
	}
	v, _ := operands[1].Value()
	if v.Type().Element() == attribute.None {
		return a, p.invalidAt(first, "The second argument to "+function+" must be a value with type SET")
	}
	a.Keyword, a.Value = "ADD", operands[1]
	if function == "SET_DELETE" {
		a.Keyword = "DELETE"
	}
	return a, nil
}

// sum reads an operand, or the sum or difference of two.
func (p *parser) sum() (expr.Tree, error) {
	left, err := p.operand(inUpdate)
	operator := p.next().kind
	if err != nil || operator != "+" && operator != "-" {
		return left, err
	}
	p.at++
	right, err := p.operand(inUpdate)
	return expr.Operation(operator, left, right), err
}
