package lucene

import (
	"strings"
	"unicode/utf8"
)

// The tokens that the standard syntax has beside those of the classic one.
const (
	equal kind = rangeText + 1 + iota
	less
	lessEqual
	more
	moreEqual
	at
	function // fn:
)

// standardSigns are the tokens that stand alone; of two that fit the longer.
var standardSigns = []struct {
	text string
	kind kind
}{
	{"<=", lessEqual}, {">=", moreEqual}, {"<", less}, {">", more}, {"=", equal}, {"@", at},
	{"(", open}, {")", closing}, {":", colon}, {"^", caret}, {"~", tilde}, {"[", rangeIn}, {"{", rangeEx},
	{"+", plus}, {"-", minus}, {"!", not},
}

// advance goes to the next token.
func (s *standard) advance() (err error) {
	if s.ahead != nil {
		s.token, s.ahead = *s.ahead, nil
		return nil
	}
	s.token, err = s.scanNext()
	return err
}

// take returns the token and goes to the next.
func (s *standard) take() (token, error) {
	t := s.token
	return t, s.advance()
}

// peek returns the kind of the token after the next. What is no token there is an error
// when it is reached.
func (s *standard) peek() (kind, error) {
	if s.ahead == nil {
		was := s.scan
		t, err := s.scanNext()
		if err != nil {
			s.scan = was
			return eof, nil
		}
		s.ahead = &t
	}
	return s.ahead.kind, nil
}

// scanNext makes the next token, eof at the end.
func (s *standard) scanNext() (token, error) {
	sc := &s.scan
	for n := space(sc.query[sc.at:]); n > 0; n = space(sc.query[sc.at:]) {
		sc.at += n
	}
	rest := sc.query[sc.at:]
	if rest == "" {
		return token{kind: eof, at: sc.at}, nil
	}
	find := standardToken
	if s.inRange {
		find = standardRangeToken
	}
	k, n := find(rest)
	if n == 0 {
		return token{}, sc.lexical()
	}
	t := token{kind: k, text: rest[:n], at: sc.at}
	sc.at += n
	return t, nil
}

func standardToken(s string) (kind, int) {
	switch s[0] {
	case '"':
		return quoted, quotedLen(s)
	case '/':
		return regexpTerm, regexpLen(s)
	}
	for _, sign := range standardSigns {
		if strings.HasPrefix(s, sign.text) {
			return sign.kind, len(sign.text)
		}
	}
	if strings.HasPrefix(s, "fn:") {
		return function, len("fn:")
	}
	n := standardTermLen(s)
	if k, ok := words[s[:n]]; ok {
		return k, n
	}
	if n > 0 && n == decimalLen(s) {
		return number, n
	}
	return term, n
}

// standardTermLen is the length of the term that s begins with.
func standardTermLen(s string) (at int) {
	for at < len(s) {
		if s[at] == '\\' {
			if at+1 == len(s) {
				return at
			}
			_, n := utf8.DecodeRuneInString(s[at+1:])
			at += 1 + n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[at:])
		if strings.ContainsRune(" \t\n\r\u3000!():^@<>=[]\"{}~/", r) || at == 0 && (r == '+' || r == '-') {
			return at
		}
		at += n
	}
	return at
}

func standardRangeToken(s string) (kind, int) {
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
	return rangeText, n
}
