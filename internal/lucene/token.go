package lucene

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind is what a token is. Those of ranges come between the signs that begin and end
// one.
type kind uint8

const (
	eof kind = iota
	and
	or
	not
	plus
	minus
	bareSign // a sign before white space, which is a term
	open     // (
	closing  // )
	colon
	star
	caret
	quoted
	term
	tilde // ~ and what comes after it
	prefixTerm
	wildTerm
	regexpTerm
	rangeIn // [
	rangeEx // {
	number  // after a caret
	rangeTo
	rangeEndIn // ]
	rangeEndEx // }
	rangeQuoted
	rangeText
)

// token is a piece of a query.
type token struct {
	kind kind
	text string
	at   int // its first byte
}

// mode says which tokens there are: outside and inside of ranges, and after ^.
type mode uint8

const (
	plain mode = iota
	inRange
	afterCaret
)

// scanner makes tokens. At each place the longest that fits is taken, of equal ones
// that which comes first in the grammar.
type scanner struct {
	query string
	at    int
	mode  mode
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// space returns how many bytes of white space s begins with, for one character.
func space(s string) int {
	if s != "" && isSpace(s[0]) {
		return 1
	}
	if strings.HasPrefix(s, "\u3000") {
		return len("\u3000")
	}
	return 0
}

// next returns the next token, eof at the end.
func (s *scanner) next() (token, error) {
	for s.mode == plain {
		n := space(s.query[s.at:])
		if n == 0 {
			break
		}
		s.at += n
	}
	for s.mode == inRange {
		// White space begins a text, unless nothing longer does.
		n := space(s.query[s.at:])
		if n == 0 || rangeTextLen(s.query[s.at:]) > n {
			break
		}
		s.at += n
	}
	rest := s.query[s.at:]
	if rest == "" {
		return token{kind: eof, at: s.at}, nil
	}
	k, n := s.longest(rest)
	if n == 0 {
		return token{}, s.lexical()
	}
	t := token{kind: k, text: rest[:n], at: s.at}
	s.at += n
	switch k {
	case caret:
		s.mode = afterCaret
	case rangeIn, rangeEx:
		s.mode = inRange
	case number, rangeEndIn, rangeEndEx:
		s.mode = plain
	}
	return t, nil
}

// longest returns the token that s begins with and its length, 0 if there is none.
func (s *scanner) longest(rest string) (kind, int) {
	switch s.mode {
	case inRange:
		return rangeToken(rest)
	case afterCaret:
		return number, decimalLen(rest)
	}
	return plainToken(rest)
}

// signs are the tokens that stand alone.
var signs = map[byte]kind{
	'(': open, ')': closing, ':': colon, '^': caret, '[': rangeIn, '{': rangeEx,
}

func plainToken(s string) (kind, int) {
	if k, ok := signs[s[0]]; ok {
		return k, 1
	}
	switch s[0] {
	case '+', '-', '!':
		return signToken(s)
	case '~':
		return tilde, 1 + decimalLen(s[1:])
	case '"':
		return quoted, quotedLen(s)
	case '/':
		return regexpTerm, regexpLen(s)
	}
	return termToken(s)
}

// signToken: a sign before white space is a term of its own.
func signToken(s string) (kind, int) {
	if n := space(s[1:]); n > 0 {
		return bareSign, 1 + n
	}
	return map[byte]kind{'+': plus, '-': minus, '!': not}[s[0]], 1
}

// words are the terms that are operators.
var words = map[string]kind{"AND": and, "&&": and, "OR": or, "||": or, "NOT": not}

func termToken(s string) (kind, int) {
	wild := wildLen(s)
	if wild == 1 && s[0] == '*' {
		return star, 1
	}
	n := termLen(s)
	switch {
	case n > 0 && n == wild:
		if k, ok := words[s[:n]]; ok {
			return k, n
		}
		return term, n
	case n > 0 && n+1 == wild && s[n] == '*':
		return prefixTerm, wild
	}
	return wildTerm, wild
}

// special are the characters that neither begin nor continue a term, unless they are
// escaped; + and - only don't begin one.
const special = " \t\n\r\u3000+-!():^[]\"{}~*?\\/"

// charLen returns the length of the character of a term that s begins with, 0 if it is
// none.
func charLen(s string, first bool) int {
	if s == "" {
		return 0
	}
	if s[0] == '\\' {
		if len(s) == 1 {
			return 0
		}
		_, n := utf8.DecodeRuneInString(s[1:])
		return 1 + n
	}
	if !first && (s[0] == '+' || s[0] == '-') {
		return 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if strings.ContainsRune(special, r) {
		return 0
	}
	return n
}

func termLen(s string) (at int) {
	for {
		n := charLen(s[at:], at == 0)
		if n == 0 {
			return at
		}
		at += n
	}
}

func wildLen(s string) (at int) {
	for {
		n := charLen(s[at:], at == 0)
		if n == 0 && at < len(s) && (s[at] == '*' || s[at] == '?') {
			n = 1
		}
		if n == 0 {
			return at
		}
		at += n
	}
}

func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// decimalLen is the length of a number such as 12 or 1.5.
func decimalLen(s string) int {
	n := digits(s)
	if n > 0 && n < len(s) && s[n] == '.' {
		if m := digits(s[n+1:]); m > 0 {
			return n + 1 + m
		}
	}
	return n
}

// quotedLen is the length of a text in quotation marks, 0 if it doesn't end.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// regexpLen is the length of /…/. A slash after a backslash ends it only if no other
// does.
func regexpLen(s string) int { return delimited(s, '/', 1) }

// delimited is the length of a text between two marks with at least least-1 characters
// in it: to the first mark that has no backslash before it, or else to the last. 0 if
// there is none.
func delimited(s string, mark byte, least int) (last int) {
	for i := least; i < len(s); i++ {
		if s[i] == mark {
			last = i + 1
			if i == 1 || s[i-1] != '\\' {
				return last
			}
		}
	}
	return last
}

func rangeToken(s string) (kind, int) {
	switch s[0] {
	case ']':
		return rangeEndIn, 1
	case '}':
		return rangeEndEx, 1
	}
	n := rangeTextLen(s)
	if s[0] == '"' {
		if m := delimited(s, '"', 2); m >= n && m > 0 {
			return rangeQuoted, m
		}
	}
	if s[:n] == "TO" {
		return rangeTo, n
	}
	return rangeText, n
}

func rangeTextLen(s string) int {
	if n := strings.IndexAny(s, " ]}"); n >= 0 {
		return n
	}
	return len(s)
}

// lexical says that no token begins here.
func (s *scanner) lexical() error {
	r, _ := utf8.DecodeRuneInString(s.query[s.at:])
	what := "the text in quotation marks"
	switch {
	case s.mode == afterCaret:
		what = "a number has to follow ^, not " + string(r)
		return s.failed(s.at, what)
	case r == '/':
		what = "the regular expression"
	case r == '\\':
		what = "the escape"
	}
	return s.failed(s.at, what+" doesn't end")
}

// failed is the error of a query that can't be parsed.
func (s *scanner) failed(at int, why string) error {
	before := s.query[:at]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &Error{Query: s.query, Why: fmt.Sprintf("%s at line %d, column %d", why, line, column)}
}

// Error says why a text is not a query.
type Error struct {
	Query, Why string
	Standard   bool // of the standard syntax, whose errors have a form of their own
	bare       bool // Why says it all
}

// maxShown is how much of a query an error repeats.
const maxShown = 500

// Error has the form of Lucene's errors.
func (e *Error) Error() string {
	q := e.Query
	if len(q) > maxShown {
		q = strings.ToValidUTF8(q[:maxShown], "") + "…"
	}
	switch {
	case e.bare:
		return e.Why
	case e.Standard:
		return "Syntax Error, cannot parse " + q + ": " + e.Why
	}
	return "Cannot parse '" + q + "': " + e.Why
}
