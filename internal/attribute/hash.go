package attribute

import (
	"encoding/binary"
	"hash/maphash"
)

// Hash returns a number by which values are told apart: the same for values that are
// Equal, and most likely another for others. It is another in each process.
func Hash(v Value) uint64 {
	h := hash{}
	h.SetSeed(seed)
	h.add(v)
	return h.Sum64()
}

// seed is drawn, so that nobody can make values that have the same hash.
var seed = maphash.MakeSeed()

type hash struct{ maphash.Hash }

func (h *hash) add(v Value) {
	_ = h.WriteByte(byte(v.kind))
	switch v.kind {
	case S, N, B, BOOL:
		h.addText(v.text)
	case L:
		h.addNumber(uint64(v.Len()))
		for _, e := range v.List() {
			h.add(e)
		}
	case M:
		h.addItem(v.Map())
	case SS, NS, BS:
		h.addNumber(uint64(v.Len()))
		for _, e := range v.Set() {
			h.addText(e)
		}
	}
}

// addItem adds the sum of its attributes' hashes, as their order means nothing.
func (h *hash) addItem(item Item) {
	var sum uint64
	for _, a := range item.Attributes() {
		one := hash{}
		one.SetSeed(seed)
		one.addText(a.Name)
		one.add(a.Value)
		sum += one.Sum64()
	}
	h.addNumber(sum)
}

// addText adds a text with its length, so that texts side by side are told apart.
func (h *hash) addText(text string) {
	h.addNumber(uint64(len(text)))
	_, _ = h.WriteString(text)
}

func (h *hash) addNumber(n uint64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], n)
	_, _ = h.Write(bytes[:])
}
