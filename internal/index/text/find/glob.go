package find

import (
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/lucene"
)

// glob is a pattern as runs of literal text and single characters between places
// where any text may be.
type glob struct {
	runs [][]lucene.Piece
}

func globOf(pattern []lucene.Piece) glob {
	g := glob{runs: [][]lucene.Piece{nil}}
	for _, p := range pattern {
		if last := len(g.runs) - 1; p.Kind == lucene.AnyText {
			g.runs = append(g.runs, nil)
		} else {
			g.runs[last] = append(g.runs[last], p)
		}
	}
	return g
}

// match reports whether the pattern is the whole of a term. Each run is taken where it
// first fits, the last at the end: time is the product of the lengths at most.
func (g glob) match(term string) bool {
	last := len(g.runs) - 1
	rest, ok := cutRun(term, g.runs[0])
	if last == 0 || !ok {
		return ok && rest == ""
	}
	for _, run := range g.runs[1:last] {
		for {
			after, ok := cutRun(rest, run)
			if ok {
				rest = after
				break
			}
			if rest == "" {
				return false
			}
			rest = rest[width(rest):]
		}
	}
	for {
		if after, ok := cutRun(rest, g.runs[last]); ok && after == "" {
			return true
		}
		if rest == "" {
			return false
		}
		rest = rest[width(rest):]
	}
}

// cutRun takes a run off the front of a text.
func cutRun(text string, run []lucene.Piece) (rest string, ok bool) {
	for _, p := range run {
		if p.Kind == lucene.AnyChar {
			if text == "" {
				return "", false
			}
			text = text[width(text):]
			continue
		}
		if text, ok = strings.CutPrefix(text, p.Text); !ok {
			return "", false
		}
	}
	return text, true
}

func width(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}
