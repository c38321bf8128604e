package compiled

// string is ToString. A failure comes back as it is.
func (m *Machine) string(v value) value {
	switch v.k {
	case text, failed, skipped, unset:
		return v
	case undefined:
		return textOf([]byte("undefined"))
	case null:
		return textOf([]byte("null"))
	case boolean:
		if v.n != 0 {
			return textOf([]byte("true"))
		}
		return textOf([]byte("false"))
	case number:
		if v.s != nil {
			return textOf(v.s)
		}
		if !m.spend(64) || !m.room(32) {
			return value{}
		}
		start := len(m.text)
		m.text = appendNumber(m.text, v.n)
		return m.made(start)
	}
	return m.primitive(v)
}

// primitive is ToPrimitive of an object, for which the two hints make no
// difference; dates, for which they do, are not for here.
func (m *Machine) primitive(v value) value {
	if !v.isObject() {
		return v
	}
	switch v.k {
	case rawObject:
		for _, name := range [...]string{"toString", "valueOf"} {
			if found := m.member(v.s, []byte(name)); found.k != undefined {
				return m.interpret()
			}
		}
		return textOf([]byte("[object Object]"))
	case object:
		if m.position(v.o, []byte("toString")) >= 0 || m.position(v.o, []byte("valueOf")) >= 0 || m.err != nil {
			return m.interpret()
		}
		return textOf([]byte("[object Object]"))
	case rawArray, array:
		return m.joined(v, []byte(","), 0)
	}
	return m.interpret()
}

// joined is Array.prototype.join.
func (m *Machine) joined(v value, separator []byte, depth int) value {
	n, ok := m.length(v)
	if !ok || depth > depthLimit || !m.spend(16) {
		return m.interpret()
	}
	out := textOf(nil)
	for i := range n {
		if !m.spend(8) {
			return value{}
		}
		if i > 0 {
			out = m.join(out.s, separator)
		}
		element := m.element(v, i)
		switch {
		case element.nullish():
			continue
		case element.isArray():
			element = m.joined(element, []byte(","), depth+1)
		default:
			element = m.string(element)
		}
		if element.stops() || out.stops() {
			return value{}
		}
		if out = m.join(out.s, element.s); out.stops() {
			return out
		}
	}
	return out
}

// length counts the elements of an array.
func (m *Machine) length(v value) (n int, ok bool) {
	if v.k == array {
		return len(v.o.items), true
	}
	elements, ok := m.elements(v.s)
	return len(elements), ok
}

// element reads an element of an array; undefined beyond its end.
func (m *Machine) element(v value, i int) value {
	if v.k == array {
		if i >= 0 && i < len(v.o.items) {
			return v.o.items[i]
		}
		return value{k: undefined}
	}
	elements, ok := m.elements(v.s)
	if !ok {
		return value{}
	}
	if i >= 0 && i < len(elements) {
		return m.decode(v.s[elements[i].start:elements[i].end])
	}
	return value{k: undefined}
}

// looseEquals is ==. ok is false after a failure.
func (m *Machine) looseEquals(a, b value) (equal, ok bool) {
	switch {
	case a.stops() || b.stops():
		return false, false
	case a.nullish() || b.nullish():
		return a.nullish() && b.nullish(), true
	case a.k == date || b.k == date:
		if a.k == b.k || a.isObject() && b.isObject() {
			return m.dateIdentity(a, b)
		}
		m.interpret()
		return false, false
	case a.k == b.k || a.isObject() && b.isObject():
		equal = m.strictEquals(a, b)
		return equal, m.err == nil
	case a.isObject():
		return m.looseEquals(m.primitive(a), b)
	case b.isObject():
		return m.looseEquals(a, m.primitive(b))
	case a.k == text:
		return m.textEqualsNumber(a.s, b)
	case b.k == text:
		return m.textEqualsNumber(b.s, a)
	}
	return a.n == b.n, true
}

// dateIdentity compares two objects one of which is a date. Dates are kept by
// value here, so whether two of them are one object is not known.
func (m *Machine) dateIdentity(a, b value) (equal, ok bool) {
	if a.k != b.k {
		return false, true
	}
	m.interpret()
	return false, false
}

// textEqualsNumber compares a string with a number or boolean. The interpreter
// compares integers in a way of its own, hence the narrow gate.
func (m *Machine) textEqualsNumber(s []byte, v value) (equal, ok bool) {
	if !m.spend(len(s)) {
		return false, false
	}
	switch form := numeralOf(s); {
	case form == notNumeral:
		return false, true
	case form == integer:
		return m.decodeNumber(s).n == v.n, m.err == nil
	case form == decimal && v.k == number && v.n != float64(int64(v.n)):
		n, ok := m.numberOfText(s)
		return n == v.n, ok
	}
	m.interpret()
	return false, false
}

// less is the comparison a < b; undefined for NaN.
func (m *Machine) less(a, b value) value {
	if a.isObject() && a.k != date {
		a = m.primitive(a)
	}
	if b.isObject() && b.k != date {
		b = m.primitive(b)
	}
	if a.k == text && b.k == text {
		less := m.compareText(a.s, b.s) < 0
		if m.err != nil {
			return value{}
		}
		return truth(less)
	}
	x, y, ok := m.numbers(a, b)
	if !ok {
		return value{}
	}
	if x != x || y != y {
		return value{k: undefined}
	}
	return truth(x < y)
}
