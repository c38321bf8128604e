package lucene

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseStandard returns the tree of a query in the syntax of Lucene's standard parser,
// of which Nouveau's queries are: the classic syntax, with precedence of AND over OR over
// nothing between two clauses where signs are concerned, comparisons such as price<10,
// "=" for ":", and without leading wildcards. Functions of intervals (fn:) and clauses
// that must match in part (@2) are refused. Whether a text is a number is not decided
// here, but by the field, so that ends of ranges stay as they were written. The error is
// an *Error.
func ParseStandard(query string, o Options) (Node, error) {
	if o.DefaultField == "" {
		o.DefaultField = "default"
	}
	s := &standard{parser: parser{Options: o, scan: scanner{query: query}}}
	n, err := s.top()
	if e, ok := err.(*Error); ok {
		e.Standard = true
	}
	return n, err
}

// standard parses. It has the errors, escapes and bounds of the classic parser, and
// tokens of its own.
type standard struct {
	parser
	inRange bool
}

func (s *standard) top() (Node, error) {
	q := s.scan.query
	switch {
	case len(q) > maxBytes:
		return nil, s.wrong(fmt.Sprintf("a query has at most %d bytes", maxBytes))
	case !utf8.ValidString(q):
		return nil, &Error{Query: strings.ToValidUTF8(q, "\ufffd"), Why: "a query must be valid UTF-8"}
	}
	if err := s.advance(); err != nil {
		return nil, err
	}
	n, err := s.query(s.DefaultField)
	switch {
	case err != nil:
		return nil, err
	case s.token.kind != eof:
		return nil, s.unexpected()
	case n == nil:
		return &Boolean{Boost: 1}, nil
	}
	return n, nil
}

// query = disjunction { disjunction }. Whatever is joined by AND is required, unless it
// has a sign of its own; all clauses are one group.
func (s *standard) query(field string) (Node, error) {
	b := &Boolean{Boost: 1}
	var only Node
	written := 0
	for written == 0 || begins(s.token.kind) {
		n, excluded, many, err := s.conjunctions(b, field)
		if err != nil {
			return nil, err
		}
		if written += many; written == 1 && !excluded {
			only = n
		}
	}
	switch {
	case written == 1 && (only != nil || len(b.Clauses) == 0):
		return only, nil
	case len(b.Clauses) == 0:
		return nil, nil
	}
	return b, nil
}

func begins(k kind) bool {
	switch k {
	case not, plus, minus, open, quoted, term, number, regexpTerm, rangeIn, rangeEx, function:
		return true
	}
	return false
}

// conjunctions = conjunction { OR conjunction }. It returns the last clause, whether it is
// excluded, and how many there were.
func (s *standard) conjunctions(b *Boolean, field string) (last Node, excluded bool, many int, err error) {
	for {
		var members []Clause
		if members, err = s.conjunction(field); err != nil {
			return nil, false, 0, err
		}
		for _, c := range members {
			if c.Occur == Should && len(members) > 1 {
				c.Occur = Must
			}
			last, excluded = c.Node, c.Occur == MustNot
			if many++; c.Node == nil {
				continue // nothing was left of it
			}
			if s.nodes++; len(b.Clauses) >= maxClauses || s.nodes > maxNodes {
				return nil, false, 0, s.wrong("too many boolean clauses")
			}
			b.Clauses = append(b.Clauses, c)
		}
		if s.token.kind != or {
			return last, excluded, many, nil
		}
		if err = s.advance(); err != nil {
			return nil, false, 0, err
		}
	}
}

// conjunction = clause { AND clause }, each with a sign or none.
func (s *standard) conjunction(field string) (all []Clause, err error) {
	for {
		c := Clause{}
		switch s.token.kind {
		case plus:
			c.Occur = Must
		case minus, not:
			c.Occur = MustNot
		}
		if c.Occur != Should {
			if err := s.advance(); err != nil {
				return nil, err
			}
		}
		if c.Node, err = s.clause(field); err != nil {
			return nil, err
		}
		if all = append(all, c); len(all) > maxClauses {
			return nil, s.wrong("too many boolean clauses")
		}
		if s.token.kind != and {
			return all, nil
		}
		if err := s.advance(); err != nil {
			return nil, err
		}
	}
}

// clause = field comparison end | [ field ( : | = ) ] ( single | group ).
func (s *standard) clause(field string) (Node, error) {
	if s.token.kind == term {
		named := s.token
		after, err := s.peek()
		if err != nil {
			return nil, err
		}
		switch after {
		case colon, equal, less, lessEqual, more, moreEqual:
			if field, err = s.unescape(named.text); err != nil {
				return nil, err
			}
			if err := s.advance(); err != nil {
				return nil, err
			}
			if err := s.advance(); err != nil {
				return nil, err
			}
			if after != colon && after != equal {
				return s.comparison(field, after)
			}
			if named.text == "*" && s.token.kind == term && s.token.text == "*" {
				field = "*"
			}
		}
	}
	switch s.token.kind {
	case open:
		return s.group(field)
	case function:
		return nil, s.wrong("functions of intervals are not supported")
	}
	return s.single(field)
}

// comparison = ( < | <= | > | >= ) end.
func (s *standard) comparison(field string, by kind) (Node, error) {
	switch s.token.kind {
	case term, number, quoted:
	default:
		return nil, s.unexpected()
	}
	t, err := s.take()
	if err != nil {
		return nil, err
	}
	if t.kind == quoted {
		t.text = t.text[1 : len(t.text)-1]
	}
	text, err := s.unescape(t.text)
	if err != nil {
		return nil, err
	}
	n := &Range{Field: field, IncludeMin: by != more, IncludeMax: by != less, Boost: 1}
	if by == less || by == lessEqual {
		n.Max = &text
	} else {
		n.Min = &text
	}
	if t.text == "*" {
		n.Min, n.Max = nil, nil
	}
	return n, nil
}

// group = "(" query ")" [boost].
func (s *standard) group(field string) (Node, error) {
	if s.depth++; s.depth > maxDepth {
		return nil, s.wrong(fmt.Sprintf("parentheses are nested more than %d deep", maxDepth))
	}
	if err := s.advance(); err != nil {
		return nil, err
	}
	n, err := s.query(field)
	if err != nil {
		return nil, err
	}
	if s.token.kind != closing {
		return nil, s.unexpected()
	}
	if err := s.advance(); err != nil {
		return nil, err
	}
	s.depth--
	if n, err = s.boosted(n); err == nil && s.token.kind == at {
		return nil, s.wrong("clauses that must match in part (@) are not supported")
	}
	return n, err
}

// boosted = [ ^ number ].
func (s *standard) boosted(n Node) (Node, error) {
	if s.token.kind != caret {
		return n, nil
	}
	text, err := s.following(number)
	return boosted(n, text), err
}

// following takes a token, and returns the text of the one after it, which has to be of a kind.
func (s *standard) following(k kind) (string, error) {
	if err := s.advance(); err != nil {
		return "", err
	}
	if s.token.kind != k {
		return "", s.unexpected()
	}
	t, err := s.take()
	return t.text, err
}

// single is a query without parentheses.
func (s *standard) single(field string) (n Node, err error) {
	switch s.token.kind {
	case rangeIn, rangeEx:
		n, err = s.ranged(field)
	case quoted:
		n, err = s.phrase(field)
	case regexpTerm:
		t := s.token
		n, err = &Regexp{field, s.folded(field, t.text[1:len(t.text)-1]), 1}, s.advance()
	case term, number:
		n, err = s.bare(field)
	default:
		return nil, s.unexpected()
	}
	if err != nil {
		return nil, err
	}
	return s.boosted(n)
}

// bare = ( term | number ) [ ~ [number] ].
func (s *standard) bare(field string) (Node, error) {
	t, err := s.take()
	if err != nil {
		return nil, err
	}
	text, err := s.unescape(t.text)
	if err != nil {
		return nil, err
	}
	if s.token.kind == tilde {
		if err := s.advance(); err != nil {
			return nil, err
		}
		given := ""
		if s.token.kind == number {
			if t, err = s.take(); err != nil {
				return nil, err
			}
			given = t.text
		}
		edits, err := s.edits(given, utf8.RuneCountInString(text))
		return &Fuzzy{field, s.folded(field, text), edits, 1}, err
	}
	parts := pieces(t.text)
	wild := false
	for _, p := range parts {
		wild = wild || p.Kind != Literal
	}
	switch {
	case wild && t.text == "*" && field == "*":
		return &All{1}, nil
	case wild && parts[0].Kind != Literal:
		return nil, &Error{Query: s.scan.query, Why: "Leading wildcard is not allowed: " + field + ":" + t.text, bare: true}
	case wild && len(parts) == 2 && parts[1].Kind == AnyText:
		return &Prefix{field, s.folded(field, parts[0].Text), 1}, nil
	case wild:
		return &Wildcard{field, pieces(s.folded(field, t.text)), 1}, nil
	case s.dropped(field, text):
		return nil, nil
	}
	return &Term{field, text, 1}, nil
}

// phrase = quoted [ ~ number ].
func (s *standard) phrase(field string) (Node, error) {
	t, err := s.take()
	if err != nil {
		return nil, err
	}
	slop := ""
	if s.token.kind == tilde {
		if slop, err = s.following(number); err != nil {
			return nil, err
		}
	}
	text, err := s.unescape(t.text[1 : len(t.text)-1])
	if err != nil || s.dropped(field, text) {
		return nil, err
	}
	n := &Phrase{Field: field, Text: text, Boost: 1}
	if slop != "" {
		f, _ := strconv.ParseFloat(slop, 64)
		n.Slop = int(min(f, math.MaxInt32))
	}
	return n, nil
}

// ranged = ( [ | { ) end TO end ( ] | } ).
func (s *standard) ranged(field string) (Node, error) {
	n := &Range{Field: field, IncludeMin: s.token.kind == rangeIn, Boost: 1}
	s.inRange = true
	err := s.advance()
	if err == nil {
		n.Min, err = s.end()
	}
	if err == nil && (s.token.kind != rangeText || s.token.text != "TO") {
		err = s.unexpected()
	}
	if err == nil {
		err = s.advance()
	}
	if err == nil {
		n.Max, err = s.end()
	}
	if err == nil && s.token.kind != rangeEndIn && s.token.kind != rangeEndEx {
		err = s.unexpected()
	}
	if err != nil {
		return nil, err
	}
	n.IncludeMax = s.token.kind == rangeEndIn
	s.inRange = false
	return n, s.advance()
}

// end is an end of a range, nil if it is open: a star, or nothing in quotation marks.
func (s *standard) end() (*string, error) {
	k := s.token.kind
	if k != rangeText && k != rangeQuoted {
		return nil, s.unexpected()
	}
	t, err := s.take()
	if err != nil {
		return nil, err
	}
	if k == rangeQuoted {
		t.text = t.text[1 : len(t.text)-1]
	}
	if t.text == "*" {
		return nil, nil
	}
	text, err := s.unescape(t.text)
	if text == "" {
		return nil, err
	}
	return &text, err
}
