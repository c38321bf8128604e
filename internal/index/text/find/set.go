package find

import (
	"github.com/sectional/sectional/internal/index/text/segment"
)

// set is a set of documents that all have the same score: those of a prefix, a
// pattern or a range.
type set struct {
	work   *work
	docs   *segment.Set
	walk   *segment.Walk
	at     uint64
	weight float64 // of the query, before it is normalized
	factor float64 // by which the normalized weight is multiplied for the score
	value  float64
}

func (w *work) set(docs *segment.Set, weight, factor float64) *set {
	return &set{work: w, docs: docs, weight: weight, factor: factor}
}

// constant makes the node of documents whose score is the boost.
func (w *work) constant(docs *segment.Set, boost float64) *set { return w.set(docs, boost, 1) }

// exactly makes the node of the documents that have a number: a term without
// frequency and length.
func (w *work) exactly(docs *segment.Set, boost float64) *set {
	idf := inverse(docs.Count(), w.docs)
	return w.set(docs, idf*boost, idf)
}

func (s *set) squares() float64              { return s.weight * s.weight }
func (s *set) normalize(norm, boost float64) { s.value = s.weight * norm * boost * s.factor }
func (s *set) score() float64                { return s.value }
func (s *set) doc() uint64                   { return s.at }
func (s *set) cost() uint64                  { return s.docs.Count() }

func (s *set) start() error {
	s.walk = s.docs.Walk()
	return s.next()
}

func (s *set) next() error { return s.take(s.walk.Next()) }

func (s *set) advance(to uint64) error {
	if s.at >= to {
		return nil
	}
	return s.take(s.walk.Advance(to))
}

func (s *set) take(doc uint64, ok bool) error {
	if s.at = doc; !ok {
		s.at = none
	}
	return s.work.step()
}

// between returns the documents that have a number of a range in a field.
func (w *work) between(field string, of segment.Interval) *segment.Set {
	docs := w.index.NewSet()
	docs.AddNumbers(field, of)
	return docs
}
