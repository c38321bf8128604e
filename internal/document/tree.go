package document

import (
	"slices"
	"strings"
)

// Node is a revision in a tree.
type Node struct {
	Rev     Rev
	Deleted bool
	// External and Active are the sizes in bytes that the revision adds to its
	// database and partition; they are kept for leaves only.
	External uint64 // body and attachments before encoding
	Active   uint64 // rows and blobs as stored
}

// Tree is the revision tree of one document: paths from roots to leaves, as far
// back as stemming left them. The zero Tree is that of a document that was
// never written. Methods that change a tree change it in place; a copy of the
// value made before shares its nodes and must not be used any more.
//
// The naive way is to keep the whole tree in the document's head row. A
// document that was edited a thousand times then rewrites 17 KB at each edit.
// So a tree may be partly loaded: the oldest ancestors lie in chunks beside the
// head row (see Spill), and Unloaded returns how many there are. Every method
// says what it does about them. The chunks belong to the trunk:
//
//   - The trunk is the tree's oldest generations in which there is
//     one revision each, every one the parent of the next. Whatever branches
//     off, and whatever root of its own a replica brought, is newer.
//   - A chunk covers 32 generations from a multiple of 32 on. It is spilled if
//     and only if the trunk has 16 more generations after it. This depends on
//     the tree alone, not on the order in which it grew.
//   - Stemming moves the oldest kept generation through the first chunk without
//     rewriting it; the head counts what is still alive.
//
// Nodes lie in one slice in the order of Rev.Compare: parents before children,
// the trunk first, and equal trees in equal order; a large tree that is being
// changed has new ones after them (see loose). When some ancestors are not
// loaded, nodes[0] is the trunk's oldest loaded revision and its parent lies in
// the last chunk.
type Tree struct {
	nodes    []node
	unloaded uint32 // trunk revisions that lie in chunks
	loose    *loose // of a large tree that is being changed
}

type node struct {
	hash     string
	gen      uint32
	parent   int32 // index; noParent for a root and for the trunk's oldest loaded revision
	external uint64
	active   uint64
	deleted  bool
	leaf     bool
	covered  bool // used by DecodeTree alone
}

const noParent = -1

func (n *node) rev() Rev { return Rev{Gen: n.gen, Hash: n.hash} }

func (n *node) public() Node {
	return Node{Rev: n.rev(), Deleted: n.deleted, External: n.external, Active: n.active}
}

// compare orders nodes as Rev.Compare orders their revisions.
func (n *node) compare(r Rev) int {
	switch {
	case n.gen < r.Gen:
		return -1
	case n.gen > r.Gen:
		return 1
	}
	return strings.Compare(n.hash, r.Hash)
}

// beats reports whether the leaf n comes before the leaf o: live before
// deleted, then the higher generation, then the higher hash.
func (n *node) beats(o *node) bool {
	if n.deleted != o.deleted {
		return o.deleted
	}
	return n.compare(o.rev()) > 0
}

// Empty reports whether the document was never written, or purged.
func (t *Tree) Empty() bool { return len(t.nodes) == 0 }

// Unloaded counts the ancestors that lie in chunks.
func (t *Tree) Unloaded() int { return int(t.unloaded) }

// Leaves returns the leaves, the winner first and then by the same order: live
// before deleted, then generation, then hash, descending. Leaves are always
// loaded.
func (t *Tree) Leaves() []Node {
	var leaves []Node
	for i := range t.nodes {
		if t.nodes[i].leaf {
			leaves = append(leaves, t.nodes[i].public())
		}
	}
	slices.SortFunc(leaves, func(a, b Node) int {
		if a.Deleted != b.Deleted {
			return int(flag(a.Deleted)) - int(flag(b.Deleted))
		}
		return b.Rev.Compare(a.Rev)
	})
	return leaves
}

// Winner returns the first of Leaves, the zero Node when the tree is empty.
func (t *Tree) Winner() Node {
	if w := t.winner(); w != nil {
		return w.public()
	}
	return Node{}
}

func (t *Tree) winner() *node {
	if l := t.loose; l != nil && l.best != noParent {
		return &t.nodes[l.best]
	}
	var w *node
	for i := len(t.nodes) - 1; i >= 0; i-- {
		if n := &t.nodes[i]; n.leaf && (w == nil || n.beats(w)) {
			w = n
			if t.loose != nil {
				t.loose.best = int32(i)
			}
		}
	}
	return w
}

// Node finds a revision among those that are loaded and reports whether it is a
// leaf.
func (t *Tree) Node(r Rev) (n Node, leaf, ok bool) {
	i, ok := t.search(r)
	if !ok {
		return Node{}, false, false
	}
	return t.nodes[i].public(), t.nodes[i].leaf, true
}

// search returns the place of r, and whether it is there.
func (t *Tree) search(r Rev) (int, bool) {
	n := len(t.nodes)
	if l := t.loose; l != nil {
		if at, ok := l.late[r]; ok {
			return int(at), true
		}
		n = l.sorted
	}
	// Most searches are for the newest revision.
	if n == 0 || t.nodes[n-1].compare(r) < 0 {
		return n, false
	}
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.nodes[mid].compare(r) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, t.nodes[lo].compare(r) == 0
}

// Path returns the revision and its ancestors, newest first, as far as loaded;
// complete is false when older ones lie in chunks. When r is not among the
// loaded revisions it is empty, and complete if r can't lie in a chunk either.
func (t *Tree) Path(r Rev) (path []Rev, complete bool) {
	i, ok := t.search(r)
	if !ok {
		return nil, t.Covers([]Rev{r})
	}
	last := i
	for ; i != noParent; i = int(t.nodes[i].parent) {
		path = append(path, t.nodes[i].rev())
		last = i
	}
	return path, last != 0 || t.unloaded == 0
}

// LeavesFrom returns the leaves that descend from r, r itself when it is one, in
// the order of Leaves: what a reader who wants the latest of r is given. It is
// empty when r is not among the loaded revisions; every leaf of the trunk's
// part of the tree descends from an unloaded one.
func (t *Tree) LeavesFrom(r Rev) []Node {
	t.settle()
	i, ok := t.search(r)
	if !ok {
		return nil
	}
	below := make([]bool, len(t.nodes))
	below[i] = true
	for j := i + 1; j < len(t.nodes); j++ {
		p := t.nodes[j].parent
		below[j] = p != noParent && below[p]
	}
	return slices.DeleteFunc(t.Leaves(), func(n Node) bool {
		j, _ := t.search(n.Rev)
		return !below[j]
	})
}

// Oldest is the oldest generation that the tree has, loaded or not; the tree is
// not empty.
func (t *Tree) Oldest() uint32 { return t.floor() }

// floor is the oldest generation of the trunk that is kept, loaded or not.
func (t *Tree) floor() uint32 {
	if t.unloaded == 0 {
		t.settle() // else nothing comes before the first node
	}
	return t.nodes[0].gen - t.unloaded
}
