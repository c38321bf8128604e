package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
)

// Reader reads several segments as one index. The number of a document is its number in
// its segment and how many documents the segments before have; as an
// index.IndexInternalID it is eight bytes that sort as numbers. A Reader is for one
// goroutine, which closes it. Sets, columns, terms and their documents come from the
// segments' bytes and end with it; Do runs what reads them.
type Reader struct {
	refs    []Source // to be released
	sources []source
	begins  []uint64 // the number of each segment's first document
	end     uint64
	live    uint64
}

// source is a segment of a reader.
type source struct {
	*Segment
	live         *roaring.Bitmap // the documents that are read; nil for all
	partition    bool            // these are those of a partition
	stop         func() error
	dictionaries map[string]scorch.TermDictionary
}

var (
	_ index.IndexReader         = (*Reader)(nil)
	_ index.IndexReaderFuzzy    = (*Reader)(nil)
	_ index.IndexReaderRegexp   = (*Reader)(nil)
	_ index.IndexReaderContains = (*Reader)(nil)
)

// NewReader reads segments without their deleted documents, and only the documents of a
// partition if one is given. It holds the sources until it is closed, and has released
// them if there is an error.
func NewReader(sources []Source, partition string) (*Reader, error) {
	r := &Reader{refs: sources}
	if err := r.Do(func() error { return r.open(sources, partition) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open(sources []Source, partition string) error {
	for _, s := range sources {
		if err := r.add(s, partition); err != nil {
			return err
		}
	}
	return nil
}

// add adds a segment, unless nothing of it is to be read.
func (r *Reader) add(s Source, partition string) error {
	of := source{Segment: s.Segment, dictionaries: map[string]scorch.TermDictionary{}}
	count, err := of.restrict(s.Deleted, partition)
	if count == 0 || err != nil {
		return err
	}
	r.sources, r.begins = append(r.sources, of), append(r.begins, r.end)
	r.end += uint64(s.Segment.docs)
	r.live += count
	return nil
}

// While makes walks over terms end with an error of stop, which they ask now and then: of
// the terms of a segment a partition may have few.
func (r *Reader) While(stop func() error) {
	for i := range r.sources {
		r.sources[i].stop = stop
	}
}

// restrict sets which documents are read, and counts them.
func (s *source) restrict(deleted *roaring.Bitmap, partition string) (uint64, error) {
	switch {
	case partition != "":
		live := roaring.New()
		it, err := s.postings(partitionField, []byte(partition))
		if err != nil {
			return 0, err
		}
		addTo(live, it)
		if deleted != nil {
			live.AndNot(deleted)
		}
		s.live, s.partition = live, true
	case deleted != nil && !deleted.IsEmpty():
		s.live = roaring.Flip(deleted, 0, uint64(s.docs))
		s.live.RunOptimize()
	default:
		return uint64(s.docs), nil
	}
	return s.live.GetCardinality(), nil
}

// Replace takes documents out of what is read, those that a segment has, and adds the
// documents of another segment, or of a partition of it; nil for none. The reader must not
// have been used yet.
func (r *Reader) Replace(ids []string, with *Segment, partition string) error {
	return r.Do(func() error { return r.replace(ids, with, partition) })
}

func (r *Reader) replace(ids []string, with *Segment, partition string) error {
	for i := range r.sources {
		s := &r.sources[i]
		gone, err := s.Numbers(ids)
		if err != nil {
			return err
		}
		if s.live != nil {
			gone.And(s.live)
		}
		if gone.IsEmpty() {
			continue
		}
		r.live -= gone.GetCardinality()
		if s.live == nil {
			s.live = s.all()
		}
		s.live.AndNot(gone)
	}
	if with == nil {
		return nil
	}
	return r.add(Source{Segment: with}, partition)
}

// addTo adds the documents of an iterator over postings, all of them.
func addTo(set *roaring.Bitmap, it scorch.PostingsIterator) {
	if all := addOne(set, it); all != nil {
		set.Or(all)
	}
}

// dictionary opens the terms of a field.
func (s *source) dictionary(field string) (d scorch.TermDictionary, err error) {
	if d = s.dictionaries[field]; d == nil {
		if d, err = s.zap.Dictionary(field); err == nil {
			s.dictionaries[field] = d
		}
	}
	return d, err
}

// postings returns an iterator over the documents of a term, without more than their numbers.
func (s *source) postings(field string, term []byte) (scorch.PostingsIterator, error) {
	d, err := s.dictionary(field)
	if err != nil {
		return nil, err
	}
	p, err := d.PostingsList(term, nil, nil)
	if err != nil {
		return nil, err
	}
	return p.Iterator(false, false, false, nil), nil
}

// locate returns the segment of a document and its number there; ok is false if there
// is none of this number.
func (r *Reader) locate(doc uint64) (segment int, local uint32, ok bool) {
	if doc >= r.end {
		return len(r.sources), 0, false
	}
	segment = sort.Search(len(r.begins), func(i int) bool { return r.begins[i] > doc }) - 1
	return segment, uint32(doc - r.begins[segment]), true
}

// Number returns the number of a document.
func Number(id index.IndexInternalID) (uint64, error) {
	if len(id) != 8 {
		return 0, fmt.Errorf("segment: %x is not the number of a document", id)
	}
	return binary.BigEndian.Uint64(id), nil
}

// InternalOf is the internal id of a document's number, in the memory of buf if there
// is enough of it.
func InternalOf(buf index.IndexInternalID, doc uint64) index.IndexInternalID {
	return binary.BigEndian.AppendUint64(buf[:0], doc)
}

// DocCount is index.IndexReader's: how many documents are read.
func (r *Reader) DocCount() (uint64, error) { return r.live, nil }

// End is the number after the last document's: not all below it are read.
func (r *Reader) End() uint64 { return r.end }

// Close is index.IndexReader's: nothing may be read any more. It may be called again.
func (r *Reader) Close() error {
	Release(r.refs)
	r.refs, r.sources, r.begins, r.end, r.live = nil, nil, nil, 0, 0
	return nil
}

// GetInternal is index.IndexReader's: there is nothing.
func (r *Reader) GetInternal([]byte) ([]byte, error) { return nil, nil }

// ErrReleased is of bytes of a segment that were not there when they were read.
var ErrReleased = errors.New("segment: its bytes are gone")

// Do runs fn, which reads. If bytes are gone, because somebody shortened a file that is
// mapped, the error is ErrReleased; any other panic goes on. Both make the segments suspect.
func (r *Reader) Do(fn func() error) (err error) {
	done := false
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if done {
			return
		}
		for _, s := range r.refs {
			if s.Ref != nil {
				s.Ref.Suspect()
			}
		}
		if p := recover(); isFault(p) {
			err = ErrReleased
		} else if p != nil {
			panic(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	err = fn()
	done = true
	return err
}

// isFault reports whether a panic is of memory that could not be read.
func isFault(p any) bool {
	_, ok := p.(interface {
		runtime.Error
		Addr() uintptr
	})
	return ok
}

// ID returns the id of a document by its number.
func (r *Reader) ID(doc uint64) (string, error) {
	s, local, ok := r.locate(doc)
	if !ok {
		return "", fmt.Errorf("segment: there is no document %d", doc)
	}
	return r.sources[s].ID(local)
}

// ExternalID is index.IndexReader's.
func (r *Reader) ExternalID(id index.IndexInternalID) (string, error) {
	doc, err := Number(id)
	if err != nil {
		return "", err
	}
	return r.ID(doc)
}

// InternalID is index.IndexReader's: nil if there is no such document.
func (r *Reader) InternalID(id string) (index.IndexInternalID, error) {
	t, err := r.TermFieldReader(context.Background(), []byte(id), idField, false, false, false)
	if err != nil {
		return nil, err
	}
	found, err := t.Next(nil)
	if found == nil || err != nil {
		return nil, err
	}
	return found.ID, nil
}

// Stored calls visit with the stored values of a document, those of a field in the order
// in which it had them.
func (r *Reader) Stored(doc uint64, visit func(field, text string, number *float64)) error {
	s, local, ok := r.locate(doc)
	if !ok {
		return fmt.Errorf("segment: there is no document %d", doc)
	}
	return r.sources[s].zap.VisitStoredFields(uint64(local), func(field string, typ byte, value []byte, _ []uint64) bool {
		switch {
		case internal(field):
		case typ == typeNumber:
			f := numberOf(value)
			visit(field, "", &f)
		default:
			visit(field, string(value), nil)
		}
		return true
	})
}

// Document is index.IndexReader's: the stored texts of a document by its id, which is
// what highlighters want; nil if there is no such document.
func (r *Reader) Document(id string) (index.Document, error) {
	internal, err := r.InternalID(id)
	if internal == nil || err != nil {
		return nil, err
	}
	doc, err := Number(internal)
	if err != nil {
		return nil, err
	}
	d := document.NewDocument(id)
	nth := map[string]uint64{}
	err = r.Stored(doc, func(field, text string, number *float64) {
		place := []uint64(nil)
		if n := nth[field]; n > 0 {
			place = []uint64{n}
		}
		nth[field]++
		if number == nil {
			d.AddField(document.NewTextField(field, place, []byte(text)))
		} else {
			d.AddField(document.NewNumericField(field, place, *number))
		}
	})
	return d, err
}

// Fields is index.IndexReader's: the fields by which some document that is read can be
// found, in order.
func (r *Reader) Fields() ([]string, error) {
	seen := map[string]bool{}
	for i := range r.sources {
		for _, field := range r.sources[i].zap.Fields() {
			if seen[field] || internal(field) {
				continue
			}
			any, err := r.sources[i].any(field)
			if err != nil {
				return nil, err
			}
			if any {
				seen[field] = true
			}
		}
	}
	fields := make([]string, 0, len(seen))
	for field := range seen {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	return fields, nil
}

// any reports whether a document that is read has a term in a field.
func (s *source) any(field string) (bool, error) {
	c, err := s.terms(field, nil, nil, nil)
	return c != nil, err
}

// DocIDReaderAll is index.IndexReader's.
func (r *Reader) DocIDReaderAll() (index.DocIDReader, error) {
	set := r.NewSet()
	for i := range r.sources {
		set.docs[i] = r.sources[i].all()
	}
	return &idReader{set.reader()}, nil
}

// all returns the documents that are read. It must not be changed.
func (s *source) all() *roaring.Bitmap {
	if s.live != nil {
		return s.live
	}
	all := roaring.New()
	all.AddRange(0, uint64(s.docs))
	return all
}

// DocIDReaderOnly is index.IndexReader's.
func (r *Reader) DocIDReaderOnly(ids []string) (index.DocIDReader, error) {
	set := r.NewSet()
	for i := range r.sources {
		found, err := r.sources[i].Numbers(ids)
		if err != nil {
			return nil, err
		}
		if live := r.sources[i].live; live != nil {
			found.And(live)
		}
		set.docs[i] = found
	}
	return &idReader{set.reader()}, nil
}

// idReader is index.DocIDReader.
type idReader struct{ *termReader }

func (r *idReader) Next() (index.IndexInternalID, error) { return idOf(r.termReader.Next(nil)) }

func (r *idReader) Advance(to index.IndexInternalID) (index.IndexInternalID, error) {
	return idOf(r.termReader.Advance(to, nil))
}

func idOf(found *index.TermFieldDoc, err error) (index.IndexInternalID, error) {
	if found == nil || err != nil {
		return nil, err
	}
	return found.ID, nil
}
