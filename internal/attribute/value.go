package attribute

import "strconv"

// Type is the type of a value.
type Type uint8

// The types, called as on the wire. None is the type of the zero Value, which stands
// for no value.
const (
	None Type = iota
	S         // a string
	N         // a number
	B         // bytes
	BOOL      // true or false
	NULL      // null
	M         // a map: an item within an item
	L         // a list
	SS        // a set of strings
	NS        // a set of numbers
	BS        // a set of bytes
)

var typeNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}

// String returns the name on the wire.
func (t Type) String() string { return typeNames[t] }

// TypeOf returns the type of a name on the wire, None for any other text.
func TypeOf(name string) Type {
	for t := S; t <= BS; t++ {
		if typeNames[t] == name {
			return t
		}
	}
	return None
}

// Element returns the type of the elements of a type of sets, None for other types.
func (t Type) Element() Type {
	switch t {
	case SS:
		return S
	case NS:
		return N
	case BS:
		return B
	}
	return None
}

// MaxDepth is how many values may lie within each other, the outermost and the
// innermost included.
const MaxDepth = 32

// Value is a value of an attribute. A value never changes. Its size in memory matters,
// because an item is made of them: 32 bytes, and what lies in lists, maps and sets is
// behind a pointer.
type Value struct {
	kind Type
	text string // of S; of B, the bytes; of N, the normal form; of BOOL, "t" for true
	more *nested
}

// nested is what is in a list, a map or a set.
type nested struct {
	list []Value
	item Item
	set  []string // as in Value.text; sorted, without duplicates
}

// String returns the value of a string, which is UTF-8.
func String(s string) Value { return Value{kind: S, text: s} }

// Num returns the value of a number.
func Num(n Number) Value { return Value{kind: N, text: string(n)} }

// Int returns the value of an integer.
func Int(n int64) Value { return Value{kind: N, text: strconv.FormatInt(n, 10)} }

// Binary returns the value of bytes.
func Binary(bytes string) Value { return Value{kind: B, text: bytes} }

// Bool returns the value of a truth value.
func Bool(b bool) Value {
	if b {
		return Value{kind: BOOL, text: "t"}
	}
	return Value{kind: BOOL}
}

// Null returns the null value.
func Null() Value { return Value{kind: NULL} }

// List returns the value of a list, which is not to be changed afterwards.
func List(list []Value) Value { return Value{kind: L, more: &nested{list: list}} }

// Map returns the value of a map.
func Map(item Item) Value { return Value{kind: M, more: &nested{item: item}} }

// Type returns the type.
func (v Value) Type() Type { return v.kind }

// Text returns the string of an S, the bytes of a B, the normal form of an N.
func (v Value) Text() string { return v.text }

// Number returns the number of an N.
func (v Value) Number() Number { return Number(v.text) }

// Truth returns the truth value of a BOOL.
func (v Value) Truth() bool { return v.text != "" }

// List returns the elements of an L, which are not to be changed.
func (v Value) List() []Value {
	if v.more == nil {
		return nil
	}
	return v.more.list
}

// Map returns the attributes of an M.
func (v Value) Map() Item {
	if v.more == nil {
		return Item{}
	}
	return v.more.item
}

// Set returns the elements of a set in their order, each as Text returns it; they are
// not to be changed.
func (v Value) Set() []string {
	if v.more == nil {
		return nil
	}
	return v.more.set
}

// Len returns how many elements a list, a map or a set has.
func (v Value) Len() int {
	if v.more == nil {
		return 0
	}
	return len(v.more.list) + v.more.item.Len() + len(v.more.set)
}

// Depth returns how many values lie within each other, this one included.
func (v Value) Depth() int {
	deepest := 0
	for _, e := range v.List() {
		deepest = max(deepest, e.Depth())
	}
	for _, a := range v.Map().Attributes() {
		deepest = max(deepest, a.Value.Depth())
	}
	return deepest + 1
}
