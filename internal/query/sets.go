package query

import (
	"cmp"
	"slices"

	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/keyspace"
)

// interval is a range of values. A bound without a value is none.
type interval struct {
	low, high field.Bound
	// kind says that the bounds are those of a kind of value, such as all
	// numbers, and nothing that the request named.
	kind bool
}

// set is a set of values: disjoint intervals in ascending order. Nil is empty.
type set []interval

// order compares values: keyspace's two orders.
type order func(a, b []byte) int

// orderOf returns the order of a field's values: ids compare by bytes.
func orderOf(path string) order {
	if path == "_id" {
		return keyspace.CompareRawJSON
	}
	return keyspace.CompareJSON
}

// all reports whether every value lies in the interval.
func (i interval) all() bool { return i.low.Value == nil && i.high.Value == nil }

func everything() set { return set{{}} }

func only(v []byte) set {
	return set{{low: field.Bound{Value: v}, high: field.Bound{Value: v}}}
}

func (s set) everything() bool {
	return len(s) == 1 && s[0].all()
}

// point returns the one value of an interval.
func (i *interval) point(o order) (v []byte, ok bool) {
	if i.low.Value == nil || i.high.Value == nil || i.low.Exclusive || i.high.Exclusive {
		return nil, false
	}
	return i.low.Value, o(i.low.Value, i.high.Value) == 0
}

// points returns the values of a set that is made of single ones.
func (s set) points(o order) (vs [][]byte, ok bool) {
	for i := range s {
		v, ok := s[i].point(o)
		if !ok {
			return nil, false
		}
		vs = append(vs, v)
	}
	return vs, true
}

// split returns the single values of a set that is made of such and of whole kinds
// of values beside them, as $in makes it.
func (s set) split(o order) (points [][]byte, kinds set, ok bool) {
	for i := range s {
		if v, one := s[i].point(o); one {
			points = append(points, v)
		} else if kinds = append(kinds, s[i]); !s[i].kind {
			return nil, nil, false
		}
	}
	return points, kinds, len(points) > 0
}

// restricts reports whether the set leaves out more than whole kinds of values.
func (s set) restricts() bool {
	return !slices.ContainsFunc(s, interval.all)
}

// compareLow orders lower bounds, no bound first.
func (o order) compareLow(a, b field.Bound) int { return o.compareBounds(a, b, 1) }

// compareHigh orders upper bounds, no bound last.
func (o order) compareHigh(a, b field.Bound) int { return o.compareBounds(a, b, -1) }

// compareBounds orders bounds of which the one that leaves out more is the greater one
// (side 1) or the less (-1).
func (o order) compareBounds(a, b field.Bound, side int) int {
	if a.Value == nil || b.Value == nil {
		return side * (bit(a.Value != nil) - bit(b.Value != nil))
	}
	return cmp.Or(o(a.Value, b.Value), side*(bit(a.Exclusive)-bit(b.Exclusive)))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// apart reports whether high ends before low begins, with room between them or
// not: touching says how two bounds of one value count that both leave it out,
// or one of them.
func (o order) apart(high, low field.Bound, touching bool) bool {
	if high.Value == nil || low.Value == nil {
		return false
	}
	c := o(high.Value, low.Value)
	if c != 0 {
		return c < 0
	}
	if touching {
		return high.Exclusive && low.Exclusive
	}
	return high.Exclusive || low.Exclusive
}

// intersect returns the values that lie in both sets.
func (o order) intersect(a, b set) set {
	var out set
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		r := x
		if o.compareLow(y.low, r.low) > 0 {
			r.low = y.low
		}
		first := o.compareHigh(x.high, y.high)
		if first > 0 {
			r.high = y.high
		}
		r.kind = x.kind && (y.kind || y.all()) || y.kind && x.all()
		if !o.apart(r.high, r.low, false) {
			out = append(out, r)
		}
		if first > 0 {
			j++
		} else {
			i++
		}
	}
	return out
}

// union returns the values that lie in one of the sets.
func (o order) union(a, b set) set { return o.tidy(slices.Concat(a, b)) }

// tidy sorts intervals and joins those that meet.
func (o order) tidy(all set) set {
	slices.SortFunc(all, func(x, y interval) int { return o.compareLow(x.low, y.low) })
	var out set
	for _, i := range all {
		if o.apart(i.high, i.low, false) {
			continue
		}
		if n := len(out); n > 0 && !o.apart(out[n-1].high, i.low, true) {
			if o.compareHigh(i.high, out[n-1].high) > 0 {
				out[n-1].high = i.high
			}
			out[n-1].kind = out[n-1].kind && i.kind
			continue
		}
		out = append(out, i)
	}
	return out
}

// without returns the values other than v.
func (o order) without(v []byte) set {
	return set{{high: field.Bound{Value: v, Exclusive: true}}, {low: field.Bound{Value: v, Exclusive: true}}}
}

// within reports whether every value of a lies in b.
func (o order) within(a, b set) bool {
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y interval) bool {
			return o.compareLow(y.low, x.low) <= 0 && o.compareHigh(x.high, y.high) <= 0
		}) {
			return false
		}
	}
	return true
}
