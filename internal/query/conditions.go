package query

import (
	"bytes"
	"maps"
	"slices"

	"github.com/sectional/sectional/internal/selector"
)

// conjunct is a condition that a document meets only if each of its fields is
// constrained as given. A field that is not named may have any value or none.
type conjunct struct {
	by     map[string]*constraint // by path
	leaves []*selector.Node       // that all hold, for selectors that imply each other
}

// maxConjuncts bounds into how many cases a selector is taken apart. Beyond it
// alternatives are put together again, field by field, which is wider.
const maxConjuncts = 32

// conjuncts takes a selector apart: a document that matches meets one of them.
// A selector that is nothing but an empty list of conditions finds nothing, as
// in CouchDB: whoever put it together from a list did not mean everything.
func conjuncts(s *selector.Selector) []conjunct {
	n := s.Root()
	switch {
	case n == nil:
		return []conjunct{{}}
	case n.Path == nil && n.Op != selector.Text && len(n.Kids) == 0:
		return nil
	}
	return expand(n)
}

func expand(n *selector.Node) []conjunct {
	switch {
	case n.Path != nil:
		c := ofLeaf(n)
		return []conjunct{{by: map[string]*constraint{n.Path.String(): &c}, leaves: []*selector.Node{n}}}
	case n.Op == selector.And:
		return expandAll(n.Kids)
	case n.Op == selector.Or && len(n.Kids) > 0:
		var all []conjunct
		for _, k := range n.Kids {
			all = append(all, expand(k)...)
		}
		if len(all) > maxConjuncts {
			all = []conjunct{project(all)}
		}
		return all
	}
	return []conjunct{{}}
}

// expandAll takes conditions apart that all hold. It halves them, so that long
// lists of them are not copied again for each.
func expandAll(all []*selector.Node) []conjunct {
	switch half := len(all) / 2; len(all) {
	case 0:
		return []conjunct{{}}
	case 1:
		return expand(all[0])
	default:
		return cross(expandAll(all[:half]), expandAll(all[half:]))
	}
}

// cross joins every conjunct of a with every one of b.
func cross(a, b []conjunct) []conjunct {
	if len(a)*len(b) > maxConjuncts {
		if len(a) > len(b) {
			a = []conjunct{project(a)}
		} else {
			b = []conjunct{project(b)}
		}
		return cross(a, b)
	}
	out := make([]conjunct, 0, len(a)*len(b))
	for i := range a {
		for j := range b {
			out = append(out, a[i].and(&b[j]))
		}
	}
	return out
}

func (c *conjunct) and(d *conjunct) conjunct {
	if len(c.by) == 0 {
		return *d
	}
	out := conjunct{by: maps.Clone(c.by), leaves: slices.Concat(c.leaves, d.leaves)}
	for path, x := range d.by {
		if y := out.by[path]; y != nil {
			out.by[path] = y.and(x, orderOf(path))
		} else {
			out.by[path] = x
		}
	}
	return out
}

func (c *constraint) and(d *constraint, o order) *constraint {
	out := &constraint{whole: o.intersect(c.whole, d.whole), absent: c.absent || d.absent, exact: c.exact && d.exact}
	better := c
	if !c.byRows || d.byRows && o.finer(d.rows, c.rows) {
		better = d
	}
	out.rows, out.byRows = better.rows, better.byRows
	return out
}

// finer reports whether a set is the better one to look for.
func (o order) finer(a, b set) bool {
	pa, oka := a.points(o)
	pb, okb := b.points(o)
	switch {
	case oka != okb:
		return oka
	case oka:
		return len(pa) < len(pb)
	}
	return !a.everything() && b.everything()
}

// project puts alternatives together: each field that all of them demand, and the areas that
// all of them are about.
func project(all []conjunct) conjunct {
	switch len(all) {
	case 0:
		return conjunct{}
	case 1:
		return all[0]
	}
	out := conjunct{by: map[string]*constraint{}}
	for path := range all[0].by {
		if sum := sumOf(all, path); !sum.absent {
			out.by[path] = sum
		}
	}
	for _, n := range all[0].leaves {
		if n.Area() != nil && !slices.ContainsFunc(all[1:], func(c conjunct) bool { return !slices.Contains(c.leaves, n) }) {
			out.leaves = append(out.leaves, n)
		}
	}
	return out
}

// sumOf puts together what alternatives say of a field. There may be thousands
// of them, so sets are put into order once.
func sumOf(all []conjunct, path string) *constraint {
	o := orderOf(path)
	sum := &constraint{byRows: true, exact: true}
	for i := range all {
		d := all[i].by[path]
		if d == nil || d.absent {
			return &constraint{absent: true}
		}
		rows, byRows := d.elements(o)
		sum.rows, sum.byRows = append(sum.rows, rows...), sum.byRows && byRows
		sum.whole = append(sum.whole, d.whole...)
		sum.exact = sum.exact && d.exact
	}
	sum.whole, sum.rows = o.tidy(sum.whole), o.tidy(sum.rows)
	return sum
}

// elements returns values of which every document that is meant has a row in an
// index by the elements of the field. Only an empty array has no row at all.
func (c *constraint) elements(o order) (set, bool) {
	if len(o.intersect(c.whole, arrays)) == 0 {
		if !c.byRows || !o.finer(c.rows, c.whole) {
			return c.whole, true
		}
	}
	return c.rows, c.byRows
}

// demands reports whether every document that is meant has the field.
func (c *conjunct) demands(path string) *constraint {
	if x := c.by[path]; x != nil && !x.absent {
		return x
	}
	return nil
}

// implies reports whether every document that meets the conjunct matches n.
func (c *conjunct) implies(n *selector.Node) bool {
	switch {
	case n.Path != nil:
	case n.Op == selector.And:
		return !slices.ContainsFunc(n.Kids, func(k *selector.Node) bool { return !c.implies(k) })
	case n.Op == selector.Or:
		return len(n.Kids) == 0 || slices.ContainsFunc(n.Kids, c.implies)
	default:
		return false
	}
	if slices.ContainsFunc(c.leaves, func(l *selector.Node) bool { return sameNode(l, n) }) {
		return true
	}
	x := c.demands(n.Path.String())
	if x == nil {
		return false
	}
	o := orderOf(n.Path.String())
	want := ofLeaf(n)
	if n.Op == selector.In { // operands alone: what holds one of them is another matter
		want.whole, want.exact = want.rows, true
		for i := range want.whole {
			if v, ok := want.whole[i].point(o); ok && v[0] == '[' {
				return false
			}
		}
	}
	return want.exact && o.within(x.whole, want.whole)
}

// sameNode reports whether two nodes ask the same.
func sameNode(a, b *selector.Node) bool {
	if a.Op != b.Op || len(a.Kids) != len(b.Kids) || !bytes.Equal(a.Arg, b.Arg) || (a.Path == nil) != (b.Path == nil) {
		return false
	}
	if a.Path != nil && a.Path.String() != b.Path.String() {
		return false
	}
	for i := range a.Kids {
		if !sameNode(a.Kids[i], b.Kids[i]) {
			return false
		}
	}
	return true
}
