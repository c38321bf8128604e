package compiled

import (
	"bytes"

	"github.com/sectional/sectional/internal/jsonscan"
)

// names are the members of the document that a function names, found by length
// and then by comparison.
type names struct {
	list     []string
	byLength [32][]int
	longer   []int
}

// indexOf returns the index of name, which it adds if need be.
func (n *names) indexOf(name string) int {
	for i, have := range n.list {
		if have == name {
			return i
		}
	}
	i := len(n.list)
	n.list = append(n.list, name)
	if len(name) < len(n.byLength) {
		n.byLength[len(name)] = append(n.byLength[len(name)], i)
	} else {
		n.longer = append(n.longer, i)
	}
	return i
}

// like returns the indexes of the names among which name is, if the function names it.
func (n *names) like(name []byte) []int {
	if len(name) < len(n.byLength) {
		return n.byLength[len(name)]
	}
	return n.longer
}

// find returns the index of name in a list, -1 if it is not there.
func (n *names) find(list []int, name []byte) int {
	for _, i := range list {
		if n.list[i] == string(name) {
			return i
		}
	}
	return -1
}

// longField is from how many bytes on a member of the document is decoded only once.
const longField = 64

// field reads the member of the document that has the i-th name.
func (m *Machine) field(i int) value {
	if !m.scanned && !m.scan() {
		return value{}
	}
	f := &m.fields[i]
	if f.raw == nil {
		if objectNames[m.program.names.list[i]] {
			return m.interpret()
		}
		return value{k: undefined}
	}
	if len(f.raw) < longField {
		return m.decode(f.raw)
	}
	if f.value.k == failed {
		f.value = m.decode(f.raw)
	}
	return f.value
}

// scan finds the named members of the document in one pass. The last of equal
// names counts.
func (m *Machine) scan() bool {
	m.scanned = true
	clear(m.fields)
	b := m.doc
	names := &m.program.names
	if !m.spend(len(b) / 2) {
		return false
	}
	for i := behindOpening(b); ; {
		i = skipSeparators(b, i)
		if i >= len(b) || b[i] != '"' {
			return true
		}
		name, next := nameAt(b, i)
		if name == nil {
			name = jsonscan.Text(nil, b[i:next])
		}
		list := names.like(name)
		if !m.spend(8 + 2*len(list)) {
			return false
		}
		at := names.find(list, name)
		i = skipSeparators(b, next)
		end := valueEnd(b, i)
		if at >= 0 {
			m.fields[at].raw = b[i:end]
		}
		i = end
	}
}

func behindOpening(b []byte) int {
	i := 0
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i + 1
}

// skipSeparators passes over white space, commas and colons.
func skipSeparators(b []byte, i int) int {
	for i < len(b) && (b[i] <= ' ' || b[i] == ',' || b[i] == ':') {
		i++
	}
	return i
}

// nameAt returns the name that begins with the quote b[i], nil if it has escapes,
// and the index after its closing quote.
func nameAt(b []byte, i int) (name []byte, end int) {
	for j := i + 1; j < len(b); j++ {
		switch b[j] {
		case '"':
			return b[i+1 : j], j + 1
		case '\\':
			return nil, jsonscan.End(b, i)
		}
	}
	return nil, len(b)
}

// valueEnd is jsonscan.End with a short way for strings without escapes at
// their end and for short numbers.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch c := b[i]; {
	case c == '"':
		n := bytes.IndexByte(b[i+1:], '"')
		if end := i + 1 + n; n >= 0 && b[end-1] != '\\' {
			return end + 1
		}
	case c == '{' || c == '[':
	default:
		for i++; i < len(b); i++ {
			if c := b[i]; c == ',' || c == '}' || c == ']' || c <= ' ' {
				return i
			}
		}
		return i
	}
	return jsonscan.End(b, i)
}

// decode makes a value of JSON text without white space around it.
func (m *Machine) decode(raw []byte) value {
	switch raw[0] {
	case '"':
		return m.decodeText(raw)
	case '{':
		return value{k: rawObject, s: raw}
	case '[':
		return value{k: rawArray, s: raw}
	case 't':
		return truth(true)
	case 'f':
		return truth(false)
	case 'n':
		return value{k: null}
	}
	return m.decodeNumber(raw)
}

// decodeText decodes a quoted string.
func (m *Machine) decodeText(quoted []byte) value {
	if !m.spend(len(quoted) / 8) {
		return value{}
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return textOf(quoted[1 : len(quoted)-1])
	}
	if !m.spend(4*len(quoted)) || !m.room(len(quoted)) {
		return value{}
	}
	start := len(m.text)
	text, ok := jsonscan.Decode(m.text[start:], quoted)
	if !ok { // half a surrogate pair
		return m.interpret()
	}
	m.text = m.text[:start+len(text)]
	return m.made(start)
}

// member reads a member of JSON object raw by its name.
func (m *Machine) member(raw, name []byte) value {
	if !m.spend(16 + len(raw)) {
		return value{}
	}
	var found []byte
	for i := behindOpening(raw); ; {
		i = skipSeparators(raw, i)
		if i >= len(raw) || raw[i] != '"' {
			break
		}
		have, next := nameAt(raw, i)
		if have == nil {
			have = jsonscan.Text(nil, raw[i:next])
		}
		i = skipSeparators(raw, next)
		end := valueEnd(raw, i)
		if string(have) == string(name) {
			found = raw[i:end]
		}
		i = end
	}
	if found == nil {
		return value{k: undefined}
	}
	return m.decode(found)
}
