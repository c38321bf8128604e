package compiled

import (
	"strconv"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// expression compiles e.
func (c *compiler) expression(e ast.Expression) expression {
	c.nodes++
	switch e := e.(type) {
	case *ast.Identifier:
		return c.identifier(e)
	case *ast.StringLiteral:
		s, ok := goString(e.Value)
		if !ok {
			return c.refused("it has half a surrogate pair")
		}
		return constant(textOf([]byte(s)))
	case *ast.NumberLiteral:
		return c.numberLiteral(e)
	case *ast.BooleanLiteral:
		return constant(truth(e.Value))
	case *ast.NullLiteral:
		return constant(value{k: null})
	case *ast.DotExpression:
		return c.dot(e)
	case *ast.BracketExpression:
		return c.bracket(e)
	case *ast.CallExpression:
		return c.call(e)
	case *ast.NewExpression:
		return c.newExpression(e)
	case *ast.BinaryExpression:
		return c.binary(e)
	case *ast.UnaryExpression:
		return c.unary(e)
	case *ast.AssignExpression:
		return c.assign(e)
	case *ast.ConditionalExpression:
		return c.conditional(e)
	case *ast.SequenceExpression:
		return c.sequence(e)
	case *ast.ArrayLiteral:
		return c.arrayLiteral(e)
	case *ast.ObjectLiteral:
		return c.objectLiteral(e)
	case *ast.TemplateLiteral:
		return c.template(e)
	case *ast.OptionalChain:
		inner := c.expression(e.Expression)
		return func(m *Machine) value {
			v := inner(m)
			if v.k == skipped {
				return value{k: undefined}
			}
			return v
		}
	case *ast.Optional:
		inner := c.expression(e.Expression)
		return func(m *Machine) value {
			v := inner(m)
			if v.nullish() {
				return value{k: skipped}
			}
			return v
		}
	}
	return c.refused("it has an expression that is not compiled (%T)", e)
}

func constant(v value) expression { return func(*Machine) value { return v } }

// condition compiles e for its truth alone; ok is false after a failure.
func (c *compiler) condition(e ast.Expression) func(m *Machine) (yes, ok bool) {
	if test := c.textTest(e); test != nil {
		return test
	}
	do := c.expression(e)
	return func(m *Machine) (yes, ok bool) {
		v := do(m)
		if v.k == boolean {
			return v.n != 0, true
		}
		if v.stops() {
			return false, false
		}
		return v.truthy(), true
	}
}

// textTest compiles a comparison with a string that is written out; nil for
// anything else.
func (c *compiler) textTest(e ast.Expression) func(m *Machine) (yes, ok bool) {
	b, is := e.(*ast.BinaryExpression)
	if !is || b.Operator != token.EQUAL && b.Operator != token.STRICT_EQUAL {
		return nil
	}
	literal, is := b.Right.(*ast.StringLiteral)
	if !is {
		return nil
	}
	s, whole := goString(literal.Value)
	if !whole {
		return nil
	}
	c.nodes += len(s) / 64
	of, with, equals := c.expression(b.Left), textOf([]byte(s)), (*Machine).looseEquals
	if b.Operator == token.STRICT_EQUAL {
		equals = (*Machine).identical
	}
	return func(m *Machine) (yes, ok bool) {
		v := of(m)
		if v.k == text {
			return string(v.s) == s, true
		}
		return equals(m, v, with)
	}
}

func (c *compiler) identifier(e *ast.Identifier) expression {
	name, ok := goString(e.Name)
	if !ok {
		return c.refused("it has a strange name")
	}
	v := c.resolve(name)
	if v == nil {
		switch name {
		case "undefined":
			return constant(value{k: undefined})
		}
		return c.refused("it uses the global %s", name)
	}
	if v.slot < 0 || v.function != nil {
		return c.refused("it uses the function %s as a value", name)
	}
	slot := v.slot
	return func(m *Machine) value {
		v := m.vars[slot]
		if v.k == unset {
			return m.throw("ReferenceError", "Cannot access '"+name+"' before initialization")
		}
		return v
	}
}

func (c *compiler) numberLiteral(e *ast.NumberLiteral) expression {
	switch n := e.Value.(type) {
	case int64:
		if n > 1<<53 || n < -1<<53 {
			return c.refused("it has a large number")
		}
		return constant(numberOf(float64(n)))
	case float64:
		return constant(numberOf(n))
	}
	return c.refused("it has a number of a special kind")
}

func (c *compiler) conditional(e *ast.ConditionalExpression) expression {
	test := c.condition(e.Test)
	then, otherwise := c.expression(e.Consequent), c.expression(e.Alternate)
	return func(m *Machine) value {
		yes, ok := test(m)
		if !ok {
			return value{}
		}
		if yes {
			return then(m)
		}
		return otherwise(m)
	}
}

func (c *compiler) sequence(e *ast.SequenceExpression) expression {
	var list []expression
	for _, one := range e.Sequence {
		list = append(list, c.expression(one))
	}
	return func(m *Machine) (v value) {
		for _, one := range list {
			if v = one(m); v.stops() {
				return v
			}
		}
		return v
	}
}

// all compiles a list of expressions.
func (c *compiler) all(list []ast.Expression) []expression {
	out := make([]expression, len(list))
	for i, e := range list {
		if e == nil {
			c.refuse("an array has holes")
			continue
		}
		out[i] = c.expression(e)
	}
	return out
}

// push evaluates a list of expressions onto the stack. Whoever calls it takes
// them off again, down to base.
func (m *Machine) push(list []expression) (base int, ok bool) {
	base = len(m.stack)
	for _, e := range list {
		v := e(m)
		if v.stops() {
			m.stack = m.stack[:base]
			return base, false
		}
		m.stack = append(m.stack, v)
	}
	return base, true
}

func (c *compiler) arrayLiteral(e *ast.ArrayLiteral) expression {
	list := c.all(e.Value)
	return func(m *Machine) value {
		base, ok := m.push(list)
		if !ok {
			return value{}
		}
		v := m.newList(m.stack[base:])
		m.stack = m.stack[:base]
		return v
	}
}

// member is a member of an object literal.
type member struct {
	name []byte
	e    expression
}

func (c *compiler) members(e *ast.ObjectLiteral) []member {
	var list []member
	for _, p := range e.Value {
		var one member
		switch p := p.(type) {
		case *ast.PropertyShort:
			name, _ := goString(p.Name.Name)
			one = member{[]byte(name), c.expression(&p.Name)}
			if p.Initializer != nil {
				c.refuse("an object literal is unusual")
			}
		case *ast.PropertyKeyed:
			name, ok := literalName(p.Key)
			if !ok || p.Computed || p.Kind != ast.PropertyKindValue {
				c.refuse("an object literal has computed names or accessors")
				continue
			}
			one = member{[]byte(name), c.expression(p.Value)}
		default:
			c.refuse("an object literal is unusual")
			continue
		}
		if string(one.name) == "__proto__" {
			c.refuse("an object literal names __proto__")
		}
		list = append(list, one)
	}
	return list
}

// literalName reads the name of a member in an object literal.
func literalName(e ast.Expression) (name string, ok bool) {
	switch e := e.(type) {
	case *ast.StringLiteral:
		return goString(e.Value)
	case *ast.NumberLiteral:
		n, ok := e.Value.(int64)
		return strconv.FormatInt(n, 10), ok && n >= 0 && n < 1<<53
	}
	return "", false
}

func (c *compiler) objectLiteral(e *ast.ObjectLiteral) expression {
	list := c.members(e)
	return func(m *Machine) value {
		out := m.composite()
		if out == nil || !m.spend(16) {
			return value{}
		}
		for _, one := range list {
			v := one.e(m)
			if v.stops() || !m.assignMember(out, one.name, v) {
				return value{}
			}
		}
		return value{k: object, o: out}
	}
}

// assignMember gives an object a member.
func (m *Machine) assignMember(c *composite, name []byte, v value) bool {
	if i := m.position(c, name); i >= 0 {
		c.items[i] = v
		return true
	}
	if m.err != nil {
		return false
	}
	names, ok := grown(m, c.names, 1)
	if !ok || !m.put(c, v) {
		return false
	}
	c.names = append(names, name)
	return true
}

func (c *compiler) template(e *ast.TemplateLiteral) expression {
	if e.Tag != nil || len(e.Elements) != len(e.Expressions)+1 {
		return c.refused("it has a template of a special kind")
	}
	var parts [][]byte
	for _, one := range e.Elements {
		s, ok := goString(one.Parsed)
		if !ok || !one.Valid {
			return c.refused("it has a template of a special kind")
		}
		parts = append(parts, []byte(s))
	}
	list := c.all(e.Expressions)
	return func(m *Machine) value {
		out := textOf(parts[0])
		for i, one := range list {
			v := one(m)
			if v.stops() {
				return v
			}
			if v = m.string(v); v.stops() {
				return v
			}
			if out = m.join(out.s, v.s); out.stops() {
				return out
			}
			if out = m.join(out.s, parts[i+1]); out.stops() {
				return out
			}
		}
		return out
	}
}

func (c *compiler) newExpression(e *ast.NewExpression) expression {
	name, ok := e.Callee.(*ast.Identifier)
	if !ok || name.Name != "Date" || c.resolve("Date") != nil || len(e.ArgumentList) == 0 {
		return c.refused("it makes an object that is not compiled")
	}
	if len(e.ArgumentList) > 1 {
		return c.callNative(dateOfParts, e.ArgumentList)
	}
	from := c.expression(e.ArgumentList[0])
	return func(m *Machine) value {
		v := from(m)
		if v.stops() {
			return v
		}
		return m.newDate(v)
	}
}
