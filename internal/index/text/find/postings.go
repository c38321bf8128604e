package find

import (
	"math"

	index "github.com/blevesearch/bleve_index_api"
)

// postings walks the documents that have a term.
type postings struct {
	work   *work
	reader index.TermFieldReader
	hit    index.TermFieldDoc
	at     uint64
}

// open opens the postings of a term; detail says that frequency and length are
// needed, positions that places are.
func (w *work) open(field, term string, detail, positions bool) (*postings, error) {
	r, err := w.index.TermFieldReader(w.ctx, []byte(term), field, detail || positions, detail, positions)
	if err != nil {
		return nil, err
	}
	return &postings{work: w, reader: r}, nil
}

func (p *postings) squares() float64           { return 0 }
func (p *postings) normalize(float64, float64) {}
func (p *postings) score() float64             { return 0 }

func (p *postings) doc() uint64  { return p.at }
func (p *postings) cost() uint64 { return p.reader.Count() }
func (p *postings) start() error { return p.next() }

func (p *postings) next() error {
	if err := p.work.step(); err != nil {
		return err
	}
	hit, err := p.reader.Next(p.hit.Reset())
	return p.take(hit, err)
}

func (p *postings) advance(to uint64) error {
	if p.at >= to {
		return nil
	}
	if err := p.work.step(); err != nil {
		return err
	}
	hit, err := p.reader.Advance(internal(to), p.hit.Reset())
	return p.take(hit, err)
}

func (p *postings) take(hit *index.TermFieldDoc, err error) error {
	if p.at = none; hit == nil || err != nil {
		return err
	}
	if hit != &p.hit {
		p.hit = *hit
	}
	p.at = number(hit.ID)
	return nil
}

// term is a term of a field.
type term struct {
	*postings
	idf, boost float64
	value      float64 // what a frequency and a norm of one are worth
	bm25       *bm25   // nil where scores are Clouseau's
}

// term makes the node of an analyzed term.
func (w *work) term(field, text string, boost float64) (*term, error) {
	p, err := w.open(field, text, w.scored, false)
	if err != nil {
		return nil, err
	}
	return w.weighed(&term{postings: p, boost: boost, bm25: w.scoring(field)}, p.reader.Count()), nil
}

// weighed gives a term the weight of one that so many documents have.
func (w *work) weighed(t *term, having uint64) *term {
	if t.idf = inverse(having, w.docs); t.bm25 != nil {
		t.idf = t.bm25.of.idf(having, w.docs)
	}
	return t
}

func (t *term) squares() float64 { return t.idf * t.boost * t.idf * t.boost }

func (t *term) normalize(norm, boost float64) {
	if t.value = t.idf * t.idf * t.boost * norm * boost; t.bm25 != nil {
		t.bm25.weight = float32(t.idf * t.boost * boost)
	}
}

func (t *term) score() float64 {
	if t.bm25 != nil {
		return t.bm25.score(float64(t.hit.Freq), t.hit.Norm)
	}
	return math.Sqrt(float64(t.hit.Freq)) * t.value * lengthNorm(t.hit.Norm)
}
