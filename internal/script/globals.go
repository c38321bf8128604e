package script

import (
	"cmp"
	_ "embed" // modules.js

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/sectional/sectional/internal/jsonscan"
)

// modules is the CommonJS part of a realm, in JavaScript.
//
//go:embed modules.js
var modules string

const summing = `(function (list) { let total = 0; for (const i in list) total += list[i]; return total })`

// globals puts CouchDB's names in the realm.
func (r *realm) globals(stringify goja.Value) error {
	set := func(name string, f func(goja.FunctionCall) goja.Value) error { return r.rt.Set(name, f) }
	sum, err := r.rt.RunString(summing)
	if err != nil {
		return err
	}
	for name, v := range map[string]goja.Value{"sum": sum, "toJSON": stringify} {
		if err := r.rt.Set(name, v); err != nil {
			return err
		}
	}
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		r.emitter():    r.emit,
		"log":          r.log,
		"isArray":      r.isArray,
		"provides":     r.render.provides,
		"registerType": r.render.registerType,
		"start":        r.render.start,
		"send":         r.render.send,
		"getRow":       r.render.getRow,
	} {
		if err := set(name, f); err != nil {
			return err
		}
	}
	v, err := r.rt.RunString("(function () { return eval(arguments[0]) })")
	if err != nil {
		return err
	}
	r.builtins.evaluate, _ = goja.AssertFunction(v)
	if r.builtins.restore = nil; r.flavour == flavourReduce {
		return nil
	}
	return r.requirer()
}

func (r *realm) emit(call goja.FunctionCall) goja.Value {
	r.rows = append(r.rows, emitted{call.Argument(0), call.Argument(1), call.Argument(2), call.Argument(3)})
	return goja.Undefined()
}

// emitter is the name of the function that emits.
func (r *realm) emitter() string { return cmp.Or(r.emits, "emit") }

func (r *realm) log(call goja.FunctionCall) goja.Value {
	line := call.Argument(0)
	if goja.IsString(line) {
		r.child.log(line.String())
	} else {
		r.child.log(string(r.json(line)))
	}
	return goja.Undefined()
}

func (r *realm) isArray(call goja.FunctionCall) goja.Value {
	o, ok := call.Argument(0).(*goja.Object)
	return r.rt.ToValue(ok && o.ClassName() == "Array")
}

// requirer puts require in the realm. Map functions see the modules below views.lib, others all of the design document.
func (r *realm) requirer() error {
	setup, err := r.rt.RunScript("modules", modules)
	if err != nil {
		return err
	}
	begin, _ := goja.AssertFunction(setup)
	document := r.document
	if r.flavour == flavourMap {
		document = library(document)
	}
	root, err := r.decode(document, frozen) // it is there for many documents
	if err != nil {
		return err
	}
	if r.flavour == flavourDesign {
		r.design = root
	}
	evaluate := func(call goja.FunctionCall) goja.Value {
		return r.must(r.module(call.Argument(1).String(), call.Argument(0).String()))
	}
	tell := func(call goja.FunctionCall) goja.Value { return r.rt.ToValue(r.source(call.Argument(0))) }
	made, err := begin(goja.Undefined(), root, r.rt.ToValue(evaluate), r.rt.ToValue(tell))
	if err != nil {
		return err
	}
	both := made.(*goja.Object)
	r.builtins.restore, _ = goja.AssertFunction(both.Get("forget"))
	return r.rt.Set("require", both.Get("require"))
}

// module returns the function of a module's code. It is compiled once for all realms of this code: units run it anew.
func (r *realm) module(id, source string) (goja.Value, error) {
	program := r.modules[id]
	if program == nil {
		// The line end is there for modules that end with a comment.
		text := "(function (module, exports, require) { " + source + "\n})"
		tree, err := goja.Parse(id, text, parser.WithDisableSourceMaps)
		if err == nil {
			program, err = goja.CompileAST(tree, false)
		}
		if err != nil {
			return r.rt.RunScript(id, text) // which throws it
		}
		r.modules[id] = program
	}
	return r.rt.RunProgram(program)
}

// library returns the part of a design document that its map functions may require.
func library(document []byte) []byte {
	lib, ok := member(document, "views", "lib")
	if !ok {
		return []byte(`{}`)
	}
	return []byte(`{"views":{"lib":` + string(lib) + `}}`)
}

// member follows names into a JSON object.
func member(document []byte, way ...string) (value []byte, ok bool) {
	value = document
	for _, name := range way {
		if jsonscan.KindOf(value) != jsonscan.Object {
			return nil, false
		}
		if value, ok = jsonscan.Member(value, name); !ok {
			return nil, false
		}
	}
	return value, true
}
