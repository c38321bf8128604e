package analyze

import (
	"bytes"
	"regexp"

	"github.com/blevesearch/bleve/v2/analysis"
)

// classicWords cuts a text by the patterns of words that Lucene had before Unicode's:
// words, with apostrophes, acronyms, companies (AT&T), addresses, hosts, numbers of
// parts and dates, and each ideograph. The longest that fits is taken.
type classicWords struct{}

const (
	han     = `\p{Han}\p{Hiragana}\p{Katakana}`
	letter  = `[\pL\p{Mn}\p{Mc}]` // ideographs are letters to RE2: they are tried first
	alnum   = `[\pL\p{Mn}\p{Mc}\p{Nd}]+`
	dashes  = `[_\-/.,]`
	digitly = `[\pL\p{Mn}\p{Mc}\p{Nd}]*\p{Nd}[\pL\p{Mn}\p{Mc}\p{Nd}]*`
)

// forms are the patterns of classicWords.
var forms = []string{
	alnum,
	letter + `+(?:'` + letter + `+)+`,
	acronyms,
	letter + `+[&@]` + letter + `+`,
	alnum + `(?:[.\-_]` + alnum + `)*@` + alnum + `(?:[.\-]` + alnum + `)+`,
	alnum + `(?:\.` + alnum + `)+`,
	`(?:` + alnum + dashes + `)?` + digitly + `(?:` + dashes + alnum + dashes + digitly + `)*(?:` + dashes + alnum + `)?`,
}

const acronyms = letter + `\.(?:` + letter + `\.)+`

var (
	acronym = regexp.MustCompile(`^` + acronyms + `$`)
	oneWord = longestOf(forms)
	oneHan  = regexp.MustCompile(`[` + han + `]`)
)

func longestOf(forms []string) *regexp.Regexp {
	all := ""
	for i, f := range forms {
		if i > 0 {
			all += "|"
		}
		all += "(?:" + f + ")"
	}
	re := regexp.MustCompile(all)
	re.Longest()
	return re
}

// Tokenize is analysis.Tokenizer's.
func (classicWords) Tokenize(input []byte) (s analysis.TokenStream) {
	add := func(start, end int, typ analysis.TokenType) {
		s = append(s, &analysis.Token{Term: input[start:end:end], Start: start, End: end, Position: len(s) + 1, Type: typ})
	}
	between := func(start, end int) {
		for _, m := range oneWord.FindAllIndex(input[start:end], -1) {
			add(start+m[0], start+m[1], analysis.AlphaNumeric)
		}
	}
	at := 0
	for _, m := range oneHan.FindAllIndex(input, -1) {
		between(at, m[0])
		add(m[0], m[1], analysis.Ideographic)
		at = m[1]
	}
	between(at, len(input))
	return short(s)
}

// classicEnds takes 's from the ends of words, and the dots from acronyms.
var classicEnds = each(func(term []byte) []byte {
	if acronym.Match(term) {
		return bytes.ReplaceAll(term, []byte("."), nil)
	}
	if n := len(term); n > 2 && term[n-2] == '\'' && (term[n-1] == 's' || term[n-1] == 'S') {
		return term[:n-2]
	}
	return term
})
