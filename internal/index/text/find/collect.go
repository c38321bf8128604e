package find

import (
	"container/heap"
	"slices"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// hit is a document found.
type hit struct {
	doc  uint64
	keys []key
	id   string // "" until it is asked for
}

// best gathers the first few of the documents found, in an order and by id where that
// leaves it open. It is a heap with the last of them on top.
type best struct {
	work    *work
	sorting *sorting
	limit   int
	after   *mark
	hits    []*hit
	total   uint64
	spare   *hit
	ids     *segment.Column
	// lost is the end of documents that can't be among the first if their keys are those
	// of the last hit: their ids come after that of one that is not.
	lost uint64
	run  uint64 // the end of the ascending ids that were found last
}

func (w *work) best(s *sorting, limit int, after *mark) *best {
	return &best{work: w, sorting: s, limit: limit, after: after, ids: w.index.Column("_id")}
}

// take takes the document where a node is.
func (b *best) take(n node) error {
	b.total++
	if b.limit == 0 {
		return nil
	}
	return b.offer(n)
}

// offer keeps the document where a node is if it is among the first so far.
func (b *best) offer(n node) error {
	h := b.spare
	if h == nil {
		h = &hit{}
	}
	b.spare, h.doc, h.id, h.keys = h, n.doc(), "", b.sorting.keys(n, h.keys[:0])
	full := len(b.hits) == b.limit
	if full {
		c := b.sorting.compare(h.keys, b.hits[0].keys)
		if c > 0 || c == 0 && h.doc < b.lost {
			return nil
		}
		if c == 0 && b.idOf(h) > b.idOf(b.hits[0]) {
			if h.doc >= b.run { // documents come in order
				b.run = b.ids.Ascends(h.doc)
			}
			b.lost = b.run
			return nil
		}
	}
	if b.after != nil && b.passed(h) {
		return nil
	}
	b.lost = 0
	if full {
		b.spare, b.hits[0] = b.hits[0], h
		heap.Fix(b, 0)
		return nil
	}
	b.spare = nil
	heap.Push(b, h)
	return b.work.keep(rowBytes + valueBytes*len(h.keys))
}

// takeAll takes all documents of a set, where nothing but ids tells them apart: what comes
// after one that is not among the first need not be looked at as long as ids ascend.
func (b *best) takeAll(s *set) error {
	b.total += s.docs.Count()
	for s.at != none && b.limit > 0 {
		if err := b.offer(s); err != nil {
			return err
		}
		move := s.next
		if s.at < b.lost {
			move = func() error { return s.advance(b.lost) }
		}
		if err := move(); err != nil {
			return err
		}
	}
	return b.work.ctx.Err()
}

// passed reports whether a document is not after the bookmark.
func (b *best) passed(h *hit) bool {
	c := b.sorting.compare(h.keys, b.after.keys)
	return c < 0 || c == 0 && b.idOf(h) <= b.after.id
}

// less reports whether a document is before another.
func (b *best) less(x, y *hit) bool {
	if c := b.sorting.compare(x.keys, y.keys); c != 0 {
		return c < 0
	}
	return b.idOf(x) < b.idOf(y)
}

func (b *best) idOf(h *hit) string {
	if h.id == "" {
		h.id, _ = b.ids.Text(h.doc) // every document has one
	}
	return h.id
}

func (b *best) Len() int           { return len(b.hits) }
func (b *best) Less(i, j int) bool { return b.less(b.hits[j], b.hits[i]) }
func (b *best) Swap(i, j int)      { b.hits[i], b.hits[j] = b.hits[j], b.hits[i] }
func (b *best) Push(x any)         { b.hits = append(b.hits, x.(*hit)) }
func (b *best) Pop() any {
	last := len(b.hits) - 1
	h := b.hits[last]
	b.hits = b.hits[:last]
	return h
}

// sorted returns what was gathered, in order.
func (b *best) sorted() []*hit {
	slices.SortFunc(b.hits, func(x, y *hit) int {
		switch {
		case x == y:
			return 0
		case b.less(x, y):
			return -1
		}
		return 1
	})
	for _, h := range b.hits {
		b.idOf(h)
	}
	return b.hits
}
