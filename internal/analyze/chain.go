package analyze

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// chain makes an analyzer of a tokenizer and filters.
func chain(t analysis.Tokenizer, filters ...analysis.TokenFilter) analysis.Analyzer {
	return &analysis.DefaultAnalyzer{Tokenizer: t, TokenFilters: filters}
}

// filter is a function that is a filter.
type filter func(analysis.TokenStream) analysis.TokenStream

// Filter calls f.
func (f filter) Filter(s analysis.TokenStream) analysis.TokenStream { return f(s) }

// each changes each term by itself. The function must not write into what it gets.
func each(change func([]byte) []byte) filter {
	return func(s analysis.TokenStream) analysis.TokenStream {
		for _, t := range s {
			t.Term = change(t.Term)
		}
		return s
	}
}

// keep leaves out the tokens that aren't good; the others keep their positions.
func keep(good func(*analysis.Token) bool) filter {
	return func(s analysis.TokenStream) analysis.TokenStream {
		kept := s[:0]
		for _, t := range s {
			if good(t) {
				kept = append(kept, t)
			}
		}
		return kept
	}
}

var dropEmpty = keep(func(t *analysis.Token) bool { return len(t.Term) > 0 })

// lower puts each letter in lower case by itself. ASCII that is in lower case, as most
// is, stays as it is.
var lower = each(func(term []byte) []byte {
	for _, c := range term {
		if c >= 0x80 || 'A' <= c && c <= 'Z' {
			return bytes.Map(unicode.ToLower, term)
		}
	}
	return term
})

// mapped changes each character. A term that stays as it is, as most do, is not copied.
func mapped(change func(rune) rune) filter {
	return each(func(term []byte) []byte {
		for i := 0; i < len(term); {
			r, n := utf8.DecodeRune(term[i:])
			if change(r) != r || r == utf8.RuneError {
				return bytes.Map(change, term)
			}
			i += n
		}
		return term
	})
}

// without leaves out stop words: those given, or else a list of ours.
func without(given analysis.TokenMap, ours string) filter {
	if given == nil {
		given = wordsOf(ours)
	}
	return keep(func(t *analysis.Token) bool { return !given[string(t.Term)] })
}

// wordsOf reads a list of words with comments after | and #.
func wordsOf(list string) analysis.TokenMap {
	m := analysis.NewTokenMap()
	for line := range strings.Lines(list) {
		if i := strings.IndexAny(line, "|#"); i >= 0 {
			line = line[:i]
		}
		for _, w := range strings.Fields(line) {
			m[w] = true
		}
	}
	return m
}

// stemming changes each term by a function of its characters, unless it is empty then.
func stemming(stem func([]rune) []rune) filter {
	return each(func(term []byte) []byte { return []byte(string(stem(bytes.Runes(term)))) })
}
