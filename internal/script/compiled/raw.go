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

// find returns the index of name, -1 if the function does not name it.
func (n *names) find(name []byte) int {
	list := n.longer
	if len(name) < len(n.byLength) {
		list = n.byLength[len(name)]
	}
	for _, i := range list {
		if n.list[i] == string(name) {
			return i
		}
	}
	return -1
}

// field reads the member of the document that has the i-th name.
func (m *Machine) field(i int) value {
	if !m.scanned {
		m.scan()
	}
	raw := m.fields[i]
	if raw == nil {
		if objectNames[m.program.names.list[i]] {
			return m.interpret()
		}
		return value{k: undefined}
	}
	return m.decode(raw)
}

// scan finds the named members of the document in one pass. The last of equal
// names counts.
func (m *Machine) scan() {
	m.scanned = true
	clear(m.fields)
	b := m.doc
	names := &m.program.names
	for i := behindOpening(b); ; {
		i = skipSeparators(b, i)
		if i >= len(b) || b[i] != '"' {
			return
		}
		name, next := nameAt(b, i)
		var at int
		if name == nil {
			at = names.find(jsonscan.Text(nil, b[i:next]))
		} else {
			at = names.find(name)
		}
		i = skipSeparators(b, next)
		end := valueEnd(b, i)
		if at >= 0 {
			m.fields[at] = b[i:end]
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
	return decodeNumber(raw)
}

// decodeText decodes a quoted string.
func (m *Machine) decodeText(quoted []byte) value {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return textOf(quoted[1 : len(quoted)-1])
	}
	if !m.room(len(quoted)) {
		return m.interpret()
	}
	text, ok := jsonscan.Decode(nil, quoted)
	if !ok { // half a surrogate pair
		return m.interpret()
	}
	start := len(m.text)
	m.text = append(m.text, text...)
	return m.made(start)
}

// member reads a member of JSON object raw by its name.
func (m *Machine) member(raw, name []byte) value {
	if !m.spend(16 + len(raw)/16) {
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
