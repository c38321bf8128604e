package compiled

import (
	"bytes"
	"unicode"
)

func textLower(m *Machine, this value, _ []value) value { return m.changeCase(this.s, unicode.ToLower) }

func textUpper(m *Machine, this value, _ []value) value { return m.changeCase(this.s, unicode.ToUpper) }

func textTrim(m *Machine, this value, _ []value) value { return m.trim(this.s) }

// clamp brings n into the bounds 0 and most.
func clamp(n, most int) int { return min(max(n, 0), most) }

// relative reads an argument that counts from the end when negative.
func (m *Machine) relative(v value, missing, length int) (n int, ok bool) {
	if v.k == undefined {
		return missing, true
	}
	n, ok = m.integer(v)
	if n < 0 {
		n += length
	}
	return clamp(n, length), ok
}

func textSlice(m *Machine, this value, arguments []value) value {
	length, ok := m.units(this.s)
	if !ok {
		return value{}
	}
	from, ok := m.relative(argument(arguments, 0), 0, length)
	if !ok {
		return value{}
	}
	to, ok := m.relative(argument(arguments, 1), length, length)
	if !ok {
		return value{}
	}
	return m.cut(this.s, length, from, to)
}

func textSubstring(m *Machine, this value, arguments []value) value {
	length, ok := m.units(this.s)
	if !ok {
		return value{}
	}
	from, ok := m.integer(argument(arguments, 0))
	if !ok {
		return value{}
	}
	to := length
	if a := argument(arguments, 1); a.k != undefined {
		if to, ok = m.integer(a); !ok {
			return value{}
		}
	}
	from, to = clamp(from, length), clamp(to, length)
	return m.cut(this.s, length, min(from, to), max(from, to))
}

func textSubstr(m *Machine, this value, arguments []value) value {
	length, ok := m.units(this.s)
	if !ok {
		return value{}
	}
	from, ok := m.relative(argument(arguments, 0), 0, length)
	if !ok {
		return value{}
	}
	count := length
	if a := argument(arguments, 1); a.k != undefined {
		if count, ok = m.integer(a); !ok {
			return value{}
		}
	}
	return m.cut(this.s, length, from, from+clamp(count, length-from))
}

// textSplit takes a string as the separator, and no limit.
func textSplit(m *Machine, this value, arguments []value) value {
	by := argument(arguments, 0)
	if by.k == undefined || argument(arguments, 1).k != undefined {
		return m.interpret()
	}
	by = m.string(by)
	if by.stops() {
		return by
	}
	out := m.newList(nil)
	if out.stops() {
		return out
	}
	if len(by.s) == 0 {
		return m.characters(out, this.s)
	}
	for rest := this.s; ; {
		at := m.index(rest, by.s)
		if m.err != nil {
			return value{}
		}
		part := rest
		if at >= 0 {
			part, rest = rest[:at:at], rest[at+len(by.s):]
		}
		if !m.put(out.o, textOf(part)) {
			return value{}
		}
		if at < 0 {
			return out
		}
	}
}

// characters appends the characters of s, which is all ascii, to a list that is being
// made.
func (m *Machine) characters(out value, s []byte) value {
	if n, ok := m.units(s); !ok || n != len(s) || !m.spend(4*n) || !m.reserve(out.o, n) {
		return m.interpret()
	}
	for i := range s {
		out.o.items = append(out.o.items, textOf(s[i:i+1:i+1]))
	}
	return out
}

// search reads what most methods that look into a string begin with: the string
// looked for and a position.
func (m *Machine) search(this value, arguments []value) (part []byte, from int, ok bool) {
	v := m.string(argument(arguments, 0))
	if v.stops() {
		return nil, 0, false
	}
	if from, ok = m.integer(argument(arguments, 1)); !ok || from <= 0 {
		return v.s, 0, ok
	}
	length, ok := m.units(this.s)
	return v.s, min(from, length), ok
}

func textIndexOf(m *Machine, this value, arguments []value) value {
	part, from, ok := m.search(this, arguments)
	if !ok {
		return value{}
	}
	n, ok := m.within(this.s, part, from)
	if !ok {
		return value{}
	}
	return numberOf(float64(n))
}

func textIncludes(m *Machine, this value, arguments []value) value {
	n := textIndexOf(m, this, arguments)
	if n.stops() {
		return n
	}
	return truth(n.n >= 0)
}

func textStartsWith(m *Machine, this value, arguments []value) value {
	part, from, ok := m.search(this, arguments)
	if !ok {
		return value{}
	}
	at, ok := m.offset(this.s, from)
	if !ok || !m.spend(len(part)/8) {
		return m.interpret()
	}
	return truth(bytes.HasPrefix(this.s[at:], part))
}

func textCharAt(m *Machine, this value, arguments []value) value {
	n, ok := m.integer(argument(arguments, 0))
	if !ok {
		return value{}
	}
	if v, ok := m.charAt(this.s, n); ok {
		return v
	}
	return textOf(nil)
}

// textReplace replaces the first occurrence of a string by one without "$".
func textReplace(m *Machine, this value, arguments []value) value {
	part, by := argument(arguments, 0), argument(arguments, 1)
	if part = m.string(part); part.stops() {
		return part
	}
	if by = m.string(by); by.stops() {
		return by
	}
	if !m.spend(len(by.s)/8) || bytes.IndexByte(by.s, '$') >= 0 {
		return m.interpret()
	}
	at := m.index(this.s, part.s)
	if m.err != nil {
		return value{}
	}
	if at < 0 {
		return this
	}
	if !m.room(len(this.s) + len(by.s)) {
		return value{}
	}
	start := len(m.text)
	m.text = append(m.text, this.s[:at]...)
	m.text = append(m.text, by.s...)
	m.text = append(m.text, this.s[at+len(part.s):]...)
	return m.made(start)
}
