package segment

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
)

// Terms is a range of terms.
type Terms struct {
	From, Before []byte // nil: open
}

// Prefixed is the terms with a prefix.
func Prefixed(prefix string) Terms { return Terms{[]byte(prefix), behind([]byte(prefix))} }

// AddMatching adds the documents of the terms of a field, in a range, that match. spend is
// told of the work, of about so many postings each time, and may end it by an error.
//
// The naive way is to merge the dictionaries of all segments, to match each term once, and
// to look up those that match in every segment. Here each segment is walked by itself: to
// match a term again costs less than to find it again, and once all documents of a segment
// are there its other terms need no look.
func (s *Set) AddMatching(field string, of Terms, match func(term string) bool, spend func(postings int) error) error {
	for i := range s.docs {
		u, err := s.r.sources[i].union(field)
		if err != nil {
			return err
		}
		if err := u.walk(of, match, spend); err != nil {
			return err
		}
		s.docs[i].Or(u.found())
	}
	return nil
}

// AddField adds the documents that have a term or a number in a field.
func (s *Set) AddField(field string) {
	for i := range s.docs {
		src := &s.r.sources[i]
		found := roaring.New()
		for _, kind := range []byte{lastTerms, numbers} {
			if c := src.column(field, kind); c != nil {
				c.addAll(found)
			}
		}
		if src.live != nil {
			found.And(src.live)
		}
		s.docs[i].Or(found)
	}
}

// addAll adds the documents that have a value.
func (c *column) addAll(to *roaring.Bitmap) {
	all := make([]uint32, 0, c.places)
	for place := range c.places {
		doc := place
		if c.flags&columnDense == 0 {
			doc = at32(c.docs, place)
		} else if from, end := c.span(place); from == end {
			continue
		}
		all = append(all, doc)
	}
	to.AddMany(all)
}

// union gathers documents of a segment from postings. They are bits in an array, since
// compressed sets are slow at taking in thousands of small ones.
type union struct {
	*source
	terms scorch.TermDictionary
	bits  []uint64
	left  uint64   // of the documents that are read, how many are not there yet
	few   []uint32 // these, if they were few to begin with; some may be there by now
	// postings and places are used again for each term.
	postings scorch.PostingsList
	places   scorch.PostingsIterator
}

// fewDocs is up to how many documents are looked for one by one in long postings.
const fewDocs = 1024

func (s *source) union(field string) (u *union, err error) {
	u = &union{source: s, bits: make([]uint64, (s.docs+63)/64), left: uint64(s.docs)}
	if s.live != nil {
		if u.left = s.live.GetCardinality(); u.left <= fewDocs {
			u.few = s.live.ToArray()
		}
		for i := range u.bits { // what is not read counts as found, until the end
			u.bits[i] = ^uint64(0)
		}
		s.live.Iterate(func(doc uint32) bool {
			u.bits[doc/64] &^= 1 << (doc % 64)
			return true
		})
	}
	u.terms, err = s.dictionary(field)
	return u, err
}

// termPostings is as how many postings a term counts by itself.
const termPostings = 8

// walk adds the documents of the terms that match. Terms that no document of a partition
// has are not matched if that is what is read: nothing may depend on them.
func (u *union) walk(of Terms, match func(term string) bool, spend func(postings int) error) error {
	if of.Before != nil && slices.Compare(of.From, of.Before) >= 0 {
		return nil
	}
	for all := u.terms.AutomatonIterator(nil, of.From, of.Before); u.left > 0; {
		e, err := all.Next()
		if e == nil || err != nil {
			return err
		}
		if err := spend(termPostings); err != nil {
			return err
		}
		if !u.partition && !match(e.Term) {
			continue
		}
		docs, doc, err := u.open(e.Term)
		if err != nil {
			return err
		}
		if u.partition && (!u.reads(docs, doc) || !match(e.Term)) {
			continue
		}
		if docs == nil {
			u.set(doc)
		} else if err := u.take(docs, spend); err != nil {
			return err
		}
	}
	return nil
}

// open reads the postings of a term: many documents, or one, and then docs is nil.
func (u *union) open(term string) (docs *roaring.Bitmap, doc uint32, err error) {
	if u.postings, err = u.terms.PostingsList([]byte(term), nil, u.postings); err != nil {
		return nil, 0, err
	}
	u.places = u.postings.Iterator(false, false, false, u.places)
	of, ok := u.places.(scorch.OptimizablePostingsIterator)
	if !ok {
		return roaring.New(), 0, nil // no documents
	}
	if one, is := of.DocNum1Hit(); is {
		return nil, uint32(one), nil
	}
	if docs = of.ActualBitmap(); docs == nil {
		docs = roaring.New()
	}
	return docs, 0, nil
}

// reads reports whether one of a term's documents is read.
func (u *union) reads(docs *roaring.Bitmap, doc uint32) bool {
	if docs == nil {
		return u.live.Contains(doc)
	}
	return u.live.Intersects(docs)
}

// take adds documents.
func (u *union) take(docs *roaring.Bitmap, spend func(postings int) error) error {
	n := docs.GetCardinality()
	if u.few != nil && n > uint64(4*len(u.few)) {
		u.few = slices.DeleteFunc(u.few, func(doc uint32) bool {
			has := docs.Contains(doc)
			if has {
				u.set(doc)
			}
			return has
		})
		return spend(len(u.few))
	}
	docs.Iterate(u.set)
	return spend(int(n) / 8)
}

// set adds a document.
func (u *union) set(doc uint32) bool {
	if bit := uint64(1) << (doc % 64); u.bits[doc/64]&bit == 0 {
		u.bits[doc/64] |= bit
		u.left--
	}
	return true
}

// found returns the documents that were added.
func (u *union) found() *roaring.Bitmap {
	found := roaring.FromDense(u.bits, false)
	if u.live != nil {
		found.And(u.live)
	}
	found.RunOptimize()
	return found
}
