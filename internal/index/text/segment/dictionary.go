package segment

import (
	"container/heap"
	"errors"
	"regexp/syntax"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
	"github.com/blevesearch/vellum/regexp"
)

// cursor walks the terms of a field of one segment that documents have which are read.
type cursor struct {
	*source
	dictionary scorch.TermDictionary
	terms      scorch.DictionaryIterator
	postings   scorch.PostingsList // used again
	now        index.DictEntry
	seen       int
}

// indexTermsFrom is how many terms go by between two questions whether to stop.
const indexTermsFrom = 1024

// next goes to the next term; ok is false at the end. The count that the library returns is
// not used: after a term of one document it takes the next for another such.
func (c *cursor) next() (ok bool, err error) {
	for {
		if c.seen++; c.seen%indexTermsFrom == 0 && c.stop != nil {
			if err := c.stop(); err != nil {
				return false, err
			}
		}
		e, err := c.terms.Next()
		if e == nil || err != nil {
			return false, err
		}
		c.now = *e
		if c.postings, err = c.dictionary.PostingsList([]byte(e.Term), nil, c.postings); err != nil {
			return false, err
		}
		if c.live == nil {
			c.now.Count = c.postings.Count()
			return true, nil
		}
		if c.now.Count = c.common(); c.now.Count > 0 {
			return true, nil
		}
	}
}

// common is how many of the documents that are read are in the postings.
func (c *cursor) common() uint64 {
	of, ok := c.postings.Iterator(false, false, false, nil).(scorch.OptimizablePostingsIterator)
	if !ok {
		return 0
	}
	if doc, one := of.DocNum1Hit(); one {
		if c.live.Contains(uint32(doc)) {
			return 1
		}
		return 0
	}
	if all := of.ActualBitmap(); all != nil {
		return all.AndCardinality(c.live)
	}
	return 0
}

// terms begins to walk the terms that an automaton accepts (nil: all), from one on and
// up to another. It is nil if there are none.
func (s *source) terms(field string, a scorch.Automaton, from, to []byte) (*cursor, error) {
	d, err := s.dictionary(field)
	if err != nil {
		return nil, err
	}
	c := &cursor{source: s, dictionary: d, terms: d.AutomatonIterator(a, from, to)}
	ok, err := c.next()
	if !ok {
		return nil, err
	}
	return c, err
}

// dictionary is index.FieldDict: the terms of all segments in order.
type dictionary struct {
	cursors []*cursor
	now     index.DictEntry
	size    int
}

var _ index.FieldDict = (*dictionary)(nil)

func (r *Reader) dictionary(field string, a scorch.Automaton, from, to []byte) (*dictionary, error) {
	d := &dictionary{}
	for i := range r.sources {
		c, err := r.sources[i].terms(field, a, from, to)
		if err != nil {
			return nil, err
		}
		if c != nil {
			d.cursors = append(d.cursors, c)
			d.size += c.dictionary.Cardinality()
		}
	}
	heap.Init(d)
	return d, nil
}

// Len, Less, Swap, Push and Pop are heap.Interface's.
func (d *dictionary) Len() int           { return len(d.cursors) }
func (d *dictionary) Less(i, j int) bool { return d.cursors[i].now.Term < d.cursors[j].now.Term }
func (d *dictionary) Swap(i, j int)      { d.cursors[i], d.cursors[j] = d.cursors[j], d.cursors[i] }
func (d *dictionary) Push(x any)         { d.cursors = append(d.cursors, x.(*cursor)) }
func (d *dictionary) Pop() any {
	last := d.cursors[len(d.cursors)-1]
	d.cursors = d.cursors[:len(d.cursors)-1]
	return last
}

// Next is index.FieldDict's.
func (d *dictionary) Next() (*index.DictEntry, error) {
	if len(d.cursors) == 0 {
		return nil, nil
	}
	d.now = d.cursors[0].now
	d.now.Count = 0
	for len(d.cursors) > 0 && d.cursors[0].now.Term == d.now.Term {
		d.now.Count += d.cursors[0].now.Count
		ok, err := d.cursors[0].next()
		if err != nil {
			return nil, err
		}
		if ok {
			heap.Fix(d, 0)
		} else {
			heap.Pop(d)
		}
	}
	return &d.now, nil
}

// Close is index.FieldDict's.
func (d *dictionary) Close() error { return nil }

// Cardinality is index.FieldDict's: at most how many terms the field has.
func (d *dictionary) Cardinality() int { return d.size }

// BytesRead is index.FieldDict's.
func (d *dictionary) BytesRead() uint64 { return 0 }

// FieldDict is index.IndexReader's.
func (r *Reader) FieldDict(field string) (index.FieldDict, error) {
	return r.dictionary(field, nil, nil, nil)
}

// FieldDictRange is index.IndexReader's: both ends belong to the range, and an end that
// is nil is open.
func (r *Reader) FieldDictRange(field string, from, to []byte) (index.FieldDict, error) {
	if to != nil {
		to = append(to[:len(to):len(to)], 0)
	}
	return r.dictionary(field, nil, from, to)
}

// FieldDictPrefix is index.IndexReader's.
func (r *Reader) FieldDictPrefix(field string, prefix []byte) (index.FieldDict, error) {
	return r.dictionary(field, nil, prefix, behind(prefix))
}

// behind is the first text after all that begin with a prefix; nil for none.
func behind(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// FieldDictAutomaton walks the terms that an automaton accepts.
func (r *Reader) FieldDictAutomaton(field string, a vellum.Automaton) (index.FieldDict, error) {
	return r.dictionary(field, a, nil, nil)
}

// FieldDictRegexp is index.IndexReaderRegexp's.
func (r *Reader) FieldDictRegexp(field, expr string) (index.FieldDict, error) {
	d, _, err := r.FieldDictRegexpAutomaton(field, expr)
	return d, err
}

// FieldDictRegexpAutomaton is index.IndexReaderRegexp's.
func (r *Reader) FieldDictRegexpAutomaton(field, expr string) (index.FieldDict, index.RegexAutomaton, error) {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	a, err := regexp.NewParsedWithLimit(expr, parsed, regexp.DefaultLimit)
	if err != nil {
		return nil, nil, err
	}
	d, err := r.dictionary(field, a, nil, nil)
	return d, a, err
}

// fuzzy returns the builders of automata of one and two edits. An edit may swap two
// neighbours.
var fuzzy = sync.OnceValue(func() (builders [2]*levenshtein.LevenshteinAutomatonBuilder) {
	for i := range builders {
		builders[i], _ = levenshtein.NewLevenshteinAutomatonBuilder(uint8(i+1), true)
	}
	return builders
})

var errEdits = errors.New("segment: one or two edits")

// FieldDictFuzzy is index.IndexReaderFuzzy's.
func (r *Reader) FieldDictFuzzy(field, term string, edits int, prefix string) (index.FieldDict, error) {
	d, _, err := r.FieldDictFuzzyAutomaton(field, term, edits, prefix)
	return d, err
}

// FieldDictFuzzyAutomaton is index.IndexReaderFuzzy's.
func (r *Reader) FieldDictFuzzyAutomaton(field, term string, edits int, prefix string) (index.FieldDict, index.FuzzyAutomaton, error) {
	if edits < 1 || edits > 2 {
		return nil, nil, errEdits
	}
	a, err := fuzzy()[edits-1].BuildDfa(term, uint8(edits))
	if err != nil {
		return nil, nil, err
	}
	d, err := r.dictionary(field, a, []byte(prefix), behind([]byte(prefix)))
	return d, a, err
}

// FieldDictContains is index.IndexReaderContains's.
func (r *Reader) FieldDictContains(field string) (index.FieldDictContains, error) {
	return &contains{r, field}, nil
}

// contains is index.FieldDictContains.
type contains struct {
	r     *Reader
	field string
}

// Contains is index.FieldDictContains's: whether a document that is read has the term.
func (c *contains) Contains(term []byte) (bool, error) {
	for i := range c.r.sources {
		s := &c.r.sources[i]
		it, err := s.postings(c.field, term)
		if err != nil {
			return false, err
		}
		docs := roaring.New()
		addTo(docs, it)
		if s.live != nil {
			docs.And(s.live)
		}
		if !docs.IsEmpty() {
			return true, nil
		}
	}
	return false, nil
}

// BytesRead is index.FieldDictContains's.
func (c *contains) BytesRead() uint64 { return 0 }
