package compiled

import (
	"math"
	"slices"
)

var notANumber = math.NaN()

func listJoin(m *Machine, this value, arguments []value) value {
	separator := textOf([]byte(","))
	if a := argument(arguments, 0); a.k != undefined {
		if a.isObject() {
			return m.interpret() // an array as its own separator is empty there
		}
		if separator = m.string(a); separator.stops() {
			return separator
		}
	}
	return m.joined(this, separator.s, 0)
}

func listSlice(m *Machine, this value, arguments []value) value {
	length, ok := m.length(this)
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
	out := m.newList(nil)
	if out.stops() || !m.reserve(out.o, max(to-from, 0)) {
		return value{}
	}
	return m.appendElements(out, this, from, to)
}

// appendElements appends elements of an array to one being made.
func (m *Machine) appendElements(out, from value, first, end int) value {
	for i := first; i < end; i++ {
		v := m.element(from, i)
		if v.stops() || !m.spend(8) || !m.put(out.o, v) {
			return value{}
		}
	}
	return out
}

func listConcat(m *Machine, this value, arguments []value) value {
	out := m.newList(nil)
	for i := -1; i < len(arguments); i++ {
		v := this
		if i >= 0 {
			v = arguments[i]
		}
		if out.stops() {
			return out
		}
		if !v.isArray() {
			if !m.put(out.o, v) {
				return value{}
			}
			continue
		}
		n, ok := m.length(v)
		if !ok || !m.reserve(out.o, n) {
			return value{}
		}
		out = m.appendElements(out, v, 0, n)
	}
	return out
}

// find returns the index of the first element from the second argument on that
// equals the first one.
func (m *Machine) find(this value, arguments []value, equals func(a, b value) bool) (at int, ok bool) {
	length, ok := m.length(this)
	if !ok {
		return 0, false
	}
	from, ok := m.relative(argument(arguments, 1), 0, length)
	if !ok {
		return 0, false
	}
	wanted := argument(arguments, 0)
	if wanted.k == date {
		m.interpret()
		return 0, false
	}
	for i := from; i < length; i++ {
		v := m.element(this, i)
		if v.stops() || !m.spend(8) {
			return 0, false
		}
		if equals(v, wanted) {
			return i, true
		}
		if m.err != nil {
			return 0, false
		}
	}
	return -1, true
}

func listIndexOf(m *Machine, this value, arguments []value) value {
	at, ok := m.find(this, arguments, m.strictEquals)
	if !ok {
		return value{}
	}
	return numberOf(float64(at))
}

func listIncludes(m *Machine, this value, arguments []value) value {
	signed := false
	at, ok := m.find(this, arguments, func(a, b value) bool {
		if a.k != number || b.k != number {
			return m.strictEquals(a, b)
		}
		signed = signed || a.n == 0 && b.n == 0 && math.Signbit(a.n)
		return a.n == b.n || math.IsNaN(a.n) && math.IsNaN(b.n)
	})
	if !ok {
		return value{}
	}
	if signed {
		return m.interpret() // it keeps the two zeros apart
	}
	return truth(at >= 0)
}

func listPush(m *Machine, this value, arguments []value) value {
	if this.o.fixed || !m.spend(32) || !m.reserve(this.o, len(arguments)) {
		return m.interpret()
	}
	this.o.items = append(this.o.items, arguments...)
	return numberOf(float64(len(this.o.items)))
}

// listSort sorts strings and numbers, in the order of strings.
func listSort(m *Machine, this value, arguments []value) value {
	c := this.o
	if c.fixed || len(arguments) > 0 || len(c.items) > 1<<12 || !m.spend(256*len(c.items)) {
		return m.interpret()
	}
	type entry struct{ v, text value }
	entries, ok := grown(m, []entry(nil), len(c.items))
	if !ok {
		return value{}
	}
	entries = entries[:len(c.items)]
	for i, v := range c.items {
		if v.k != text && v.k != number {
			return m.interpret()
		}
		entries[i] = entry{v, m.string(v)}
		if entries[i].text.stops() {
			return value{}
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return m.compareText(a.text.s, b.text.s) })
	if m.err != nil {
		return value{}
	}
	for i, e := range entries {
		c.items[i] = e.v
	}
	return this
}
