package attribute

import (
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// ParseBody returns the item that a document is. Errors: *Misfit where it is none.
func ParseBody(body []byte) (Item, error) {
	r := newReader(body)
	if t := r.next(); t.kind != jsonscan.Object {
		return Item{}, misfit("the body is not an object")
	}
	return r.bodyObject(true)
}

// bodyObject reads the members of an object that has been opened.
func (r *reader) bodyObject(top bool) (Item, error) {
	var attributes []Attribute
	for {
		t := r.next()
		if t.kind != jsonscan.String {
			return NewItem(attributes), nil
		}
		if attributes == nil {
			attributes = make([]Attribute, 0, r.expected())
		}
		stored := r.unquote(t)
		name, err := attributeName(stored, top)
		if err != nil {
			return Item{}, within(err, stored)
		}
		v, err := r.bodyValue(r.next())
		if err != nil {
			return Item{}, within(err, stored)
		}
		attributes = append(attributes, Attribute{name, v})
	}
}

// OfMember returns the name of the attribute that a member of a document is. ok is false
// for a member that is none.
func OfMember(member string) (attribute string, ok bool) {
	attribute, err := attributeName(member, true)
	return attribute, err == nil
}

// attributeName returns the name of the attribute that a member is.
func attributeName(stored string, top bool) (string, error) {
	name := stored
	switch {
	case strings.HasPrefix(stored, "$$"), top && strings.HasPrefix(stored, "$_"):
		name = stored[1:]
	case strings.HasPrefix(stored, "$"):
		return "", misfit("a name with one $ before it has a meaning of its own")
	case top && strings.HasPrefix(stored, "_"):
		return "", misfit("a name with _ before it is not an attribute's")
	}
	if err := CheckName(name); err != nil {
		return "", misfit("a name is empty or longer than 65,535 bytes")
	}
	return name, nil
}

// bodyValue reads the value that begins with t.
func (r *reader) bodyValue(t token) (v Value, err error) {
	if r.depth++; r.depth > MaxDepth {
		return v, misfit("values are nested more than 32 deep")
	}
	switch t.kind {
	case jsonscan.String:
		v = String(r.unquote(t))
	case jsonscan.Number:
		v, err = r.bodyNumber(t)
	case jsonscan.True, jsonscan.False:
		v = Bool(t.kind == jsonscan.True)
	case jsonscan.Null:
		v = Null()
	case jsonscan.Array:
		v, err = r.bodyList()
	case jsonscan.Object:
		v, err = r.bodyMap()
	default:
		err = misfit("not JSON")
	}
	r.depth--
	return v, err
}

func (r *reader) bodyNumber(t token) (Value, error) {
	n, err := ParseNumber(r.text[t.start:t.end])
	if err != nil {
		return Value{}, misfit("a number has more than 38 digits or is out of range")
	}
	return Num(n), nil
}

func (r *reader) bodyList() (Value, error) {
	list := []Value{}
	for {
		t := r.next()
		if t.kind == jsonscan.Invalid {
			return List(list), nil
		}
		v, err := r.bodyValue(t)
		if err != nil {
			return v, withinElement(err, len(list))
		}
		list = append(list, v)
	}
}

// bodyMap reads an object that has been opened: one that stands for another value, or
// a map.
func (r *reader) bodyMap() (Value, error) {
	at := r.at
	if t := r.next(); t.kind == jsonscan.String {
		if kind := meaning(r.unquote(t)); kind != None {
			v, err := r.bodyMeaning(kind)
			return v, within(err, r.unquote(t))
		}
	}
	r.at = at
	item, err := r.bodyObject(false)
	return Map(item), err
}

// meaning returns the type that the only member of an object stands for.
func meaning(name string) Type {
	switch name {
	case BinaryMember:
		return B
	case nameSS:
		return SS
	case nameNS:
		return NS
	case nameBS:
		return BS
	}
	return None
}

// bodyMeaning reads the value of such a member and the end of its object.
func (r *reader) bodyMeaning(kind Type) (v Value, err error) {
	if kind == B {
		v, err = r.bodyBytes(r.next())
	} else {
		v, err = r.bodySet(kind)
	}
	if err == nil && r.next().kind != jsonscan.Invalid {
		err = misfit("an object that stands for a value has one member")
	}
	return v, err
}

func (r *reader) bodyBytes(t token) (Value, error) {
	if t.kind != jsonscan.String {
		return Value{}, misfit("bytes are a string of base64")
	}
	decoded, err := decodeBase64(r.unquote(t))
	if err != nil {
		return Value{}, misfit("bytes are a string of base64")
	}
	return Binary(decoded), nil
}

func (r *reader) bodySet(kind Type) (Value, error) {
	if r.next().kind != jsonscan.Array {
		return Value{}, misfit("a set is an array")
	}
	var elements []string
	for {
		t := r.next()
		if t.kind == jsonscan.Invalid {
			break
		}
		e, err := r.bodyElement(kind.Element(), t)
		if err != nil {
			return Value{}, withinElement(err, len(elements))
		}
		elements = append(elements, e.text)
	}
	v, err := NewSet(kind, elements)
	if err != nil {
		return v, misfit("a set has no elements, or one twice")
	}
	return v, nil
}

func (r *reader) bodyElement(kind Type, t token) (v Value, err error) {
	switch {
	case kind == B:
		return r.bodyBytes(t)
	case kind == N && t.kind == jsonscan.Number:
		return r.bodyNumber(t)
	case kind == S && t.kind == jsonscan.String:
		return String(r.unquote(t)), nil
	}
	return v, misfit("an element of a set is of another type")
}
