package analyze

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// greek finds stems by Ntais' rules, as Lucene has them: words are in lower case, without
// accents, and without a sigma of its own at the end.
func greek(word []rune) []rune {
	if len(word) < 4 {
		return word
	}
	s := string(word)
	w := newStemmed(word)
	if w.take(greekIrregular) {
		s = string(w.word)
	}
	for i := range greekSteps {
		s = greekSteps[i].apply(s)
	}
	if w = newStemmed([]rune(s)); len(w.word) == len(word) {
		w.least = 1
		w.take(greekEndings)
	}
	w.least = 0
	w.last(greekComparisons)
	if len(w.word) == 0 {
		return word
	}
	return w.word
}

// greekRule is how a greekStep is written: lists with spaces between.
type greekRule struct {
	cut, back, words, ends, vowels, not string
	unless, always                      bool
}

func greekStepsOf(rules ...greekRule) []greekStep {
	steps := make([]greekStep, len(rules))
	for i, r := range rules {
		steps[i] = greekStep{strings.Fields(r.cut), r.back, strings.Fields(r.words), strings.Fields(r.ends), r.vowels, strings.Fields(r.not), r.unless, r.always}
	}
	return steps
}

// greekStep cuts the first ending that fits a longer word, and puts a part of it back where
// it belongs to the stem.
type greekStep struct {
	cut  []string // the longest first
	back string
	// What is left has back put to it if it is one of words, or ends with one of ends or with
	// one of vowels; not if it is one of not, or ends so.
	words, ends []string
	vowels      string
	not         []string
	unless      bool // the other way round
	always      bool
}

func (g *greekStep) apply(s string) string {
	for _, e := range g.cut {
		rest, ok := strings.CutSuffix(s, e)
		switch {
		case !ok || rest == "":
			continue
		case g.always || g.belongs(rest) != g.unless:
			return rest + g.back
		}
		return rest
	}
	return s
}

func (g *greekStep) belongs(rest string) bool {
	ends := func(list []string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.HasSuffix(rest, e) })
	}
	last, _ := utf8.DecodeLastRuneInString(rest)
	return (slices.Contains(g.words, rest) || ends(g.ends) || strings.ContainsRune(g.vowels, last)) && !ends(g.not)
}

const (
	greekVowels    = "αεηιουω"
	greekVowelsNoY = "αεηιοω"
)

var greekIrregular = stepOf(
	rule{"καθεστωτοσ καθεστωτων καθεστωτα καθεστωσ", change{to: "καθεστ"}}, rule{"γεγονοτοσ γεγονοτων γεγονοτα γεγονοσ", change{to: "γεγον"}},
	rule{"τατογιου τατογιων τατογια", change{to: "τατο"}}, rule{"σκαγιου σκαγιων σκαγια", change{to: "σκα"}}, rule{"ολογιου ολογιων ολογια", change{to: "ολο"}},
	rule{"κρεατοσ κρεατων κρεατα κρεασ", change{to: "κρε"}}, rule{"περατοσ περατων περατα περασ", change{to: "περ"}},
	rule{"τερατοσ τερατων τερατα τερασ", change{to: "τερ"}}, rule{"φαγιου φαγιων φαγια", change{to: "φα"}}, rule{"σογιου σογιων σογια", change{to: "σο"}},
	rule{"φωτοσ φωτων φωτα φωσ", change{to: "φω"}},
)

// greekSteps are the rules from the first to the twentieth.
var greekSteps = greekStepsOf([]greekRule{
	{cut: "αδεσ αδων", back: "αδ", ends: "οκ μαμ μαν μπαμπ πατερ γιαγι νταντ κυρ θει πεθερ", unless: true},
	{cut: "εδεσ εδων", back: "εδ", ends: "οπ ιπ εμπ υπ γηπ δαπ κρασπ μιλ"},
	{cut: "ουδεσ ουδων", back: "ουδ", ends: "αρκ καλιακ πεταλ λιχ πλεξ σκ σ φλ φρ βελ λουλ χν σπ τραγ φε"},
	{cut: "εωσ εων", back: "ε", words: "θ δ ελ γαλ ν π ιδ παρ"},
	{cut: "ια ιου ιων", back: "ι", vowels: greekVowels},
	{cut: "ικα ικο ικου ικων", back: "ικ", vowels: greekVowels, words: `αλ αδ ενδ αμαν αμμοχαλ ηθ ανηθ αντιδ φυσ βρωμ γερ εξωδ καλπ καλλιν καταδ μουλ μπαν
		μπαγιατ μπολ μποσ νιτ ξικ συνομηλ πετσ πιτσ πικαντ πλιατσ ποστελν πρωτοδ σερτ συναδ τσαμ υποδ φιλον φυλοδ χασ`},
	{cut: "ηθηκαμε ουσαμε αγαμε ησαμε ηκαμε"},
	{cut: "αμε", back: "αμ", words: "αναπ αποθ αποκ αποστ βουβ ξεθ ουλ πεθ πικρ ποτ σιχ χ αγ"},
	{cut: "ιουντανε ιοντανε ουντανε ηθηκανε ιοτανε οντανε ουσανε αγανε ησανε οτανε ηκανε", back: "αγαν", words: "τρ τσ"},
	{cut: "ανε", back: "αν", vowels: greekVowelsNoY, words: `βετερ βουλκ βραχμ γ δραδουμ θ καλπουζ καστελ κορμορ λαοπλ μωαμεθ μ μουσουλμ ν ουλ π πελεκ πλ πολισ
		πορτολ σαρακατσ σουλτ τσαρλατ ορφ τσιγγ τσοπ φωτοστεφ χ ψυχοπλ αγ γαλ γερ δεκ διπλ αμερικαν ουρ πιθ πουριτ σ ζωντ ικ καστ κοπ λιχ λουθηρ μαιντ μελ
		σιγ σπ στεγ τραγ τσαγ φ ερ αδαπ αθιγγ αμηχ ανικ ανοργ απηγ απιθ ατσιγγ βασ βασκ βαθυγαλ βιομηχ βραχυκ διατ διαφ ενοργ θυσ καπνοβιομηχ καταγαλ κλιβ
		κοιλαρφ λιβ μεγλοβιομηχ μικροβιομηχ νταβ ξηροκλιβ ολιγοδαμ ολογαλ πενταρφ περηφ περιτρ πλατ πολυδαπ πολυμηχ στεφ ταβ τετ υπερηφ υποκοπ χαμηλοδαπ ψηλοταβ`},
	{cut: "ησετε"},
	{cut: "ετε", back: "ετ", vowels: greekVowelsNoY, words: "αβαρ βεν εναρ αβρ αδ αθ αν απλ βαρον ντρ σκ κοπ μπορ νιφ παγ παρακαλ σερπ σκελ συρφ τοκ υ δ εμ θαρρ θ",
		ends: "οδ αιρ φορ ταθ διαθ σχ ενδ ευρ τιθ υπερθ ραθ ενθ ροθ σθ πυρ αιν συνδ συν συνθ χωρ πον βρ καθ ευθ εκθ νετ ρον αρκ βαρ βολ ωφελ"},
	{cut: "κρεοντασ κρεωντασ", back: "κρεωντ", always: true},
	{cut: "οντασ ωντασ", back: "οντ", words: "αρχ"},
	{cut: "ομαστε", back: "ομαστ", words: "ον"},
	{cut: "ιεστε", back: "ιεστ", words: "π απ συμπ ασυμπ ακαταπ αμεταμφ"},
	{cut: "εστε", back: "εστ", words: "αλ αρ εκτελ ζ μ ξ παρακαλ προ νισ"},
	{cut: "ηθηκεσ ηθηκα ηθηκε"},
	{cut: "ηκεσ ηκα ηκε", back: "ηκ", words: "διαθ θ παρακαταθ προσθ συνθ", ends: "σκωλ σκουλ ναρθ σφ οθ πιθ"},
	{cut: "ουσεσ ουσα ουσε", back: "ουσ", vowels: greekVowels, ends: "ποδαρ βλεπ πανταχ φρυδ μαντιλ μαλλ κυματ λαχ ληγ φαγ ομ πρωτ",
		words: "φαρμακ χαδ αγκ αναρρ βρομ εκλιπ λαμπιδ λεχ μ πατ ρ λ μεδ μεσαζ υποτειν αμ αιθ ανηκ δεσποζ ενδιαφερ δε δευτερευ καθαρευ πλε τσα"},
	{cut: "αγεσ αγα αγε", back: "αγ", ends: "οφ πελ χορτ λλ σφ ρπ φρ πρ λοχ σμην", not: "ψοφ ναυλοχ κολλ",
		words: `αβαστ πολυφ αδηφ παμφ ρ ασπ αφ αμαλ αμαλλι ανυστ απερ ασπαρ αχαρ δερβεν δροσοπ ξεφ νεοπ νομοτ ολοπ ομοτ προστ προσωποπ συμπ συντ τ υποτ χαρ
		αειπ αιμοστ ανυπ αποτ αρτιπ διατ εν επιτ κροκαλοπ σιδηροπ λ ναυ ουλαμ ουρ π τρ μ`},
	{cut: "ησου ησε ησα", back: "ησ", words: "ν χερσον δωδεκαν ερημον μεγαλον επταν"},
	{cut: "ηστε", back: "ηστ", words: "ασβ σβ αχρ χρ απλ αειμν δυσχρ ευχρ κοινοχρ παλιμψ"},
	{cut: "ησουνε ηθουνε ουνε", back: "ουν", words: "ν ρ σπι στραβομουτσ κακομουτσ εξων"},
	{cut: "ησουμε ηθουμε ουμε", back: "ουμ", words: "παρασουσ φ χ ωριοπλ αζ αλλοσουσ ασουσ"},
	{cut: "ματων ματοσ ματα", back: "μα", always: true},
}...)

// greekEndings are taken off where no rule has fitted.
var greekEndings = stepOf(rule{`ιοντουσαν ιομασταν ιοσασταν ιουμαστε οντουσαν ιεμαστε ιεσαστε ιομουνα ιοσαστε ιοσουνα ιουνται ιουνταν ηθηκατε ομασταν οσασταν ουμαστε
	ιομουν ιονταν ιοσουν ηθειτε ηθηκαν ομουνα οσαστε οσουνα ουνται ουνταν ουσατε αγατε ιεμαι ιεται ιεσαι ιοταν ιουμα ηθεισ ηθουν ηκατε ησατε ησουν ομουν
	ονται ονταν οσουν ουμαι ουσαν αγαν αμαι ασαι αται ειτε εσαι εται ηδεσ ηδων ηθει ηκαν ησαν ησει ησεσ ομαι οταν αει εισ ηθω ησω ουν ουσ αν ασ αω ει εσ ησ
	οι οσ ου υσ ων α ε η ι ο υ ω`, change{}})

var greekComparisons = stepOf(rule{"εστερ εστατ οτερ οτατ υτερ υτατ ωτερ ωτατ", change{}})

// galician takes off the endings of plurals, as Lucene's smaller stemmer for Galician.
func galician(word []rune) []rune {
	for _, p := range galicianPlurals {
		if n := utf8.RuneCountInString(p.from); ends(word, p.from) && len(word) >= n+p.least && !slices.Contains(strings.Fields(p.not), string(word)) {
			return append(word[:len(word)-n:len(word)-n], []rune(p.to)...)
		}
	}
	return word
}

// galicianPlurals are endings of plurals and singulars: how many characters are before it at
// least, and the words that are none.
var galicianPlurals = []struct {
	from, to string
	least    int
	not      string
}{
	{"ns", "n", 1, "luns furatapóns furatapons"}, {"ós", "ón", 3, ""}, {"ões", "ón", 3, ""}, {"ães", "ão", 1, "mães magalhães"},
	{"ais", "al", 2, "cais tais mais pais ademais"}, {"áis", "al", 2, "cáis táis máis páis ademáis"}, {"éis", "el", 2, ""}, {"eis", "el", 2, ""},
	{"óis", "ol", 2, "escornabóis"}, {"ois", "ol", 2, "escornabois"}, {"ís", "il", 2, "país"}, {"is", "il", 2, "menfis pais kinguis"},
	{"les", "l", 2, "ingles marselles montreales senegales manizales móstoles nápoles"},
	{"res", "r", 3, "petres henares cáceres baleares linares londres mieres miraflores mércores venres pires"},
	{"ces", "z", 2, ""}, {"zes", "z", 2, ""}, {"ises", "z", 3, ""}, {"ás", "al", 1, "más"}, {"ses", "s", 2, ""},
	{"s", "", 2, `barbadés barcelonés cantonés gabonés llanés medinés escocés escocês francês barcelonês cantonês macramés reves barcelones cantones gabones
		llanes magallanes medines escoces frances xoves martes aliás pires lápis cais mais mas menos férias pêsames crúcis país cangas atenas asturias canarias
		filipinas honduras molucas caldas mascareñas micenas covarrubias psoas óculos nupcias`},
}
