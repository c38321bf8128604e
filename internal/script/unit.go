package script

import (
	"errors"
	"strings"

	"github.com/dop251/goja"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/packed"
)

// unit does one unit of a task. It reports whether the deadline came first.
func (r *realm) unit(t task, u int) (o outcome, interrupted bool) {
	once := t.op == opCheck // what is checked may be anybody's, so each gets a world of its own
	if r.rt == nil || once || r.leftover && !r.restore() {
		if err := r.build(once); err != nil {
			return r.broken(err)
		}
		r.child.restart() // the world is not the unit's doing
	}
	r.render.renew()
	r.random, r.rows, r.seed = 0, r.rows[:0], t.inputs[u/t.width]
	f, err := r.prepare(t, u)
	if err != nil {
		return r.broken(err)
	}
	if f.failure != nil || t.op == opCheck {
		return outcome{failure: f.failure}, false
	}
	failed, err := r.guard(func() { o.data = doings[t.op](r, f.call, t, u) }, func(v goja.Value) *failure {
		switch t.op {
		case opShow, opUpdate, opList, opRewrite:
			return r.rendering(v)
		case opValidate:
			return r.refusing(v)
		}
		return r.named(v)
	})
	if err != nil {
		return r.broken(err)
	}
	if failed != nil && t.op == opShow && failed.limit == limitNone && failed.code != processError && showsNothing(t.inputs[u]) {
		failed = &failure{code: "not_found", reason: []byte(`"document not found"`)}
	}
	o.failure = failed
	return o, false
}

// broken reports an error beyond the code's own: the deadline, or a fault of the interpreter, after which the realm is built anew.
func (r *realm) broken(err error) (o outcome, interrupted bool) {
	if errors.Is(err, errInterrupted) || uncatchable(err) {
		return o, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rt, r.mu.rt = nil, nil
	return outcome{failure: &failure{code: "unnamed_error", reason: []byte(quoted(err.Error()))}}, false
}

// prepare finds and compiles the function of a unit.
func (r *realm) prepare(t task, u int) (*callee, error) {
	switch {
	case t.op == opCheck:
		return r.compile(string(t.inputs[u]), t.function[u])
	case r.flavour == flavourDesign:
		way := strings.Join(t.function, ".")
		if f := r.calls[way]; f.compiled() {
			return f, nil
		}
		value, ok := member(r.document, t.function...)
		source, isText := plain(value)
		if !ok || !isText {
			return &callee{failure: &failure{code: "compilation_error", reason: []byte(quoted("Expression does not eval to a function. (" + string(value) + ")"))}}, nil
		}
		return r.compile(source, way)
	}
	i := t.index
	if t.op == opMap {
		i = u % t.width
	}
	if i >= len(r.functions) {
		return nil, errFrame
	}
	return r.compile(r.functions[i], functionName(i))
}

// functionName returns the name of a function by its place, for messages.
func functionName(i int) string {
	return "function " + string(rune('A'+i%26)) + strings.Repeat("'", i/26)
}

// showsNothing reports whether the path of a show names a document that is not there: then whatever the function throws is
// because of that.
func showsNothing(input []byte) bool {
	c := packed.Read(input)
	document, req := c.Bytes(), c.Bytes()
	id, ok := jsonscan.Member(req, "id")
	return string(document) == "null" && ok && jsonscan.KindOf(id) == jsonscan.String
}

// doings are what each kind of task does with a unit. They may throw.
var doings = map[op]func(r *realm, f goja.Callable, t task, u int) []byte{
	opMap: func(r *realm, f goja.Callable, t task, u int) []byte {
		r.must(f(goja.Undefined(), r.read(t, u)))
		return r.emitted()
	},
	opViewFilter: func(r *realm, f goja.Callable, t task, u int) []byte {
		r.must(f(goja.Undefined(), r.read(t, u)))
		return verdict(len(r.rows) > 0)
	},
	opReduce: func(r *realm, f goja.Callable, t task, u int) []byte {
		c := packed.Read(t.inputs[u])
		keys, values := c.Bytes(), c.Bytes()
		return r.json(r.must(f(goja.Undefined(), r.parse(keys, thawed), r.parse(values, thawed), r.no)))
	},
	opRereduce: func(r *realm, f goja.Callable, t task, u int) []byte {
		return r.json(r.must(f(goja.Undefined(), goja.Null(), r.parse(t.inputs[u], thawed), r.yes)))
	},
	opFilter: func(r *realm, f goja.Callable, t task, u int) []byte {
		return verdict(r.must(f(r.design, r.parse(t.inputs[u], thawed), r.parse(t.shared[0], thawed))).ToBoolean())
	},
	opValidate: func(r *realm, f goja.Callable, t task, u int) []byte {
		r.must(f(r.design, r.values(t.inputs[u])...))
		return nil
	},
	opShow: func(r *realm, f goja.Callable, t task, u int) []byte {
		v := r.values(t.inputs[u])
		return r.render.show(f, v[0], v[1])
	},
	opUpdate: func(r *realm, f goja.Callable, t task, u int) []byte {
		v := r.values(t.inputs[u])
		return r.render.update(f, v[0], v[1])
	},
	opList: func(r *realm, f goja.Callable, t task, u int) []byte {
		v := r.values(t.inputs[u])
		return r.render.tabulate(f, v[0], v[1])
	},
	opRewrite: func(r *realm, f goja.Callable, t task, u int) []byte {
		return r.json(r.must(f(r.design, r.values(t.inputs[u])...)))
	},
}

// read returns the document of a unit. The functions of a realm get the same one: none can change it.
func (r *realm) read(t task, u int) goja.Value {
	if u%t.width == 0 || u == t.first || r.doc == nil {
		r.doc = nil
		document := t.inputs[u/t.width]
		if r.only != nil {
			r.doc = r.must(r.decodeOnly(document, r.only))
		} else {
			r.doc = r.parse(document, frozen)
		}
	}
	return r.doc
}

// verdict is the outcome of a filter: something or nothing.
func verdict(pass bool) []byte {
	if pass {
		return []byte{1}
	}
	return nil
}

// values reads the arguments of a call.
func (r *realm) values(input []byte) (values []goja.Value) {
	c := packed.Read(input)
	for len(c.Rest()) > 0 {
		values = append(values, r.parse(c.Bytes(), thawed))
	}
	return values
}

// emitted returns the rows of a map function. They are written when the function has ended: what it changes in a value after
// emitting it is in the row, as in CouchDB.
func (r *realm) emitted() []byte {
	var f packed.Writer
	f.Uint(uint64(len(r.rows)))
	for _, row := range r.rows {
		f.Bytes(r.json(row.key))
		if o, ok := row.value.(*goja.Object); ok && o.ClassName() == "Error" {
			f.Bytes([]byte(`{"error":` + quoted(text(o.Get("name"))) + `,"message":` + quoted(text(o.Get("message"))) + `}`))
		} else {
			f.Bytes(r.json(row.value))
		}
		f.Flag(r.emits != "")
		if r.emits != "" {
			f.Bytes(r.json(row.more))
			f.Bytes(r.json(row.rest))
		}
	}
	return f
}
