package analyze

import "strings"

// indonesian takes off particles, possessives, prefixes and suffixes by the rules of
// Tala (A Study of Stemming Effects on Information Retrieval in Bahasa Indonesia), as
// long as a word has more than two syllables.
func indonesian(word []rune) []rune {
	w := malay{word: string(word)}
	for _, r := range word {
		if malayVowel(r) {
			w.syllables++
		}
	}
	w.suffix("kah", "lah", "pun")
	w.suffix("ku", "mu", "nya")
	if w.prefix(firstPrefixes) {
		if w.derived() {
			w.prefix(secondPrefixes)
		}
	} else {
		w.prefix(secondPrefixes)
		w.derived()
	}
	return []rune(w.word)
}

// malay is a word under way.
type malay struct {
	word      string
	syllables int
	gone      string // which kinds of prefixes it had, by letter
}

func malayVowel(r rune) bool { return strings.ContainsRune("aeiou", r) }

// suffix takes off the first of some suffixes that there is.
func (w *malay) suffix(all ...string) bool {
	for _, s := range all {
		if w.syllables > 2 && strings.HasSuffix(w.word, s) {
			w.word = strings.TrimSuffix(w.word, s)
			w.syllables--
			return true
		}
	}
	return false
}

// malayPrefix is a prefix, what comes in its place, and its kind.
type malayPrefix struct {
	prefix, to string
	kind       string
	vowel      bool   // a vowel must follow
	word       string // it counts in this word only
}

// The kinds of prefixes: m meng, p peng, d di, t ter, k ke, b ber, e pe.
var firstPrefixes = []malayPrefix{
	{prefix: "meng", kind: "m"}, {prefix: "meny", to: "s", kind: "m", vowel: true}, {prefix: "men", kind: "m"}, {prefix: "mem", kind: "m"}, {prefix: "me", kind: "m"},
	{prefix: "peng", kind: "p"}, {prefix: "peny", to: "s", kind: "p", vowel: true}, {prefix: "peny", kind: "p"},
	{prefix: "pen", to: "t", kind: "p", vowel: true}, {prefix: "pen", kind: "p"}, {prefix: "pem", kind: "p"},
	{prefix: "di", kind: "d"}, {prefix: "ter", kind: "t"}, {prefix: "ke", kind: "k"},
}

var secondPrefixes = []malayPrefix{
	{prefix: "ber", kind: "b"}, {prefix: "bel", kind: "b", word: "belajar"}, {prefix: "be", kind: "b", word: "be?er"},
	{prefix: "per"}, {prefix: "pel", word: "pelajar"}, {prefix: "pe", kind: "e"},
}

// fits reports whether a prefix is one of a word's.
func (p malayPrefix) fits(word string) bool {
	rest, ok := strings.CutPrefix(word, p.prefix)
	switch {
	case !ok:
		return false
	case p.vowel:
		return rest != "" && malayVowel(rune(rest[0]))
	case p.word == "be?er":
		return len(rest) > 2 && !malayVowel(rune(rest[0])) && rest[1:3] == "er"
	}
	return p.word == "" || p.word == word
}

// prefix takes off the first of some prefixes that fits.
func (w *malay) prefix(all []malayPrefix) bool {
	for _, p := range all {
		if w.syllables > 2 && p.fits(w.word) {
			w.word = p.to + strings.TrimPrefix(w.word, p.prefix)
			w.gone += p.kind
			w.syllables--
			return true
		}
	}
	return false
}

// derived takes off a suffix that may occur with the prefixes that were taken off.
func (w *malay) derived() bool {
	switch {
	case strings.HasSuffix(w.word, "kan") && !strings.ContainsAny(w.gone, "kpe"):
		return w.suffix("kan")
	case strings.HasSuffix(w.word, "an") && !strings.ContainsAny(w.gone, "dmt"):
		return w.suffix("an")
	case strings.HasSuffix(w.word, "i") && !strings.HasSuffix(w.word, "si") && !strings.ContainsAny(w.gone, "bkp"):
		return w.suffix("i")
	}
	return false
}
