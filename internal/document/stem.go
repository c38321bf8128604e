package document

// Stem forgets ancestors further than limit revisions from every leaf, so that
// each path has exactly its last limit revisions, or all when they are fewer. A
// limit under 1 counts as 1. It returns the loaded revisions that left the
// tree, oldest first.
//
// Unloaded ancestors leave without being named: Unloaded falls at once, a chunk
// leaves ChunkGens when the last of its revisions has.
func (t *Tree) Stem(limit int) (gone []Rev) {
	depth := uint32(min(max(limit, 1), maxGen))
	if l := t.loose; l != nil && l.stemmed == depth {
		return nil
	}
	t.settle()
	defer t.stemmedTo(depth)
	if t.Empty() || t.nodes[len(t.nodes)-1].gen-t.floor() < depth {
		return nil
	}
	var room [64]uint32
	nearest := t.nearestLeaves(room[:0])
	if t.unloaded > 0 {
		if nearest[0]-t.nodes[0].gen >= depth {
			t.unloaded = 0
		} else if above := nearest[0] - t.nodes[0].gen; t.unloaded+above >= depth {
			t.unloaded = depth - 1 - above
		}
	}
	return t.remove(func(i int) bool { return nearest[i]-t.nodes[i].gen < depth })
}

// StemSoon is Stem after each of many edits of a tree. A large one, where looking
// for what is to be forgotten takes longer than the edit, is left as it is until
// it has grown to twice its size; then later is true, and Stem ends the edits.
func (t *Tree) StemSoon(limit int) (later bool) {
	if l := t.loose; l != nil && len(t.nodes) <= 2*l.begun {
		return true
	}
	t.Stem(limit)
	return false
}

// stemmedTo notes that a large tree is stemmed.
func (t *Tree) stemmedTo(depth uint32) {
	if t.loose != nil {
		t.loose.stemmed = depth
	}
}

// nearestLeaves returns for each node the lowest generation among the leaves
// above it.
func (t *Tree) nearestLeaves(dst []uint32) []uint32 {
	for range t.nodes {
		dst = append(dst, ^uint32(0))
	}
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		if n.leaf {
			dst[i] = n.gen
		}
		if n.parent != noParent {
			dst[n.parent] = min(dst[n.parent], dst[i])
		}
	}
	return dst
}

// Purge removes leaves and what only they need, as CouchDB's _purge: only
// revisions that are leaves before the call, in any order given. It returns
// those removed, in that order, each once. It works on partly loaded trees:
// when no leaf of the trunk is left, the chunks have fallen off as well.
func (t *Tree) Purge(revs []Rev) (purged []Rev) {
	t.settle()
	needed := make([]bool, len(t.nodes))
	for i := range t.nodes {
		needed[i] = t.nodes[i].leaf
	}
	for _, r := range revs {
		if i, ok := t.search(r); ok && needed[i] {
			needed[i] = false
			purged = append(purged, r)
		}
	}
	if purged == nil {
		return nil
	}
	for i := len(t.nodes) - 1; i >= 0; i-- {
		if p := t.nodes[i].parent; p != noParent && needed[i] {
			needed[p] = true
		}
	}
	if !needed[0] {
		t.unloaded = 0
	}
	t.remove(func(i int) bool { return needed[i] })
	return purged
}

// remove keeps the nodes that keep names, and returns the revisions of the
// others. Children of removed nodes become roots. The nodes are in order.
func (t *Tree) remove(keep func(int) bool) (gone []Rev) {
	var room [64]int32
	moved := room[:0]
	kept := t.nodes[:0]
	for i := range t.nodes {
		n := t.nodes[i]
		if !keep(i) {
			gone = append(gone, n.rev())
			moved = append(moved, noParent)
			continue
		}
		if n.parent != noParent {
			n.parent = moved[n.parent]
		}
		moved = append(moved, int32(len(kept)))
		kept = append(kept, n)
	}
	clear(t.nodes[len(kept):])
	t.nodes = kept
	if t.loose != nil {
		t.loosen()
		t.loose.stemmed = 0 // ancestors may be further from their next leaf now
	}
	return gone
}
