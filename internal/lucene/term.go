package lucene

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// made makes a query of a bare token.
func (p *parser) made(field string, t token, fuzzy string) (Node, error) {
	if t.kind == bareSign {
		t.text = t.text[:1]
	}
	text, err := p.unescape(t.text)
	if err != nil {
		return nil, err
	}
	switch t.kind {
	case star, wildTerm:
		if t.text == "*" && field == "*" {
			return &All{1}, nil
		}
		return &Wildcard{field, pieces(p.folded(field, t.text)), 1}, nil
	case prefixTerm:
		return &Prefix{field, p.folded(field, strings.TrimSuffix(text, "*")), 1}, nil
	case regexpTerm:
		return &Regexp{field, p.folded(field, t.text[1:len(t.text)-1]), 1}, nil
	}
	if fuzzy != "" {
		edits, err := p.edits(fuzzy[1:], utf8.RuneCountInString(text))
		return &Fuzzy{field, p.folded(field, text), edits, 1}, err
	}
	if _, ok := Number(text); !ok && p.dropped(field, text) {
		return nil, nil
	}
	return &Term{field, text, 1}, nil
}

// folded is a text that is not analyzed in the case that the terms of its field have.
func (p *parser) folded(field, text string) string {
	if p.Exact != nil && p.Exact(field) {
		return text
	}
	return strings.ToLower(text)
}

func (p *parser) dropped(field, text string) bool {
	return p.Dropped != nil && p.Dropped(field, text)
}

// maxEdits is how many edits a fuzzy term allows at most, and allows if it doesn't say.
const maxEdits = 2

// edits returns how many edits a number after ~ allows: itself from 1 on; below 1 it is
// the similarity that older versions had, a part of the term's length.
func (p *parser) edits(number string, length int) (int, error) {
	if number == "" {
		return maxEdits, nil
	}
	f, _ := strconv.ParseFloat(number, 32)
	switch {
	case f >= 1 && f != math.Trunc(f):
		return 0, p.wrong("Fractional edit distances are not allowed!")
	case f >= 1:
		return int(min(f, maxEdits)), nil
	case f == 0:
		return 0, nil
	}
	return min(int((1-f)*float64(length)), maxEdits), nil
}

// pieces resolves the escapes of a pattern: whatever follows a backslash is itself.
func pieces(text string) (ps []Piece) {
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			ps = append(ps, Piece{Literal, literal.String()})
		}
		literal.Reset()
	}
	escaped := false
	for _, r := range text {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && (r == '*' || r == '?'):
			flush()
			ps = append(ps, Piece{Kind: map[rune]PieceKind{'*': AnyText, '?': AnyChar}[r]})
		default:
			literal.WriteRune(r)
		}
		escaped = false
	}
	flush()
	return ps
}
