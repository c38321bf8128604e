package segment

import "github.com/blevesearch/vellum"

// Fuzzy walks the terms of a field that one or two edits make of a term. spend is told of
// the work, of about so many postings each time, and may end it by an error, which Next
// returns too: that no term is like it may take as long to find out as to find many.
func (r *Reader) Fuzzy(field, term string, edits int, spend func(postings int) error) (*FuzzyTerms, error) {
	if edits < 1 || edits > 2 {
		return nil, errEdits
	}
	if err := spend(buildPostings * len(term)); err != nil {
		return nil, err
	}
	a, err := fuzzy()[edits-1].BuildDfa(term, uint8(edits))
	if err != nil {
		return nil, err
	}
	c := &counted{Automaton: a, spend: spend}
	d, err := r.dictionary(field, c, nil, nil)
	return &FuzzyTerms{d, c}, err
}

// As how many postings count a byte of a term of which an automaton is made, and a byte of
// the dictionary that is held against it: 20 to 30 µs, and about 80 ns.
const (
	buildPostings = 1000
	bytePostings  = 3
)

// FuzzyTerms is what Reader.Fuzzy walks.
type FuzzyTerms struct {
	all  *dictionary
	with *counted
}

// Next returns the next term; ok is false at the end.
func (t *FuzzyTerms) Next() (term string, ok bool, err error) {
	e, err := t.all.Next()
	if t.with.err != nil {
		err = t.with.err
	}
	if e == nil || err != nil {
		return "", false, err
	}
	return e.Term, true, nil
}

// counted is an automaton that tells how much it is asked, and matches nothing any more
// after an error.
type counted struct {
	vellum.Automaton
	asked int
	spend func(postings int) error
	err   error
}

// Accept is vellum.Automaton's.
func (c *counted) Accept(state int, b byte) int {
	if c.asked++; c.asked%indexTermsFrom == 0 && c.err == nil {
		c.err = c.spend(bytePostings * indexTermsFrom)
	}
	return c.Automaton.Accept(state, b)
}

// CanMatch is vellum.Automaton's.
func (c *counted) CanMatch(state int) bool { return c.err == nil && c.Automaton.CanMatch(state) }
