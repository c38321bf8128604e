package compiled

import (
	"github.com/dop251/goja/ast"

	"github.com/sectional/sectional/internal/script/syntax"
)

func (c *compiler) forStatement(s *ast.ForStatement) statement {
	c.push()
	defer c.pop()
	var first statement
	switch i := s.Initializer.(type) {
	case nil:
	case *ast.ForLoopInitializerExpression:
		first = c.evaluate(i.Expression)
	case *ast.ForLoopInitializerVarDeclList:
		first = c.bindings(i.List, false)
	case *ast.ForLoopInitializerLexicalDecl:
		slots := c.declareBindings(&i.LexicalDeclaration)
		set := c.bindings(i.LexicalDeclaration.List, true)
		first = func(m *Machine) completion {
			for _, slot := range slots {
				m.vars[slot] = value{k: unset}
			}
			return set(m)
		}
	}
	var test, update expression
	before := c.nodes
	if s.Test != nil {
		test = c.expression(s.Test)
	}
	if s.Update != nil {
		update = c.expression(s.Update)
	}
	loop := c.loop(test, update, c.nested(s.Body), before)
	if first == nil {
		return loop
	}
	return func(m *Machine) completion {
		if first(m) == fails {
			return fails
		}
		return loop(m)
	}
}

// loop compiles a loop; test and update may be nil. Before them so many nodes had been
// compiled.
func (c *compiler) loop(test, update expression, body statement, before int) statement {
	round := c.costSince(before)
	return func(m *Machine) completion {
		for m.spend(round) {
			if test != nil {
				v := test(m)
				if v.stops() {
					return fails
				}
				if !v.truthy() {
					return normal
				}
			}
			switch end := body(m); end {
			case breaks:
				return normal
			case returns, fails:
				return end
			}
			if update != nil && update(m).stops() {
				return fails
			}
		}
		return fails
	}
}

// target returns the variable that a for-of or for-in loop sets.
func (c *compiler) target(into ast.ForInto) (slot int, ok bool) {
	var name *ast.Identifier
	switch into := into.(type) {
	case *ast.ForIntoVar:
		if into.Binding.Initializer == nil {
			name, _ = into.Binding.Target.(*ast.Identifier)
		}
	case *ast.ForDeclaration:
		if name, ok = into.Target.(*ast.Identifier); ok {
			v := c.newVariable()
			v.constant = into.IsConst
			text, _ := goString(name.Name)
			c.declare(text, v)
			return v.slot, true
		}
	case *ast.ForIntoExpression:
		name, _ = into.Expression.(*ast.Identifier)
	}
	if name == nil {
		c.refuse("a loop sets something unusual")
		return 0, false
	}
	text, _ := goString(name.Name)
	v := c.resolve(text)
	if v == nil || v.slot < 0 || v.constant || v.function != nil || v == c.doc {
		c.refuse("a loop sets %s", text)
		return 0, false
	}
	return v.slot, true
}

func (c *compiler) forOf(s *ast.ForOfStatement) statement {
	return c.forElements(s.Source, s.Into, s.Body, func(m *Machine, v value) (list value, end completion) {
		switch v.k {
		case rawArray, array:
			return v, normal
		case text:
			m.interpret()
		default:
			m.throw("TypeError", "object is not iterable")
		}
		return value{}, fails
	})
}

func (c *compiler) forIn(s *ast.ForInStatement) statement {
	return c.forElements(s.Source, s.Into, s.Body, func(m *Machine, v value) (list value, end completion) {
		switch v.k {
		case undefined, null, boolean, number:
			return value{}, normal
		}
		names := m.keysOf(v)
		if v.o != nil && !names.stops() {
			v.o.fixed = true
		}
		return names, fails
	})
}

// forElements compiles a loop over what elements makes of the source's value: a list, or how the loop ends without one.
func (c *compiler) forElements(source ast.Expression, into ast.ForInto, inner ast.Statement, elements func(m *Machine, v value) (list value, end completion)) statement {
	of := c.expression(source)
	if _, ok := into.(*ast.ForDeclaration); ok && mentions(source, into) {
		return c.stuck("a loop names its variable too early")
	}
	c.push()
	defer c.pop()
	slot, _ := c.target(into)
	before := c.nodes
	body := c.nested(inner)
	round := c.costSince(before)
	return func(m *Machine) completion {
		v := of(m)
		if v.stops() {
			return fails
		}
		list, end := elements(m, v)
		if list.stops() {
			return end
		}
		return m.overElements(list, slot, body, round)
	}
}

func (m *Machine) overElements(v value, slot int, body statement, round int) completion {
	for i := 0; ; i++ {
		n, ok := m.length(v)
		if !ok || !m.spend(round) {
			return fails
		}
		if i >= n {
			return normal
		}
		if m.vars[slot] = m.element(v, i); m.vars[slot].stops() {
			return fails
		}
		switch end := body(m); end {
		case breaks:
			return normal
		case returns, fails:
			return end
		}
	}
}

// keysOf lists what for-in walks over.
func (m *Machine) keysOf(v value) value {
	if v.isArray() {
		n, ok := m.length(v)
		out := m.newList(nil)
		if !ok || out.stops() || !m.spend(16*n) || !m.reserve(out.o, n) {
			return value{}
		}
		for i := range n {
			name := m.string(numberOf(float64(i)))
			if name.stops() {
				return name
			}
			out.o.items = append(out.o.items, name)
		}
		return out
	}
	out := m.newList(nil)
	if v.k != rawObject && v.k != object {
		return m.interpret()
	}
	if out.stops() || !m.appendNames(out.o, v) {
		return value{}
	}
	return out
}

// mentions reports whether the source of a loop may name the loop's variable,
// which can't be read there yet. It only looks for a bare name.
func mentions(source ast.Expression, into ast.ForInto) bool {
	target, ok := into.(*ast.ForDeclaration).Target.(*ast.Identifier)
	if !ok {
		return true
	}
	var other func(node any) (done, ok bool)
	other = func(node any) (done, ok bool) {
		switch n := node.(type) {
		case *ast.Identifier:
			return true, n.Name != target.Name
		case *ast.DotExpression:
			return true, syntax.Every(n.Left, other)
		}
		return false, true
	}
	return !syntax.Every(source, other)
}
