package lucene

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a query. Lucene has the first; the others keep a request's work in
// proportion.
const (
	maxClauses = 1024    // of one Boolean
	maxNodes   = 8192    // of the whole
	maxDepth   = 100     // of parentheses
	maxBytes   = 1 << 20 // of text
)

// Options say what the syntax leaves open.
type Options struct {
	// DefaultField is the field of what names none; "default" if empty.
	DefaultField string
	// Dropped reports whether nothing is left of a text after its analysis, as of stop
	// words. It is asked about terms that are not numbers, and phrases. Such a clause is
	// as if it had not been written, except that its field and boost are still parsed;
	// an AND before or after it then refers to the clause before it. Nil: never.
	Dropped func(field, text string) bool
	// Exact reports whether the terms of a field are texts as they were given, as the
	// keyword analyzer makes them. What is not analyzed, such as prefixes and patterns,
	// then keeps its case too; else it is in lower case. Nil: never.
	Exact func(field string) bool
}

// Parse returns the tree of a query. The error is an *Error.
func Parse(query string, o Options) (Node, error) {
	if o.DefaultField == "" {
		o.DefaultField = "default"
	}
	p := &parser{Options: o, scan: scanner{query: query}}
	if len(query) > maxBytes {
		return nil, &Error{Query: query, Why: fmt.Sprintf("a query has at most %d bytes", maxBytes)}
	}
	if !utf8.ValidString(query) {
		return nil, &Error{Query: strings.ToValidUTF8(query, "\ufffd"), Why: "a query must be valid UTF-8"}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.query(o.DefaultField)
	if err != nil {
		return nil, err
	}
	if p.token.kind != eof {
		return nil, p.unexpected()
	}
	if n == nil {
		return &Boolean{Boost: 1}, nil
	}
	return n, nil
}

// parser looks one token ahead, and a second where a field may be named.
type parser struct {
	Options
	scan  scanner
	token token
	ahead *token // the one after token, if it has been looked at
	depth int
	nodes int
}

// advance goes to the next token.
func (p *parser) advance() (err error) {
	if p.ahead != nil {
		p.token, p.ahead = *p.ahead, nil
		return nil
	}
	p.token, err = p.scan.next()
	return err
}

// take returns the token and goes to the next.
func (p *parser) take() (token, error) {
	t := p.token
	return t, p.advance()
}

// peek returns the token after the next. An error there is returned when that token is reached.
func (p *parser) peek() kind {
	if p.ahead == nil {
		was := p.scan
		t, err := p.scan.next()
		if err != nil {
			p.scan = was
			return eof
		}
		p.ahead = &t
	}
	return p.ahead.kind
}

// unexpected is the error of a token where another has to be.
func (p *parser) unexpected() error {
	what := "<EOF>"
	if p.token.kind != eof {
		what = p.token.text
	}
	return p.scan.failed(p.token.at, fmt.Sprintf("Encountered %q", what))
}

// wrong is an error about the query as a whole.
func (p *parser) wrong(why string) error { return &Error{Query: p.scan.query, Why: why} }

// query = modifier clause { [AND | OR] modifier clause }. Nil: nothing is left of it.
func (p *parser) query(field string) (Node, error) {
	var b Boolean
	var first Node // the only one, if there is only one without a modifier
	for i := 0; ; i++ {
		joined := false
		if i > 0 {
			if !beginsClause(p.token.kind) {
				break
			}
			if p.token.kind == and || p.token.kind == or {
				joined = p.token.kind == and
				if err := p.advance(); err != nil {
					return nil, err
				}
			}
		}
		occur, err := p.modifier()
		if err != nil {
			return nil, err
		}
		n, err := p.clause(field)
		if err != nil {
			return nil, err
		}
		if i == 0 && occur == Should {
			first = n
		}
		if err := p.add(&b, joined, occur, n); err != nil {
			return nil, err
		}
	}
	switch {
	case len(b.Clauses) == 0:
		return nil, nil
	case len(b.Clauses) == 1 && first != nil:
		return first, nil
	}
	b.Boost = 1
	return &b, nil
}

// beginsClause reports whether a clause may begin with a token.
func beginsClause(k kind) bool {
	switch k {
	case and, or, not, plus, minus, bareSign, open, star, quoted, term, prefixTerm, wildTerm, regexpTerm, rangeIn, rangeEx:
		return true
	}
	return false
}

// modifier = [+ | - | NOT].
func (p *parser) modifier() (Occur, error) {
	switch p.token.kind {
	case plus:
		return Must, p.advance()
	case minus, not:
		return MustNot, p.advance()
	}
	return Should, nil
}

// add puts a clause into a query. AND makes the clause before it required, unless that
// is excluded, and its own. OR leaves both as they are.
func (p *parser) add(b *Boolean, joined bool, occur Occur, n Node) error {
	if last := len(b.Clauses) - 1; joined && last >= 0 && b.Clauses[last].Occur == Should {
		b.Clauses[last].Occur = Must
	}
	if n == nil {
		return nil
	}
	if joined && occur == Should {
		occur = Must
	}
	if p.nodes++; len(b.Clauses) >= maxClauses || p.nodes > maxNodes {
		return p.wrong("too many boolean clauses")
	}
	b.Clauses = append(b.Clauses, Clause{occur, n})
	return nil
}

// clause = [field :] ( single | "(" query ")" [boost] ).
func (p *parser) clause(field string) (Node, error) {
	if (p.token.kind == term || p.token.kind == star) && p.peek() == colon {
		var err error
		if field, err = p.field(); err != nil {
			return nil, err
		}
	}
	if p.token.kind == open {
		return p.group(field)
	}
	return p.single(field)
}

// field = (term | *) :.
func (p *parser) field() (string, error) {
	t, err := p.take()
	if err != nil {
		return "", err
	}
	if err := p.advance(); err != nil {
		return "", err
	}
	if t.kind == star {
		return "*", nil
	}
	return p.unescape(t.text)
}

func (p *parser) group(field string) (Node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.wrong(fmt.Sprintf("parentheses are nested more than %d deep", maxDepth))
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.query(field)
	if err != nil {
		return nil, err
	}
	if p.token.kind != closing {
		return nil, p.unexpected()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	p.depth--
	boost, err := p.boost()
	return boosted(n, boost), err
}

// boost = [^ number].
func (p *parser) boost() (string, error) {
	if p.token.kind != caret {
		return "", nil
	}
	if err := p.advance(); err != nil {
		return "", err
	}
	if p.token.kind != number {
		return "", p.unexpected()
	}
	t, err := p.take()
	return t.text, err
}

// boosted gives a query a boost, which is a float of 32 bits.
func boosted(n Node, boost string) Node {
	if n != nil && boost != "" {
		f, _ := strconv.ParseFloat(boost, 32) // beyond the largest: infinite, as in Java
		n.boost(f)
	}
	return n
}

// single is a query without parentheses.
func (p *parser) single(field string) (Node, error) {
	switch p.token.kind {
	case rangeIn, rangeEx:
		return p.ranged(field)
	case quoted:
		return p.phrase(field)
	case term, star, prefixTerm, wildTerm, regexpTerm, bareSign:
		return p.bare(field)
	}
	return nil, p.unexpected()
}

// bare = term [~] [^ number [~]].
func (p *parser) bare(field string) (Node, error) {
	t, err := p.take()
	if err != nil {
		return nil, err
	}
	fuzzy, err := p.tilde()
	if err != nil {
		return nil, err
	}
	boost, err := p.boost()
	if err != nil {
		return nil, err
	}
	if boost != "" {
		again, err := p.tilde()
		if err != nil {
			return nil, err
		}
		if again != "" {
			fuzzy = again
		}
	}
	n, err := p.made(field, t, fuzzy)
	return boosted(n, boost), err
}

// tilde = [~ [number]].
func (p *parser) tilde() (string, error) {
	if p.token.kind != tilde {
		return "", nil
	}
	t, err := p.take()
	return t.text, err
}

// phrase = quoted [~] [^ number].
func (p *parser) phrase(field string) (Node, error) {
	t, err := p.take()
	if err != nil {
		return nil, err
	}
	slop, err := p.tilde()
	if err != nil {
		return nil, err
	}
	boost, err := p.boost()
	if err != nil {
		return nil, err
	}
	text, err := p.unescape(t.text[1 : len(t.text)-1])
	if err != nil || p.dropped(field, text) {
		return nil, err
	}
	n := &Phrase{Field: field, Text: text, Boost: 1}
	if len(slop) > 1 {
		f, _ := strconv.ParseFloat(slop[1:], 32)
		n.Slop = int(min(f, math.MaxInt32))
	}
	return boosted(n, boost), nil
}

// ranged = ([ | {) end [TO] end (] | }) [^ number].
func (p *parser) ranged(field string) (Node, error) {
	n := &Range{Field: field, IncludeMin: p.token.kind == rangeIn, Boost: 1}
	err := p.advance()
	if err == nil {
		n.Min, err = p.end()
	}
	if err == nil && p.token.kind == rangeTo {
		err = p.advance()
	}
	if err == nil {
		n.Max, err = p.end()
	}
	if err != nil {
		return nil, err
	}
	if p.token.kind != rangeEndIn && p.token.kind != rangeEndEx {
		return nil, p.unexpected()
	}
	n.IncludeMax = p.token.kind == rangeEndIn
	if err := p.advance(); err != nil {
		return nil, err
	}
	boost, err := p.boost()
	if _, _, ok := n.Numbers(); !ok {
		p.fold(n.Field, n.Min)
		p.fold(n.Field, n.Max)
	}
	return boosted(n, boost), err
}

func (p *parser) fold(field string, s *string) {
	if s != nil {
		*s = p.folded(field, *s)
	}
}

// end is an end of a range, nil if it is open: a bare star.
func (p *parser) end() (*string, error) {
	k := p.token.kind
	if k != rangeText && k != rangeQuoted {
		return nil, p.unexpected()
	}
	t, err := p.take()
	if err != nil {
		return nil, err
	}
	if k == rangeText && t.text == "*" {
		return nil, nil
	}
	if k == rangeQuoted {
		t.text = t.text[1 : len(t.text)-1]
	}
	text, err := p.unescape(t.text)
	return &text, err
}
