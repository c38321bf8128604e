package compiled

import (
	"math"
)

// kind is the kind of a value while a function runs.
type kind uint8

// The kinds. Those up to skipped are no values: whoever evaluates an expression
// passes them on at once.
const (
	failed    kind = iota // Machine.err says why
	skipped               // an optional chain ended at its "?."
	unset                 // a variable before its declaration
	undefined             //
	null                  //
	boolean               // n is 0 or 1
	number                // n; s may hold its JSON text
	text                  // s, valid UTF-8
	rawArray              // s is JSON
	rawObject             // s is JSON
	array                 // o, made by the function
	object                // o, made by the function
	date                  // n is milliseconds, NaN when invalid
	kinds                 // how many there are
)

// value is a JavaScript value. Text and JSON are parts of the document, of the
// function or of the machine's own memory, and last until the run ends.
type value struct {
	k kind
	n float64
	s []byte
	o *composite
}

// composite is an array or object made by the function. Names are in order of
// first assignment.
type composite struct {
	names [][]byte // of an object
	items []value
	fixed bool // emitted, or walked over: it may not change any more
}

func numberOf(n float64) value { return value{k: number, n: n} }

func textOf(s []byte) value { return value{k: text, s: s} }

func truth(b bool) value {
	if b {
		return value{k: boolean, n: 1}
	}
	return value{k: boolean}
}

// stops reports whether evaluation goes no further with v.
func (v value) stops() bool { return v.k <= skipped }

// nullish reports whether v is undefined or null.
func (v value) nullish() bool { return v.k == undefined || v.k == null }

// truthy is ToBoolean.
func (v value) truthy() bool {
	switch v.k {
	case undefined, null:
		return false
	case boolean:
		return v.n != 0
	case number:
		return v.n != 0 && !math.IsNaN(v.n)
	case text:
		return len(v.s) > 0
	}
	return true
}

// isObject reports whether v is not a primitive.
func (v value) isObject() bool { return v.k >= rawArray }

// isArray reports whether v is an array.
func (v value) isArray() bool { return v.k == rawArray || v.k == array }

// typeName is what typeof returns.
func (v value) typeName() string {
	switch v.k {
	case undefined:
		return "undefined"
	case boolean:
		return "boolean"
	case number:
		return "number"
	case text:
		return "string"
	}
	return "object"
}

// same reports whether two objects are one.
func same(a, b value) bool {
	if a.k != b.k {
		return false
	}
	switch a.k {
	case rawArray, rawObject:
		return &a.s[0] == &b.s[0]
	case array, object:
		return a.o == b.o
	}
	return false
}

// strictEquals is ===; false also when the budget is spent. Two dates are never the
// same here: see dateIdentity.
func (m *Machine) strictEquals(a, b value) bool {
	if a.k != b.k {
		return false
	}
	switch a.k {
	case undefined, null:
		return true
	case boolean, number:
		return a.n == b.n
	case text:
		return m.equalText(a.s, b.s)
	}
	return same(a, b)
}

// position of a member in an object made by the function, -1 if there is none or the
// budget is spent.
func (m *Machine) position(c *composite, name []byte) int {
	if !m.spend(4 + 2*len(c.names)) {
		return -1
	}
	for i, n := range c.names {
		if m.equalText(n, name) {
			return i
		}
	}
	return -1
}
