package find

import (
	"fmt"
	"math"
	"slices"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// compile makes the node of a query and weighs it.
func (w *work) compile(query lucene.Node) (node, error) {
	n, err := w.node(query)
	if err != nil {
		return nil, err
	}
	norm := 1 / math.Sqrt(n.squares())
	if math.IsInf(norm, 0) || math.IsNaN(norm) || w.nouveau {
		norm = 1
	}
	n.normalize(norm, 1)
	return n, nil
}

// node makes the node of a part of a query.
func (w *work) node(query lucene.Node) (node, error) {
	if w.nouveau {
		if n, ok, err := w.ofNumbers(query); ok || err != nil {
			return n, err
		}
	}
	switch q := query.(type) {
	case *lucene.Boolean:
		return w.boolean(q)
	case *lucene.Term:
		if n, ok := lucene.Number(q.Text); ok && !w.nouveau {
			docs := w.between(q.Field, segment.Interval{Min: n, Max: n, IncludeMin: true, IncludeMax: true})
			return w.exactly(docs, q.Boost), nil
		}
		return w.words(q.Field, q.Text, q.Boost)
	case *lucene.Phrase:
		return w.phrase(q)
	case *lucene.Fuzzy:
		return w.fuzzy(q)
	case *lucene.All:
		return w.constant(w.index.All(), q.Boost), nil
	case *lucene.Prefix:
		return w.union(q.Field, segment.Prefixed(q.Text), q.Boost, every)
	case *lucene.Wildcard:
		return w.wildcard(q)
	case *lucene.Regexp:
		return w.regexp(q)
	case *lucene.Range:
		return w.span(q)
	}
	return nil, fmt.Errorf("find: a query of %T", query)
}

// boolean makes the node of a group. A group of one is the one.
func (w *work) boolean(q *lucene.Boolean) (node, error) {
	var parts [3][]node
	for _, c := range q.Clauses {
		if err := w.clause(); err != nil {
			return nil, err
		}
		n, err := w.node(c.Node)
		if err != nil {
			return nil, err
		}
		parts[c.Occur] = append(parts[c.Occur], n)
	}
	return group(parts[lucene.Must], parts[lucene.Should], parts[lucene.MustNot], q.Boost, !w.nouveau), nil
}

// words makes the node of a text that is not a phrase: any of its terms. Terms at the
// same place are one word, of which no document needs to have all forms.
func (w *work) words(field, text string, boost float64) (node, error) {
	tokens := w.analyze(field, text)
	places := 0
	var any []node
	for i, t := range tokens {
		if i == 0 || t.Position != tokens[i-1].Position {
			places++
		}
		if err := w.clause(); err != nil {
			return nil, err
		}
		n, err := w.term(field, string(t.Term), 1)
		if err != nil {
			return nil, err
		}
		any = append(any, n)
	}
	if len(any) == 1 {
		any[0].(*term).boost = boost
		return any[0], nil
	}
	return group(nil, any, nil, boost, places > 1 && !w.nouveau), nil
}

// analyze returns the terms of a text in the order of their places.
func (w *work) analyze(field, text string) analysis.TokenStream {
	tokens := w.analyzers.For(field).Analyze([]byte(text))
	slices.SortStableFunc(tokens, func(a, b *analysis.Token) int { return a.Position - b.Position })
	return tokens
}

// phrase makes the node of a phrase; one of a single place is no phrase.
func (w *work) phrase(q *lucene.Phrase) (node, error) {
	tokens := w.analyze(q.Field, q.Text)
	if len(tokens) == 0 || tokens[0].Position == tokens[len(tokens)-1].Position {
		return w.words(q.Field, q.Text, q.Boost)
	}
	p := &phrase{work: w, slop: q.Slop, boost: q.Boost, both: &boolean{boost: 1}, bm25: w.scoring(q.Field)}
	for i, t := range tokens {
		if err := w.clause(); err != nil {
			return nil, err
		}
		r, err := w.open(q.Field, string(t.Term), true, true)
		if err != nil {
			return nil, err
		}
		if p.bm25 != nil {
			p.idf += p.bm25.of.idf(r.reader.Count(), w.docs)
		} else {
			p.idf += inverse(r.reader.Count(), w.docs)
		}
		if i == 0 || t.Position != tokens[i-1].Position {
			p.slots = append(p.slots, &slot{offset: t.Position - tokens[0].Position})
		}
		s := p.slots[len(p.slots)-1]
		s.terms = append(s.terms, r)
		s.key += "\x00" + string(t.Term)
	}
	for _, s := range p.slots {
		if s.node = s.terms[0]; len(s.terms) > 1 {
			any := &either{}
			for _, t := range s.terms {
				any.all = append(any.all, t)
			}
			s.node = any
		}
		p.both.must = append(p.both.must, s)
	}
	return p, nil
}

// span makes the node of a range: of numbers, or of terms.
func (w *work) span(q *lucene.Range) (node, error) {
	if low, high, ok := q.Numbers(); ok && !w.nouveau {
		docs := w.between(q.Field, segment.Interval{Min: low, Max: high, IncludeMin: q.IncludeMin, IncludeMax: q.IncludeMax})
		return w.constant(docs, q.Boost), nil
	}
	return w.termsBetween(q)
}

// wildcard makes the node of a pattern.
func (w *work) wildcard(q *lucene.Wildcard) (node, error) {
	if !slices.ContainsFunc(q.Pattern, func(p lucene.Piece) bool { return p.Kind != lucene.AnyText }) {
		docs := w.index.NewSet()
		docs.AddField(q.Field)
		return w.constant(docs, q.Boost), w.spend(int(w.index.End()))
	}
	prefix := ""
	if q.Pattern[0].Kind == lucene.Literal {
		prefix = q.Pattern[0].Text
	}
	return w.union(q.Field, segment.Prefixed(prefix), q.Boost, globOf(q.Pattern).match)
}

// regexp makes the node of a regular expression.
func (w *work) regexp(q *lucene.Regexp) (node, error) {
	m, err := compileRegexp(q.Expr)
	if err != nil {
		return nil, err
	}
	n, err := w.union(q.Field, segment.Prefixed(m.prefix), q.Boost, m.match)
	if m.exhausted {
		return nil, tooComplex(q.Expr)
	}
	return n, err
}
