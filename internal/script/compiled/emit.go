package compiled

import (
	"bytes"
	"math"
	"math/bits"
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

// separators is more than what is written besides a value: quotes, commas and brackets.
const separators = 16

// writable makes room for a value with n bytes, and charges work for it. It reports
// whether the value may be written.
func (m *Machine) writable(n, work int) bool {
	return (cap(m.out)-len(m.out) >= n+separators || m.space(n+separators)) && m.spend(work)
}

// write appends v as JSON.stringify does, undefined as null. Callers see a
// failure in m.err by the false result.
func (m *Machine) write(v value, depth int) bool {
	if depth > depthLimit {
		m.interpret()
		return false
	}
	switch v.k {
	case undefined, null, boolean:
		return m.writePlain(v)
	case number:
		return m.writeNumber(v)
	case text:
		return m.writeText(v.s)
	case rawArray, rawObject:
		return m.writeRaw(v.s, depth)
	case array:
		return m.writeArray(v.o, depth)
	case object:
		return m.writeObject(v.o, depth)
	case date:
		return m.writeDate(v.n)
	}
	return false
}

func (m *Machine) writePlain(v value) bool {
	if !m.writable(8, 8) {
		return false
	}
	if v.k == boolean {
		m.out = strconv.AppendBool(m.out, v.n != 0)
	} else {
		m.out = append(m.out, "null"...)
	}
	return true
}

func (m *Machine) writeNumber(v value) bool {
	switch {
	case v.stops():
		return false
	case v.s != nil:
		if !m.writable(len(v.s), 8+len(v.s)/4) {
			return false
		}
		m.out = append(m.out, v.s...)
	case !m.writable(32, 64):
		return false
	case math.IsNaN(v.n) || math.IsInf(v.n, 0):
		m.out = append(m.out, "null"...)
	default:
		m.out = appendNumber(m.out, v.n)
	}
	return true
}

func (m *Machine) writeDate(n float64) bool {
	if math.IsNaN(n) {
		return m.writePlain(value{k: null})
	}
	v := m.isoText(n)
	return !v.stops() && m.writeText(v.s)
}

func (m *Machine) writeArray(c *composite, depth int) bool {
	if !m.writable(0, 8+8*len(c.items)) {
		return false
	}
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
	list, ok := m.order(c)
	if !ok || !m.writable(0, 8) {
		return false
	}
	c.fixed = true
	m.out = append(m.out, '{')
	first := true
	for _, i := range list {
		if c.items[i].k == undefined {
			continue
		}
		if !first {
			m.out = append(m.out, ',')
		}
		first = false
		if !m.writeText(c.names[i]) {
			return false
		}
		m.out = append(m.out, ':')
		if !m.write(c.items[i], depth+1) {
			return false
		}
	}
	m.out = append(m.out, '}')
	return true
}

// order returns the members of an object as JavaScript walks them: integer-like
// names first, in ascending order. ok is false when the budget is spent.
func (m *Machine) order(c *composite) (list []int, ok bool) {
	if !m.spend(16 * len(c.names)) {
		return nil, false
	}
	if list, ok = grown(m, []int(nil), len(c.names)); !ok {
		return nil, false
	}
	for i, name := range c.names {
		if indexOf(name) >= 0 {
			list = append(list, i)
		}
	}
	indexes := len(list)
	if len(list) > 0 && !m.spend(sorting(indexes)) {
		return nil, false
	}
	slices.SortFunc(list, func(a, b int) int { return compareIndex(indexOf(c.names[a]), indexOf(c.names[b])) })
	for i, name := range c.names {
		if indexes == 0 || indexOf(name) < 0 {
			list = append(list, i)
		}
	}
	return list, true
}

// sorting returns what it takes to sort n members by their names.
func sorting(n int) int { return 16 * n * bits.Len(uint(n)) }

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
		m.interpret()
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
		if !m.writable(len(raw), 8) {
			return false
		}
		m.out = append(m.out, raw...)
		return true
	}
	return m.writeNumber(m.decodeNumber(raw))
}

func (m *Machine) writeRawArray(raw []byte, depth int) bool {
	if !m.writable(0, 16+2*len(raw)) {
		return false
	}
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
	if !m.writable(0, 16) || !m.collect(raw) {
		m.spans = m.spans[:base]
		return false
	}
	m.out = append(m.out, '{')
	for i := base; i < len(m.spans); i++ {
		if i > base {
			m.out = append(m.out, ',')
		}
		named := m.writeText(m.spans[i].name)
		m.out = append(m.out, ':')
		if !named || !m.writeRaw(m.spans[i].value, depth+1) {
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
	if !m.spend(2 * len(raw)) {
		return false
	}
	base := len(m.spans)
	indexed := 0
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
		if s.index >= 0 {
			indexed++
		}
		if string(name) == "__proto__" {
			m.interpret()
			return false
		}
		if len(m.spans) == cap(m.spans) {
			var ok bool
			if m.spans, ok = grown(m, m.spans, 1); !ok {
				return false
			}
		}
		m.spans = append(m.spans, s)
		i = end
	}
	if !m.unite(base) {
		return false
	}
	if indexed > 0 {
		if !m.spend(sorting(len(m.spans) - base)) {
			return false
		}
		slices.SortStableFunc(m.spans[base:], func(a, b span) int { return compareIndex(a.index, b.index) })
	}
	return true
}

// unite makes one of members with equal names.
func (m *Machine) unite(base int) bool {
	list := m.spans[base:]
	if len(list) > 24 {
		return m.uniteMany(base)
	}
	if !m.spend(len(list) * len(list)) {
		return false
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
	return true
}

func (m *Machine) uniteMany(base int) bool {
	list := m.spans[base:]
	if !m.spend(128*len(list)) || !m.hold(64*len(list)) {
		return false
	}
	positions := make(map[string]int, len(list))
	kept := 0
	for _, s := range list {
		if j, ok := positions[string(s.name)]; ok {
			list[j].value = s.value
			continue
		}
		if !m.hold(len(s.name)) {
			return false
		}
		positions[string(s.name)] = kept
		list[kept] = s
		kept++
	}
	m.spans = m.spans[:base+kept]
	return true
}

// writeRawText writes a quoted JSON string in JavaScript's spelling.
func (m *Machine) writeRawText(quoted []byte) bool {
	if !m.writable(len(quoted), 8+len(quoted)/4) {
		return false
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		m.out = append(m.out, quoted...)
		return true
	}
	v := m.decodeText(quoted)
	return !v.stops() && m.writeText(v.s)
}

// writeText writes a string, escaped as JSON.stringify does.
func (m *Machine) writeText(s []byte) bool {
	const hex = "0123456789abcdef"
	if !m.writable(len(s), 8+len(s)) {
		return false
	}
	out := append(m.out, '"')
	done := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		if m.before+len(out)-m.outset+i-done > outputLimit {
			m.interpret()
			return false
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
	return true
}
