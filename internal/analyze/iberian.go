package analyze

import (
	"strings"
	"unicode"
)

// brazilian takes off the endings of nouns or else verbs, as Snowball's algorithm for
// Portuguese in the older form that Lucene has: without accents, in the parts of a word
// after its first vowels (r1, r2) and after its beginning (rv).
func brazilian(word []rune) []rune {
	w := strings.Trim(unaccented(string(word)), `"'-,;.?!`)
	if len(w) <= 2 || len(w) >= 30 {
		return word
	}
	for _, r := range w {
		if !unicode.IsLetter(r) {
			return []rune(w)
		}
	}
	p := portuguese{word: w, rv: verbal(w)}
	p.r1 = behindVowel(w)
	p.r2 = behindVowel(p.r1)
	if p.noun() || p.verb() {
		if strings.HasSuffix(p.rv, "ci") {
			p.cut("i")
		}
	} else {
		p.rest()
	}
	p.last()
	return []rune(p.word)
}

// portuguese is a word under way, and the parts of it in which endings count; those
// stay as they were at first.
type portuguese struct{ word, r1, r2, rv string }

var accents = strings.NewReplacer("á", "a", "â", "a", "ã", "a", "é", "e", "ê", "e", "í", "i", "ó", "o", "ô", "o", "õ", "o", "ú", "u", "ü", "u", "ç", "c", "ñ", "n")

func unaccented(w string) string { return accents.Replace(w) }

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// behindVowel is what follows the first consonant after a vowel, without regard to the
// last letter.
func behindVowel(w string) string {
	i := 0
	for i < len(w)-1 && !vowel(w[i]) {
		i++
	}
	for i < len(w)-1 && vowel(w[i]) {
		i++
	}
	if i >= len(w)-1 {
		return ""
	}
	return w[i+1:]
}

// verbal is where endings of verbs count.
func verbal(w string) string {
	from := func(good func(byte) bool) string {
		for i := 2; i < len(w)-1; i++ {
			if good(w[i]) {
				return w[i+1:]
			}
		}
		return ""
	}
	if !vowel(w[1]) {
		if part := from(vowel); part != "" {
			return part
		}
	}
	if vowel(w[0]) && vowel(w[1]) {
		if part := from(func(c byte) bool { return !vowel(c) }); part != "" {
			return part
		}
	}
	if len(w) > 3 {
		return w[3:]
	}
	return ""
}

// cut takes an ending off.
func (p *portuguese) cut(ending string) { p.word = strings.TrimSuffix(p.word, ending) }

// nouns are the endings of nouns, the longest first, and what comes in their place.
var nouns = []struct{ endings, to string }{
	{"uciones", "u"}, {"imentos amentos", ""},
	{"adores adoras", ""}, {"encias", "ente"}, {"idades", ""},
	{"acoes imento amento adora ismos istas", ""}, {"logia", "log"}, {"ucion", "u"}, {"encia", "ente"}, {"mente idade", ""},
	{"acao ezas icos icas ismo avel ivel ista osos osas ador ivas ivos", ""},
	{"eza ico ica oso osa iva ivo", ""},
}

func (p *portuguese) noun() bool {
	if strings.HasSuffix(p.r1, "amente") {
		p.cut("amente")
		return true
	}
	for _, n := range nouns {
		for _, e := range strings.Fields(n.endings) {
			if strings.HasSuffix(p.r2, e) {
				p.cut(e)
				p.word += n.to
				return true
			}
		}
	}
	for _, e := range []string{"iras", "ira"} {
		if strings.HasSuffix(p.rv, e) && strings.HasSuffix(p.word, "e"+e) {
			p.cut(e)
			p.word += "ir"
			return true
		}
	}
	return false
}

// verbs are the endings of verbs, the longest first.
var verbs = strings.Fields(`issemos essemos assemos ariamos eriamos iriamos
iremos eremos aremos avamos iramos eramos aramos asseis esseis isseis arieis erieis irieis
irmos iamos armos ermos areis ereis ireis asses esses isses astes assem essem issem ardes erdes irdes ariam eriam iriam
arias erias irias estes istes aveis
aria eria iria asse esse isse aste este iste arei erei irei aram eram iram avam arem erem irem ando endo indo arao erao irao
adas idas aras eras iras avas ares eres ires ados idos amos emos imos ieis
ada ida ara era ira iam ado ido ias ais eis ear
ia ei am em ar er ir as es is eu iu ou`)

func (p *portuguese) verb() bool {
	for _, e := range verbs {
		if strings.HasSuffix(p.rv, e) {
			p.cut(e)
			return true
		}
	}
	return false
}

// rest takes off a vowel at the end of a word that had no other ending.
func (p *portuguese) rest() {
	for _, e := range []string{"os", "a", "i", "o"} {
		if strings.HasSuffix(p.rv, e) {
			p.cut(e)
			return
		}
	}
}

// last takes off an e.
func (p *portuguese) last() {
	if !strings.HasSuffix(p.rv, "e") {
		return
	}
	p.cut("e")
	switch {
	case strings.HasSuffix(p.rv, "gue"):
		p.cut("u")
	case strings.HasSuffix(p.rv, "cie"):
		p.cut("i")
	}
}

// brazilianStopWords are Lucene's; they have no accents.
const brazilianStopWords = `a ainda alem ambas ambos antes ao aonde aos apos aquele aqueles as assim com como contra contudo cuja cujas cujo cujos
da das de dela dele deles demais depois desde desta deste dispoe dispoem diversa diversas diversos do dos durante e ela elas ele eles em entao entre essa
essas esse esses esta estas este estes ha isso isto logo mais mas mediante menos mesma mesmas mesmo mesmos na nas nao nem nesse neste nos o os ou outra
outras outro outros pelas pelo pelos perante pois por porque portanto proprio propios quais qual qualquer quando quanto que quem quer se seja sem sendo seu
seus sob sobre sua suas tal tambem teu teus toda todas todo todos tua tuas tudo um uma umas uns`
