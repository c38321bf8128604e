package script

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/sectional/sectional/internal/jsonscan"
)

// source returns a thrown value in the form in which CouchDB names it in errors: an expression that would make the value.
func (r *realm) source(v goja.Value) string {
	return r.sourceOf(v, 0)
}

func (r *realm) sourceOf(v goja.Value, depth int) string {
	const most = 20 // levels; it may contain itself
	switch {
	case v == nil || goja.IsUndefined(v):
		return "(void 0)"
	case goja.IsNull(v) || depth > most:
		return "null"
	}
	o, composite := v.(*goja.Object)
	if !composite {
		if depth > 0 {
			return literal(v)
		}
		kind := "Number"
		switch v.Export().(type) {
		case string:
			kind = "String"
		case bool:
			kind = "Boolean"
		}
		return "(new " + kind + "(" + literal(v) + "))"
	}
	switch {
	case o.ClassName() == "Error":
		return "(new " + text(o.Get("name")) + "(" + quoted(text(o.Get("message"))) + "))"
	case o.ClassName() == "Function":
		return "(" + o.String() + ")"
	case o.ClassName() == "Array":
		var parts []string
		for _, k := range o.Keys() {
			parts = append(parts, r.sourceOf(o.Get(k), depth+1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var parts []string
	for _, k := range o.Keys() {
		parts = append(parts, k+":"+r.sourceOf(o.Get(k), depth+1))
	}
	s := "{" + strings.Join(parts, ", ") + "}"
	if depth == 0 {
		return "(" + s + ")"
	}
	return s
}

func literal(v goja.Value) string {
	if s, ok := v.Export().(string); ok {
		return quoted(s)
	}
	return v.String()
}

func quoted(s string) string { return string(jsonscan.AppendQuoted(nil, s)) }

// text returns a value as a string; "" for none.
func text(v goja.Value) string {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return ""
	}
	return v.String()
}

// raised reports how a value that was thrown is told to the caller: arrays ["error", code, reason] and objects with error and reason
// say it themselves, errors have a name, and anything else gets the code otherwise.
func (r *realm) raised(v goja.Value, otherwise func(v goja.Value) *failure) *failure {
	o, ok := v.(*goja.Object)
	if !ok {
		return otherwise(v)
	}
	if o.ClassName() == "Array" {
		if kind := text(o.Get("0")); kind == "error" || kind == "fatal" {
			return &failure{code: text(o.Get("1")), reason: r.json(o.Get("2"))}
		}
	}
	code, reason := o.Get("error"), o.Get("reason")
	if code != nil && reason != nil && code.ToBoolean() && reason.ToBoolean() {
		return &failure{code: text(code), reason: r.json(reason)}
	}
	return otherwise(v)
}

// named describes an error by its name and message, anything else as an expression.
func (r *realm) named(v goja.Value) *failure {
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		return &failure{code: text(o.Get("name")), reason: []byte(quoted(text(o.Get("message"))))}
	}
	return &failure{code: "unnamed_error", reason: []byte(quoted(r.source(v)))}
}

// rendering describes what shows, lists and updates threw.
func (r *realm) rendering(v goja.Value) *failure {
	stack := "undefined"
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Error" {
		stack = text(o.Get("stack"))
	}
	return &failure{code: "render_error", reason: []byte(quoted("function raised error: " + r.source(v) + " \nstacktrace: " + stack))}
}

// refusing describes what a validator threw: an object's first member says what it is.
func (r *realm) refusing(v goja.Value) *failure {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() == "Function" {
		return &failure{code: "unknown_error", reason: r.json(v)}
	}
	if o.ClassName() == "Error" {
		return r.named(v)
	}
	if o.ClassName() == "Array" {
		if kind := text(o.Get("0")); kind == "error" || kind == "fatal" {
			return &failure{code: text(o.Get("1")), reason: r.json(o.Get("2"))}
		}
		return &failure{code: "unknown_error", reason: r.json(v)}
	}
	names := o.Keys()
	if len(names) == 0 {
		return &failure{code: "unknown_error", reason: []byte("{}")}
	}
	reason := r.json(o.Get(names[0]))
	if names[0] == "forbidden" || names[0] == "unauthorized" {
		return &failure{code: names[0], reason: reason}
	}
	return &failure{code: "unknown_error", reason: reason}
}
