package auth

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/jsonscan"
)

// object is a JSON object with the order of its members and the bytes of their
// values kept.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// validJSON reports whether text is one JSON value in valid UTF-8.
func validJSON(text []byte) bool { return utf8.Valid(text) && json.Valid(text) }

// parseObject reads one JSON object, whose values share memory with text. It is not ok
// for anything else, nor for an object that names a member twice.
func parseObject(text []byte) (o object, ok bool) {
	if !validJSON(text) || jsonscan.KindOf(text) != jsonscan.Object {
		return nil, false
	}
	o = object{}
	seen := map[string]struct{}{}
	for it := jsonscan.MembersOf(text); ; {
		quoted, value, more := it.Next()
		if !more {
			return o, true
		}
		name := string(jsonscan.Text(nil, quoted))
		if seen[name] = struct{}{}; len(seen) == len(o) {
			return nil, false
		}
		o = append(o, member{name, value})
	}
}

func (o object) has(name string) bool { return o.get(name) != nil }

// get returns the value of a member, nil if there is none.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns a member that is a string.
func (o object) text(name string) (s string, ok bool) { return textOf(o.get(name)) }

// textOf returns the string that a JSON value is.
func textOf(value json.RawMessage) (s string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(value, &s) == nil
}

// texts returns the list of strings that a JSON value is.
func texts(value json.RawMessage) ([]string, bool) {
	var raw []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &raw) != nil {
		return nil, false
	}
	out := make([]string, len(raw))
	for i, v := range raw {
		s, ok := textOf(v)
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, true
}

// without returns the object less the named members.
func (o object) without(names ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(names, m.name) })
}

// with returns the object with a member of this value, in its old place if there
// was one.
func (o object) with(name string, value json.RawMessage) object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name: name, value: value})
}

// falsy reports whether JavaScript takes the value for false; so is a member
// that is not there.
func falsy(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", "false", `""`:
		return true
	}
	var n float64
	return (value[0] == '-' || value[0] == '0') && json.Unmarshal(value, &n) == nil && n == 0
}

// encode returns the object as compact JSON, the values as they were.
func (o object) encode() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quote returns a JSON string that escapes no more than it must.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
