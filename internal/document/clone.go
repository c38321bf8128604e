package document

import "slices"

// Clone returns a tree of its own with the same revisions, so that one of the two
// can be changed; a large one is ready for many changes.
func (t *Tree) Clone() Tree {
	t.settle()
	c := Tree{nodes: slices.Clone(t.nodes), unloaded: t.unloaded}
	if len(c.nodes) > smallTree {
		c.loosen()
	}
	return c
}
