package find

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/lucene"
)

// Bounds of marking, as in Lucene.
const (
	fragmentSize = 100       // characters, where none is asked for
	markedBytes  = 50 * 1024 // of a text that are looked at
)

// marker knows which words of a text are to be marked: those that a part of the query
// which does not exclude would find, whatever field it is about, as Lucene's
// highlighter does.
type marker struct {
	req     *Request
	words   []wanted
	phrases []wantedPhrase
}

// wanted are words.
type wanted struct {
	match func(term string) bool
	boost float64
}

// wantedPhrase are words that follow each other.
type wantedPhrase struct {
	places [][]string // nil where there may be anything
	slop   int
	boost  float64
}

// newMarker returns nil if nothing is to be marked.
func newMarker(req *Request) (*marker, error) {
	if req.Highlight == nil || len(req.Highlight.Fields) == 0 {
		return nil, nil
	}
	m := &marker{req: req}
	return m, m.add(req.Query)
}

func (m *marker) word(boost float64, match func(term string) bool) {
	m.words = append(m.words, wanted{match, boost})
}

// add adds the words of a part of the query.
func (m *marker) add(query lucene.Node) error {
	switch q := query.(type) {
	case *lucene.Boolean:
		for _, c := range q.Clauses {
			if c.Occur == lucene.MustNot {
				continue
			}
			if err := m.add(c.Node); err != nil {
				return err
			}
		}
	case *lucene.Term:
		for _, t := range m.tokens(q.Field, q.Text) {
			m.word(q.Boost, func(term string) bool { return term == string(t.Term) })
		}
	case *lucene.Phrase:
		m.phrase(q)
	case *lucene.Prefix:
		m.word(q.Boost, func(term string) bool { return strings.HasPrefix(term, q.Text) })
	case *lucene.Wildcard:
		m.word(q.Boost, globOf(q.Pattern).match)
	case *lucene.Fuzzy:
		m.word(q.Boost, func(term string) bool {
			return len(term) <= 4*maxFuzzyRunes && likeness(q.Text, term, q.Edits) > 0
		})
	case *lucene.Regexp:
		r, err := compileRegexp(q.Expr)
		if err != nil {
			return err
		}
		m.word(q.Boost, r.match)
	case *lucene.Range:
		if _, _, numbers := q.Numbers(); !numbers {
			m.word(q.Boost, func(term string) bool { return within(q, term) })
		}
	}
	return nil
}

// within reports whether a term is in a range of terms.
func within(q *lucene.Range, term string) bool {
	return (q.Min == nil || term > *q.Min || q.IncludeMin && term == *q.Min) &&
		(q.Max == nil || term < *q.Max || q.IncludeMax && term == *q.Max)
}

func (m *marker) tokens(field, text string) analysis.TokenStream {
	return m.req.Analyzers.For(field).Analyze([]byte(text))
}

func (m *marker) phrase(q *lucene.Phrase) {
	tokens := m.tokens(q.Field, q.Text)
	p := wantedPhrase{slop: q.Slop, boost: q.Boost}
	for _, t := range tokens {
		at := t.Position - tokens[0].Position
		if at < 0 || at > markedBytes {
			continue
		}
		for len(p.places) <= at {
			p.places = append(p.places, nil)
		}
		p.places[at] = append(p.places[at], string(t.Term))
	}
	m.phrases = append(m.phrases, p)
}

// weigh returns what each token of a text is worth: 0 if it is not to be marked.
func (w *work) weigh(m *marker, tokens analysis.TokenStream) ([]float64, error) {
	weights := make([]float64, len(tokens))
	for i, t := range tokens {
		for _, of := range m.words {
			if err := w.spend(1 + len(t.Term)); err != nil {
				return nil, err
			}
			if of.boost > weights[i] && of.match(string(t.Term)) {
				weights[i] = of.boost
			}
		}
	}
	for _, p := range m.phrases {
		if err := p.weigh(w, tokens, weights); err != nil {
			return nil, err
		}
	}
	return weights, nil
}

// weigh weighs the tokens of the phrase where it is.
func (p *wantedPhrase) weigh(w *work, tokens analysis.TokenStream, weights []float64) error {
	at := map[int][]int{} // the tokens of positions
	for i, t := range tokens {
		at[t.Position] = append(at[t.Position], i)
	}
	for _, t := range tokens {
		found, err := p.from(w, t.Position, tokens, at)
		if err != nil {
			return err
		}
		for _, i := range found {
			weights[i] = max(weights[i], p.boost)
		}
	}
	return nil
}

// from returns the tokens of the phrase if it begins at a position: each word at its
// place, or with a slop no further from it than that.
func (p *wantedPhrase) from(w *work, position int, tokens analysis.TokenStream, at map[int][]int) (found []int, err error) {
	for i, terms := range p.places {
		if terms == nil {
			continue
		}
		there := -1
		for move := 0; move <= min(p.slop, len(tokens)) && there < 0; move++ {
			if err := w.spend(2 + len(found)/8); err != nil {
				return nil, err
			}
			for _, place := range []int{position + i + move, position + i - move} {
				for _, k := range at[place] {
					if slices.Contains(terms, string(tokens[k].Term)) && !slices.Contains(found, k) && there < 0 {
						there = k
					}
				}
			}
			if i == 0 {
				break // the phrase begins here
			}
		}
		if there < 0 {
			return nil, nil
		}
		found = append(found, there)
	}
	return found, nil
}

// fragment is a piece of a marked text.
type fragment struct {
	number int
	text   string
	score  float64
}

// mark returns the best fragments of a text, its words marked.
func (w *work) mark(m *marker, field, text string) ([]string, error) {
	if len(text) > markedBytes {
		text = strings.ToValidUTF8(text[:markedBytes], "")
	}
	tokens := m.tokens(field, text)
	slices.SortStableFunc(tokens, func(a, b *analysis.Token) int { return a.Start - b.Start })
	weights, err := w.weigh(m, tokens)
	if err != nil {
		return nil, err
	}
	fragments := m.cut(text, tokens, weights)
	slices.SortStableFunc(fragments, func(a, b fragment) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	fragments = join(fragments[:min(len(fragments), m.req.Highlight.Number)])
	texts := make([]string, len(fragments))
	for i, f := range fragments {
		texts[i] = f.text
		if err := w.keep(valueBytes + len(f.text)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// cut cuts a text into fragments, and returns those in which words are marked.
func (m *marker) cut(text string, tokens analysis.TokenStream, weights []float64) (all []fragment) {
	size := m.req.Highlight.Size
	if size <= 0 {
		size = fragmentSize
	}
	var b strings.Builder
	now, seen := fragment{}, map[string]bool{}
	done, chars, end := 0, 0, 0 // what was written, and how many characters that are up to a token's end
	for i, weight := range weights {
		t := tokens[i]
		if t.Start < done || t.End < t.Start || t.End > len(text) {
			continue // a second word of the same text
		}
		chars += utf8.RuneCountInString(text[end:t.End])
		end = t.End
		if chars >= size*(now.number+1) && b.Len() > 0 {
			now.text = b.String()
			all = append(all, now)
			now, seen = fragment{number: now.number + 1}, map[string]bool{}
			b.Reset()
		}
		b.WriteString(text[done:t.Start])
		if done = t.End; weight == 0 {
			b.WriteString(text[t.Start:t.End])
			continue
		}
		b.WriteString(m.req.Highlight.Pre + text[t.Start:t.End] + m.req.Highlight.Post)
		if !seen[string(t.Term)] {
			seen[string(t.Term)] = true
			now.score += weight
		}
	}
	b.WriteString(text[done:])
	now.text = b.String()
	return slices.DeleteFunc(append(all, now), func(f fragment) bool { return f.score == 0 })
}

// join makes one of fragments that follow each other in the text, in the place of the
// better.
func join(all []fragment) []fragment {
	used := map[int]bool{}
	var joined []fragment
	for _, f := range all {
		if used[f.number] {
			continue // it is part of another
		}
		from, to := f.number, f.number
		for has(all, from-1) {
			from--
		}
		for has(all, to+1) {
			to++
		}
		whole := fragment{number: from, score: f.score}
		var text strings.Builder
		for n := from; n <= to; n++ {
			used[n] = true
			at := slices.IndexFunc(all, func(f fragment) bool { return f.number == n })
			text.WriteString(all[at].text)
		}
		whole.text = text.String()
		joined = append(joined, whole)
	}
	return joined
}

func has(all []fragment, number int) bool {
	return slices.ContainsFunc(all, func(f fragment) bool { return f.number == number })
}
