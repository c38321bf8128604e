package compiled

import (
	"math"

	"github.com/dop251/goja/ast"
)

// objectNames are the names that every object inherits.
var objectNames = set("__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
	"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")

// What values of the other kinds inherit besides. The names are those of all
// engines, whether or not the interpreter has them.
var (
	textNames = set("anchor", "at", "big", "blink", "bold", "charAt", "charCodeAt", "codePointAt", "concat", "endsWith",
		"fixed", "fontcolor", "fontsize", "includes", "indexOf", "isWellFormed", "italics", "lastIndexOf",
		"length", "link", "localeCompare", "match", "matchAll", "normalize", "padEnd", "padStart", "repeat",
		"replace", "replaceAll", "search", "slice", "small", "split", "startsWith", "strike", "sub", "substr",
		"substring", "sup", "toLocaleLowerCase", "toLocaleUpperCase", "toLowerCase", "toUpperCase",
		"toWellFormed", "trim", "trimEnd", "trimLeft", "trimRight", "trimStart")
	listNames = set("at", "concat", "copyWithin", "entries", "every", "fill", "filter", "find", "findIndex", "findLast",
		"findLastIndex", "flat", "flatMap", "forEach", "includes", "indexOf", "join", "keys", "lastIndexOf",
		"length", "map", "pop", "push", "reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort",
		"splice", "toReversed", "toSorted", "toSpliced", "unshift", "values", "with")
	numberNames = set("toExponential", "toFixed", "toPrecision")
	dateNames   = set("getDate", "getDay", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth",
		"getSeconds", "getTime", "getTimezoneOffset", "getUTCDate", "getUTCDay", "getUTCFullYear", "getUTCHours",
		"getUTCMilliseconds", "getUTCMinutes", "getUTCMonth", "getUTCSeconds", "getYear", "setDate",
		"setFullYear", "setHours", "setMilliseconds", "setMinutes", "setMonth", "setSeconds", "setTime",
		"setUTCDate", "setUTCFullYear", "setUTCHours", "setUTCMilliseconds", "setUTCMinutes", "setUTCMonth",
		"setUTCSeconds", "setYear", "toDateString", "toGMTString", "toISOString", "toJSON", "toLocaleDateString",
		"toLocaleTimeString", "toTimeString", "toUTCString")
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// inherited reports whether a value of kind k may inherit name.
func inherited(k kind, name string) bool {
	if objectNames[name] {
		return true
	}
	switch k {
	case text:
		return textNames[name]
	case rawArray, array:
		return listNames[name]
	case number:
		return numberNames[name]
	case date:
		return dateNames[name]
	}
	return false
}

// property reads a member by a name that is a value.
func (m *Machine) property(of, name value) value {
	if name.k == number {
		switch of.k {
		case rawArray, array:
			if name.n < 0 || name.n != math.Trunc(name.n) || name.n >= 1<<31 {
				return value{k: undefined}
			}
			return m.element(of, int(name.n))
		case text:
			if name.n < 0 || name.n != math.Trunc(name.n) || name.n >= 1<<31 {
				return value{k: undefined}
			}
			if v, ok := m.charAt(of.s, int(name.n)); ok {
				return v
			}
			return value{k: undefined}
		}
	}
	if of.nullish() {
		return m.noProperties(of, "?")
	}
	if name.isObject() {
		return m.interpret()
	}
	if name = m.string(name); name.stops() || !m.spend(len(name.s)) {
		return value{}
	}
	if of.isArray() || of.k == text {
		if i := indexOf(name.s); i >= 0 {
			return m.property(of, numberOf(float64(i)))
		}
	}
	return m.named(of, string(name.s))
}

// named reads a member by its name, which is no index of an array or string.
func (m *Machine) named(of value, name string) value {
	if name == "__proto__" {
		return m.interpret()
	}
	switch of.k {
	case failed, skipped, unset:
		return of
	case undefined, null:
		return m.noProperties(of, name)
	case rawObject:
		if v := m.member(of.s, []byte(name)); v.k != undefined {
			return v
		}
	case object:
		if i := m.position(of.o, []byte(name)); i >= 0 {
			return of.o.items[i]
		}
		if m.err != nil {
			return value{}
		}
	case rawArray, array:
		if name == "length" {
			n, ok := m.length(of)
			if !ok {
				return value{}
			}
			return numberOf(float64(n))
		}
	case text:
		if name == "length" {
			n, ok := m.units(of.s)
			if !ok {
				return value{}
			}
			return numberOf(float64(n))
		}
	}
	if inherited(of.k, name) {
		return m.interpret()
	}
	return value{k: undefined}
}

func (c *compiler) dot(e *ast.DotExpression) expression {
	name, ok := goString(e.Identifier.Name)
	if !ok || name == "__proto__" {
		return c.refused("it reads %s", name)
	}
	if c.isFixedDoc(e.Left) {
		i := c.out.names.indexOf(name)
		return func(m *Machine) value { return m.field(i) }
	}
	of := c.expression(e.Left)
	return func(m *Machine) value {
		v := of(m)
		if v.stops() {
			return v
		}
		return m.named(v, name)
	}
}

// isFixedDoc reports whether e is the document, which nothing else is assigned
// to.
func (c *compiler) isFixedDoc(e ast.Expression) bool {
	name, ok := e.(*ast.Identifier)
	return ok && c.docFixed && c.isDoc(name)
}

func (c *compiler) bracket(e *ast.BracketExpression) expression {
	if literal, ok := e.Member.(*ast.StringLiteral); ok && c.isFixedDoc(e.Left) {
		if name, ok := goString(literal.Value); ok && name != "__proto__" {
			i := c.out.names.indexOf(name)
			return func(m *Machine) value { return m.field(i) }
		}
	}
	of, name := c.expression(e.Left), c.expression(e.Member)
	return func(m *Machine) value {
		v := of(m)
		if v.stops() {
			return v
		}
		n := name(m)
		if n.stops() {
			return n
		}
		return m.property(v, n)
	}
}
