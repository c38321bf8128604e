// Package jsonscan walks JSON text without decoding it. It owns the one scanner
// for documents, keys and selector operands that have been validated already
// (on the way in), which is why nothing here returns an error: on text that is
// not valid JSON the results mean nothing, but no function reads outside its
// argument or runs for ever.
//
// It knows nothing of documents or order. Begin reading at Members and End.
package jsonscan

import "bytes"

// Kind is the kind of a JSON value, in CouchDB's collation order.
type Kind uint8

// The kinds. Invalid stands for text that begins no JSON value.
const (
	Invalid Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// KindOf tells the kind of the value that v begins with.
func KindOf(v []byte) Kind {
	i := skipSpace(v, 0)
	if i == len(v) {
		return Invalid
	}
	switch c := v[i]; c {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 'n':
		return Null
	case 'f':
		return False
	case 't':
		return True
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return Number
		}
		return Invalid
	}
}

// Trim removes white space around v.
func Trim(v []byte) []byte {
	v = v[skipSpace(v, 0):]
	for len(v) > 0 && isSpace(v[len(v)-1]) {
		v = v[:len(v)-1]
	}
	return v
}

// End returns the index behind the value that begins at b[i].
func End(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return compositeEnd(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// Token returns the next token of b from i on: a scalar or name, the opening of
// an array or object, or, with kind Invalid, a closing bracket or the end of b.
// White space, commas and colons are passed over. A walk over tokens takes time
// in proportion to the text, however deep it is nested.
func Token(b []byte, i int) (kind Kind, start, end int) {
	for i < len(b) && (isSpace(b[i]) || b[i] == ',' || b[i] == ':') {
		i++
	}
	if i == len(b) {
		return Invalid, i, i
	}
	switch b[i] {
	case '{':
		return Object, i, i + 1
	case '[':
		return Array, i, i + 1
	case '}', ']':
		return Invalid, i, i + 1
	}
	return KindOf(b[i:]), i, End(b, i)
}

// Depth tells how deep the arrays and objects of b are nested.
func Depth(b []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(b); {
		kind, start, end := Token(b, i)
		switch {
		case kind == Array || kind == Object:
			depth++
			deepest = max(deepest, depth)
		case kind == Invalid && start < end:
			depth--
		}
		i = end
	}
	return deepest
}

// stringEnd returns the index behind the string whose opening quote is b[i]. It
// looks for quotes with the fast search and counts backslashes only where it
// finds one.
func stringEnd(b []byte, i int) int {
	start := i + 1
	i = start
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0
		for j := i - 1; j >= start && b[j] == '\\'; j-- {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
}

func compositeEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// skipTo returns the index of the next value or name: behind white space and at
// most one comma or colon.
func skipTo(b []byte, i int, sep byte) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == sep {
		i = skipSpace(b, i+1)
	}
	return i
}

// Members walks the members of an object.
type Members struct {
	b []byte
	i int
}

// MembersOf begins a walk over the members of object.
func MembersOf(object []byte) Members {
	return Members{b: object, i: skipTo(object, 0, '{')}
}

// Next returns the next member: its name with the quotes, its value.
func (m *Members) Next() (name, value []byte, ok bool) {
	b := m.b
	i := skipTo(b, m.i, ',')
	if i >= len(b) || b[i] != '"' {
		return nil, nil, false
	}
	j := stringEnd(b, i)
	v := skipTo(b, j, ':')
	e := End(b, v)
	m.i = e
	return b[i:j], b[v:e], true
}

// Elements walks the elements of an array.
type Elements struct {
	b []byte
	i int
}

// ElementsOf begins a walk over the elements of array.
func ElementsOf(array []byte) Elements {
	return Elements{b: array, i: skipTo(array, 0, '[')}
}

// Next returns the next element.
func (e *Elements) Next() (value []byte, ok bool) {
	i := skipTo(e.b, e.i, ',')
	if i >= len(e.b) || e.b[i] == ']' {
		return nil, false
	}
	end := End(e.b, i)
	if end == i {
		return nil, false
	}
	e.i = end
	return e.b[i:end], true
}

// Len counts the elements of an array.
func Len(array []byte) int {
	n := 0
	for e := ElementsOf(array); ; n++ {
		if _, ok := e.Next(); !ok {
			return n
		}
	}
}

// Element returns the element at position n of an array.
func Element(array []byte, n int) (value []byte, ok bool) {
	e := ElementsOf(array)
	for ; n >= 0; n-- {
		if value, ok = e.Next(); !ok {
			return nil, false
		}
	}
	return value, ok
}

// Member returns the value of the first member called name.
func Member(object []byte, name string) (value []byte, ok bool) {
	for m := MembersOf(object); ; {
		n, v, ok := m.Next()
		if !ok {
			return nil, false
		}
		if NameIs(n, name) {
			return v, true
		}
	}
}

// With returns an object in which a member has a value: in its place if it is there,
// else at the end. Without a value, nil, the member is left out.
func With(object []byte, name string, value []byte) []byte {
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+4), '{')
	for m := MembersOf(object); ; {
		quoted, v, ok := m.Next()
		if !ok {
			break
		}
		if NameIs(quoted, name) {
			v, value = value, nil
		}
		if v != nil {
			out = AppendMember(out, quoted, v)
		}
	}
	if value != nil {
		out = AppendMember(out, AppendQuoted(nil, name), value)
	}
	return append(out, '}')
}

// AppendMember appends a member to an object that has been begun; quoted is its
// name with the quotes.
func AppendMember(dst, quoted, value []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(dst, quoted...), ':')
	return append(dst, value...)
}

// NameIs reports whether the quoted string stands for name.
func NameIs(quoted []byte, name string) bool {
	if len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name {
		return bytes.IndexByte(quoted, '\\') < 0
	}
	if len(quoted) <= len(name)+2 || bytes.IndexByte(quoted, '\\') < 0 {
		return false
	}
	return string(Text(nil, quoted)) == name
}
