package compiled

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// block compiles the statements of a block whose scope is the present one.
func (c *compiler) block(list []ast.Statement) statement {
	lexical := c.declareLexical(list)
	var steps []statement
	for _, s := range list {
		if step := c.statement(s); step != nil {
			steps = append(steps, step)
		}
	}
	if len(steps) == 1 && len(lexical) == 0 {
		return steps[0]
	}
	return func(m *Machine) completion {
		for _, slot := range lexical {
			m.vars[slot] = value{k: unset}
		}
		for _, step := range steps {
			if end := step(m); end != normal {
				return end
			}
		}
		return normal
	}
}

// declareLexical declares the let and const variables of a block.
func (c *compiler) declareLexical(list []ast.Statement) (slots []int) {
	for _, s := range list {
		if d, ok := s.(*ast.LexicalDeclaration); ok {
			slots = append(slots, c.declareBindings(d)...)
		}
	}
	return slots
}

func (c *compiler) declareBindings(d *ast.LexicalDeclaration) (slots []int) {
	for _, b := range d.List {
		name, ok := b.Target.(*ast.Identifier)
		if !ok {
			c.refuse("it takes values apart")
			continue
		}
		text, _ := goString(name.Name)
		if c.scope.names[text] != nil {
			c.refuse("%s is declared twice", text)
		}
		v := c.newVariable()
		v.constant = d.Token == token.CONST
		v.function, _ = c.shapeOf(b.Initializer)
		c.declare(text, v)
		slots = append(slots, v.slot)
	}
	return slots
}

// nested compiles a statement that opens a scope of its own.
func (c *compiler) nested(s ast.Statement) statement {
	c.push()
	defer c.pop()
	if b, ok := s.(*ast.BlockStatement); ok {
		return c.block(b.List)
	}
	if step := c.statement(s); step != nil {
		return step
	}
	return func(*Machine) completion { return normal }
}

// statement compiles s; nil when there is nothing to do.
func (c *compiler) statement(s ast.Statement) statement {
	c.nodes++
	switch s := s.(type) {
	case *ast.ExpressionStatement:
		return c.evaluate(s.Expression)
	case *ast.BlockStatement:
		return c.nested(s)
	case *ast.EmptyStatement:
		return nil
	case *ast.IfStatement:
		return c.ifStatement(s)
	case *ast.VariableStatement:
		return c.bindings(s.List, false)
	case *ast.LexicalDeclaration:
		return c.bindings(s.List, true)
	case *ast.ReturnStatement:
		return c.returnStatement(s)
	case *ast.ForStatement:
		return c.forStatement(s)
	case *ast.WhileStatement:
		before := c.nodes
		return c.loop(c.expression(s.Test), nil, c.nested(s.Body), before)
	case *ast.ForOfStatement:
		return c.forOf(s)
	case *ast.ForInStatement:
		return c.forIn(s)
	case *ast.SwitchStatement:
		return c.switchStatement(s)
	case *ast.BranchStatement:
		return c.branch(s)
	case *ast.FunctionDeclaration:
		name, _ := goString(s.Function.Name.Name)
		if v := c.scope.names[name]; v == nil || v.function == nil || v.function.node != ast.Node(s.Function) {
			return c.stuck("it declares a function within a block")
		}
		return nil
	}
	return c.stuck("it has a statement that is not compiled (%T)", s)
}

func (c *compiler) evaluate(e ast.Expression) statement {
	do := c.expression(e)
	return func(m *Machine) completion {
		if do(m).stops() {
			return fails
		}
		return normal
	}
}

func (c *compiler) ifStatement(s *ast.IfStatement) statement {
	test := c.condition(s.Test)
	then := c.nested(s.Consequent)
	if s.Alternate == nil {
		return func(m *Machine) completion {
			yes, ok := test(m)
			if !ok {
				return fails
			}
			if yes {
				return then(m)
			}
			return normal
		}
	}
	otherwise := c.nested(s.Alternate)
	return func(m *Machine) completion {
		yes, ok := test(m)
		if !ok {
			return fails
		}
		if yes {
			return then(m)
		}
		return otherwise(m)
	}
}

// bindings compiles the declarations of a statement. A let variable without a
// value becomes undefined there, a var variable stays as it is.
func (c *compiler) bindings(list []*ast.Binding, lexical bool) statement {
	var steps []statement
	for _, b := range list {
		name, ok := b.Target.(*ast.Identifier)
		if !ok {
			return c.stuck("it takes values apart")
		}
		text, _ := goString(name.Name)
		v := c.resolve(text)
		if v == nil || v.slot < 0 {
			return c.stuck("it declares %s again", text)
		}
		if b.Initializer == nil && !lexical {
			continue
		}
		steps = append(steps, c.initialize(v, b.Initializer))
	}
	if len(steps) == 1 {
		return steps[0]
	}
	return func(m *Machine) completion {
		for _, step := range steps {
			if end := step(m); end != normal {
				return end
			}
		}
		return normal
	}
}

func (c *compiler) initialize(v *variable, initializer ast.Expression) statement {
	if v == c.doc {
		c.docAssigned = true
	}
	slot := v.slot
	if v.function != nil {
		if v.function.node != ast.Node(initializer) {
			return c.stuck("a variable holds a function and something else")
		}
		v.function.scope = c.scope
		return func(m *Machine) completion {
			m.vars[slot] = truth(true)
			return normal
		}
	}
	if initializer == nil {
		return func(m *Machine) completion {
			m.vars[slot] = value{k: undefined}
			return normal
		}
	}
	e := c.expression(initializer)
	return func(m *Machine) completion {
		x := e(m)
		if x.stops() {
			return fails
		}
		m.vars[slot] = x
		return normal
	}
}

func (c *compiler) returnStatement(s *ast.ReturnStatement) statement {
	if s.Argument == nil {
		return func(m *Machine) completion {
			m.returns = value{k: undefined}
			return returns
		}
	}
	e := c.expression(s.Argument)
	return func(m *Machine) completion {
		if m.returns = e(m); m.returns.stops() {
			return fails
		}
		return returns
	}
}

func (c *compiler) branch(s *ast.BranchStatement) statement {
	if s.Label != nil {
		return c.stuck("it has labels")
	}
	end := breaks
	if s.Token == token.CONTINUE {
		end = continues
	}
	return func(*Machine) completion { return end }
}

func (c *compiler) switchStatement(s *ast.SwitchStatement) statement {
	subject := c.expression(s.Discriminant)
	c.push()
	defer c.pop()
	tests := make([]expression, len(s.Body))
	bodies := make([]statement, len(s.Body))
	for i, one := range s.Body {
		for _, inner := range one.Consequent {
			if _, ok := inner.(*ast.LexicalDeclaration); ok {
				return c.stuck("a switch declares variables")
			}
		}
		if one.Test != nil {
			tests[i] = c.expression(one.Test)
		}
		bodies[i] = c.block(one.Consequent)
	}
	fallback := s.Default
	return func(m *Machine) completion {
		v := subject(m)
		at, ok := m.matching(v, tests)
		if !ok {
			return fails
		}
		if at < 0 {
			at = fallback
		}
		for ; at >= 0 && at < len(bodies); at++ {
			switch end := bodies[at](m); end {
			case normal:
			case breaks:
				return normal
			default:
				return end
			}
		}
		return normal
	}
}

// matching returns the index of the first test that equals v, -1 for none.
func (m *Machine) matching(v value, tests []expression) (at int, ok bool) {
	if v.stops() {
		return 0, false
	}
	for i, test := range tests {
		if test == nil {
			continue
		}
		x := test(m)
		equal, ok := m.identical(v, x)
		if !ok {
			return 0, false
		}
		if equal {
			return i, true
		}
	}
	return -1, true
}
