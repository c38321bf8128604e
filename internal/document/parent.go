package document

import "github.com/sectional/sectional/internal/dberr"

// Parent decides where an ordinary edit goes, as CouchDB does: the revision
// that becomes the new one's parent (zero for a new root). want is Edit.Parent.
// Errors: Conflict "Document update conflict." when it may not.
//
//   - Of a document that was never written nothing may have been read.
//   - Over a live winner the edit must name a leaf, any leaf: a losing one, and
//     a tombstone beside a live leaf, may be continued too.
//   - A deleted document is written anew without a revision, below the winning
//     tombstone; naming a tombstone is a conflict, and so is deleting it again.
//
// Unloaded ancestors are never leaves, so they make no difference.
func (t *Tree) Parent(want Rev, deleted bool) (Rev, error) {
	w := t.winner()
	switch {
	case w == nil:
		if want.IsZero() {
			return Rev{}, nil
		}
	case w.deleted:
		if want.IsZero() && !deleted {
			return w.editable()
		}
	default:
		if i, ok := t.search(want); ok && t.nodes[i].leaf {
			return t.nodes[i].editable()
		}
	}
	return Rev{}, conflict()
}

// editable refuses children of revisions at the highest generation there is,
// which only a replicated edit can have made.
func (n *node) editable() (Rev, error) {
	if n.gen >= maxGen {
		return Rev{}, dberr.New(dberr.Invalid, "bad_request", "Revision generation is too high")
	}
	return n.rev(), nil
}

func conflict() error {
	return dberr.New(dberr.Conflict, "conflict", "Document update conflict.")
}

// Add appends n as a child of the leaf parent (zero: as a root), which Parent
// gave. If a replica has brought the same revision as a root of its own, that
// root is joined to parent instead. It panics when parent is not a leaf.
func (t *Tree) Add(parent Rev, n Node) {
	if parent.IsZero() {
		t.addByMerge([]Rev{n.Rev}, n)
		return
	}
	i, ok := t.search(parent)
	if !ok || !t.nodes[i].leaf || n.Rev.Gen != parent.Gen+1 {
		panic("document: Add to a revision that is not a leaf, or of a wrong generation")
	}
	if _, known := t.search(n.Rev); known {
		t.addByMerge([]Rev{n.Rev, parent}, n)
		return
	}
	at := t.append(n.Rev)
	t.grow(at, n, int32(i))
	t.cover(int32(i))
	t.lengthened(at)
	t.tighten()
}

func (t *Tree) addByMerge(path []Rev, n Node) {
	if t.Merge(path, n) == Older {
		panic("document: Add of a root to a partly loaded tree")
	}
}

func newLeaf(n Node, parent int32) node {
	return node{
		hash: n.Rev.Hash, gen: n.Rev.Gen, parent: parent,
		external: n.External, active: n.Active,
		deleted: n.Deleted, leaf: true,
	}
}
