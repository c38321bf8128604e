package view

import (
	"cmp"
	"slices"

	"github.com/sectional/sectional/internal/jsonscan"
)

// summer is _sum: numbers are added, arrays element by element, objects member
// by member. What can't be added makes the whole sum an object that says so,
// as CouchDB has it.
type summer struct{}

// sum is a sum on its way.
type sum struct {
	total term
	error []byte // the object that says why there is no sum; nil for none
}

func (summer) begin() fold { return &sum{total: term{kind: jsonscan.Number}} }

func (summer) value(_ uint64, state []byte) []byte { return state[1:] }

func (s *sum) row(r *Row)     { s.add(r.Value) }
func (s *sum) state(b []byte) { s.add(b[1:]) }

func (s *sum) add(v []byte) {
	if s.error != nil {
		return
	}
	if s.total.kind == jsonscan.Number && jsonscan.KindOf(v) == jsonscan.Number {
		s.total.number = s.total.number.plus(parseNumber(v))
		return
	}
	t := parseTerm(v)
	if t.kind == jsonscan.Object {
		if kind, ok := jsonscan.Member(v, "error"); ok && textOf(kind) == sumError {
			s.error = v
			return
		}
	}
	s.total, s.error = addTerms(t, s.total)
}

func (s *sum) end() []byte {
	if s.error != nil {
		return valued(s.error)
	}
	if !s.total.finite() {
		return failure(tagRefusal, "invalid_value", "A sum is too large for a number.")
	}
	return s.total.append([]byte{tagValue})
}

const (
	sumError  = "builtin_reduce_error"
	sumReason = "The _sum function requires that map values be numbers, arrays of numbers, or objects. " +
		"Objects cannot be mixed with other data structures. Objects can be arbitrarily nested, " +
		"provided that the values for all fields are themselves numbers, arrays of numbers, or objects."
)

// noSum is the object for a value that can't be added.
func noSum(cause *term) []byte {
	b := append([]byte(`{"error":"`+sumError+`","reason":"`+sumReason+`","caused_by":`), cause.append(nil)...)
	return append(b, '}')
}

// term is a value that is being added.
type term struct {
	kind    jsonscan.Kind
	number  number
	list    []term
	members []member
	raw     []byte // of other kinds
}

type member struct {
	name  string
	value term
}

func parseTerm(v []byte) (t term) {
	t.kind = jsonscan.KindOf(v)
	switch t.kind {
	case jsonscan.Number:
		t.number = parseNumber(v)
	case jsonscan.Array:
		for it := jsonscan.ElementsOf(v); ; {
			e, ok := it.Next()
			if !ok {
				return t
			}
			t.list = append(t.list, parseTerm(e))
		}
	case jsonscan.Object:
		for it := jsonscan.MembersOf(v); ; {
			name, e, ok := it.Next()
			if !ok {
				return t
			}
			t.members = append(t.members, member{string(jsonscan.Text(nil, name)), parseTerm(e)})
		}
	default:
		t.raw = v
	}
	return t
}

func (t *term) append(dst []byte) []byte {
	switch t.kind {
	case jsonscan.Number:
		return t.number.append(dst)
	case jsonscan.Array:
		dst = append(dst, '[')
		for i := range t.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = t.list[i].append(dst)
		}
		return append(dst, ']')
	case jsonscan.Object:
		dst = append(dst, '{')
		for i := range t.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsonscan.AppendQuoted(dst, t.members[i].name), ':')
			dst = t.members[i].value.append(dst)
		}
		return append(dst, '}')
	}
	return append(dst, t.raw...)
}

// finite reports whether all numbers of the term can be written.
func (t *term) finite() bool {
	return t.number.finite() && !slices.ContainsFunc(t.list, func(e term) bool { return !e.finite() }) &&
		!slices.ContainsFunc(t.members, func(m member) bool { return !m.value.finite() })
}

// addTerms adds a value to a sum; bad says why that is not possible.
func addTerms(v, sum term) (_ term, bad []byte) {
	switch {
	case v.kind == jsonscan.Number && sum.kind == jsonscan.Number:
		return term{kind: jsonscan.Number, number: v.number.plus(sum.number)}, nil
	case v.kind == jsonscan.Array && sum.kind == jsonscan.Array:
		return addLists(sum.list, v.list)
	case v.kind == jsonscan.Number && sum.kind == jsonscan.Array:
		return addLists(sum.list, []term{v})
	case v.kind == jsonscan.Array && sum.kind == jsonscan.Number:
		return addLists([]term{sum}, v.list)
	case v.kind == jsonscan.Object && sum.kind == jsonscan.Object:
		return addObjects(v.members, sum.members)
	case v.kind == jsonscan.Object && sum.kind == jsonscan.Number && sum.number == number{}:
		return v, nil // nothing was added so far
	}
	return sum, noSum(&v)
}

func addLists(a, b []term) (_ term, bad []byte) {
	t := term{kind: jsonscan.Array}
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			t.list = append(t.list, b[i])
		case i >= len(b):
			t.list = append(t.list, a[i])
		case a[i].kind == jsonscan.Number && b[i].kind == jsonscan.Number:
			t.list = append(t.list, term{kind: jsonscan.Number, number: a[i].number.plus(b[i].number)})
		default:
			return t, noSum(&term{kind: jsonscan.Array, list: a[i:]})
		}
	}
	return t, nil
}

func addObjects(a, b []member) (t term, bad []byte) {
	byName := func(x, y member) int { return cmp.Compare(x.name, y.name) }
	slices.SortStableFunc(a, byName)
	slices.SortStableFunc(b, byName)
	t.kind = jsonscan.Object
	for len(a) > 0 && len(b) > 0 {
		switch c := byName(a[0], b[0]); {
		case c < 0:
			t.members, a = append(t.members, a[0]), a[1:]
		case c > 0:
			t.members, b = append(t.members, b[0]), b[1:]
		default:
			v, bad := addTerms(a[0].value, b[0].value)
			if bad != nil {
				return t, bad
			}
			t.members = append(t.members, member{a[0].name, v})
			a, b = a[1:], b[1:]
		}
	}
	t.members = append(append(t.members, a...), b...)
	return t, nil
}
