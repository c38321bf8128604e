package query

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/selector"
)

// constraint is what a conjunct says about a field that it demands.
type constraint struct {
	whole set // values that the field may have
	// rows are values of which a document has at least one row in an index
	// by the elements of the field's array; only with byRows.
	rows   set
	byRows bool
	// absent says that the field must be missing.
	absent bool
	// exact says that every value in whole meets the operator: the rest
	// needs no look at the document.
	exact bool
}

// The kinds of values as intervals, in the collated order.
var (
	noNumber = []byte("true")
	noString = []byte(`""`)
	noArray  = []byte("[]")
	noObject = []byte("{}")

	nulls    = only([]byte("null"))
	booleans = set{{low: field.Bound{Value: []byte("false")}, high: field.Bound{Value: []byte("true")}, kind: true}}
	numbers  = set{{low: field.Bound{Value: noNumber, Exclusive: true}, high: field.Bound{Value: noString, Exclusive: true}, kind: true}}
	texts    = set{{low: field.Bound{Value: noString}, high: field.Bound{Value: noArray, Exclusive: true}, kind: true}}
	arrays   = set{{low: field.Bound{Value: noArray}, high: field.Bound{Value: noObject, Exclusive: true}, kind: true}}
	objects  = set{{low: field.Bound{Value: noObject}, kind: true}}

	// kindSets are the words of $type.
	kindSets = map[string]set{"null": nulls, "boolean": booleans, "number": numbers, "string": texts, "array": arrays, "object": objects}
)

// ofLeaf returns the constraint of a node that looks at a field. Operators that
// are not here can be met by any value that is there.
func ofLeaf(n *selector.Node) constraint {
	id := n.Path.String() == "_id"
	o := orderOf(n.Path.String())
	switch n.Op {
	case selector.Eq:
		c := constraint{whole: only(n.Arg), exact: true}
		if jsonscan.KindOf(n.Arg) == jsonscan.Array {
			var first []byte
			first, c.byRows = jsonscan.Element(n.Arg, 0)
			c.rows = only(first)
		}
		return c
	case selector.Ne:
		return constraint{whole: o.without(n.Arg), exact: true}
	case selector.Lt, selector.Lte:
		return constraint{whole: set{{high: field.Bound{Value: n.Arg, Exclusive: n.Op == selector.Lt}}}, exact: true}
	case selector.Gt, selector.Gte:
		return constraint{whole: set{{low: field.Bound{Value: n.Arg, Exclusive: n.Op == selector.Gt}}}, exact: true}
	case selector.In:
		return anyOf(n, o, id)
	case selector.Exists:
		if string(n.Arg) == "false" {
			return constraint{absent: true}
		}
		return constraint{whole: everything(), exact: true}
	case selector.BeginsWith:
		return beginsWith(n, id)
	}
	if id { // the kinds lie otherwise, and an id is text anyway
		return constraint{whole: everything()}
	}
	switch n.Op { // those that only values of some kind meet
	case selector.Type:
		kind, ok := kindSets[string(jsonscan.Text(nil, n.Arg))]
		return constraint{whole: kind, exact: ok}
	case selector.Mod:
		return constraint{whole: numbers}
	case selector.Regex:
		return constraint{whole: texts}
	case selector.KeyMapMatch, selector.GeoWithin, selector.GeoIntersects, selector.Near:
		return constraint{whole: objects}
	case selector.Size:
		return constraint{whole: arrays, rows: everything(), byRows: string(n.Arg) != "0" && string(n.Arg) != "-0"}
	case selector.All:
		return allOf(n, o)
	case selector.ElemMatch, selector.AllMatch:
		return someElement(n)
	}
	return constraint{whole: everything()}
}

// anyOf is $in: one of the operands, or an array that holds one of them. It is
// exact for operands alone, since an array is never looked at whole.
func anyOf(n *selector.Node, o order, id bool) constraint {
	var values [][]byte
	exact := true
	for it := jsonscan.ElementsOf(n.Arg); ; {
		v, ok := it.Next()
		if !ok {
			break
		}
		exact = exact && jsonscan.KindOf(v) != jsonscan.Array
		values = append(values, v)
	}
	points := pointsOf(values, id)
	c := constraint{whole: points, rows: points, byRows: true}
	if len(points) > 0 && !id {
		c.whole = o.union(points, arrays)
	}
	c.exact = exact && id
	return c
}

// pointsOf makes a set of values. There may be a million, which are put into
// order by their keys: comparing works one out at each comparison.
func pointsOf(values [][]byte, id bool) set {
	appendKey := keyspace.AppendCollated
	if id {
		appendKey = keyspace.AppendRaw
	}
	type keyed struct {
		key string
		of  []byte
	}
	all := make([]keyed, len(values))
	var key []byte
	for i, v := range values {
		key, _ = appendKey(key[:0], v) // v is valid JSON
		all[i] = keyed{string(key), v}
	}
	slices.SortStableFunc(all, func(x, y keyed) int { return strings.Compare(x.key, y.key) })
	var points set
	for i := range all {
		if i == 0 || all[i].key != all[i-1].key {
			points = append(points, only(all[i].of)...)
		}
	}
	return points
}

// allOf is $all: an array that holds every operand, or equals the only one.
func allOf(n *selector.Node, o order) constraint {
	first, ok := jsonscan.Element(n.Arg, 0)
	if !ok {
		return constraint{}
	}
	c := constraint{whole: arrays, rows: only(first), byRows: true}
	if jsonscan.KindOf(first) == jsonscan.Array && jsonscan.Len(n.Arg) == 1 {
		inner, ok := jsonscan.Element(first, 0)
		c.byRows = ok
		c.rows = o.union(c.rows, only(inner))
	}
	return c
}

// someElement is $elemMatch, and $allMatch, which wants an element too.
func someElement(n *selector.Node) constraint {
	c := constraint{whole: arrays, rows: everything(), byRows: true}
	if inner := project(expand(n.Kids[0])).by[""]; inner != nil && !inner.absent {
		c.rows = inner.whole
	}
	return c
}

// beginsWith is a range only as far as no character of the prefix can be
// sorted otherwise by what follows it.
func beginsWith(n *selector.Node, id bool) constraint {
	text := string(jsonscan.Text(nil, n.Arg))
	if id {
		return constraint{whole: set{{low: field.Bound{Value: n.Arg}, high: afterPrefix(text)}}}
	}
	end := 0
	for i, r := range text {
		if !keepsItsPlace(r) {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	if end == 0 {
		return constraint{whole: texts}
	}
	return constraint{whole: set{{
		low:  field.Bound{Value: jsonscan.AppendQuoted(nil, text[:end])},
		high: field.Bound{Value: jsonscan.AppendQuoted(nil, text[:end]+"\uffff")},
	}}}
}

// keepsItsPlace reports whether a character has the same primary weight
// whatever comes after it: so it is with Latin letters, signs and ideographs.
func keepsItsPlace(r rune) bool {
	return 0x20 <= r && r < 0x7f || 0xa1 <= r && r < 0x300 && r != 0xad || 0x4e00 <= r && r < 0x9f00
}

// afterPrefix is the first id after all that begin with text; no bound if
// there is none.
func afterPrefix(text string) field.Bound {
	for text != "" {
		r, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
		if r++; r == 0xd800 {
			r = 0xe000
		}
		if r <= utf8.MaxRune {
			return field.Bound{Value: jsonscan.AppendQuoted(nil, text+string(r)), Exclusive: true}
		}
	}
	return field.Bound{}
}
