package compiled

import (
	"math"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// operator is a binary operator whose operands have both been evaluated.
type operator func(m *Machine, a, b value) value

func operators(t token.Token) operator {
	switch t {
	case token.PLUS:
		return (*Machine).add
	case token.MINUS:
		return arithmetic(func(x, y float64) float64 { return x - y })
	case token.MULTIPLY:
		return arithmetic(func(x, y float64) float64 { return x * y })
	case token.SLASH:
		return arithmetic(func(x, y float64) float64 { return x / y })
	case token.REMAINDER:
		return arithmetic(math.Mod)
	}
	return comparisons(t)
}

func comparisons(t token.Token) operator {
	switch t {
	case token.EQUAL:
		return equality((*Machine).looseEquals, true)
	case token.NOT_EQUAL:
		return equality((*Machine).looseEquals, false)
	case token.STRICT_EQUAL:
		return equality((*Machine).identical, true)
	case token.STRICT_NOT_EQUAL:
		return equality((*Machine).identical, false)
	case token.LESS:
		return func(m *Machine, a, b value) value { return known(m.less(a, b)) }
	case token.GREATER:
		return func(m *Machine, a, b value) value { return known(m.less(b, a)) }
	case token.LESS_OR_EQUAL:
		return func(m *Machine, a, b value) value { return negated(m.less(b, a)) }
	case token.GREATER_OR_EQUAL:
		return func(m *Machine, a, b value) value { return negated(m.less(a, b)) }
	case token.IN:
		return (*Machine).has
	}
	return nil
}

// known makes false of an undefined comparison.
func known(v value) value {
	if v.k == undefined {
		return truth(false)
	}
	return v
}

func negated(v value) value {
	switch v.k {
	case undefined:
		return truth(false)
	case boolean:
		return truth(v.n == 0)
	}
	return v
}

// identical is ===; ok is false after a failure.
func (m *Machine) identical(a, b value) (equal, ok bool) {
	if a.stops() || b.stops() {
		return false, false
	}
	if a.k == date && b.k == date {
		return m.dateIdentity(a, b)
	}
	equal = m.strictEquals(a, b)
	return equal, m.err == nil
}

func equality(equals func(m *Machine, a, b value) (bool, bool), wanted bool) operator {
	return func(m *Machine, a, b value) value {
		equal, ok := equals(m, a, b)
		if !ok {
			return value{}
		}
		return truth(equal == wanted)
	}
}

// numbers is number of both, in their order.
func (m *Machine) numbers(a, b value) (x, y float64, ok bool) {
	if x, ok = m.number(a); ok {
		y, ok = m.number(b)
	}
	return x, y, ok
}

func arithmetic(f func(x, y float64) float64) operator {
	return func(m *Machine, a, b value) value {
		if a.k == number && b.k == number {
			return numberOf(f(a.n, b.n))
		}
		x, y, ok := m.numbers(a, b)
		if !ok {
			return value{}
		}
		return numberOf(f(x, y))
	}
}

// add is +, of numbers or strings.
func (m *Machine) add(a, b value) value {
	if a.k == number && b.k == number {
		return numberOf(a.n + b.n)
	}
	if a.isObject() {
		a = m.primitive(a)
	}
	if b.isObject() {
		b = m.primitive(b)
	}
	if a.k == text || b.k == text {
		if a = m.string(a); a.stops() {
			return a
		}
		if b = m.string(b); b.stops() {
			return b
		}
		return m.join(a.s, b.s)
	}
	x, y, ok := m.numbers(a, b)
	if !ok {
		return value{}
	}
	return numberOf(x + y)
}

// has is the operator in.
func (m *Machine) has(name, in value) value {
	if !in.isObject() {
		return m.throw("TypeError", "Cannot use 'in' operator to search in a primitive")
	}
	if in.k != rawObject && in.k != object {
		return m.interpret()
	}
	if name = m.string(name); name.stops() || !m.spend(len(name.s)) {
		return value{}
	}
	if objectNames[string(name.s)] {
		return m.interpret()
	}
	if in.k == object {
		at := m.position(in.o, name.s)
		if m.err != nil {
			return value{}
		}
		return truth(at >= 0)
	}
	v := m.member(in.s, name.s)
	if v.stops() {
		return v
	}
	return truth(v.k != undefined)
}

// isConstant reports whether e is made of literals alone.
func isConstant(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.StringLiteral, *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return true
	case *ast.UnaryExpression:
		return isConstant(e.Operand)
	case *ast.BinaryExpression:
		return isConstant(e.Left) && isConstant(e.Right)
	}
	return false
}

func (c *compiler) binary(e *ast.BinaryExpression) expression {
	a, b := c.expression(e.Left), c.expression(e.Right)
	switch e.Operator {
	case token.LOGICAL_AND, token.LOGICAL_OR:
		if isConstant(e.Left) { // the interpreter has its own mind about a constant whose value is not used
			return c.refused("a constant decides")
		}
	}
	switch e.Operator {
	case token.LOGICAL_AND:
		return func(m *Machine) value {
			v := a(m)
			if v.stops() || !v.truthy() {
				return v
			}
			return b(m)
		}
	case token.LOGICAL_OR:
		return func(m *Machine) value {
			v := a(m)
			if v.stops() || v.truthy() {
				return v
			}
			return b(m)
		}
	}
	do := operators(e.Operator)
	if do == nil {
		return c.refused("it has the operator %s", e.Operator)
	}
	return func(m *Machine) value {
		x := a(m)
		if x.stops() {
			return x
		}
		y := b(m)
		if y.stops() {
			return y
		}
		return do(m, x, y)
	}
}

func (c *compiler) unary(e *ast.UnaryExpression) expression {
	switch e.Operator {
	case token.INCREMENT, token.DECREMENT:
		return c.step(e)
	case token.TYPEOF:
		if name, ok := e.Operand.(*ast.Identifier); ok {
			if text, _ := goString(name.Name); c.resolve(text) == nil && text != "undefined" {
				return c.refused("it asks for the type of the global %s", text)
			}
		}
	case token.DELETE:
		return c.refused("it deletes members")
	}
	of := c.expression(e.Operand)
	do := unaries(e.Operator)
	if do == nil {
		return c.refused("it has the operator %s", e.Operator)
	}
	return func(m *Machine) value {
		v := of(m)
		if v.stops() {
			return v
		}
		return do(m, v)
	}
}

func unaries(t token.Token) func(m *Machine, v value) value {
	switch t {
	case token.NOT:
		return func(_ *Machine, v value) value { return truth(!v.truthy()) }
	case token.TYPEOF:
		return func(_ *Machine, v value) value { return textOf([]byte(v.typeName())) }
	case token.MINUS:
		return func(m *Machine, v value) value {
			n, ok := m.number(v)
			if !ok {
				return value{}
			}
			return numberOf(-n)
		}
	case token.PLUS:
		return func(m *Machine, v value) value {
			n, ok := m.number(v)
			if !ok {
				return value{}
			}
			return numberOf(n)
		}
	}
	return nil
}
