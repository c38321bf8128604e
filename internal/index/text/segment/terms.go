package segment

import (
	"bytes"
	"context"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
)

// termReader is index.TermFieldReader: the documents of a term, or of a Set.
type termReader struct {
	r                 *Reader
	field             string
	term              []byte
	set               *Set // of which it is; nil for a term
	freq, norm, place bool
	iterators         []scorch.PostingsIterator // of each segment; nil for none
	count             uint64
	at                int                   // the segment that is being read
	last              index.IndexInternalID // what was returned last; nil before the first
}

var _ index.Optimizable = (*termReader)(nil)

// TermFieldReader is index.IndexReader's.
func (r *Reader) TermFieldReader(ctx context.Context, term []byte, field string, freq, norm, vectors bool) (index.TermFieldReader, error) {
	if ctx != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t := &termReader{r: r, field: field, term: term, freq: freq, norm: norm, place: vectors}
	return t, t.begin()
}

// begin goes to the place before the first document.
func (t *termReader) begin() error {
	t.at, t.last, t.count = 0, nil, 0
	t.iterators = make([]scorch.PostingsIterator, len(t.r.sources))
	for i := range t.r.sources {
		var n uint64
		var err error
		if t.set != nil {
			t.iterators[i], n = t.set.iterator(i)
		} else {
			t.iterators[i], n, err = t.open(&t.r.sources[i])
		}
		if err != nil {
			return err
		}
		t.count += n
	}
	return nil
}

// open opens the postings of a segment, of the documents that are read.
func (t *termReader) open(s *source) (scorch.PostingsIterator, uint64, error) {
	d, err := s.dictionary(t.field)
	if err != nil {
		return nil, 0, err
	}
	p, err := d.PostingsList(t.term, nil, nil)
	if err != nil {
		return nil, 0, err
	}
	n := p.Count()
	if n == 0 {
		return nil, 0, nil
	}
	it := p.Iterator(t.freq, t.norm, t.place, nil)
	if s.live == nil {
		return it, n, nil
	}
	of := it.(scorch.OptimizablePostingsIterator)
	if doc, one := of.DocNum1Hit(); one {
		if !s.live.Contains(uint32(doc)) {
			return nil, 0, nil
		}
		return it, 1, nil
	}
	left := roaring.And(of.ActualBitmap(), s.live)
	if n = left.GetCardinality(); n == 0 {
		return nil, 0, nil
	}
	of.ReplaceActual(left)
	return it, n, nil
}

// Next is index.TermFieldReader's.
func (t *termReader) Next(to *index.TermFieldDoc) (*index.TermFieldDoc, error) {
	for ; t.at < len(t.iterators); t.at++ {
		if t.iterators[t.at] == nil {
			continue
		}
		p, err := t.iterators[t.at].Next()
		if p != nil || err != nil {
			return t.found(p, to, err)
		}
	}
	return nil, nil
}

// Advance is index.TermFieldReader's. It goes back too.
func (t *termReader) Advance(id index.IndexInternalID, to *index.TermFieldDoc) (*index.TermFieldDoc, error) {
	if t.last != nil && bytes.Compare(t.last, id) >= 0 {
		if err := t.begin(); err != nil {
			return nil, err
		}
	}
	doc, err := Number(id)
	if err != nil {
		return nil, err
	}
	segment, local, ok := t.r.locate(doc)
	if !ok {
		t.at = len(t.iterators)
		return nil, nil
	}
	if t.at = max(t.at, segment); t.at == segment && t.iterators[segment] != nil {
		p, err := t.iterators[segment].Advance(uint64(local))
		if p != nil || err != nil {
			return t.found(p, to, err)
		}
		t.at++
	}
	return t.Next(to)
}

// found fills in a document.
func (t *termReader) found(p scorch.Posting, to *index.TermFieldDoc, err error) (*index.TermFieldDoc, error) {
	if err != nil {
		return nil, err
	}
	if to == nil {
		to = &index.TermFieldDoc{}
	}
	to.ID = InternalOf(to.ID, p.Number()+t.r.begins[t.at])
	t.last = append(t.last[:0], to.ID...)
	if t.freq {
		to.Freq = p.Frequency()
	}
	if t.norm {
		if zp, ok := p.(*zap.Posting); ok {
			to.Norm = normOf(zp.NormUint64())
		}
	}
	if t.place {
		appendPlaces(to, p.Locations())
	}
	return to, nil
}

func appendPlaces(to *index.TermFieldDoc, places []scorch.Location) {
	if len(places) == 0 {
		return
	}
	vectors := make([]index.TermFieldVector, len(places))
	to.Vectors = to.Vectors[:0]
	for i, p := range places {
		vectors[i] = index.TermFieldVector{Field: p.Field(), Pos: p.Pos(), Start: p.Start(), End: p.End()}
		if ap := p.ArrayPositions(); len(ap) > 0 {
			vectors[i].ArrayPositions = bytesOf(ap)
		}
		to.Vectors = append(to.Vectors, &vectors[i])
	}
}

// bytesOf copies numbers that the library uses again.
func bytesOf(n []uint64) []uint64 { return append([]uint64(nil), n...) }

// Count is index.TermFieldReader's: how many documents have the term.
func (t *termReader) Count() uint64 { return t.count }

// Close is index.TermFieldReader's.
func (t *termReader) Close() error { return nil }

// Size is index.TermFieldReader's.
func (t *termReader) Size() int { return 256 + 256*len(t.iterators) }

// The kinds of work that searchers ask termReader.Optimize to do.
const (
	conjunction          = "conjunction"
	conjunctionUnadorned = "conjunction:unadorned"
	disjunctionUnadorned = "disjunction:unadorned"
)

// Optimize is index.Optimizable's: terms that are searched together have their documents
// cut, or united, as sets.
func (t *termReader) Optimize(kind string, with index.OptimizableContext) (index.OptimizableContext, error) {
	switch kind {
	case conjunction, conjunctionUnadorned, disjunctionUnadorned:
	default:
		return nil, nil
	}
	if with == nil {
		with = &together{kind: kind}
	}
	all, ok := with.(*together)
	if !ok || len(all.terms) > 0 && all.terms[0].r != t.r {
		return with, nil
	}
	all.terms = append(all.terms, t)
	return all, nil
}

// together is terms that are searched together.
type together struct {
	kind  string
	terms []*termReader
}

// Finish is index.OptimizableContext's.
func (t *together) Finish() (index.Optimized, error) {
	if len(t.terms) < 2 {
		return nil, nil
	}
	set := t.terms[0].r.NewSet()
	for i := range set.docs {
		for j, of := range t.terms {
			docs := documents(of.iterators[i])
			switch {
			case j == 0:
				set.docs[i] = docs
			case t.kind == disjunctionUnadorned:
				set.docs[i].Or(docs)
			default:
				set.docs[i].And(docs)
			}
		}
	}
	if t.kind != conjunction {
		return set.reader(), nil
	}
	for i, docs := range set.docs {
		for _, of := range t.terms {
			of.keep(i, docs)
		}
	}
	return nil, nil
}

// documents is the documents that an iterator has before it, as a set of its own.
func documents(it scorch.PostingsIterator) *roaring.Bitmap {
	docs := roaring.New()
	if it != nil {
		addTo(docs, it)
	}
	return docs
}

// keep restricts the documents of a segment to some of them.
func (t *termReader) keep(segment int, docs *roaring.Bitmap) {
	of, ok := t.iterators[segment].(scorch.OptimizablePostingsIterator)
	switch {
	case !ok:
	case docs.IsEmpty():
		t.iterators[segment] = nil
	case of.ActualBitmap() != nil:
		of.ReplaceActual(docs)
	}
}
