package document

import "slices"

// Outcome says what a merge did.
type Outcome uint8

const (
	Known    Outcome = iota // the revision was in the tree: nothing changed
	Extended                // it is a new leaf and continues a former one
	Branched                // it is a new leaf on a branch or a root of its own
	Older                   // can't tell before the chunks are loaded; nothing changed
	// Filled means that the revision was in the tree, but something about it
	// or its ancestors was learnt: older ancestors, that an inner revision was
	// a tombstone, or that what was thought a leaf has a descendant. There is
	// no new leaf; the head must be written, or the tree would depend on the
	// order of merges.
	Filled
)

// Merge grafts path (newest first, generations falling by one; what follows a
// gap is ignored) whose newest revision is n.Rev. It is commutative and
// idempotent: the same paths in any order give equal trees. A nil path means
// n.Rev alone.
//
// The tree becomes the union of what it had and what the path says, so a path
// may also give a root its ancestors and join two roots: more than one former
// leaf may stop being one. Honest revisions have one parent, for their hash
// covers it; where a path contradicts the tree, the tree stands and the older
// part of the path is ignored.
//
// Of a partly loaded tree, ancestors in the path that would lie in the chunks
// are taken for those that do. Older is answered when the path starts before
// them, ends among them, or branches off so deep that chunks must come back.
func (t *Tree) Merge(path []Rev, n Node) Outcome {
	g := graft{t: t, path: descending(path, n.Rev)}
	g.plan()
	if g.older {
		return Older
	}
	isNew := g.at[0] < 0
	learnt := g.insert()
	leaf := &t.nodes[g.at[0]]
	if isNew {
		*leaf = newLeaf(n, noParent)
	} else if n.Deleted && !leaf.deleted && !leaf.leaf {
		leaf.deleted, learnt = true, true
	}
	joined, beaten := g.link()
	switch {
	case isNew && beaten:
		return Extended
	case isNew:
		return Branched
	case learnt || joined:
		return Filled
	}
	return Known
}

// Bury notes of revisions that have descendants that they are tombstones, and
// reports whether the tree changed; those that it does not have loaded, and
// leaves, are left alone. As part of a merge it keeps that commutative and
// idempotent: nothing ever takes the mark away again.
func (t *Tree) Bury(revs []Rev) (changed bool) {
	for _, r := range revs {
		if i, ok := t.search(r); ok && !t.nodes[i].leaf && !t.nodes[i].deleted {
			t.nodes[i].deleted, changed = true, true
		}
	}
	return changed
}

// Buried gives those of revs that the tree has loaded as tombstones with
// descendants: what Bury of an equal tree has to be told.
func (t *Tree) Buried(revs []Rev) (buried []Rev) {
	for _, r := range revs {
		if i, ok := t.search(r); ok && !t.nodes[i].leaf && t.nodes[i].deleted {
			buried = append(buried, r)
		}
	}
	return buried
}

// descending gives the beginning of path in which generations fall by one.
func descending(path []Rev, newest Rev) []Rev {
	if len(path) == 0 {
		return []Rev{newest}
	}
	for i := 1; i < len(path); i++ {
		if path[i].Gen+1 != path[i-1].Gen {
			return path[:i]
		}
	}
	return path
}

// graft is one merge: it is planned without touching the tree, for the plan may
// be that the chunks are needed.
type graft struct {
	t     *Tree
	path  []Rev   // cut where the tree contradicts it, or where the chunks begin
	at    []int32 // for each of path its node, -1 for those that are to be made
	older bool
}

// plan finds the path's revisions in the tree.
func (g *graft) plan() {
	g.at = make([]int32, 0, len(g.path))
	below := int32(noParent) // the node of the revision before, if it was found
	for i, r := range g.path {
		if g.inChunks(r) {
			// The revision before is the oldest loaded one, or else a new one,
			// and then tooDeep says so.
			g.older = g.older || i == 0 || g.path[len(g.path)-1].Gen < g.t.floor()
			g.path = g.path[:i]
			return
		}
		at := int32(-1)
		if below >= 0 && g.t.nodes[below].parent != noParent {
			at = g.t.nodes[below].parent
			if g.t.nodes[at].rev() != r {
				g.path = g.path[:i]
				return
			}
		} else if j, ok := g.t.search(r); ok {
			at = int32(j)
		} else if g.tooDeep(r) {
			g.older = true
			return
		}
		g.at = append(g.at, at)
		below = at
	}
}

// inChunks reports whether r, if the tree has it, lies in a chunk, or below
// them all.
func (g *graft) inChunks(r Rev) bool {
	return g.t.unloaded > 0 && r.Gen < g.t.nodes[0].gen
}

// tooDeep reports whether a second revision in r's generation makes the trunk
// so short that the last chunk is no longer one.
func (g *graft) tooDeep(r Rev) bool {
	return g.t.unloaded > 0 && r.Gen < g.t.nodes[0].gen+chunkMargin
}

// insert makes nodes for the revisions that the tree lacks, without parents,
// and reports whether there were any. Nodes and path are both sorted, so they
// are merged from the back.
func (g *graft) insert() bool {
	missing := 0
	for _, at := range g.at {
		if at < 0 {
			missing++
		}
	}
	if missing == 0 {
		return false
	}
	t := g.t
	old := len(t.nodes)
	moved := make([]int32, old)
	t.nodes = slices.Grow(t.nodes, missing)[:old+missing]
	e, to := old-1, len(t.nodes)-1
	for i, r := range g.path {
		if g.at[i] >= 0 {
			continue
		}
		for ; e >= 0 && t.nodes[e].compare(r) > 0; e, to = e-1, to-1 {
			t.nodes[to], moved[e] = t.nodes[e], int32(to)
		}
		t.nodes[to] = node{hash: r.Hash, gen: r.Gen, parent: noParent}
		g.at[i] = int32(to) + int32(len(t.nodes)) // marked as final
		to--
	}
	for ; e >= 0; e-- {
		moved[e] = int32(e)
	}
	g.renumber(moved)
	return true
}

// renumber follows the nodes that insert has moved, in parents and in g.at.
func (g *graft) renumber(moved []int32) {
	nodes := g.t.nodes
	for _, to := range moved {
		if p := nodes[to].parent; p != noParent {
			nodes[to].parent = moved[p]
		}
	}
	for i, at := range g.at {
		if at >= int32(len(nodes)) {
			g.at[i] = at - int32(len(nodes))
		} else {
			g.at[i] = moved[at]
		}
	}
}

// link makes every revision of the path the parent of the one before. It
// reports whether a parent was set, and whether a leaf stopped being one.
func (g *graft) link() (joined, beaten bool) {
	nodes := g.t.nodes
	for i := 1; i < len(g.at); i++ {
		child, parent := &nodes[g.at[i-1]], &nodes[g.at[i]]
		if child.parent == noParent {
			child.parent = g.at[i]
			joined = true
		}
		if parent.leaf {
			parent.cover()
			beaten = true
		}
	}
	return joined, beaten
}
