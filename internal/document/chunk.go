package document

import "github.com/sectional/sectional/internal/packed"

const (
	// chunkSize is how many generations a chunk covers: those from a multiple
	// of it on.
	chunkSize = 32
	// chunkMargin is how many trunk revisions newer than the last chunk stay
	// in the head, so that a short branch or a look at the last revisions needs
	// no chunk.
	chunkMargin = 16
	// chunkVersion is the first byte of a chunk.
	chunkVersion = 1
)

// Chunk holds revisions of the trunk, one after another, that lie in a row of its own.
type Chunk struct {
	// Gen is the generation, a multiple of 32, that they are aligned to. Of
	// the oldest chunk they may begin later.
	Gen  uint32
	Data []byte
}

// Spill moves full chunks of old trunk out of the loaded part; the store writes
// the rows it returns, over any that are there. It is called before
// AppendBinary. A linear history gives one chunk for 32 edits and leaves 16 to
// 47 revisions loaded.
func (t *Tree) Spill() []Chunk {
	if len(t.nodes) <= chunkMargin {
		return nil
	}
	t.settle()
	var chunks []Chunk
	from, trunk := 0, t.trunk()
	for {
		end := from + int(chunkSize-t.nodes[from].gen%chunkSize)
		if end+chunkMargin > trunk {
			break
		}
		chunks = append(chunks, newChunk(t.nodes[from:end]))
		from = end
	}
	if from > 0 {
		t.drop(from)
	}
	return chunks
}

// trunk counts the loaded trunk revisions.
func (t *Tree) trunk() int {
	n := len(t.nodes)
	for i := range t.nodes {
		if i > 0 && t.nodes[i].parent != int32(i-1) {
			return i
		}
		if i+1 < n && t.nodes[i+1].gen == t.nodes[i].gen {
			return i
		}
	}
	return n
}

// drop forgets the first k nodes, which lie in chunks now.
func (t *Tree) drop(k int) {
	t.unloaded += uint32(k)
	t.nodes = t.nodes[k:]
	t.nodes[0].parent = noParent
	for i := 1; i < len(t.nodes); i++ {
		if t.nodes[i].parent != noParent {
			t.nodes[i].parent -= int32(k)
		}
	}
	if t.loose != nil {
		t.loosen()
	}
}

func newChunk(nodes []node) Chunk {
	data := make(packed.Writer, 0, 8+len(nodes)*(1+hashSize))
	data.Byte(chunkVersion)
	data.Uint(uint64(nodes[0].gen))
	for i := range nodes {
		data.Byte(nodes[i].hashFlags())
		nodes[i].appendHash(&data)
	}
	return Chunk{Gen: nodes[0].gen - nodes[0].gen%chunkSize, Data: data}
}

// ChunkGens names the chunks that belong to the tree now, in order, so that the
// store can read them, and delete the rows of those that fell off.
func (t *Tree) ChunkGens() []uint32 {
	if t.unloaded == 0 {
		return nil
	}
	floor, first := t.floor(), t.nodes[0].gen
	gens := make([]uint32, 0, t.unloaded/chunkSize+2)
	for g := floor - floor%chunkSize; g < first; g += chunkSize {
		gens = append(gens, g)
	}
	return gens
}

// Load puts the chunks back, making the tree whole. It wants those that
// ChunkGens names, in that order, and returns an Internal error when one is
// missing or damaged; then the tree is as before.
func (t *Tree) Load(chunks []Chunk) error {
	gens := t.ChunkGens()
	if len(chunks) != len(gens) {
		return damaged("Load")
	}
	if len(gens) == 0 {
		return nil
	}
	nodes := make([]node, 0, int(t.unloaded)+len(t.nodes)+1)
	for i, c := range chunks {
		if c.Gen != gens[i] {
			return damaged("Load")
		}
		older, ok := decodeChunk(c, max(c.Gen, t.floor()))
		if !ok {
			return damaged("Load")
		}
		nodes = append(nodes, older...)
	}
	t.settle()
	t.nodes = prepend(nodes, t.nodes)
	t.unloaded = 0
	if t.loose != nil {
		t.loosen()
	}
	return nil
}

// prepend puts older revisions of the trunk before nodes, which continue it.
func prepend(older, nodes []node) []node {
	k := int32(len(older))
	for i := range older {
		older[i].parent = int32(i) - 1
	}
	all := append(older, nodes...)
	for i := range all[k:] {
		n := &all[int(k)+i]
		if i == 0 {
			n.parent = k - 1
		} else if n.parent != noParent {
			n.parent += k
		}
	}
	return all
}

// decodeChunk returns the revisions of c from generation from on: older ones were
// stemmed since it was written.
func decodeChunk(c Chunk, from uint32) ([]node, bool) {
	r := reader{Reader: packed.ReadVersion(c.Data, chunkVersion)}
	gen := uint32(r.UpTo(maxGen))
	if r.Failed() || gen < c.Gen || gen > from || gen-gen%chunkSize != c.Gen {
		return nil, false
	}
	skip := int(from - gen)
	nodes := make([]node, c.Gen+chunkSize-gen)
	r.hashes.Grow(len(nodes) * hashSize)
	for i := range nodes {
		flags := r.Byte()
		if flags&^(flagDeleted|flagText) != 0 {
			return nil, false
		}
		nodes[i] = node{gen: gen + uint32(i), deleted: flags&flagDeleted != 0, hash: r.hash(flags)}
	}
	if r.Done() != nil {
		return nil, false
	}
	return nodes[skip:], true
}
