package document

import (
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/packed"
)

// treeVersion is the first byte of an encoded head.
const treeVersion = 1

// Flags before each revision. The commonest revision, a live inner node that
// continues the one before it with a hash of 16 bytes, has none of them.
const (
	flagDeleted = 1 << iota
	flagLeaf    // sizes follow the hash
	flagText    // the hash is not 16 bytes long: its length precedes it
	flagRoot    // no loaded parent: the generation follows the flags
	flagBranch  // the parent is not the revision before: the distance follows the flags
	flagsEnd
)

// AppendBinary encodes the head part of the tree: everything but the trunk
// chunks. Equal trees that were spilled have equal encodings.
func (t *Tree) AppendBinary(dst []byte) []byte {
	t.settle()
	w := packed.Writer(dst)
	w.Byte(treeVersion)
	w.Uint(uint64(len(t.nodes)))
	w.Uint(uint64(t.unloaded))
	for i := range t.nodes {
		t.nodes[i].append(&w, int32(i))
	}
	return w
}

func (n *node) append(w *packed.Writer, at int32) {
	flags := n.hashFlags()
	if n.leaf {
		flags |= flagLeaf
	}
	switch n.parent {
	case noParent:
		w.Byte(flags | flagRoot)
		w.Uint(uint64(n.gen))
	case at - 1:
		w.Byte(flags)
	default:
		w.Byte(flags | flagBranch)
		w.Uint(uint64(at - n.parent))
	}
	n.appendHash(w)
	if n.leaf {
		w.Uint(n.external)
		w.Uint(n.active)
	}
}

// hashFlags returns the flags that head and chunks have in common.
func (n *node) hashFlags() byte {
	flags := flag(n.deleted) * flagDeleted
	if len(n.hash) != hashSize {
		flags |= flagText
	}
	return flags
}

func (n *node) appendHash(w *packed.Writer) {
	if len(n.hash) != hashSize {
		w.Uint(uint64(len(n.hash)))
	}
	*w = append(*w, n.hash...)
}

// DecodeTree reads what AppendBinary wrote back as a partly loaded tree, and
// returns the bytes after it. It keeps no part of src. Bytes that AppendBinary
// would not have written are an Internal error.
func DecodeTree(src []byte) (t Tree, rest []byte, err error) {
	r := reader{Reader: packed.Read(src)}
	if r.Byte() != treeVersion {
		r.Fail()
	}
	count, unloaded := r.UpTo(maxGen), r.UpTo(maxGen)
	if count > uint64(len(r.Rest())/2) { // flags and an empty hash at least
		r.Fail()
	}
	if r.Failed() {
		return Tree{}, nil, damaged("DecodeTree")
	}
	t.unloaded = uint32(unloaded)
	t.nodes = make([]node, count, count+1) // an edit adds one
	r.hashes.Grow(int(count) * hashSize)
	covered := 0
	for i := 0; i < len(t.nodes) && !r.Failed(); i++ {
		covered += r.node(t.nodes, i)
	}
	if r.Failed() || covered != t.inner() || !t.chunked() {
		return Tree{}, nil, damaged("DecodeTree")
	}
	return t, r.Rest(), nil
}

func damaged(op string) error {
	return &dberr.Error{Op: "document." + op, Kind: dberr.Internal, Reason: "damaged revision tree"}
}

// inner counts the nodes that are no leaves.
func (t *Tree) inner() int {
	c := 0
	for i := range t.nodes {
		if !t.nodes[i].leaf {
			c++
		}
	}
	return c
}

// chunked reports whether unloaded ancestors are where they may be: whole
// chunks under a trunk that is long enough.
func (t *Tree) chunked() bool {
	if t.unloaded == 0 {
		return true
	}
	if len(t.nodes) == 0 {
		return false
	}
	first := t.nodes[0].gen
	return first%chunkSize == 0 && t.unloaded <= first && t.trunk() >= chunkMargin
}

// reader reads encoded nodes.
type reader struct {
	packed.Reader
	hashes strings.Builder // one allocation for all hashes
}

func (r *reader) hash(flags byte) string {
	size := hashSize
	if flags&flagText != 0 {
		if size = int(r.UpTo(maxHash)); size == hashSize {
			r.Fail()
		}
	}
	at := r.hashes.Len()
	r.hashes.Write(r.Take(uint64(size)))
	return r.hashes.String()[at:]
}

// node reads nodes[at], whose predecessors are there already. It returns 1 when
// the node is its parent's first child, else 0.
func (r *reader) node(nodes []node, at int) int {
	flags := r.Byte()
	n := &nodes[at]
	n.deleted, n.leaf = flags&flagDeleted != 0, flags&flagLeaf != 0
	n.parent = r.parent(flags, at)
	if n.parent == noParent {
		n.gen = uint32(r.UpTo(maxGen))
	} else {
		n.gen = nodes[n.parent].gen + 1
	}
	n.hash = r.hash(flags)
	if n.leaf {
		n.external, n.active = r.Uint(), r.Uint()
	}
	if flags >= flagsEnd || n.gen > maxGen || at > 0 && nodes[at-1].compare(n.rev()) >= 0 {
		r.Fail()
	}
	return r.cover(nodes, n.parent)
}

// parent reads which node is the parent of nodes[at].
func (r *reader) parent(flags byte, at int) int32 {
	switch flags & (flagRoot | flagBranch) {
	case flagRoot:
		return noParent
	case flagBranch:
		if distance := int(r.UpTo(maxGen)); distance > 1 && distance <= at {
			return int32(at - distance)
		}
	case 0:
		if at > 0 {
			return int32(at - 1)
		}
	}
	r.Fail()
	return noParent
}

// cover notes that parent has a child, which no leaf may have, and returns 1
// when it is the first.
func (r *reader) cover(nodes []node, parent int32) int {
	if parent == noParent {
		return 0
	}
	p := &nodes[parent]
	if p.leaf {
		r.Fail()
	}
	if p.covered {
		return 0
	}
	p.covered = true
	return 1
}
