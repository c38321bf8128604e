package document

import "slices"

// Clone returns a tree of its own with the same revisions, so that one of the two
// can be changed; a large one is ready for many changes.
func (t *Tree) Clone() Tree {
	t.settle()
	c := Tree{nodes: slices.Clone(t.nodes), unloaded: t.unloaded}
	c.Ready()
	return c
}

// Ready readies a large tree for many changes: the winner and the sums of the leaves are
// looked for once. It is for a tree that one goroutine uses alone.
func (t *Tree) Ready() {
	if len(t.nodes) > smallTree && t.loose == nil {
		t.loosen()
	}
}
