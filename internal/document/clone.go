package document

import "slices"

// Clone gives a tree of its own with the same revisions, so that one of the two
// can be changed.
func (t *Tree) Clone() Tree { return Tree{nodes: slices.Clone(t.nodes), unloaded: t.unloaded} }
