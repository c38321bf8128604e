// Package jsonscan reads JSON as text. It owns the one pass that validates what
// comes in ([Compact], [Split]), and the walks over what has been validated, which
// decode nothing that nobody asks for.
//
// Walks return no errors: on text that is not valid JSON their results mean
// nothing, but no function reads outside its argument or runs for ever.
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

// KindOf returns the kind of the value that v begins with.
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

// End returns the index after the value that begins at b[i].
func End(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		if n := bytes.IndexByte(b[i+1:], '"'); n >= 0 && b[i+n] != '\\' {
			return i + n + 2
		}
		return stringEnd(b, i)
	case '{', '[':
		return compositeEnd(b, i)
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == ',' || c == '}' || c == ']' || c == ':' || c <= ' ' {
			break
		}
	}
	return i
}

// Token returns the next token of b from i on: a scalar or name, the opening of
// an array or object, or, with kind Invalid, a closing bracket or the end of b.
// White space, commas and colons are passed over. A walk over tokens takes time
// in proportion to the text, however deep it is nested.
func Token(b []byte, i int) (kind Kind, start, end int) {
	if i = skipSeparators(b, i); i == len(b) {
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

// Depth reports how deep the arrays and objects of b are nested.
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

// stringEnd returns the index after the string whose opening quote is b[i]. It
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
		i += n + 1
		if b[i-2] != '\\' || i-2 < start || !escaped(b[start:i-1]) {
			return i
		}
	}
}

// escaped reports whether what follows text is escaped: an odd number of
// backslashes is at its end.
func escaped(text []byte) bool {
	slashes := len(text)
	for slashes > 0 && text[slashes-1] == '\\' {
		slashes--
	}
	return (len(text)-slashes)%2 == 1
}

// searchAfter is how many bytes of a string within an array or object are looked at
// one by one: most are short, and a plain loop is twice as fast there as searches.
const searchAfter = 32

func compositeEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			near := i + searchAfter
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				} else if i >= near {
					i = stringEnd(b, i-1) - 1
					break
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r') }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}
