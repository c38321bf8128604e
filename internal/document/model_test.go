package document

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// model is a revision tree in the plainest form: what each revision is and
// which is its parent. It knows nothing of chunks.
type model map[Rev]*modelNode

type modelNode struct {
	Node
	parent Rev
}

func (m model) merge(path []Rev, n Node) {
	for i, r := range path {
		if m[r] == nil {
			m[r] = &modelNode{Node: Node{Rev: r}}
			if i == 0 {
				m[r].Node = n
			}
		}
		if i > 0 && m[path[i-1]].parent.IsZero() {
			m[path[i-1]].parent = r
		}
	}
	m[n.Rev].Deleted = m[n.Rev].Deleted || n.Deleted
	m.settle()
}

// settle drops the sizes of revisions that are no leaves.
func (m model) settle() {
	leaves := m.leaves()
	for r, n := range m {
		if !slices.Contains(leaves, r) {
			n.External, n.Active = 0, 0
		}
	}
}

func (m model) leaves() []Rev {
	inner := map[Rev]bool{}
	for _, n := range m {
		inner[n.parent] = true
	}
	var leaves []Rev
	for r := range m {
		if !inner[r] {
			leaves = append(leaves, r)
		}
	}
	slices.SortFunc(leaves, func(a, b Rev) int {
		if m[a].Deleted != m[b].Deleted {
			return int(flag(m[a].Deleted)) - int(flag(m[b].Deleted))
		}
		return b.Compare(a)
	})
	return leaves
}

func (m model) path(r Rev) (path []Rev) {
	for ; m[r] != nil; r = m[r].parent {
		path = append(path, r)
	}
	return path
}

// keep forgets all revisions but those named.
func (m model) keep(keep map[Rev]bool) {
	maps.DeleteFunc(m, func(r Rev, _ *modelNode) bool { return !keep[r] })
	for _, n := range m {
		if !keep[n.parent] {
			n.parent = Rev{}
		}
	}
}

func (m model) stem(limit int) {
	keep := map[Rev]bool{}
	for _, l := range m.leaves() {
		path := m.path(l)
		for _, r := range path[:min(limit, len(path))] {
			keep[r] = true
		}
	}
	m.keep(keep)
}

func (m model) purge(revs []Rev) {
	keep := map[Rev]bool{}
	for _, l := range m.leaves() {
		if !slices.Contains(revs, l) {
			for _, r := range m.path(l) {
				keep[r] = true
			}
		}
	}
	m.keep(keep)
}

func (m model) String() string {
	var lines []string
	for _, r := range slices.SortedFunc(maps.Keys(m), Rev.Compare) {
		n := m[r]
		lines = append(lines, fmt.Sprintf("%v of %v deleted=%v %d %d", r, n.parent, n.Deleted, n.External, n.Active))
	}
	return strings.Join(lines, "\n")
}

// modelOf makes a model of a whole tree.
func modelOf(t *Tree) model {
	m := model{}
	for i := range t.nodes {
		n := &modelNode{Node: t.nodes[i].public()}
		if p := t.nodes[i].parent; p != noParent {
			n.parent = t.nodes[p].rev()
		}
		m[n.Rev] = n
	}
	return m
}

// shelf keeps a tree as the store does: a head and rows of chunks.
type shelf struct {
	t    *testing.T
	head []byte
	rows map[uint32][]byte
}

func newShelf(t *testing.T) *shelf {
	var empty Tree
	return &shelf{t: t, head: empty.AppendBinary(nil), rows: map[uint32][]byte{}}
}

func (s *shelf) open() *Tree {
	tree, rest, err := DecodeTree(append(slices.Clone(s.head), "rest"...))
	if err != nil || string(rest) != "rest" {
		s.t.Fatalf("decoding a head: rest %q, %v", rest, err)
	}
	return &tree
}

// load makes tree, which open gave, whole.
func (s *shelf) load(tree *Tree) {
	var chunks []Chunk
	for _, g := range tree.ChunkGens() {
		chunks = append(chunks, Chunk{Gen: g, Data: s.rows[g]})
	}
	if err := tree.Load(chunks); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) whole() *Tree {
	tree := s.open()
	s.load(tree)
	return tree
}

func (s *shelf) save(tree *Tree) {
	for _, c := range tree.Spill() {
		s.rows[c.Gen] = c.Data
	}
	gens := tree.ChunkGens()
	maps.DeleteFunc(s.rows, func(g uint32, _ []byte) bool { return !slices.Contains(gens, g) })
	if len(s.rows) != len(gens) {
		s.t.Fatalf("the tree wants chunks %v, there are %d", gens, len(s.rows))
	}
	s.head = tree.AppendBinary(nil)
}

func (s *shelf) merge(path []Rev, n Node) Outcome {
	tree := s.open()
	o := tree.Merge(path, n)
	if o == Older {
		s.load(tree)
		o = tree.Merge(path, n)
	}
	s.save(tree)
	return o
}

// canonical returns head and chunks as they are after everything was loaded.
func (s *shelf) canonical() string {
	tree := s.whole()
	var b strings.Builder
	for _, c := range tree.Spill() {
		fmt.Fprintf(&b, "%d %x\n", c.Gen, c.Data)
	}
	fmt.Fprintf(&b, "%x", tree.AppendBinary(nil))
	return b.String()
}

// history makes up documents' true histories: revisions with one parent each.
type history struct {
	rng   *rand.Rand
	nodes []modelNode
	index map[Rev]int
}

func newHistory(seed uint64, size int) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1)), index: map[Rev]int{}}
	straight := h.rng.IntN(100) // how often the newest revision is continued
	for len(h.nodes) < size {
		parent := Rev{}
		if n := len(h.nodes); n > 0 && h.rng.IntN(40) > 0 {
			at := n - 1
			if h.rng.IntN(100) > straight {
				at = h.rng.IntN(n)
			}
			parent = h.nodes[at].Rev
		}
		h.grow(parent)
	}
	return h
}

// grow adds a revision below parent.
func (h *history) grow(parent Rev) modelNode {
	r := Rev{Gen: parent.Gen + 1, Hash: fmt.Sprintf("%016x", h.rng.Uint64())}
	if h.rng.IntN(8) == 0 {
		r.Hash = r.Hash[:1+h.rng.IntN(12)]
	}
	if _, ok := h.index[r]; ok {
		return h.grow(parent)
	}
	n := modelNode{Node: Node{
		Rev: r, Deleted: h.rng.IntN(4) == 0,
		External: h.rng.Uint64N(1 << 20), Active: h.rng.Uint64N(200),
	}, parent: parent}
	h.index[r] = len(h.nodes)
	h.nodes = append(h.nodes, n)
	return n
}

// path returns a revision and some or all of its ancestors.
func (h *history) path(n modelNode) []Rev {
	var path []Rev
	for r := n.Rev; !r.IsZero(); r = h.nodes[h.index[r]].parent {
		path = append(path, r)
	}
	if h.rng.IntN(3) == 0 {
		path = path[:1+h.rng.IntN(len(path))]
	}
	return path
}
