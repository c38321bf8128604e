package analyze

import (
	"bytes"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/irish"
)

// greekLetters are the letters of Greek with accents, and a sigma at the end.
var greekLetters = map[rune]rune{
	'ά': 'α', 'έ': 'ε', 'ή': 'η', 'ί': 'ι', 'ϊ': 'ι', 'ΐ': 'ι', 'ό': 'ο', 'ύ': 'υ', 'ϋ': 'υ', 'ΰ': 'υ', 'ώ': 'ω', 'ς': 'σ',
}

// lowerGreek puts letters in lower case without their accents.
var lowerGreek = mapped(func(r rune) rune {
	r = unicode.ToLower(r)
	if plain, ok := greekLetters[r]; ok {
		return plain
	}
	return r
})

// lowerTurkish keeps the dotless i apart from the dotted.
var lowerTurkish = mapped(func(r rune) rune { return unicode.TurkishCase.ToLower(r) })

// lowerIrish parts what a word begins with by grammar from the word: nAthair, tUisce.
var lowerIrish = each(func(term []byte) []byte {
	rs := bytes.Runes(term)
	if len(rs) > 1 && (rs[0] == 'n' || rs[0] == 't') && bytes.ContainsRune([]byte("AEIOUÁÉÍÓÚ"), rs[1]) {
		rs = append([]rune{rs[0], '-'}, rs[1:]...)
	}
	for i := range rs {
		rs[i] = unicode.ToLower(rs[i])
	}
	return []byte(string(rs))
})

var irishStems = each(func(term []byte) []byte {
	env := snowballstem.NewEnv(string(term))
	irish.Stem(env)
	return []byte(env.Current())
})

// dutchWords are those whose stems Lucene knows by heart.
var dutchWords = map[string]string{"fiets": "fiets", "bromfiets": "bromfiets", "ei": "eier", "kind": "kinder"}

var dutchStems = nl.NewDutchStemmerFilter()

var dutch = filter(func(s analysis.TokenStream) analysis.TokenStream {
	for _, t := range s {
		if stem, ok := dutchWords[string(t.Term)]; ok {
			t.Term = []byte(stem)
		} else {
			dutchStems.Filter(analysis.TokenStream{t})
		}
	}
	return s
})

// spacing cuts words at zero-width non-joiners, which Persian has instead of spaces.
// Where a filter has changed a word's length, the parts are at the place of the whole.
var spacing = filter(func(s analysis.TokenStream) (out analysis.TokenStream) {
	for _, t := range s {
		at, same := t.Start, t.End-t.Start == len(t.Term)
		for _, part := range bytes.Split(t.Term, []byte("\u200c")) {
			c := *t
			if c.Term, c.Position = part, len(out)+1; same {
				c.Start, c.End = at, at+len(part)
			}
			if len(part) > 0 {
				out = append(out, &c)
			}
			at += len(part) + len("\u200c")
		}
	}
	return out
})
