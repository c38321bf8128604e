package document

import "slices"

// Missing returns the revisions of revs that the tree does not have, in order and
// each once, and for _revs_diff the leaves that may be ancestors of a missing
// one (generation below the highest missing one), in the order of Leaves.
//
// It needs a wholly loaded tree, unless Covers says otherwise, and panics when
// it can't tell.
func (t *Tree) Missing(revs []Rev) (missing, possibleAncestors []Rev) {
	if !t.Covers(revs) {
		panic("document: Missing on a partly loaded tree")
	}
	for _, r := range revs {
		if _, ok := t.search(r); !ok {
			missing = append(missing, r)
		}
	}
	if missing == nil {
		return nil, nil
	}
	slices.SortFunc(missing, Rev.Compare)
	missing = slices.Compact(missing)
	highest := missing[len(missing)-1].Gen
	for _, n := range t.Leaves() {
		if n.Rev.Gen < highest {
			possibleAncestors = append(possibleAncestors, n.Rev)
		}
	}
	return missing, possibleAncestors
}

// Covers reports whether the loaded part alone shows which of revs the tree
// has: none of them is of a generation that lies in chunks. Replicas mostly ask
// for new revisions, and then nothing need be loaded.
func (t *Tree) Covers(revs []Rev) bool {
	if t.unloaded == 0 {
		return true
	}
	for _, r := range revs {
		if t.floor() <= r.Gen && r.Gen < t.nodes[0].gen {
			return false
		}
	}
	return true
}
