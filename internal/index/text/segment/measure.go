package segment

import "github.com/RoaringBitmap/roaring/v2"

// measure is how many documents have a measured field, and how many terms in it in all.
type measure struct{ docs, terms uint64 }

func (m *measure) add(c *column, doc uint32) {
	if i, end := c.span(doc); i < end {
		m.docs++
		m.terms += uint64(c.number(i))
	}
}

// Measure returns how many of the documents that are read have terms in a measured field,
// and how many terms these are in all.
func (r *Reader) Measure(field string) (docs, terms uint64) {
	for i := range r.sources {
		m := r.sources[i].measure(field)
		docs, terms = docs+m.docs, terms+m.terms
	}
	return docs, terms
}

// measure is Measure for one segment. What is counted is the smaller of what is read and
// what is left out.
func (s *source) measure(field string) (m measure) {
	c := s.column(field, lengths)
	switch {
	case c == nil:
		return m
	case s.live == nil:
		return s.whole(field, c)
	case s.live.GetCardinality() > uint64(s.docs)/2:
		left := measure{}
		for it := roaring.Flip(s.live, 0, uint64(s.docs)).Iterator(); it.HasNext(); {
			left.add(c, it.Next())
		}
		m = s.whole(field, c)
		return measure{m.docs - left.docs, m.terms - left.terms}
	}
	for it := s.live.Iterator(); it.HasNext(); {
		m.add(c, it.Next())
	}
	return m
}

// whole counts all documents of a segment, once for all who ask.
func (s *Segment) whole(field string, c *column) measure {
	s.mu.Lock()
	m, ok := s.measures[field]
	s.mu.Unlock()
	if ok {
		return m
	}
	for doc := range s.docs {
		m.add(c, doc)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.measures == nil {
		s.measures = map[string]measure{}
	}
	s.measures[field] = m
	return m
}

// Indexed returns what kinds of values documents that are read have in a field: numbers and
// terms by which they are found, and texts that are counted.
func (r *Reader) Indexed(field string) (numbered, found, counted bool) {
	for i := range r.sources {
		s := &r.sources[i]
		numbered = numbered || s.holds(field, numbers)
		found = found || s.holds(field, lastTerms)
		counted = counted || s.holds(field, facetTexts)
	}
	return numbered, found, counted
}

// holds reports whether a document that is read has a value in a column.
func (s *source) holds(field string, kind byte) bool {
	c := s.column(field, kind)
	if c == nil || s.live == nil {
		return c != nil
	}
	for it := s.live.Iterator(); it.HasNext(); {
		if i, end := c.span(it.Next()); i < end {
			return true
		}
	}
	return false
}

// Least is the least number of a document's indexed field.
func (c *Column) Least(doc uint64) (least float64, ok bool) {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].numbers == nil {
		return 0, false
	}
	of := c.per[s].numbers
	for i, end := of.span(local); i < end; i++ {
		if f := of.number(i); !ok || f < least {
			least, ok = f, true
		}
	}
	return least, ok
}

// First is the first of the texts of a document that are counted, in their order.
func (c *Column) First(doc uint64) (first string, ok bool) {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].facetTexts == nil {
		return "", false
	}
	of := c.per[s].facetTexts
	for i, end := of.span(local); i < end; i++ {
		if t := of.text(i); !ok || t < first {
			first, ok = t, true
		}
	}
	return first, ok
}
