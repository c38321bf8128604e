package compiled

import (
	"github.com/dop251/goja/ast"
)

// variable is a variable of the source. All live in one frame, each in its own
// slot: no function can be running twice at a time.
type variable struct {
	slot     int // -1: it can't be read
	constant bool
	function *functionShape // it only ever holds this; its slot then says whether it does yet
}

// scope is a block or a function's own scope.
type scope struct {
	outer *scope
	names map[string]*variable
}

func (c *compiler) push() { c.scope = &scope{c.scope, map[string]*variable{}} }

func (c *compiler) pop() { c.scope = c.scope.outer }

func (c *compiler) newVariable() *variable {
	v := &variable{slot: c.out.slots}
	c.out.slots++
	return v
}

func (c *compiler) declare(name string, v *variable) {
	if name == "arguments" || name == "eval" || name == c.emits {
		c.refuse("it has a name of its own for %s", name)
	}
	c.scope.names[name] = v
}

// resolve finds a variable; nil stands for a global name.
func (c *compiler) resolve(name string) *variable {
	for s := c.scope; s != nil; s = s.outer {
		if v := s.names[name]; v != nil {
			return v
		}
	}
	return nil
}

// functionShape is a function of the source.
type functionShape struct {
	node       ast.Node
	name       string
	arrow      bool
	parameters []string
	body       []ast.Statement
	result     ast.Expression // of an arrow function without a body
	hoisted    []*ast.VariableDeclaration

	declared bool   // by a function declaration
	scope    *scope // where it is, once that is known
	busy     bool   // being compiled
	ready    *callable
}

// callable is a compiled function within the map function.
type callable struct {
	parameters []int // slots
	body       statement
	cost       int // of one call
}

// shapeOf reads a function expression.
func (c *compiler) shapeOf(e ast.Expression) (*functionShape, bool) {
	f := &functionShape{node: e}
	var list *ast.ParameterList
	switch e := e.(type) {
	case *ast.FunctionLiteral:
		if e.Async || e.Generator {
			return nil, false
		}
		if e.Name != nil {
			f.name, _ = goString(e.Name.Name)
		}
		list, f.body, f.hoisted = e.ParameterList, e.Body.List, e.DeclarationList
	case *ast.ArrowFunctionLiteral:
		if e.Async {
			return nil, false
		}
		f.arrow, list, f.hoisted = true, e.ParameterList, e.DeclarationList
		switch body := e.Body.(type) {
		case *ast.BlockStatement:
			f.body = body.List
		case *ast.ExpressionBody:
			f.result = body.Expression
		}
	default:
		return nil, false
	}
	if list.Rest != nil {
		return nil, false
	}
	for _, b := range list.List {
		name, ok := b.Target.(*ast.Identifier)
		if !ok || b.Initializer != nil {
			return nil, false
		}
		text, _ := goString(name.Name)
		for _, other := range f.parameters {
			if other == text {
				return nil, false
			}
		}
		f.parameters = append(f.parameters, text)
	}
	return f, true
}

// functionBody compiles a function's body, whose parameters the scope holds
// already, and returns a statement that ends normally.
func (c *compiler) functionBody(f *functionShape) statement {
	locals := c.hoist(f)
	if f.result != nil {
		e := c.expression(f.result)
		return func(m *Machine) completion {
			if m.returns = e(m); m.returns.stops() {
				return fails
			}
			return normal
		}
	}
	c.declareFunctions(f.body)
	body := c.block(f.body)
	return func(m *Machine) completion {
		for _, slot := range locals {
			m.vars[slot] = value{k: undefined}
		}
		switch body(m) {
		case fails:
			return fails
		case normal:
			m.returns = value{k: undefined}
		}
		return normal
	}
}

// hoist declares the function's var variables.
func (c *compiler) hoist(f *functionShape) (slots []int) {
	for _, d := range f.hoisted {
		for _, b := range d.List {
			name, ok := b.Target.(*ast.Identifier)
			if !ok {
				c.refuse("it takes values apart")
				continue
			}
			text, _ := goString(name.Name)
			if have := c.scope.names[text]; have != nil { // a parameter, or declared twice
				if _, is := c.shapeOf(b.Initializer); is || have.function != nil {
					c.refuse("%s is declared twice", text)
				}
				continue
			}
			v := c.newVariable()
			v.function, _ = c.shapeOf(b.Initializer)
			c.declare(text, v)
			slots = append(slots, v.slot)
		}
	}
	return slots
}

// declareFunctions declares the functions that are directly in a body.
func (c *compiler) declareFunctions(body []ast.Statement) {
	for _, s := range body {
		d, ok := s.(*ast.FunctionDeclaration)
		if !ok {
			continue
		}
		shape, ok := c.shapeOf(d.Function)
		if !ok || c.scope.names[shape.name] != nil {
			c.refuse("it declares a function in an unusual way")
			continue
		}
		shape.scope, shape.declared = c.scope, true
		c.declare(shape.name, &variable{slot: -1, constant: true, function: shape})
	}
}

// callable compiles a function within, once.
func (c *compiler) callable(f *functionShape) *callable {
	if f.ready != nil {
		return f.ready
	}
	if f.busy || len(c.within) > 20 {
		c.refuse("a function calls itself")
		return &callable{}
	}
	f.busy = true
	outer := c.scope
	if f.scope != nil {
		c.scope = f.scope
	}
	c.push()
	if f.name != "" && !f.declared {
		c.declare(f.name, &variable{slot: -1, constant: true})
		c.push()
	}
	c.within = append(c.within, f)
	ready := &callable{}
	for _, name := range f.parameters {
		v := c.newVariable()
		c.declare(name, v)
		ready.parameters = append(ready.parameters, v.slot)
	}
	before := c.nodes
	ready.body = c.functionBody(f)
	ready.cost = 8 + c.costSince(before)
	c.within = c.within[:len(c.within)-1]
	c.scope = outer
	f.busy = false
	f.ready = ready
	return ready
}

// call runs a function within with arguments; those missing are undefined.
func (f *callable) call(m *Machine, arguments ...value) value {
	if !m.spend(f.cost) {
		return value{}
	}
	for i, slot := range f.parameters {
		m.vars[slot] = argument(arguments, i)
	}
	if f.body(m) == fails {
		return value{}
	}
	return m.returns
}
