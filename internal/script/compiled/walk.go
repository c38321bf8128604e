package compiled

import "github.com/dop251/goja/ast"

// walk is a method of arrays that calls a function for the elements: with what
// the function gave for one it reports whether to go on, and in the end its own
// result. It ends, too, when the budget is spent.
type walk struct {
	initial value
	step    func(m *Machine, out *value, element, result value) (more bool)
	list    bool // the result is a new array
}

var walks = map[string]*walk{
	"forEach": {initial: value{k: undefined}, step: func(*Machine, *value, value, value) bool { return true }},
	"map":     {list: true, step: func(m *Machine, out *value, _, result value) bool { return m.put(out.o, result) }},
	"filter": {list: true, step: func(m *Machine, out *value, element, result value) bool {
		return !result.truthy() || m.put(out.o, element)
	}},
	"some": {initial: truth(false), step: func(_ *Machine, out *value, _, result value) bool {
		*out = truth(result.truthy())
		return !result.truthy()
	}},
}

// callback compiles a function that a method calls: one written there, or the
// name of one. The second result says at run time whether it is there.
func (c *compiler) callback(e ast.Expression) (f *callable, there func(m *Machine) bool) {
	if shape, ok := c.shapeOf(e); ok {
		return c.callable(shape), func(*Machine) bool { return true }
	}
	if name, ok := e.(*ast.Identifier); ok {
		text, _ := goString(name.Name)
		if v := c.resolve(text); v != nil && v.function != nil {
			return c.callable(v.function), c.initialized(v)
		}
	}
	c.refuse("it calls a method with a function from elsewhere")
	return &callable{}, nil
}

func (c *compiler) callWalk(w *walk, name string, of ast.Expression, arguments []ast.Expression) expression {
	if len(arguments) != 1 {
		return c.refused("it calls %s in an unusual way", name)
	}
	list := c.expression(of)
	f, there := c.callback(arguments[0])
	return func(m *Machine) value {
		this := m.walkable(list(m), name)
		if this.stops() || !there(m) {
			return value{}
		}
		return m.walk(w, this, f)
	}
}

// walkable makes sure that v is an array, which may not change any more.
func (m *Machine) walkable(v value, name string) value {
	switch {
	case v.stops():
		return v
	case v.nullish():
		return m.noProperties(v, name)
	case !v.isArray():
		return m.notCallable(name)
	}
	if v.o != nil {
		v.o.fixed = true
	}
	return v
}

func (m *Machine) walk(w *walk, this value, f *callable) value {
	out := w.initial
	if w.list {
		if out = m.newList(nil); out.stops() {
			return out
		}
	}
	n, ok := m.length(this)
	if !ok {
		return value{}
	}
	for i := range n {
		element := m.element(this, i)
		if element.stops() {
			return element
		}
		result := f.call(m, element, numberOf(float64(i)), this)
		if result.stops() {
			return result
		}
		if !w.step(m, &out, element, result) {
			break
		}
	}
	if m.err != nil {
		return value{}
	}
	return out
}

// callReduce compiles reduce with an initial value.
func (c *compiler) callReduce(of ast.Expression, arguments []ast.Expression) expression {
	if len(arguments) != 2 {
		return c.refused("it calls reduce in an unusual way")
	}
	list, initial := c.expression(of), c.expression(arguments[1])
	f, there := c.callback(arguments[0])
	return func(m *Machine) value {
		this := m.walkable(list(m), "reduce")
		if this.stops() || !there(m) {
			return value{}
		}
		out := initial(m)
		n, ok := m.length(this)
		for i := 0; ok && i < n && !out.stops(); i++ {
			element := m.element(this, i)
			if element.stops() {
				return element
			}
			out = f.call(m, out, element, numberOf(float64(i)), this)
		}
		if !ok {
			return value{}
		}
		return out
	}
}
