package jsonscan

import "bytes"

// Members walks the members of an object.
type Members struct {
	b []byte
	i int
}

// MembersOf begins a walk over the members of object.
func MembersOf(object []byte) Members { return Members{b: object, i: opened(object, '{')} }

// opened returns the index after the bracket that b begins with, the end if there
// is none.
func opened(b []byte, bracket byte) int {
	if i := skipSpace(b, 0); i < len(b) && b[i] == bracket {
		return i + 1
	}
	return len(b)
}

// skipSeparators passes over white space, commas and colons.
func skipSeparators(b []byte, i int) int {
	for i < len(b) && (b[i] <= ' ' || b[i] == ',' || b[i] == ':') {
		i++
	}
	return i
}

// Next returns the next member: its name with the quotes, its value. Names are read
// byte by byte: they are short.
func (m *Members) Next() (name, value []byte, ok bool) {
	b := m.b
	i := skipSeparators(b, m.i)
	if i >= len(b) || b[i] != '"' {
		return nil, nil, false
	}
	j := i + 1
	for j < len(b) && b[j] != '"' && b[j] != '\\' {
		j++
	}
	if j < len(b) && b[j] == '"' {
		j++
	} else {
		j = stringEnd(b, i)
	}
	v := skipSeparators(b, j)
	m.i = End(b, v)
	return b[i:j], b[v:m.i], true
}

// Elements walks the elements of an array.
type Elements struct {
	b []byte
	i int
}

// ElementsOf begins a walk over the elements of array.
func ElementsOf(array []byte) Elements { return Elements{b: array, i: opened(array, '[')} }

// Next returns the next element.
func (e *Elements) Next() (value []byte, ok bool) {
	i := skipSeparators(e.b, e.i)
	e.i = End(e.b, i)
	return e.b[i:e.i], e.i > i
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
