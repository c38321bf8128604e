package analyze

import (
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// addresses cuts a text into words, but leaves addresses of mail and of the web whole.
type addresses struct{}

// What an address is: mail to a name in a domain; a page by its scheme, or by a domain
// whose end is well known.
const (
	label   = `[\pL\pN](?:[\pL\pN-]*[\pL\pN])?`
	domain  = `(?:` + label + `\.)+`
	number4 = `(?:[0-9]{1,3}\.){3}[0-9]{1,3}`
	endings = `(?i:com|org|net|edu|gov|mil|int|info|biz|name|pro|aero|coop|museum|asia|cat|jobs|mobi|tel|travel|arpa|xxx|[a-z]{2})`
	mailbox = `[A-Za-z0-9!#$%&'*+/=?^_` + "`" + `{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_` + "`" + `{|}~-]+)*@` + `(?:` + domain + endings + `|\[` + number4 + `\])`
	path    = `(?:/[^\s<>"{}|\\^` + "`" + `]*)?(?:\?[^\s<>"{}|\\^` + "`" + `#]*)?(?:#[^\s<>"{}|\\^` + "`" + `]*)?`
	page    = `(?i:https?|ftp|file)://[^\s<>"{}|\\^` + "`" + `/?#]*` + path
	host    = `(?:` + domain + endings + `|` + number4 + `)(?::[0-9]+)?` + path
)

var address = regexp.MustCompile(`(?:` + mailbox + `)|(?:` + page + `)|(?:` + host + `)`)

// Tokenize is analysis.Tokenizer's.
func (addresses) Tokenize(input []byte) (s analysis.TokenStream) {
	at := 0
	between := func(end int) {
		for _, t := range (words{}).Tokenize(input[at:end]) {
			t.Start, t.End, t.Position = t.Start+at, t.End+at, len(s)+1
			s = append(s, t)
		}
	}
	for _, m := range address.FindAllIndex(input, -1) {
		end := m[0] + trimmed(input[m[0]:m[1]])
		if !isSeparate(input, m[0], end) {
			continue
		}
		between(m[0])
		s = append(s, &analysis.Token{Term: input[m[0]:end:end], Start: m[0], End: end, Position: len(s) + 1})
		at = end
	}
	between(len(input))
	return short(s)
}

// trimmed is the length of an address without the punctuation of the sentence.
func trimmed(match []byte) int {
	n := len(match)
	for n > 0 {
		switch match[n-1] {
		case '.', ',', ';', ':', '!', '?', ')', '\'':
			n--
			continue
		}
		break
	}
	return n
}

// isSeparate reports whether no letter or digit touches an address.
func isSeparate(input []byte, start, end int) bool {
	before, _ := utf8.DecodeLastRune(input[:start])
	after, _ := utf8.DecodeRune(input[end:])
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return !word(before) && !word(after)
}
