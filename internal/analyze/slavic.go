package analyze

import (
	"slices"
	"strings"
)

// The stemmers of this file take off the endings of cases, articles and plurals, and
// leave the rest of a word's grammar alone, as published for Bulgarian and Czech by
// Dolamic and Savoy, and for Latvian by Kreslins. A word is a list of characters, in
// lower case.

// ends reports whether a word ends with a text.
func ends(w []rune, with string) bool {
	n := 0
	for range with {
		n++
	}
	if len(w) < n {
		return false
	}
	i := len(w) - n
	for _, r := range with {
		if w[i] != r {
			return false
		}
		i++
	}
	return true
}

// ending is a rule: a word longer than over that ends with one of from gets to instead,
// where keep characters of the ending stay.
type ending struct {
	over int
	from string // endings of one length, with spaces between
	cut  int    // characters to cut off
	to   string // to put in their place
}

// reduced applies the first rule that fits.
func reduced(w []rune, rules []ending) []rune {
	for _, e := range rules {
		if len(w) <= e.over {
			continue
		}
		if slices.ContainsFunc(strings.Fields(e.from), func(from string) bool { return ends(w, from) }) {
			return append(w[:len(w)-e.cut:len(w)-e.cut], []rune(e.to)...)
		}
	}
	return w
}

var (
	bulgarianArticles = []ending{{6, "ият", 3, ""}, {5, "ът то те та ия", 2, ""}, {4, "ят", 2, ""}}
	bulgarianPlurals  = []ending{
		{6, "овци ове", 3, ""}, {6, "еве", 3, "й"},
		{5, "ища", 3, ""}, {5, "та", 2, ""}, {5, "ци", 2, "к"}, {5, "зи", 2, "г"},
	}
	bulgarianOthers = []ending{{4, "си", 2, "х"}, {4, "и", 1, ""}}
)

func bulgarian(w []rune) []rune {
	if len(w) < 4 {
		return w
	}
	if len(w) > 5 && ends(w, "ища") {
		return w[:len(w)-3]
	}
	w = bulgarianNumber(reduced(w, bulgarianArticles))
	w = reduced(w, []ending{{3, "я", 1, ""}})
	w = reduced(w, []ending{{2, "а о е", 1, ""}})
	w = reduced(w, []ending{{4, "ен", 2, "н"}})
	if n := len(w); n > 5 && w[n-2] == 'ъ' {
		w = append(w[:n-2:n-2], w[n-1])
	}
	return w
}

func bulgarianNumber(w []rune) []rune {
	one := reduced(w, bulgarianPlurals)
	if string(one) != string(w) {
		return one
	}
	if n := len(w); n > 5 && w[n-3] == 'е' && w[n-1] == 'и' {
		return append(w[:n-3:n-3], 'я', w[n-2])
	}
	return reduced(w, bulgarianOthers)
}

var (
	czechCases = []ending{
		{7, "atech", 5, ""},
		{6, "ětem etem atům", 4, ""},
		{5, "ech ich ích ého ěmi emi ému ěte ete ěti eti ího iho ími ímu imu ách ata aty ých ama ami ové ovi ými", 3, ""},
		{4, "em es ém ím ům at ám os us ým mi ou", 2, ""},
		{3, "a e i o u ů y á é í ý ě", 1, ""},
	}
	czechOwners = []ending{{5, "ov in ův", 2, ""}}
	czechSounds = []ending{{0, "čt", 2, "ck"}, {0, "št", 2, "sk"}, {0, "c č", 1, "k"}, {0, "z ž", 1, "h"}}
)

func czech(w []rune) []rune {
	w = reduced(reduced(w, czechCases), czechOwners)
	sound := reduced(w, czechSounds)
	if n := len(w); string(sound) == string(w) && n > 1 {
		switch {
		case w[n-2] == 'e':
			return append(w[:n-2:n-2], w[n-1])
		case n > 2 && w[n-2] == 'ů':
			return append(w[:n-2:n-2], 'o', w[n-1])
		}
	}
	return sound
}

// latvianEndings are the endings by how many vowels a word must have more than.
var latvianEndings = []struct {
	vowels int
	ending string
	soft   bool // it softens the consonant before it
}{
	{3, "ajiem", false}, {3, "ajai", false}, {2, "ajam", false}, {2, "ajām", false}, {2, "ajos", false}, {2, "ajās", false},
	{2, "iem", true}, {2, "ajā", false}, {2, "ais", false}, {2, "ai", false}, {2, "ei", false},
	{1, "ām", false}, {1, "am", false}, {1, "ēm", false}, {1, "īm", false}, {1, "im", false}, {1, "um", false},
	{1, "us", true}, {1, "as", false}, {1, "ās", false}, {1, "es", false}, {1, "os", true}, {1, "ij", false},
	{1, "īs", false}, {1, "ēs", false}, {1, "is", false}, {1, "ie", false},
	{1, "u", true}, {1, "a", true}, {1, "i", true}, {1, "e", false}, {1, "ā", false}, {1, "ē", false}, {1, "ī", false}, {1, "ū", false}, {1, "o", false},
	{0, "s", false}, {0, "š", false},
}

var (
	latvianPlurals = []ending{{0, "kš", 1, "st"}, {0, "ņņ", 2, "nn"}}
	latvianSounds  = []ending{
		{0, "pj bj mj vj", 1, ""}, {0, "šņ", 2, "sn"}, {0, "žņ", 2, "zn"}, {0, "šļ", 2, "sl"}, {0, "žļ", 2, "zl"},
		{0, "ļņ", 2, "ln"}, {0, "ļļ", 2, "ll"}, {0, "č", 1, "c"}, {0, "ļ", 1, "l"}, {0, "ņ", 1, "n"},
	}
)

func latvian(w []rune) []rune {
	vowels := 0
	for _, r := range w {
		if strings.ContainsRune("aeiouāīēū", r) {
			vowels++
		}
	}
	for _, e := range latvianEndings {
		n := len([]rune(e.ending))
		if vowels <= e.vowels || len(w) < n+3 || !ends(w, e.ending) {
			continue
		}
		first := w[len(w)-n]
		w = w[:len(w)-n]
		if !e.soft {
			return w
		}
		if first == 'u' {
			if plural := reduced(w, latvianPlurals); string(plural) != string(w) {
				return plural
			}
		}
		return reduced(w, latvianSounds)
	}
	return w
}

// latvianStopWords are particles, prepositions, conjunctions, pronouns and forms of to
// be, gathered by us.
const latvianStopWords = `aiz ap apakš apakšpus ar ārpus augšpus bez caur dēļ gar iekš iekšpus iz kopš labad lejpus līdz no otrpus pa par pār
pēc pie pirms pret priekš starp šaipus uz viņpus virs virspus zem
un bet jo ja ka lai tomēr taču tikko turpretī arī kaut gan tādēļ tāpēc ne tikvien vien kā ir te vai kamēr vēl jau nevis nekā turklāt itin
es tu viņš viņa mēs jūs viņi viņas tas tā tie šis šī šie kas kurš kura kuri
esmu esi esam esat bija būs biji būšu būsim būsi tik tikai pat diemžēl nu nē jā`
