package query

import (
	"slices"

	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
)

// covers implements accessPath. A row of several that a document has holds only one
// element of an array.
func (p *fieldPath) covers(sel *selector.Selector, asked []*selector.Path) *shape {
	if p.def.Elements() >= 0 || !apart(columnsOf(p.def)) || sel.Root() != nil && !coversNode(p.def, sel.Root()) ||
		slices.ContainsFunc(asked, func(path *selector.Path) bool { return !holds(p.def, path) }) {
		return nil
	}
	return shapeOf(p.def)
}

func coversNode(d *field.Def, n *selector.Node) bool {
	if n.Path != nil {
		return holds(d, n.Path) && !(n.Op == selector.Exists && string(n.Arg) == "false" && nested(d, n.Path))
	}
	return !slices.ContainsFunc(n.Kids, func(k *selector.Node) bool { return !coversNode(d, k) })
}

// holds reports whether a field can be read from an index's rows.
func holds(d *field.Def, p *selector.Path) bool {
	want := p.Segments()
	if len(want) == 0 || want[0] != "" && want[0][0] == '_' {
		return p.String() == "_id"
	}
	return slices.ContainsFunc(columnsOf(d), func(c *selector.Path) bool { return within(p, c) })
}

// nested reports whether a field is read from a column that lies within another
// field. A row that lacks it does not tell whether that is an object: where it is
// none, the field counts neither as there nor as missing.
func nested(d *field.Def, p *selector.Path) bool {
	return slices.ContainsFunc(columnsOf(d), func(c *selector.Path) bool { return len(c.Segments()) > 1 && within(p, c) })
}

// within reports whether a path is another one or lies within it.
func within(p, outer *selector.Path) bool {
	have, want := outer.Segments(), p.Segments()
	return len(have) <= len(want) && slices.Equal(have, want[:len(have)])
}

// columnsOf returns the fields of an index's rows in their order.
func columnsOf(d *field.Def) []*selector.Path {
	var all []*selector.Path
	for _, c := range d.Columns {
		all = append(all, c.Path)
	}
	return append(all, d.Include...)
}

// apart reports whether no path lies within another.
func apart(paths []*selector.Path) bool {
	for i, a := range paths {
		for j, b := range paths {
			if i != j && within(b, a) {
				return false
			}
		}
	}
	return true
}

// shape makes documents out of the values of rows: an object that holds just
// the indexed fields.
type shape struct {
	name string // quoted, with the colon
	slot int    // of the value; -1 for an object
	kids []*shape
}

func shapeOf(d *field.Def) *shape {
	root := &shape{slot: -1}
	for i, p := range columnsOf(d) {
		if p.String() == "_id" {
			continue
		}
		at := root
		for _, name := range p.Segments() {
			at = at.member(name)
		}
		at.slot = i
	}
	return root
}

func (s *shape) member(name string) *shape {
	quoted := string(jsonscan.AppendQuoted(nil, name)) + ":"
	for _, k := range s.kids {
		if k.name == quoted {
			return k
		}
	}
	k := &shape{name: quoted, slot: -1}
	s.kids = append(s.kids, k)
	return k
}

// append appends the object; nothing for objects without values.
func (s *shape) append(dst []byte, values [][]byte) []byte {
	if s.slot >= 0 {
		return append(dst, values[s.slot]...)
	}
	dst = append(dst, '{')
	for _, k := range s.kids {
		if !k.present(values) {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = k.append(append(dst, k.name...), values)
	}
	return append(dst, '}')
}

func (s *shape) present(values [][]byte) bool {
	if s.slot >= 0 {
		return values[s.slot] != nil
	}
	return slices.ContainsFunc(s.kids, func(k *shape) bool { return k.present(values) })
}
