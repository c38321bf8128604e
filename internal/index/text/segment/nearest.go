package segment

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// Vectors is the vectors of a field, of one length and similarity, of the documents that
// a Reader reads.
type Vectors struct {
	r          *Reader
	similarity Similarity
	per        []*vectors // of each segment; nil for none
}

// Vectors returns the vectors of a field that have so many numbers.
func (r *Reader) Vectors(field string, dimensions int, of Similarity) (*Vectors, error) {
	v := &Vectors{r: r, similarity: of, per: make([]*vectors, len(r.sources))}
	for i := range r.sources {
		var err error
		if v.per[i], err = r.sources[i].vectors(columnKey{shape(field, dimensions), byte(of)}); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// vectors opens a column of vectors; nil if there is none.
func (s *Segment) vectors(key columnKey) (*vectors, error) {
	span, ok := s.spans[key]
	if !ok {
		return nil, nil
	}
	return openVectors(s.columnBytes[span[0]:span[1]])
}

// Shape is what the vectors of a field are like.
type Shape struct {
	Dimensions int
	Similarity Similarity
}

// Shapes returns what the vectors of a field are like that are read: of one document
// each at least.
func (r *Reader) Shapes(field string) (shapes map[Shape]bool, err error) {
	shapes = map[Shape]bool{}
	for i := range r.sources {
		for key := range r.sources[i].spans {
			of, dimensions, ok := shapeOf(key.field)
			is := Shape{dimensions, Similarity(key.kind)}
			if !ok || !ofVectors(key.kind) || of != field || shapes[is] {
				continue
			}
			v, err := r.sources[i].vectors(key)
			if err != nil {
				return nil, err
			}
			if r.sources[i].anyVector(v) {
				shapes[is] = true
			}
		}
	}
	return shapes, nil
}

// anyVector reports whether a vector of a column is of a document that is read.
func (s *source) anyVector(v *vectors) bool {
	w := s.walk(v, s.live)
	_, ok := w.next()
	return ok
}

// Count is how many vectors there are of the documents of a set; of all with nil.
func (v *Vectors) Count(within *Set) (n int) {
	for i, column := range v.per {
		if column == nil {
			continue
		}
		docs := v.r.sources[i].live
		if within != nil {
			docs = within.docs[i]
		}
		if docs == nil {
			n += int(column.count)
			continue
		}
		for w := v.r.sources[i].walk(column, docs); ; n++ {
			if _, ok := w.next(); !ok {
				break
			}
		}
	}
	return n
}

// Near is a vector that is asked for.
type Near struct {
	vector []float32
	of     Similarity
	probe  *probe // nil if codes are not looked at
}

// Near prepares a vector that is asked for, as Vector made it. With exact codes are not
// looked at.
func (v *Vectors) Near(vector []float32, exact bool) *Near {
	n := &Near{vector: vector, of: v.similarity}
	if !exact {
		n.probe = probeOf(vector)
	}
	return n
}

// Scan calls visit for the vectors of the documents of a set, of all with nil, with the
// number of the document and how close the vector is: more is nearer. Vectors that are
// farther away than floor, which visit returns, may be passed over; the first floor is
// −∞. cost is told how many numbers were looked at, from time to time.
func (v *Vectors) Scan(near *Near, within *Set, cost func(n int) error, visit func(doc uint64, closeness float64) (floor float64, err error)) error {
	floor := math.Inf(-1)
	for i, column := range v.per {
		if column == nil {
			continue
		}
		docs := v.r.sources[i].live
		if within != nil {
			docs = within.docs[i]
		}
		s := scan{vectors: column, near: near, cost: cost, floor: floor}
		begin := v.r.begins[i]
		err := s.run(v.r.sources[i].walk(column, docs), func(doc uint32, closeness float64) (float64, error) {
			return visit(begin+uint64(doc), closeness)
		})
		if err != nil {
			return err
		}
		floor = s.floor
	}
	return nil
}

// scan is a Scan of one column.
type scan struct {
	*vectors
	near  *Near
	cost  func(n int) error
	floor float64
}

// run goes through the vectors of a walk.
func (s *scan) run(w *vectorWalk, visit func(doc uint32, closeness float64) (float64, error)) error {
	const often = 1 << 16 // numbers between two calls of cost
	looked := 0
	for {
		place, ok := w.next()
		if !ok {
			return s.cost(looked)
		}
		if looked += 4 * s.words; s.near.probe == nil || s.mayBe(place) {
			looked += s.dimensions
			floor, err := visit(s.doc(place), s.closeness(place))
			if err != nil {
				return err
			}
			s.floor = floor
		}
		if looked > often {
			if err := s.cost(looked); err != nil {
				return err
			}
			looked = 0
		}
	}
}

// closeness is how close a vector is to the one that is asked for: more is nearer.
func (s *scan) closeness(place uint32) float64 {
	if s.near.of == Euclidean {
		return -float64(apart(s.vector(place), s.near.vector))
	}
	return float64(dot(s.vector(place), s.near.vector))
}

// mayBe reports whether a vector may be as close as the floor, by its code.
func (s *scan) mayBe(place uint32) bool {
	p := s.near.probe
	length, likeness := s.factor(place)
	l, like := float64(length), float64(likeness)
	most := p.atMost(s.code(place), like)
	switch s.near.of {
	case Dot:
		return l*p.length*most >= s.floor*like
	case Euclidean:
		return 2*l*p.length*most >= (s.floor+l*l+p.length*p.length)*like
	}
	return most >= s.floor*like
}

// Score is what a closeness counts: more than 0, as Lucene has it
// (org.apache.lucene.index.VectorSimilarityFunction; Dot is its maximum inner product).
func (s Similarity) Score(closeness float64) float64 {
	switch {
	case s == Euclidean:
		return 1 / (1 - closeness)
	case s == Cosine:
		return max((1+closeness)/2, 0)
	case closeness < 0:
		return 1 / (1 - closeness)
	}
	return closeness + 1
}

// vectorWalk goes through the vectors of a column whose documents are in a set.
type vectorWalk struct {
	*vectors
	place uint32
	left  roaring.IntPeekable // nil for all documents
}

func (s *source) walk(v *vectors, docs *roaring.Bitmap) *vectorWalk {
	w := &vectorWalk{vectors: v}
	if docs != nil {
		w.left = docs.Iterator()
	}
	return w
}

// next returns the place of the next vector.
func (w *vectorWalk) next() (place uint32, ok bool) {
	if w.left == nil {
		w.place++
		return w.place - 1, w.place <= w.count
	}
	for w.place < w.count && w.left.HasNext() {
		wanted, have := w.left.PeekNext(), w.doc(w.place)
		switch {
		case wanted == have:
			w.left.Next()
			w.place++
			return w.place - 1, true
		case wanted < have:
			w.left.AdvanceIfNeeded(have)
		default:
			w.skip(wanted)
		}
	}
	return 0, false
}

// skip goes to the first vector whose document is not before doc: by steps that become
// longer, since it is mostly near.
func (w *vectorWalk) skip(doc uint32) {
	step := uint32(1)
	for w.place+step < w.count && w.doc(w.place+step) < doc {
		w.place += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		for w.place+step < w.count && w.doc(w.place+step) < doc {
			w.place += step
		}
	}
	w.place++
}
