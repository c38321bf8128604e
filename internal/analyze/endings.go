package analyze

import (
	"strings"
	"unicode/utf8"
)

// A step takes an ending off a word, or puts another one in its place. Of the endings
// that fit the longest counts, and if that lies outside its region nothing is done, as in
// the language of Snowball, in which the stemmers of this file were published.
type step struct {
	endings map[string]change
	longest int // characters
}

// region is a part of a word in which an ending must lie: the whole, or what follows a
// position that is found at first.
type region int

const (
	anywhere region = iota
	inV             // after the beginning, or the first vowel
	in1             // after the first consonant that follows a vowel
	in2             // after the second
)

// change is what becomes of an ending.
type change struct {
	in   region
	to   string
	keep bool // nothing: but it is taken for one
}

// rule gives several endings, with spaces between, one change.
type rule struct {
	endings string
	change
}

func stepOf(rules ...rule) *step {
	s := &step{endings: map[string]change{}}
	for _, r := range rules {
		for _, e := range strings.Fields(r.endings) {
			s.endings[e] = r.change
			s.longest = max(s.longest, utf8.RuneCountInString(e))
		}
	}
	return s
}

// stemmed is a word under way: where its regions begin, and how much of it is still looked
// at, which ends where something was put in.
type stemmed struct {
	word []rune
	from [4]int
	end  int
	// least is where the word that may be cut begins.
	least int
}

// take applies a step to the end of the word; false if nothing fits.
func (w *stemmed) take(s *step) bool {
	for n := min(s.longest, w.end-w.least); n > 0; n-- {
		at := w.end - n
		c, ok := s.endings[string(w.word[at:w.end])]
		switch {
		case !ok:
			continue
		case at < w.from[c.in]:
			return false
		case !c.keep:
			rest := append([]rune(c.to), w.word[w.end:]...)
			w.word = append(w.word[:at:at], rest...)
		}
		w.end = at
		return true
	}
	return false
}

// last applies a step to the end of the whole word.
func (w *stemmed) last(s *step) bool {
	w.end = len(w.word)
	return w.take(s)
}

// past returns the position after the first character from at on that is a vowel, or none;
// -1 if there is no such.
func past(word []rune, at int, vowels string, vowel bool) int {
	for i := at; at >= 0 && i < len(word); i++ {
		if strings.ContainsRune(vowels, word[i]) == vowel {
			return i + 1
		}
	}
	return -1
}

// setRegions finds in1 and in2.
func (w *stemmed) setRegions(vowels string) {
	for i, n := range w.from[1:] {
		if n == 0 {
			w.from[i+1] = len(w.word)
		}
	}
	p1 := past(w.word, past(w.word, 0, vowels, true), vowels, false)
	if p1 < 0 {
		return
	}
	w.from[in1] = p1
	if p2 := past(w.word, past(w.word, p1, vowels, true), vowels, false); p2 >= 0 {
		w.from[in2] = p2
	}
}

// afterStart is where inV begins in Basque, as in Spanish: after a vowel that follows a
// consonant, or the other way round; 0 for nowhere.
func afterStart(word []rune, vowels string) int {
	if len(word) < 2 {
		return 0
	}
	first, second := strings.ContainsRune(vowels, word[0]), strings.ContainsRune(vowels, word[1])
	at := -1
	switch {
	case first && second:
		at = past(word, 2, vowels, false)
	case !second:
		at = past(word, 2, vowels, true)
	case len(word) > 2: // a consonant, a vowel, and anything
		at = 3
	}
	return max(at, 0)
}

func newStemmed(word []rune) *stemmed { return &stemmed{word: word, end: len(word)} }

// catalan takes off pronouns, the endings of nouns or else of verbs, and what is left of
// them, and then accents, after Olalla's algorithm.
func catalan(word []rune) []rune {
	w := newStemmed(word)
	w.setRegions("aeiouáàéèíïóòúü")
	w.last(catalanPronouns)
	if !w.last(catalanNouns) {
		w.last(catalanVerbs)
	}
	w.last(catalanRests)
	for i, r := range w.word {
		if plain, ok := catalanPlain[r]; ok {
			w.word[i] = plain
		}
	}
	return w.word
}

// basque takes off the endings of verbs and then of nouns, as long as there are any, and
// one of an adjective.
func basque(word []rune) []rune {
	w := newStemmed(word)
	w.from[inV] = afterStart(word, "aeiou")
	w.setRegions("aeiou")
	for w.take(basqueVerbs) {
	}
	for w.take(basqueNouns) {
	}
	w.take(basqueAdjectives)
	return w.word
}

// armenian takes off an ending, and then those of a verb, an adjective and a noun, all
// after the first vowel, as published by Mkrtchyan.
func armenian(word []rune) []rune {
	w := newStemmed(word)
	w.setRegions(armenianVowels)
	if w.least = past(word, 0, armenianVowels, true); w.least < 0 {
		return word
	}
	for _, s := range []*step{armenianEndings, armenianVerbs, armenianAdjectives, armenianNouns} {
		w.last(s)
	}
	return w.word
}

const armenianVowels = "աէիօւեոը"
