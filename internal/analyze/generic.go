package analyze

import (
	"sync"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/char/asciifolding"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/single"
)

// builder makes an analyzer with stop words of its own, or with those that were given.
type builder func(stop analysis.TokenMap) analysis.Analyzer

// named is an analyzer with its own stop words, which is made once for all indexes, and
// what makes one with others.
type named struct {
	own   func() analysis.Analyzer
	build builder
}

// byName are the analyzers but for perfield.
var byName = names()

func names() map[string]named {
	all := map[string]named{}
	for name, build := range builders() {
		all[name] = named{sync.OnceValue(func() analysis.Analyzer { return build(nil) }), build}
	}
	return all
}

func builders() map[string]builder {
	all := map[string]builder{
		"keyword":             keyword,
		"simple":              simple,
		"simple_asciifolding": folding,
		"whitespace":          whitespace,
		"standard":            plain(words{}),
		"classic":             classic,
		"email":               plain(addresses{}),
	}
	for name, l := range languages {
		all[name] = l.build
	}
	return all
}

// keyword leaves a text as it is.
func keyword(analysis.TokenMap) analysis.Analyzer {
	return chain(single.NewSingleTokenTokenizer(), dropEmpty)
}

// simple cuts at what is not a letter.
func simple(analysis.TokenMap) analysis.Analyzer {
	return chain(runs(unicode.IsLetter), lower)
}

// folding is simple, with letters of Latin scripts as ASCII has them.
func folding(analysis.TokenMap) analysis.Analyzer {
	fold := asciifolding.New()
	return chain(runs(unicode.IsLetter), lower, each(fold.Filter))
}

// whitespace cuts at white space, which is not what keeps words together.
func whitespace(analysis.TokenMap) analysis.Analyzer {
	return chain(runs(func(r rune) bool { return !javaSpace(r) }))
}

// javaSpace reports whether Java takes a character for white space.
func javaSpace(r rune) bool {
	switch r {
	case '\u00a0', '\u2007', '\u202f', '\u0085':
		return false
	case '\u001c', '\u001d', '\u001e', '\u001f':
		return true
	}
	return unicode.IsSpace(r)
}

// plain is an analyzer for texts in any language, English stop words left out.
func plain(t analysis.Tokenizer) builder {
	return func(stop analysis.TokenMap) analysis.Analyzer {
		return chain(t, lower, without(stop, fewEnglish))
	}
}

// classic is what "standard" was before there was a standard of words.
func classic(stop analysis.TokenMap) analysis.Analyzer {
	return chain(classicWords{}, classicEnds, lower, without(stop, fewEnglish))
}

// fewEnglish are the words that Lucene leaves out of English, and of texts of which the
// language is not known.
const fewEnglish = `a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with`
