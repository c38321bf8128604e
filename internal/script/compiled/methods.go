package compiled

import (
	"math"
	"strconv"
)

// native is a function of JavaScript's library. It gets at least the arguments
// that were written, all of them values.
type native func(m *Machine, this value, arguments []value) value

// argument returns the i-th argument, undefined if it was not written.
func argument(arguments []value, i int) value {
	if i < len(arguments) {
		return arguments[i]
	}
	return value{k: undefined}
}

// method is what a name means for each kind of value.
type method [kinds]native

// methods are the methods known here, by their names and then by the kinds of
// values that have them.
var methods = map[string]method{
	"toLowerCase": {text: textLower},
	"toUpperCase": {text: textUpper},
	"trim":        {text: textTrim},
	"substring":   {text: textSubstring},
	"substr":      {text: textSubstr},
	"slice":       {text: textSlice, rawArray: listSlice, array: listSlice},
	"split":       {text: textSplit},
	"indexOf":     {text: textIndexOf, rawArray: listIndexOf, array: listIndexOf},
	"includes":    {text: textIncludes, rawArray: listIncludes, array: listIncludes},
	"startsWith":  {text: textStartsWith},
	"charAt":      {text: textCharAt},
	"replace":     {text: textReplace},
	"concat":      {rawArray: listConcat, array: listConcat},
	"join":        {rawArray: listJoin, array: listJoin},
	"push":        {array: listPush},
	"sort":        {array: listSort},

	"hasOwnProperty": {rawObject: objectHasOwn, object: objectHasOwn},
	"toString":       {text: identity, number: numberToString, boolean: plainToString, rawArray: plainToString, array: plainToString},
	"toFixed":        {number: numberToFixed},

	"getTime":     {date: dateTime},
	"toISOString": {date: dateToISO},

	"getFullYear":    {date: dateGetter("FullYear")},
	"getMonth":       {date: dateGetter("Month")},
	"getDate":        {date: dateGetter("Date")},
	"getDay":         {date: dateGetter("Day")},
	"getHours":       {date: dateGetter("Hours")},
	"getMinutes":     {date: dateGetter("Minutes")},
	"getSeconds":     {date: dateGetter("Seconds")},
	"getUTCFullYear": {date: dateGetter("FullYear")},
	"getUTCMonth":    {date: dateGetter("Month")},
	"getUTCDate":     {date: dateGetter("Date")},
	"getUTCDay":      {date: dateGetter("Day")},
	"getUTCHours":    {date: dateGetter("Hours")},
}

// call calls method name, which has the given implementations, of this.
func (m *Machine) call(this value, name string, table *method, arguments []value) value {
	if this.nullish() {
		return m.noProperties(this, name)
	}
	owned := m.owns(this, name)
	if m.err != nil {
		return value{}
	}
	if owned {
		return m.notCallable(name)
	}
	if f := table[this.k]; f != nil {
		return f(m, this, arguments)
	}
	if inherited(this.k, name) {
		return m.interpret()
	}
	return m.notCallable(name)
}

// owns reports whether an object has a member of its own under the name of a
// method. Such a member is never a function here.
func (m *Machine) owns(this value, name string) bool {
	switch this.k {
	case rawObject:
		return m.member(this.s, []byte(name)).k != undefined
	case object:
		return m.position(this.o, []byte(name)) >= 0
	}
	return false
}

func (m *Machine) notCallable(name string) value {
	return m.throw("TypeError", "Object has no member '"+name+"'")
}

func (m *Machine) noProperties(v value, name string) value {
	return m.throw("TypeError", "Cannot read property '"+name+"' of "+map[bool]string{true: "null", false: "undefined"}[v.k == null])
}

func identity(_ *Machine, this value, _ []value) value { return this }

func plainToString(m *Machine, this value, _ []value) value { return m.string(this) }

func numberToString(m *Machine, this value, arguments []value) value {
	if a := argument(arguments, 0); a.k != undefined && (a.k != number || a.n != 10) {
		return m.interpret()
	}
	return m.string(this)
}

// numberToFixed rounds as Go does, except where a number lies exactly between
// two results, which JavaScript rounds up: those go to the interpreter.
func numberToFixed(m *Machine, this value, arguments []value) value {
	digits, ok := m.integer(argument(arguments, 0))
	if !ok {
		return value{}
	}
	if digits < 0 || digits > 15 || math.IsNaN(this.n) || math.Abs(this.n) >= 1e15 || !m.spend(128) || !m.room(40) {
		return m.interpret()
	}
	if scaled := math.Abs(this.n) * math.Pow10(digits); math.Abs(scaled-math.Floor(scaled)-0.5) < 1e-3 || this.n < 0 && scaled < 0.6 {
		return m.interpret()
	}
	start := len(m.text)
	m.text = strconv.AppendFloat(m.text, this.n+0, 'f', digits, 64)
	return m.made(start)
}

func objectHasOwn(m *Machine, this value, arguments []value) value {
	name := m.string(argument(arguments, 0))
	if name.stops() || !m.spend(len(name.s)/8) {
		return value{}
	}
	if string(name.s) == "__proto__" {
		return m.interpret()
	}
	if this.k == object {
		at := m.position(this.o, name.s)
		if m.err != nil {
			return value{}
		}
		return truth(at >= 0)
	}
	found := m.member(this.s, name.s)
	if found.stops() {
		return found
	}
	return truth(found.k != undefined)
}

func dateTime(_ *Machine, this value, _ []value) value { return numberOf(this.n) }

func dateToISO(m *Machine, this value, _ []value) value {
	if math.IsNaN(this.n) {
		return m.throw("RangeError", "Invalid time value")
	}
	return m.isoText(this.n)
}

func dateGetter(name string) native {
	part := dateParts[name]
	return func(_ *Machine, this value, _ []value) value {
		if math.IsNaN(this.n) {
			return numberOf(this.n)
		}
		return numberOf(part(this.n))
	}
}
