package compiled

import (
	"github.com/dop251/goja/ast"
)

func (c *compiler) call(e *ast.CallExpression) expression {
	switch callee := e.Callee.(type) {
	case *ast.Identifier:
		name, _ := goString(callee.Name)
		if v := c.resolve(name); v != nil {
			return c.callWithin(v, e.ArgumentList)
		}
		if name == c.emits {
			return c.emit(e.ArgumentList)
		}
		if f := functions[name]; f != nil {
			return c.callNative(f, e.ArgumentList)
		}
		return c.refused("it calls the global %s", name)
	case *ast.DotExpression:
		return c.callMethod(callee, e.ArgumentList)
	}
	return c.refused("it calls something unusual")
}

// callWithin calls a function that the map function declares.
func (c *compiler) callWithin(v *variable, arguments []ast.Expression) expression {
	if v.function == nil {
		return c.refused("it calls a variable")
	}
	f := c.callable(v.function)
	there := c.initialized(v)
	list := c.all(arguments)
	return func(m *Machine) value {
		if !there(m) {
			return value{}
		}
		base, ok := m.push(list)
		if !ok {
			return value{}
		}
		v := f.call(m, m.stack[base:]...)
		m.stack = m.stack[:base]
		return v
	}
}

// initialized returns a test whether a variable that holds a function does so
// already; false is a failure.
func (c *compiler) initialized(v *variable) func(m *Machine) bool {
	if v.slot < 0 {
		return func(*Machine) bool { return true }
	}
	if v.function.scope == nil {
		c.refuse("it may call a function before it is there")
	}
	slot := v.slot
	return func(m *Machine) bool {
		switch m.vars[slot].k {
		case boolean:
			return true
		case unset:
			m.throw("ReferenceError", "Cannot access a function before initialization")
		default:
			m.throw("TypeError", "undefined is not a function")
		}
		return false
	}
}

func (c *compiler) callNative(f native, arguments []ast.Expression) expression {
	c.nodes += nativeNodes
	list := c.all(arguments)
	return func(m *Machine) value {
		base, ok := m.push(list)
		if !ok {
			return value{}
		}
		v := f(m, value{}, m.stack[base:])
		m.stack = m.stack[:base]
		return v
	}
}

// nativeNodes is how many nodes a call of the library costs as much as, besides what it
// is charged for what it is called with.
const nativeNodes = 6

func (c *compiler) callMethod(callee *ast.DotExpression, arguments []ast.Expression) expression {
	name, _ := goString(callee.Identifier.Name)
	if global, ok := callee.Left.(*ast.Identifier); ok {
		text, _ := goString(global.Name)
		if f := functions[text+"."+name]; f != nil && c.resolve(text) == nil {
			return c.callNative(f, arguments)
		}
	}
	if walk := walks[name]; walk != nil {
		return c.callWalk(walk, name, callee.Left, arguments)
	}
	if name == "reduce" {
		return c.callReduce(callee.Left, arguments)
	}
	known, ok := methods[name]
	if !ok {
		return c.refused("it calls the method %s", name)
	}
	if known[array] != nil && known[rawArray] == nil && c.isDoc(callee.Left) {
		return c.refused("it changes the document")
	}
	c.nodes += nativeNodes
	table := &known
	of, list := c.expression(callee.Left), c.all(arguments)
	if len(list) == 0 {
		return func(m *Machine) value {
			this := of(m)
			if this.k == date && table[date] != nil {
				return table[date](m, this, nil)
			}
			if this.stops() {
				return this
			}
			return m.call(this, name, table, nil)
		}
	}
	return func(m *Machine) value {
		this := of(m)
		if this.stops() {
			return this
		}
		base, ok := m.push(list)
		if !ok {
			return value{}
		}
		v := m.call(this, name, table, m.stack[base:])
		m.stack = m.stack[:base]
		return v
	}
}

// rowMemory is what a row takes, here and with those who asked for it, besides its text.
const rowMemory = 192

// emit compiles a call of emit.
func (c *compiler) emit(arguments []ast.Expression) expression {
	writers, most := make([]writer, 0, 4), 2
	if c.emits != "emit" {
		most = 4
	}
	for i, e := range arguments {
		if i >= most {
			return c.refused("it emits more than a key and a value")
		}
		writers = append(writers, c.writer(e))
	}
	return func(m *Machine) value {
		if m.writing {
			return m.interpret() // an emit within the arguments of another
		}
		var ends [4]int // from the row's beginning
		m.row, m.writing = len(m.out), true
		for i := range most {
			if i >= len(writers) {
				m.out = append(m.out, "null"...)
			} else if !writers[i](m) {
				return value{}
			}
			ends[i] = len(m.out) - m.row
		}
		m.writing = false
		if !m.spend(32) || !m.hold(rowMemory) {
			return value{}
		}
		if m.wrote() > outputLimit {
			return m.interpret()
		}
		written := m.out[m.row:]
		row := Row{Key: written[:ends[0]:ends[0]], Value: written[ends[0]:ends[1]:ends[1]]}
		if most == 4 {
			row.More, row.Rest = written[ends[1]:ends[2]:ends[2]], written[ends[2]:ends[3]:ends[3]]
		}
		if len(m.rows) == cap(m.rows) { // append adds a quarter to a long list, and so allocates five times what there is
			m.rows = append(make([]Row, 0, max(8, 2*cap(m.rows))), m.rows...)
		}
		m.rows = append(m.rows, row)
		return value{k: undefined}
	}
}

// writer evaluates an expression and writes its value at once.
type writer func(m *Machine) bool

// writer compiles an argument of emit. Arrays and objects that are literals are
// written without being made.
func (c *compiler) writer(e ast.Expression) writer {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		return c.arrayWriter(e)
	case *ast.ObjectLiteral:
		if w := c.objectWriter(e); w != nil {
			return w
		}
	}
	do := c.expression(e)
	return func(m *Machine) bool { return m.write(do(m), 0) }
}

func (c *compiler) arrayWriter(e *ast.ArrayLiteral) writer {
	var list []writer
	for _, one := range e.Value {
		if one == nil {
			c.refuse("an array has holes")
			continue
		}
		list = append(list, c.writer(one))
	}
	return func(m *Machine) bool {
		if !m.writable(0, 0) {
			return false
		}
		m.out = append(m.out, '[')
		for i, one := range list {
			if i > 0 {
				m.out = append(m.out, ',')
			}
			if !one(m) {
				return false
			}
		}
		m.out = append(m.out, ']')
		return true
	}
}

// objectWriter returns nil for a literal that must be put in order first.
func (c *compiler) objectWriter(e *ast.ObjectLiteral) writer {
	list := c.members(e)
	for i, one := range list {
		if indexOf(one.name) >= 0 {
			return nil
		}
		for _, other := range list[:i] {
			if string(other.name) == string(one.name) {
				return nil
			}
		}
	}
	return func(m *Machine) bool {
		if !m.writable(0, 0) {
			return false
		}
		m.out = append(m.out, '{')
		first := true
		for _, one := range list {
			v := one.e(m)
			if v.stops() {
				return false
			}
			if v.k == undefined {
				continue
			}
			if !first {
				m.out = append(m.out, ',')
			}
			first = false
			if !m.writeText(one.name) {
				return false
			}
			m.out = append(m.out, ':')
			if !m.write(v, 1) {
				return false
			}
		}
		m.out = append(m.out, '}')
		return true
	}
}
