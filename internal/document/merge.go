package document

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
// covers it; where a path contradicts the tree, the tree is kept and the older
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
	if leaf := &t.nodes[g.at[0]]; isNew {
		t.grow(g.at[0], n, noParent)
	} else if n.Deleted && !leaf.deleted && !leaf.leaf {
		leaf.deleted, learnt = true, true
	}
	joined, superseded := g.link()
	if isNew || joined {
		g.measure()
	}
	t.tighten()
	switch {
	case isNew && superseded:
		return Extended
	case isNew:
		return Branched
	case learnt || joined:
		return Filled
	}
	return Known
}

// NoteTombstones notes of revisions that have descendants that they are tombstones, and
// reports whether the tree changed; those that it does not have loaded, and
// leaves, are left alone. As part of a merge it keeps that commutative and
// idempotent: nothing ever takes the mark away again.
func (t *Tree) NoteTombstones(revs []Rev) (changed bool) {
	for _, r := range revs {
		if i, ok := t.search(r); ok && !t.nodes[i].leaf && !t.nodes[i].deleted {
			t.nodes[i].deleted, changed = true, true
		}
	}
	return changed
}

// InnerTombstones returns those of revs that the tree has loaded as tombstones with
// descendants: what NoteTombstones of an equal tree has to be given.
func (t *Tree) InnerTombstones(revs []Rev) (tombstones []Rev) {
	for _, r := range revs {
		if i, ok := t.search(r); ok && !t.nodes[i].leaf && t.nodes[i].deleted {
			tombstones = append(tombstones, r)
		}
	}
	return tombstones
}

// descending returns the beginning of path in which generations fall by one.
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
// and reports whether there were any.
func (g *graft) insert() (any bool) {
	for i := len(g.path) - 1; i >= 0; i-- { // the oldest first, as nodes are in order
		if g.at[i] < 0 {
			g.at[i], any = g.t.append(g.path[i]), true
		}
	}
	return any
}

// measure notes how long the path has become.
func (g *graft) measure() {
	if g.t.nodes[g.at[0]].leaf {
		g.t.lengthened(g.at[0])
	} else if g.t.loose != nil {
		g.t.loose.stemmed = 0 // the leaves above were not looked for
	}
}

// link makes every revision of the path the parent of the one before. It
// reports whether a parent was set, and whether a leaf stopped being one.
func (g *graft) link() (joined, superseded bool) {
	nodes := g.t.nodes
	for i := 1; i < len(g.at); i++ {
		if child := &nodes[g.at[i-1]]; child.parent == noParent {
			child.parent = g.at[i]
			joined = true
		}
		if nodes[g.at[i]].leaf {
			g.t.cover(g.at[i])
			superseded = true
		}
	}
	return joined, superseded
}
