package compiled

import "math"

// functions are the global functions known here, and those that are members of
// a global object, under both names.
var functions = map[string]native{
	"Number":        globalNumber,
	"String":        globalString,
	"parseInt":      globalParseInt,
	"parseFloat":    globalParseFloat,
	"isNaN":         globalIsNaN,
	"isArray":       globalIsArray,
	"Array.isArray": globalIsArray,
	"Object.keys":   globalKeys,
	"Date.parse":    globalDateParse,
	"Math.floor":    ofNumber(math.Floor),
	"Math.round":    ofNumber(round),
}

// round rounds halves up, and keeps the sign of a zero.
func round(n float64) float64 {
	t := math.Trunc(n)
	switch d := n - t; {
	case d >= 0.5:
		return t + 1
	case d < -0.5:
		return t - 1
	}
	return t
}

func ofNumber(f func(float64) float64) native {
	return func(m *Machine, _ value, arguments []value) value {
		n, ok := m.number(argument(arguments, 0))
		if !ok {
			return value{}
		}
		return numberOf(f(n))
	}
}

func globalNumber(m *Machine, _ value, arguments []value) value {
	if len(arguments) == 0 {
		return numberOf(0)
	}
	n, ok := m.number(arguments[0])
	if !ok {
		return value{}
	}
	return numberOf(n)
}

func globalString(m *Machine, _ value, arguments []value) value {
	if len(arguments) == 0 {
		return textOf(nil)
	}
	return m.string(arguments[0])
}

func globalIsNaN(m *Machine, _ value, arguments []value) value {
	n, ok := m.number(argument(arguments, 0))
	if !ok {
		return value{}
	}
	return truth(math.IsNaN(n))
}

func globalIsArray(_ *Machine, _ value, arguments []value) value {
	return truth(argument(arguments, 0).isArray())
}

func globalDateParse(m *Machine, _ value, arguments []value) value {
	v := m.string(argument(arguments, 0))
	if v.stops() {
		return v
	}
	v = m.newDate(v)
	if v.stops() {
		return v
	}
	return numberOf(v.n)
}

// globalParseInt reads decimal integers of up to 15 digits.
func globalParseInt(m *Machine, _ value, arguments []value) value {
	if r := argument(arguments, 1); r.k != undefined && (r.k != number || r.n != 10) {
		return m.interpret()
	}
	v := m.string(argument(arguments, 0))
	if v.stops() {
		return v
	}
	s := v.s
	if len(s) == 0 || s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' {
		return numberOf(notANumber)
	}
	if !m.spend(len(s)) {
		return value{}
	}
	first := 0
	if s[0] == '-' {
		first = 1
	}
	end := digits(s, first)
	if end == first || end-first > 15 || s[first] == '0' && (first == 1 || end < len(s) && s[end]|0x20 == 'x') {
		return m.interpret()
	}
	n := 0.0
	for _, c := range s[first:end] {
		n = n*10 + float64(c-'0')
	}
	if first == 1 {
		n = -n
	}
	return numberOf(n)
}

func globalParseFloat(m *Machine, _ value, arguments []value) value {
	v := m.string(argument(arguments, 0))
	if v.stops() {
		return v
	}
	s := v.s
	if len(s) == 0 {
		return numberOf(notANumber)
	}
	if c := s[0] | 0x20; 'a' <= c && c <= 'z' && c != 'i' && c != 'n' {
		return numberOf(notANumber)
	}
	if !m.spend(len(s)) {
		return value{}
	}
	form, end := jsonNumber(s)
	if form == notNumeral {
		return m.interpret()
	}
	n := m.decodeNumber(s[:end])
	if n.stops() {
		return n
	}
	return numberOf(n.n)
}

// globalKeys lists the names of an object's members.
func globalKeys(m *Machine, _ value, arguments []value) value {
	return m.keysOf(argument(arguments, 0))
}

// appendNames appends the names of an object's members, in their order.
func (m *Machine) appendNames(c *composite, v value) bool {
	if v.k == object {
		list, ok := m.order(v.o)
		if !ok || !m.reserve(c, len(list)) {
			return false
		}
		for _, i := range list {
			c.items = append(c.items, textOf(v.o.names[i]))
		}
		return true
	}
	base := len(m.spans)
	if !m.collect(v.s) || !m.reserve(c, len(m.spans)-base) {
		m.spans = m.spans[:base]
		return false
	}
	for _, s := range m.spans[base:] {
		c.items = append(c.items, textOf(s.name))
	}
	m.spans = m.spans[:base]
	return true
}
