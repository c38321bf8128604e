package migrate

import (
	"hash/maphash"
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// places remembers which partition of the target each document is in, by its old id: a dozen bytes for each. An old id
// is known by its hash; that two share one of 64 bits is as good as impossible, and would put a deletion where nothing
// is to be deleted.
type places struct {
	seed maphash.Seed
	mu   sync.Mutex
	of   map[uint64]place
	// names and numbers are the partitions, each once.
	names   []document.Partition
	numbers map[document.Partition]place
}

// place is the number of a partition, with a mark for what is deleted there.
type place uint32

const gone place = 1 << 31

func newPlaces() *places {
	return &places{seed: maphash.MakeSeed(), of: map[uint64]place{}, numbers: map[document.Partition]place{}}
}

// get returns where a document is, and whether it is deleted there.
func (p *places) get(old string) (in document.Partition, deleted, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.of[maphash.String(p.seed, old)]
	if !ok {
		return "", false, false
	}
	return p.names[at&^gone], at&gone != 0, true
}

// set notes where a document is.
func (p *places) set(old string, in document.Partition, deleted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.numbers[in]
	if !ok {
		n = place(len(p.names))
		p.names, p.numbers[in] = append(p.names, in), n
	}
	if deleted {
		n |= gone
	}
	p.of[maphash.String(p.seed, old)] = n
}
