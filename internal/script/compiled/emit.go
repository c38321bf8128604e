package compiled

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
)

// span is a member of a JSON object that is being written.
type span struct {
	name  []byte // unescaped
	value []byte
	index int64 // of an integer-like name, else -1
}

// write appends v as JSON.stringify does, undefined as null. Callers see a
// failure in m.err by the false result.
func (m *Machine) write(v value, depth int) bool {
	if depth > depthLimit || len(m.out)-m.outset > outputLimit {
		m.err = ErrInterpret
		return false
	}
	switch v.k {
	case undefined, null:
		m.out = append(m.out, "null"...)
	case boolean:
		m.out = strconv.AppendBool(m.out, v.n != 0)
	case number:
		m.writeNumber(v)
	case text:
		m.writeText(v.s)
	case rawArray, rawObject:
		return m.writeRaw(v.s, depth)
	case array:
		return m.writeArray(v.o, depth)
	case object:
		return m.writeObject(v.o, depth)
	case date:
		return m.writeDate(v.n)
	default:
		return false
	}
	return true
}

func (m *Machine) writeNumber(v value) {
	switch {
	case v.s != nil:
		m.out = append(m.out, v.s...)
	case math.IsNaN(v.n) || math.IsInf(v.n, 0):
		m.out = append(m.out, "null"...)
	default:
		m.out = appendNumber(m.out, v.n)
	}
}

func (m *Machine) writeDate(n float64) bool {
	if math.IsNaN(n) {
		m.out = append(m.out, "null"...)
		return true
	}
	v := m.isoText(n)
	if v.stops() {
		return false
	}
	m.writeText(v.s)
	return true
}

func (m *Machine) writeArray(c *composite, depth int) bool {
	c.fixed = true
	m.out = append(m.out, '[')
	for i, v := range c.items {
		if i > 0 {
			m.out = append(m.out, ',')
		}
		if !m.write(v, depth+1) {
			return false
		}
	}
	m.out = append(m.out, ']')
	return true
}

func (m *Machine) writeObject(c *composite, depth int) bool {
	c.fixed = true
	m.out = append(m.out, '{')
	first := true
	for _, i := range c.order() {
		if c.items[i].k == undefined {
			continue
		}
		if !first {
			m.out = append(m.out, ',')
		}
		first = false
		m.writeText(c.names[i])
		m.out = append(m.out, ':')
		if !m.write(c.items[i], depth+1) {
			return false
		}
	}
	m.out = append(m.out, '}')
	return true
}

// order returns the members of an object as JavaScript walks them: integer-like
// names first, in ascending order.
func (c *composite) order() []int {
	list := make([]int, len(c.names))
	ordered := true
	for i := range list {
		list[i] = i
		ordered = ordered && indexOf(c.names[i]) < 0
	}
	if !ordered {
		slices.SortStableFunc(list, func(a, b int) int { return compareIndex(indexOf(c.names[a]), indexOf(c.names[b])) })
	}
	return list
}

// compareIndex orders integer-like names before all others.
func compareIndex(a, b int64) int {
	switch {
	case a == b:
		return 0
	case b < 0 || a >= 0 && a < b:
		return -1
	}
	return 1
}

// indexOf returns the array index that a name stands for, -1 if it is none.
func indexOf(name []byte) int64 {
	if len(name) == 0 || len(name) > 10 || name[0] == '0' && len(name) > 1 {
		return -1
	}
	var n int64
	for _, c := range name {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	if n >= math.MaxUint32 {
		return -1
	}
	return n
}

// writeRaw writes JSON text as JSON.stringify writes what JSON.parse made of it.
func (m *Machine) writeRaw(raw []byte, depth int) bool {
	if depth > depthLimit {
		m.err = ErrInterpret
		return false
	}
	switch raw[0] {
	case '{':
		return m.writeRawObject(raw, depth)
	case '[':
		return m.writeRawArray(raw, depth)
	case '"':
		return m.writeRawText(raw)
	case 't', 'f', 'n':
		m.out = append(m.out, raw...)
	default:
		m.writeNumber(decodeNumber(raw))
	}
	return true
}

func (m *Machine) writeRawArray(raw []byte, depth int) bool {
	m.out = append(m.out, '[')
	first := true
	for e := jsonscan.ElementsOf(raw); ; first = false {
		element, ok := e.Next()
		if !ok {
			break
		}
		if !first {
			m.out = append(m.out, ',')
		}
		if !m.writeRaw(element, depth+1) {
			return false
		}
	}
	m.out = append(m.out, ']')
	return true
}

func (m *Machine) writeRawObject(raw []byte, depth int) bool {
	base := len(m.spans)
	if !m.collect(raw) {
		m.spans = m.spans[:base]
		return false
	}
	m.out = append(m.out, '{')
	for i := base; i < len(m.spans); i++ {
		if i > base {
			m.out = append(m.out, ',')
		}
		m.writeText(m.spans[i].name)
		m.out = append(m.out, ':')
		if !m.writeRaw(m.spans[i].value, depth+1) {
			m.spans = m.spans[:base]
			return false
		}
	}
	m.out = append(m.out, '}')
	m.spans = m.spans[:base]
	return true
}

// collect appends the members of the JSON object raw to m.spans, in the order
// of JavaScript, each name once: at its first place, with its last value.
func (m *Machine) collect(raw []byte) bool {
	base := len(m.spans)
	indexed := false
	for i := behindOpening(raw); ; {
		i = skipSeparators(raw, i)
		if i >= len(raw) || raw[i] != '"' {
			break
		}
		name, next := nameAt(raw, i)
		if name == nil {
			v := m.decodeText(raw[i:next])
			if v.stops() {
				return false
			}
			name = v.s
		}
		i = skipSeparators(raw, next)
		end := valueEnd(raw, i)
		s := span{name, raw[i:end], indexOf(name)}
		indexed = indexed || s.index >= 0
		if string(name) == "__proto__" {
			m.err = ErrInterpret
			return false
		}
		m.spans = append(m.spans, s)
		i = end
	}
	m.unite(base)
	if indexed {
		slices.SortStableFunc(m.spans[base:], func(a, b span) int { return compareIndex(a.index, b.index) })
	}
	return true
}

// unite makes one of members with equal names.
func (m *Machine) unite(base int) {
	list := m.spans[base:]
	if len(list) > 24 {
		m.uniteMany(base)
		return
	}
	kept := 0
next:
	for _, s := range list {
		for j := range kept {
			if len(list[j].name) == len(s.name) && string(list[j].name) == string(s.name) {
				list[j].value = s.value
				continue next
			}
		}
		list[kept] = s
		kept++
	}
	m.spans = m.spans[:base+kept]
}

func (m *Machine) uniteMany(base int) {
	list := m.spans[base:]
	positions := make(map[string]int, len(list))
	kept := 0
	for _, s := range list {
		if j, ok := positions[string(s.name)]; ok {
			list[j].value = s.value
			continue
		}
		positions[string(s.name)] = kept
		list[kept] = s
		kept++
	}
	m.spans = m.spans[:base+kept]
}

// writeRawText writes a quoted JSON string in JavaScript's spelling.
func (m *Machine) writeRawText(quoted []byte) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		m.out = append(m.out, quoted...)
		return true
	}
	v := m.decodeText(quoted)
	if v.stops() {
		return false
	}
	m.writeText(v.s)
	return true
}

// writeText writes a string, escaped as JSON.stringify does.
func (m *Machine) writeText(s []byte) {
	const hex = "0123456789abcdef"
	out := append(m.out, '"')
	done := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\f':
			out = append(out, '\\', 'f')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	out = append(out, s[done:]...)
	m.out = append(out, '"')
}
