package find

import (
	"cmp"
	"container/heap"
	"slices"

	index "github.com/blevesearch/bleve_index_api"
)

// boolean is a group of clauses. With clauses that must match, those that may only
// add to the score; without, at least one of those that may has to.
type boolean struct {
	must, may []node
	not       node // nil: nothing is excluded
	boost     float64
	coord     []float64 // the factor for so many clauses that match; nil: one

	either *either // may, when the matching starts
	at     uint64
}

// group makes the node of clauses. coordinated says that a document is worth more the
// more of the clauses it matches.
func group(must, may, not []node, boost float64, coordinated bool) node {
	if len(must)+len(may) == 0 {
		return nothing{} // a query that only excludes finds nothing
	}
	b := &boolean{must: must, may: may, boost: boost}
	if n := len(must) + len(may); coordinated && n > 1 {
		b.coord = make([]float64, n+1)
		for i := range b.coord {
			b.coord[i] = float64(i) / float64(n)
		}
	}
	if len(not) > 0 {
		b.not = &either{all: not}
	}
	return b
}

func (b *boolean) squares() (sum float64) {
	for _, n := range b.must {
		sum += n.squares()
	}
	for _, n := range b.may {
		sum += n.squares()
	}
	return sum * b.boost * b.boost
}

func (b *boolean) normalize(norm, boost float64) {
	for _, n := range b.must {
		n.normalize(norm, boost*b.boost)
	}
	for _, n := range b.may {
		n.normalize(norm, boost*b.boost)
	}
}

func (b *boolean) start() error {
	if err := b.narrow(); err != nil {
		return err
	}
	b.either = &either{all: b.may}
	for _, n := range slices.Concat(b.must, []node{b.either}) {
		if err := n.start(); err != nil {
			return err
		}
	}
	if b.not != nil {
		if err := b.not.start(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(b.must, func(a, c node) int { return cmp.Compare(a.cost(), c.cost()) })
	return b.settle()
}

// narrow has the postings of terms that must all match cut to the documents that they
// have in common, before any is read.
func (b *boolean) narrow() error {
	var together index.OptimizableContext
	for _, n := range b.must {
		var p *postings
		switch n := n.(type) {
		case *term:
			p = n.postings
		case *slot:
			p, _ = n.node.(*postings)
		}
		if p == nil {
			continue
		}
		of, ok := p.reader.(index.Optimizable)
		if !ok {
			continue
		}
		var err error
		if together, err = of.Optimize("conjunction", together); err != nil {
			return err
		}
	}
	if together == nil {
		return nil
	}
	_, err := together.Finish()
	return err
}

func (b *boolean) doc() uint64 { return b.at }

func (b *boolean) cost() uint64 {
	if len(b.must) > 0 {
		return b.must[0].cost()
	}
	return (&either{all: b.may}).cost()
}

// lead is the node that says which documents come into question.
func (b *boolean) lead() node {
	if len(b.must) > 0 {
		return b.must[0]
	}
	return b.either
}

func (b *boolean) next() error {
	if b.at == none {
		return nil
	}
	if err := b.lead().next(); err != nil {
		return err
	}
	return b.settle()
}

func (b *boolean) advance(to uint64) error {
	if b.at >= to {
		return nil
	}
	if err := b.lead().advance(to); err != nil {
		return err
	}
	return b.settle()
}

// settle moves on to the first document where all that must match do and none of
// those that must not.
func (b *boolean) settle() error {
	lead := b.lead()
	for {
		if b.at = lead.doc(); b.at == none {
			return nil
		}
		to, err := b.agreed()
		if err != nil {
			return err
		}
		if to == b.at {
			return nil
		}
		if err := lead.advance(to); err != nil {
			return err
		}
	}
}

// agreed returns b.at if it matches, or a document before which none does.
func (b *boolean) agreed() (uint64, error) {
	for _, n := range b.must[min(1, len(b.must)):] {
		if err := n.advance(b.at); err != nil {
			return 0, err
		}
		if n.doc() != b.at {
			return n.doc(), nil
		}
	}
	if b.not != nil {
		if err := b.not.advance(b.at); err != nil {
			return 0, err
		}
		if b.not.doc() == b.at {
			return b.at + 1, nil
		}
	}
	return b.at, nil
}

func (b *boolean) score() (sum float64) {
	matching := len(b.must)
	for _, n := range b.must {
		sum += n.score()
	}
	for _, n := range b.may {
		if n.doc() < b.at && b.either.advance(b.at) != nil {
			break // the next step meets the error again
		}
		if n.doc() == b.at {
			sum += n.score()
			matching++
		}
	}
	if b.coord != nil {
		sum *= b.coord[matching]
	}
	return sum
}

// either walks the documents that any of several nodes matches. It is a heap of those
// that are not at their end.
type either struct {
	all  []node
	heap []node
}

func (e *either) Len() int           { return len(e.heap) }
func (e *either) Less(i, j int) bool { return e.heap[i].doc() < e.heap[j].doc() }
func (e *either) Swap(i, j int)      { e.heap[i], e.heap[j] = e.heap[j], e.heap[i] }
func (e *either) Push(x any)         { e.heap = append(e.heap, x.(node)) }
func (e *either) Pop() any {
	last := len(e.heap) - 1
	n := e.heap[last]
	e.heap = e.heap[:last]
	return n
}

func (e *either) squares() float64           { return 0 }
func (e *either) normalize(float64, float64) {}
func (e *either) score() float64             { return 0 }

func (e *either) cost() (sum uint64) {
	for _, n := range e.all {
		sum += n.cost()
	}
	return sum
}

func (e *either) start() error {
	for _, n := range e.all {
		if err := n.start(); err != nil {
			return err
		}
	}
	e.heap = slices.Clone(e.all)
	heap.Init(e)
	return nil
}

func (e *either) doc() uint64 {
	if len(e.heap) == 0 {
		return none
	}
	return e.heap[0].doc()
}

func (e *either) next() error {
	at := e.doc()
	if at == none {
		return nil
	}
	return e.advance(at + 1)
}

func (e *either) advance(to uint64) error {
	for e.doc() < to {
		if err := e.heap[0].advance(to); err != nil {
			return err
		}
		heap.Fix(e, 0)
	}
	return nil
}
