package document

import "slices"

// loose is what a large tree knows while it is being changed.
//
// The naive way is to keep the nodes in order all the time: each new revision
// moves those after it, and a document that is given eight thousand conflicts
// by one request costs eight thousand times its size, while everybody else who
// writes to the database waits. So new revisions are appended to a large tree as
// they come, and found by a map, until something asks for the order (settle);
// and what an edit asks of all leaves is kept instead of counted. An edit costs
// as much as its path is long, whatever the tree's size.
//
// A tree without it (nil) is in order. Indexes of nodes stay valid until settle.
type loose struct {
	sorted  int           // nodes[:sorted] are in order, the others as they came
	late    map[Rev]int32 // where the others are
	sums    Sums
	best    int32  // the winner, noParent if that has to be looked for
	stemmed uint32 // the depth to which the tree is known to be stemmed; 0: not known
	begun   int    // how many nodes there were when they were last in order
}

// Sums are what a tree's leaves add up to.
type Sums struct {
	Leaves, Live     int    // how many there are, and how many of them are no tombstones
	External, Active uint64 // their sizes in bytes
}

func (s *Sums) add(n *node) {
	s.Leaves++
	if !n.deleted {
		s.Live++
	}
	s.External += n.external
	s.Active += n.active
}

func (s *Sums) remove(n *node) {
	s.Leaves--
	if !n.deleted {
		s.Live--
	}
	s.External -= n.external
	s.Active -= n.active
}

// Sums adds up the leaves.
func (t *Tree) Sums() (s Sums) {
	if t.loose != nil {
		return t.loose.sums
	}
	for i := range t.nodes {
		if t.nodes[i].leaf {
			s.add(&t.nodes[i])
		}
	}
	return s
}

// smallTree is how many revisions are kept in order all the time.
const smallTree = 64

// loosen readies a tree that is in order for many changes.
func (t *Tree) loosen() {
	stemmed := uint32(0)
	if t.loose != nil {
		stemmed = t.loose.stemmed
	}
	sums := (&Tree{nodes: t.nodes}).Sums()
	t.loose = &loose{sorted: len(t.nodes), sums: sums, best: noParent, stemmed: stemmed, begun: len(t.nodes)}
}

// ordered reports whether the nodes are in order.
func (t *Tree) ordered() bool { return t.loose == nil || t.loose.sorted == len(t.nodes) }

// settle puts the nodes in order. A large tree stays ready for more changes.
func (t *Tree) settle() {
	if t.ordered() {
		return
	}
	order := make([]int32, len(t.nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return t.nodes[a].compare(t.nodes[b].rev()) })
	moved := make([]int32, len(order))
	nodes := make([]node, len(order), len(order)+1)
	for to, from := range order {
		nodes[to], moved[from] = t.nodes[from], int32(to)
	}
	for i := range nodes {
		if p := nodes[i].parent; p != noParent {
			nodes[i].parent = moved[p]
		}
	}
	t.nodes = nodes
	t.loosen()
}

// append adds a revision without a parent that the tree does not have, and returns
// its place.
func (t *Tree) append(r Rev) int32 {
	at := int32(len(t.nodes))
	inOrder := t.ordered() && (at == 0 || t.nodes[at-1].compare(r) < 0)
	if !inOrder && t.loose == nil {
		t.loosen()
	}
	t.nodes = append(t.nodes, node{hash: r.Hash, gen: r.Gen, parent: noParent})
	if l := t.loose; l != nil && inOrder {
		l.sorted++
	} else if l != nil {
		if l.late == nil {
			l.late = map[Rev]int32{}
		}
		l.late[r] = at
	}
	return at
}

// tighten puts a small tree in order after a change.
func (t *Tree) tighten() {
	if len(t.nodes) > smallTree {
		return
	}
	t.settle()
	t.loose = nil
}

// grow makes nodes[at], which append gave, the leaf n.
func (t *Tree) grow(at int32, n Node, parent int32) {
	t.nodes[at] = newLeaf(n, parent)
	if l := t.loose; l != nil {
		l.sums.add(&t.nodes[at])
		if l.best != noParent && t.nodes[at].beats(&t.nodes[l.best]) {
			l.best = at
		}
	}
}

// cover makes nodes[at], a leaf, an inner node.
func (t *Tree) cover(at int32) {
	n := &t.nodes[at]
	if l := t.loose; l != nil {
		l.sums.remove(n)
		if l.best == at {
			l.best = noParent
		}
	}
	n.leaf, n.external, n.active = false, 0, 0
}

// lengthened notes that the path down from nodes[at] may have become longer than
// the tree was stemmed to.
func (t *Tree) lengthened(at int32) {
	l := t.loose
	if l == nil || l.stemmed == 0 {
		return
	}
	last, length := at, uint32(0)
	for ; at != noParent && length <= l.stemmed; at = t.nodes[at].parent {
		last = at
		length++
	}
	if last == 0 {
		length += t.unloaded
	}
	if length > l.stemmed {
		l.stemmed = 0
	}
}
