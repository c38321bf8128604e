package view

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/kv"
)

// update works out what edits of rows mean for the nodes over them, level by
// level: which spans begin and end, and what the spans that hold an edit come to
// now. Each is made anew once, from its children.
func (w *work) update(ctx context.Context, below []edit, b *batch) error {
	for level := 1; len(below) > 0; level++ {
		u := &levelUpdate{work: w, level: level, below: below}
		if err := w.view(ctx, u.shape); err != nil {
			return err
		}
		for len(u.dirty) > 0 {
			if err := w.view(ctx, u.readNodes); err != nil {
				return err
			}
			if err := u.writeNodes(ctx); err != nil {
				return err
			}
		}
		below = below[:0:0]
		for _, e := range u.nodes {
			switch {
			case e.gone:
				b.deletes = append(b.deletes, w.key(level, e.position))
			case e.value != nil:
				b.put(w.key(level, e.position), e.value)
			default:
				continue
			}
			below = append(below, e)
		}
	}
	return nil
}

// levelUpdate is the update of one level.
type levelUpdate struct {
	*work
	level int
	below []edit   // of the level beneath
	nodes []edit   // of this level, in order
	dirty [][]byte // where the spans begin that are to be made anew, in order
	made  []newNode
}

// newNode is a node that has been gathered.
type newNode struct {
	position []byte
	before   []byte // its value now, nil for none
	group    *group
}

// isHead reports whether a position is the beginning of a partition.
func isHead(position []byte) bool { return len(headOf(position)) == len(position) }

// begins reports whether a span of the level begins at a position because of its row.
func (u *levelUpdate) begins(position []byte) bool {
	return !isHead(position) && u.height(position) >= u.level
}

// shape finds the spans that begin or end to be, and those that are dirty.
func (u *levelUpdate) shape(v kv.Snapshot) error {
	u.nodes, u.dirty = nil, nil // it may have begun before
	for _, e := range u.below {
		if (e.gone || e.fresh) && u.begins(e.position) {
			u.nodes = append(u.nodes, edit{position: e.position, gone: e.gone, fresh: e.fresh})
		}
	}
	if err := u.shapeHeads(v); err != nil {
		return err
	}
	it, err := v.Iterate(kv.Prefix(u.prefix(u.level)), kv.IterOptions{Reverse: true})
	if err != nil {
		return err
	}
	defer it.Close()
	for _, e := range u.below {
		if err := u.taint(it, e.position, false); err != nil {
			return err
		}
		if e.fresh && u.begins(e.position) {
			if err := u.taint(it, e.position, true); err != nil { // the span before it got shorter
				return err
			}
		}
	}
	slices.SortFunc(u.dirty, bytes.Compare)
	u.dirty = slices.CompactFunc(u.dirty, bytes.Equal)
	return nil
}

// shapeHeads adds the first spans of partitions: there is one where any other
// begins on the level.
func (u *levelUpdate) shapeHeads(v kv.Snapshot) error {
	var heads [][]byte
	for _, e := range u.nodes {
		if h := headOf(e.position); len(heads) == 0 || !bytes.Equal(heads[len(heads)-1], h) {
			heads = append(heads, h)
		}
	}
	if len(heads) == 0 {
		return nil
	}
	c, err := u.cursor(v, u.level, u.nodes)
	if err != nil {
		return err
	}
	defer c.close()
	var edits []edit
	for _, h := range heads {
		c.seek(append(bytes.Clone(h), 0))
		position, err := c.next()
		if err != nil {
			return err
		}
		any := position != nil && bytes.HasPrefix(position, h)
		_, err = v.Get(u.key(u.level, h))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if had := err == nil; any != had {
			edits = append(edits, edit{position: h, fresh: any, gone: had})
		}
	}
	u.nodes = append(u.nodes, edits...)
	slices.SortFunc(u.nodes, byPosition)
	return nil
}

// taint notes the span that a position lies in, if there is one, or the one before
// it. it walks the level's nodes backward.
func (u *levelUpdate) taint(it kv.Iterator, position []byte, before bool) error {
	h := headOf(position)
	prefix := u.prefix(u.level)
	var found []byte
	for ok := it.Seek(append(prefix[:len(prefix):len(prefix)], position...)); ok; ok = it.Next() {
		at := it.Key()[len(prefix):]
		if !bytes.HasPrefix(at, h) {
			break
		}
		if before && bytes.Equal(at, position) {
			continue
		}
		if i := search(u.nodes, at); i == len(u.nodes) || !u.nodes[i].gone || !bytes.Equal(u.nodes[i].position, at) {
			found = bytes.Clone(at)
			break
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	i := search(u.nodes, position)
	if !before && i < len(u.nodes) && bytes.Equal(u.nodes[i].position, position) {
		i++
	}
	for i--; i >= 0 && bytes.HasPrefix(u.nodes[i].position, h); i-- {
		if n := &u.nodes[i]; !n.gone {
			if bytes.Compare(n.position, found) > 0 {
				found = n.position
			}
			break
		}
	}
	if found != nil && (len(u.dirty) == 0 || !bytes.Equal(u.dirty[len(u.dirty)-1], found)) {
		u.dirty = append(u.dirty, found)
	}
	return nil
}

// gatherBytes bounds what is gathered at one snapshot.
const gatherBytes = 8 << 20

// readNodes reads the children of dirty spans, as many as fit.
func (u *levelUpdate) readNodes(v kv.Snapshot) error {
	children, err := u.cursor(v, u.level-1, u.below)
	if err != nil {
		return err
	}
	defer children.close()
	nodes, err := u.cursor(v, u.level, u.nodes)
	if err != nil {
		return err
	}
	defer nodes.close()
	for size := 0; len(u.dirty) > 0 && size < gatherBytes; u.dirty = u.dirty[1:] {
		m := newNode{position: u.dirty[0], group: u.newNode(u.level)}
		var end []byte
		if m.before, end, err = span(nodes, m.position); err != nil {
			return err
		}
		children.seek(m.position)
		for {
			position, err := children.next()
			if err != nil {
				return err
			}
			if position == nil || end != nil && bytes.Compare(position, end) >= 0 {
				break
			}
			if err := u.add(m.group, u.Def, u.level-1, position, children.value); err != nil {
				return err
			}
			children.pass()
		}
		if f, ok := m.group.fold.(*groupedRows); ok {
			size += f.size
		}
		u.made = append(u.made, m)
	}
	return nil
}

// span returns the value of the node at a position as it is stored, and where its span
// ends.
func span(nodes *cursor, position []byte) (before, end []byte, err error) {
	nodes.seek(position)
	if _, err = nodes.next(); err != nil {
		return nil, nil, err
	}
	if before, err = nodes.value(); err != nil {
		return nil, nil, err
	}
	nodes.pass()
	next, err := nodes.next()
	if next == nil || !bytes.HasPrefix(next, headOf(position)) {
		return before, after(headOf(position)), err
	}
	return before, bytes.Clone(next), nil
}

// writeNodes makes nodes of what was gathered.
func (u *levelUpdate) writeNodes(ctx context.Context) error {
	groups := make([]*group, len(u.made))
	for i, m := range u.made {
		groups[i] = m.group
	}
	if err := u.work.reduceGroups(ctx, u.Script, groups, false); err != nil {
		return err
	}
	for _, m := range u.made {
		value := m.group.end().pack()
		i := search(u.nodes, m.position)
		switch known := i < len(u.nodes) && bytes.Equal(u.nodes[i].position, m.position); {
		case known:
			u.nodes[i].value = value
		case !bytes.Equal(value, m.before):
			u.nodes = slices.Insert(u.nodes, i, edit{position: m.position, value: value})
		}
	}
	u.made = u.made[:0]
	return nil
}
