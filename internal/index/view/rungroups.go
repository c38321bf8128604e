package view

import (
	"bytes"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/packed"
)

// maxSingles is how many nodes without runs are taken apart, one after the other, before rows are read as they come.
const maxSingles = 4

// grouper is a visitor that puts the runs of nodes together to groups, and rows where there are none.
type grouper struct {
	v     *Reader
	s     Span
	level int
	max   int

	groups         []Group // that have ended
	key            []byte  // of the first row of the group that is open
	cut            []byte  // its key
	made           *group  // nil before the first
	to             []byte  // where its rows end, once that was asked for
	plain          int     // nodes without runs, one after the other
	tooManySingles bool    // there were too many
	full           bool    // there are enough groups
}

// runGroups returns groups of a span like Groups, as far as nodes have runs: rest is what it leaves. It walks forward.
func (v *Reader) runGroups(s Span, level, most int) (groups []Group, rest Span, err error) {
	g := &grouper{v: v, s: s, level: level, max: most}
	if err := v.cover(s.from, s.to, g); err != nil {
		return nil, s, err
	}
	switch {
	case g.made == nil && g.tooManySingles:
		return nil, s, nil
	case g.made == nil:
		return nil, s.nothing(), nil
	case g.tooManySingles: // the open group may have more rows
		from, err := v.groupBegin(g.key, level, nil)
		if rest = s; bytes.Compare(from, s.from) > 0 {
			rest.from = from
		}
		return g.groups, rest, err
	}
	g.end()
	if !g.full {
		return g.groups, s.nothing(), nil
	}
	to, err := g.bound()
	rest = s
	rest.from = to
	return g.groups, rest, err
}

// bound returns where the rows of the open group end.
func (g *grouper) bound() ([]byte, error) {
	if g.to == nil {
		begin, err := g.v.groupBegin(g.key, g.level, nil)
		if err != nil {
			return nil, err
		}
		if g.to = after(begin); bytes.Compare(g.to, g.s.to) > 0 {
			g.to = g.s.to
		}
	}
	return g.to, nil
}

func (g *grouper) end() { g.groups = append(g.groups, Group{Key: g.cut, group: g.made}) }

// enter goes to the group of a key: the open one, or a new one. more is false if that would be too many.
func (g *grouper) enter(key []byte) (more bool, err error) {
	if g.made != nil {
		if bytes.Equal(key, g.key) {
			return true, nil
		}
		cut := groupKey(key, g.level)
		if bytes.Equal(cut, g.cut) {
			return true, nil
		}
		a, err := g.v.groupBegin(g.key, g.level, nil)
		if err != nil {
			return false, err
		}
		if b, err := g.v.groupBegin(key, g.level, nil); err != nil || bytes.Equal(a, b) {
			return err == nil, err
		}
		if len(g.groups)+1 == g.max {
			g.full = true
			return false, nil
		}
		g.end()
	}
	g.key, g.cut, g.made, g.to = key, groupKey(key, g.level), newGroup(g.v.reducer), nil
	return true, nil
}

func (g *grouper) node(n node, end []byte) (whole, more bool, err error) {
	switch {
	case n.count == 0:
		return true, true, nil
	case n.runs != nil:
		g.plain = 0
		more, err = g.runs(n)
		return true, more, err
	case g.made != nil:
		to, err := g.bound()
		if err != nil {
			return false, false, err
		}
		if bytes.Compare(end, to) <= 0 {
			g.made.node(n)
			return true, true, nil
		}
	}
	g.plain++
	g.tooManySingles = g.plain > maxSingles
	return g.tooManySingles, !g.tooManySingles, nil
}

// runs adds the runs of a node.
func (g *grouper) runs(n node) (more bool, err error) {
	u := packed.Read(n.runs)
	for len(u.Rest()) > 0 {
		r := unpackRun(&u)
		if more, err := g.enter(r.first); !more || err != nil {
			return false, err
		}
		g.made.node(node{count: r.count, state: r.state})
	}
	return true, u.Err()
}

func (g *grouper) row(position []byte, value func() ([]byte, error)) (more bool, err error) {
	b, err := value()
	if err != nil {
		return false, err
	}
	g.v.size += len(b)
	r, err := g.v.open(g.v.Def, position, b)
	if err != nil {
		return false, err
	}
	if more, err = g.enter(r.Key); more {
		g.made.row(&r)
	}
	return more, err
}

// groupBegin returns what the positions of the rows of a key's group begin with; own is what those of the key's rows
// do, if that is known.
func (v *Reader) groupBegin(key []byte, level int, own []byte) ([]byte, error) {
	if level != Exact && jsonscan.KindOf(key) == jsonscan.Array && jsonscan.Len(key) >= level {
		prefix, err := v.collate(nil, groupKey(key, level))
		if err != nil {
			return nil, err
		}
		if len(prefix) <= v.max.key { // a longer one was cut, and is a group of its own
			return v.groupPosition(v.partition, prefix[:len(prefix)-1]), nil // without the end of the array
		}
	}
	if own != nil {
		return own, nil
	}
	whole, err := v.collate(nil, key)
	return v.keyPosition(v.partition, whole), err
}
