package segment

import (
	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
)

// Set is some of the documents that a Reader reads.
type Set struct {
	r    *Reader
	docs []*roaring.Bitmap // of each segment
}

// NewSet returns a set of no documents.
func (r *Reader) NewSet() *Set {
	s := &Set{r: r, docs: make([]*roaring.Bitmap, len(r.sources))}
	for i := range s.docs {
		s.docs[i] = roaring.New()
	}
	return s
}

// All returns the set of all documents that are read.
func (r *Reader) All() *Set {
	s := r.NewSet()
	for i := range s.docs {
		s.docs[i] = r.sources[i].all().Clone()
	}
	return s
}

// Add adds a document that is read.
func (s *Set) Add(doc uint64) {
	if i, local, ok := s.r.locate(doc); ok {
		s.docs[i].Add(local)
	}
}

// addOne adds the document of an iterator over postings if it is the only one, and
// otherwise returns all: nil if there are none.
func addOne(set *roaring.Bitmap, it scorch.PostingsIterator) *roaring.Bitmap {
	of, ok := it.(scorch.OptimizablePostingsIterator)
	if !ok {
		return nil
	}
	if doc, one := of.DocNum1Hit(); one {
		set.Add(uint32(doc))
		return nil
	}
	return of.ActualBitmap()
}

// Interval is the numbers between two ends.
type Interval struct {
	Min, Max               float64 // may be infinite
	IncludeMin, IncludeMax bool
}

// Holds reports whether a number is in the interval.
func (v Interval) Holds(f float64) bool {
	return (f > v.Min || v.IncludeMin && f == v.Min) && (f < v.Max || v.IncludeMax && f == v.Max)
}

// AddNumbers adds the documents that have a number of the interval in an indexed field.
func (s *Set) AddNumbers(field string, of Interval) {
	for i := range s.docs {
		src := &s.r.sources[i]
		if c := src.column(field, numbers); c != nil {
			c.within(of, src, s.docs[i])
		}
	}
}

// within adds the documents of a segment that have a number of an interval.
func (c *column) within(of Interval, src *source, to *roaring.Bitmap) {
	var found []uint32
	test := func(doc uint32) {
		for i, end := c.span(doc); i < end; i++ {
			if of.Holds(c.number(i)) {
				found = append(found, doc)
				return
			}
		}
	}
	if src.live != nil {
		for it := src.live.Iterator(); it.HasNext(); {
			test(it.Next())
		}
	} else if c.flags&columnDense != 0 {
		for doc := range src.docs {
			test(doc)
		}
	} else {
		for place := range c.places {
			test(at32(c.docs, place))
		}
	}
	to.AddMany(found)
}

// And keeps the documents that the other set has too.
func (s *Set) And(with *Set) {
	for i := range s.docs {
		s.docs[i].And(with.docs[i])
	}
}

// Or adds the documents of another set.
func (s *Set) Or(with *Set) {
	for i := range s.docs {
		s.docs[i].Or(with.docs[i])
	}
}

// AndNot takes out the documents of another set.
func (s *Set) AndNot(with *Set) {
	for i := range s.docs {
		s.docs[i].AndNot(with.docs[i])
	}
}

// Count is how many documents there are.
func (s *Set) Count() (n uint64) {
	for _, docs := range s.docs {
		n += docs.GetCardinality()
	}
	return n
}

// Contains reports whether the set has a document.
func (s *Set) Contains(doc uint64) bool {
	i, local, ok := s.r.locate(doc)
	return ok && s.docs[i].Contains(local)
}

// Reader returns the documents in order, as those of a term would be, without
// frequencies and norms. The set must not change any more.
func (s *Set) Reader() index.TermFieldReader { return s.reader() }

func (s *Set) reader() *termReader {
	t := &termReader{r: s.r, set: s}
	_ = t.begin() // opens nothing
	return t
}

// iterator returns the documents of a segment.
func (s *Set) iterator(segment int) (scorch.PostingsIterator, uint64) {
	n := s.docs[segment].GetCardinality()
	if n == 0 {
		return nil, 0
	}
	return &setIterator{all: s.docs[segment], left: s.docs[segment].Iterator()}, n
}

// setIterator is scorch.PostingsIterator over a set.
type setIterator struct {
	all  *roaring.Bitmap
	left roaring.IntPeekable
}

var _ scorch.OptimizablePostingsIterator = (*setIterator)(nil)

func (s *setIterator) Next() (scorch.Posting, error) { return s.Advance(0) }

func (s *setIterator) Advance(doc uint64) (scorch.Posting, error) {
	s.left.AdvanceIfNeeded(uint32(doc))
	if !s.left.HasNext() {
		return nil, nil
	}
	return member(s.left.Next()), nil
}

func (s *setIterator) Size() int                        { return 64 }
func (s *setIterator) BytesRead() uint64                { return 0 }
func (s *setIterator) BytesWritten() uint64             { return 0 }
func (s *setIterator) ResetBytesRead(uint64)            {}
func (s *setIterator) ActualBitmap() *roaring.Bitmap    { return s.all }
func (s *setIterator) DocNum1Hit() (uint64, bool)       { return 0, false }
func (s *setIterator) ReplaceActual(to *roaring.Bitmap) { s.all, s.left = to, to.Iterator() }

// member is scorch.Posting of a document of a set.
type member uint32

func (m member) Number() uint64               { return uint64(m) }
func (m member) Frequency() uint64            { return 0 }
func (m member) Norm() float64                { return 0 }
func (m member) Locations() []scorch.Location { return nil }
func (m member) Size() int                    { return 4 }

// Walk returns the documents of the set one by one. The set must not change any more.
func (s *Set) Walk() *Walk {
	w := &Walk{set: s}
	w.enter()
	return w
}

// Walk is a way through the documents of a Set, in order.
type Walk struct {
	set     *Set
	segment int
	left    roaring.IntPeekable
}

// enter goes to the segment at w.segment, or the next that has documents of the set.
func (w *Walk) enter() {
	for ; w.segment < len(w.set.docs); w.segment++ {
		if docs := w.set.docs[w.segment]; !docs.IsEmpty() {
			w.left = docs.Iterator()
			return
		}
	}
	w.left = nil
}

// Next returns the next document; ok is false at the end.
func (w *Walk) Next() (doc uint64, ok bool) {
	for w.left != nil {
		if w.left.HasNext() {
			return w.set.r.begins[w.segment] + uint64(w.left.Next()), true
		}
		w.segment++
		w.enter()
	}
	return 0, false
}

// Advance is Next, but passes over what is before a document.
func (w *Walk) Advance(to uint64) (doc uint64, ok bool) {
	at, local, ok := w.set.r.locate(to)
	if !ok {
		w.segment, w.left = len(w.set.docs), nil
		return 0, false
	}
	if at > w.segment {
		w.segment = at
		w.enter()
	}
	if at == w.segment && w.left != nil {
		w.left.AdvanceIfNeeded(local)
	}
	return w.Next()
}
