package compiled

import (
	"math"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// assignable is something that can be assigned to. read and write get what prepare
// left on the stack of Go: object and name.
type assignable struct {
	prepare func(m *Machine) (object, name value)
	read    func(m *Machine, object, name value) value
	write   func(m *Machine, object, name, v value) bool
}

// assignable compiles the left side of an assignment.
func (c *compiler) assignable(e ast.Expression) (assignable, bool) {
	switch e := e.(type) {
	case *ast.Identifier:
		return c.variableAssignable(e)
	case *ast.DotExpression:
		name, ok := goString(e.Identifier.Name)
		if !ok || name == "length" || name == "__proto__" {
			c.refuse("it sets %s", name)
			return assignable{}, false
		}
		return c.memberAssignable(e.Left, constant(textOf([]byte(name))))
	case *ast.BracketExpression:
		return c.memberAssignable(e.Left, c.expression(e.Member))
	}
	c.refuse("it assigns to something unusual")
	return assignable{}, false
}

func (c *compiler) variableAssignable(e *ast.Identifier) (assignable, bool) {
	name, _ := goString(e.Name)
	v := c.resolve(name)
	if v == nil || v.slot < 0 || v.constant || v.function != nil {
		c.refuse("it assigns to %s", name)
		return assignable{}, false
	}
	if v == c.doc {
		c.docAssigned = true
	}
	read := c.identifier(e)
	slot := v.slot
	return assignable{
		prepare: func(*Machine) (object, name value) { return value{k: null}, value{k: null} },
		read:    func(m *Machine, _, _ value) value { return read(m) },
		write: func(m *Machine, _, _, v value) bool {
			if read(m).stops() { // it is not declared yet
				return false
			}
			m.vars[slot] = v
			return true
		},
	}, true
}

func (c *compiler) memberAssignable(of ast.Expression, name expression) (assignable, bool) {
	if c.isDoc(of) {
		c.refuse("it changes the document")
		return assignable{}, false
	}
	object := c.expression(of)
	return assignable{
		prepare: func(m *Machine) (value, value) {
			o := object(m)
			if o.stops() {
				return o, o
			}
			return o, name(m)
		},
		read:  (*Machine).property,
		write: (*Machine).setProperty,
	}, true
}

// isDoc reports whether e begins with the document itself: doc, doc.a, doc[b].
func (c *compiler) isDoc(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.Identifier:
		name, _ := goString(e.Name)
		return c.doc != nil && c.resolve(name) == c.doc
	case *ast.DotExpression:
		return c.isDoc(e.Left)
	case *ast.BracketExpression:
		return c.isDoc(e.Left)
	}
	return false
}

// setProperty assigns to a member of an array or object that the function made.
func (m *Machine) setProperty(o, name, v value) bool {
	if o.nullish() {
		m.throw("TypeError", "Cannot set property of undefined or null")
		return false
	}
	if o.k != array && o.k != object || o.o.fixed {
		m.interpret()
		return false
	}
	if o.k == array {
		i := name.n
		if name.k != number || i < 0 || i > float64(len(o.o.items)) || i != math.Trunc(i) || !m.spend(8) {
			m.interpret()
			return false
		}
		if int(i) == len(o.o.items) {
			return m.put(o.o, v)
		}
		o.o.items[int(i)] = v
		return true
	}
	if name = m.string(name); name.stops() {
		return false
	}
	if string(name.s) == "__proto__" {
		m.interpret()
		return false
	}
	return m.assignMember(o.o, name.s, v)
}

func (c *compiler) assign(e *ast.AssignExpression) expression {
	to, ok := c.assignable(e.Left)
	if !ok {
		return c.refused("it assigns to something unusual")
	}
	from := c.expression(e.Right)
	var do operator
	if e.Operator != token.ASSIGN {
		if do = operators(e.Operator); do == nil {
			return c.refused("it assigns with the operator %s", e.Operator)
		}
	}
	return func(m *Machine) value {
		object, name := to.prepare(m)
		if object.stops() || name.stops() {
			return value{}
		}
		var before value
		if do != nil {
			if before = to.read(m, object, name); before.stops() {
				return before
			}
		}
		v := from(m)
		if v.stops() {
			return v
		}
		if do != nil {
			if v = do(m, before, v); v.stops() {
				return v
			}
		}
		if !to.write(m, object, name, v) {
			return value{}
		}
		return v
	}
}

// step compiles ++ and --.
func (c *compiler) step(e *ast.UnaryExpression) expression {
	to, ok := c.assignable(e.Operand)
	if !ok {
		return c.refused("it steps something unusual")
	}
	by := 1.0
	if e.Operator == token.DECREMENT {
		by = -1
	}
	postfix := e.Postfix
	return func(m *Machine) value {
		object, name := to.prepare(m)
		if object.stops() || name.stops() {
			return value{}
		}
		before := to.read(m, object, name)
		if before.stops() {
			return before
		}
		n, ok := m.number(before)
		if !ok || !to.write(m, object, name, numberOf(n+by)) {
			return value{}
		}
		if postfix {
			return numberOf(n)
		}
		return numberOf(n + by)
	}
}
