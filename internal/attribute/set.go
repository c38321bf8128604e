package attribute

import (
	"slices"
	"strings"
)

// NewSet returns a set of type t, SS, NS or BS, of elements, which are as Text
// returns them and may be sorted here. Errors: Validation for no elements, and for
// one that is there twice.
func NewSet(t Type, elements []string) (Value, error) {
	if len(elements) == 0 {
		return Value{}, emptySet(t)
	}
	sorted := elements
	switch {
	case slices.IsSortedFunc(elements, compareAs(t.Element())):
	case t == NS:
		sorted = sortNumbers(elements)
	default:
		sorted = slices.Sorted(slices.Values(elements))
	}
	for i := 1; i < len(sorted); i++ {
		if sorted[i-1] == sorted[i] {
			return Value{}, duplicates(t, elements)
		}
	}
	return setOf(t, sorted), nil
}

// sortNumbers returns the numbers in order; each is taken apart once.
func sortNumbers(texts []string) []string {
	type number struct {
		decimal
		text string
	}
	numbers := make([]number, len(texts))
	for i, text := range texts {
		numbers[i] = number{Number(text).decimal(), text}
	}
	slices.SortFunc(numbers, func(a, b number) int { return a.compare(b.decimal) })
	sorted := make([]string, len(texts))
	for i, n := range numbers {
		sorted[i] = n.text
	}
	return sorted
}

func setOf(t Type, sorted []string) Value { return Value{kind: t, more: &nested{set: sorted}} }

func emptySet(t Type) error {
	switch t {
	case NS:
		return errEmptyNS
	case BS:
		return errEmptyBS
	}
	return errEmptySS
}

// shownElements is how many elements of a set are shown in an error.
const shownElements = 100

// duplicates is the error of a set with elements that are the same.
func duplicates(t Type, elements []string) error {
	if t == NS {
		return errDuplicateNS
	}
	shown := slices.Clone(elements[:min(len(elements), shownElements)])
	if t == BS {
		for i := range shown {
			shown[i] = javaBuffer(shown[i])
		}
		return Invalid(badParameter+"Input collection [%s]of type BS contains duplicates.", strings.Join(shown, ", "))
	}
	return Invalid(badParameter+"Input collection [%s] contains duplicates.", strings.Join(shown, ", "))
}

// Has reports whether a set has an element, which is of the set's Element type.
func (v Value) Has(element Value) bool {
	if v.kind.Element() == None || v.kind.Element() != element.kind {
		return false
	}
	_, ok := slices.BinarySearchFunc(v.Set(), element.text, compareAs(element.kind))
	return ok
}

// Union returns the set of all elements of two sets of one type.
func (v Value) Union(w Value) Value {
	compare := compareAs(v.kind.Element())
	merged := make([]string, 0, len(v.Set())+len(w.Set()))
	a, b := v.Set(), w.Set()
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(a[0], b[0]); {
		case c < 0:
			merged, a = append(merged, a[0]), a[1:]
		case c > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged, a, b = append(merged, a[0]), a[1:], b[1:]
		}
	}
	return setOf(v.kind, append(append(merged, a...), b...))
}

// Without returns the set of the elements of v that are not in w, a set of its type;
// no value if there are none.
func (v Value) Without(w Value) Value {
	compare := compareAs(v.kind.Element())
	var left []string
	for _, e := range v.Set() {
		if _, ok := slices.BinarySearchFunc(w.Set(), e, compare); !ok {
			left = append(left, e)
		}
	}
	if left == nil {
		return Value{}
	}
	return setOf(v.kind, left)
}
