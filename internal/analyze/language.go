package analyze

import (
	"sync"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/bg"
	"github.com/blevesearch/bleve/v2/analysis/lang/ca"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/cs"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/el"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/eu"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/ga"
	"github.com/blevesearch/bleve/v2/analysis/lang/gl"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/hy"
	"github.com/blevesearch/bleve/v2/analysis/lang/id"
	"github.com/blevesearch/bleve/v2/analysis/lang/in"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/analysis/token/elision"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
)

// language is what the analyzer of a language does: words in lower case, filters before
// its stop words are left out, filters after that.
type language struct {
	lower  filter // nil: lower
	before []analysis.TokenFilter
	stop   string
	behind []analysis.TokenFilter
}

func (l language) build(stop analysis.TokenMap) analysis.Analyzer {
	if l.lower == nil {
		l.lower = lower
	}
	filters := append([]analysis.TokenFilter{l.lower}, l.before...)
	filters = append(filters, without(stop, l.stop))
	return chain(words{}, append(filters, l.behind...)...)
}

func by(filters ...analysis.TokenFilter) []analysis.TokenFilter { return filters }

// elided takes articles off that are joined to a word by an apostrophe.
func elided(articles []byte) analysis.TokenFilter {
	return elision.NewElisionFilter(wordsOf(string(articles)))
}

// together are the scripts of which pairs of characters are terms.
var together = pairs(unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)

var languages = map[string]language{
	"arabic":     {stop: string(ar.ArabicStopWords), behind: by(ar.NewArabicNormalizeFilter(), ar.NewArabicStemmerFilter())},
	"armenian":   {stop: string(hy.ArmenianStopWords), behind: by(stemming(armenian))},
	"basque":     {stop: string(eu.BasqueStopWords), behind: by(stemming(basque))},
	"brazilian":  {stop: brazilianStopWords, behind: by(stemming(brazilian))},
	"bulgarian":  {stop: string(bg.BulgarianStopWords), behind: by(stemming(bulgarian))},
	"catalan":    {before: by(elided(ca.CatalanArticles)), stop: string(ca.CatalanStopWords), behind: by(stemming(catalan))},
	"chinese":    {before: by(cjk.NewCJKWidthFilter(), together), stop: cjkStopWords},
	"cjk":        {before: by(cjk.NewCJKWidthFilter(), together), stop: cjkStopWords},
	"czech":      {stop: string(cs.CzechStopWords), behind: by(stemming(czech))},
	"danish":     {stop: string(da.DanishStopWords), behind: by(da.NewDanishStemmerFilter())},
	"dutch":      {stop: string(nl.DutchStopWords), behind: by(dutch)},
	"english":    {before: by(en.NewPossessiveFilter()), stop: fewEnglish, behind: by(porter.NewPorterStemmer())},
	"finnish":    {stop: string(fi.FinnishStopWords), behind: by(fi.NewFinnishStemmerFilter())},
	"french":     {before: by(elided(fr.FrenchArticles)), stop: string(fr.FrenchStopWords), behind: by(fr.NewFrenchLightStemmerFilter())},
	"galician":   {stop: string(gl.GalicianStopWords), behind: by(stemming(galician))},
	"german":     {stop: string(de.GermanStopWords), behind: by(de.NewGermanNormalizeFilter(), de.NewGermanLightStemmerFilter())},
	"greek":      {lower: lowerGreek, stop: string(el.GreekStopWords), behind: by(stemming(greek))},
	"hindi":      {before: by(in.NewIndicNormalizeFilter(), hi.NewHindiNormalizeFilter()), stop: string(hi.HindiStopWords), behind: by(hi.NewHindiStemmerFilter())},
	"hungarian":  {stop: string(hu.HungarianStopWords), behind: by(hu.NewHungarianStemmerFilter())},
	"indonesian": {stop: string(id.IndonesianStopWords), behind: by(stemming(indonesian))},
	"irish":      {lower: lowerIrish, before: by(elided(ga.IrishArticles)), stop: string(ga.IrishStopWords) + " h n t", behind: by(irishStems)},
	"italian":    {before: by(elided(it.ItalianArticles)), stop: string(it.ItalianStopWords), behind: by(it.NewItalianLightStemmerFilterFilter())},
	"japanese":   {before: by(cjk.NewCJKWidthFilter(), together), stop: cjkStopWords},
	"latvian":    {stop: latvianStopWords, behind: by(stemming(latvian))},
	"norwegian":  {stop: string(no.NorwegianStopWords), behind: by(no.NewNorwegianStemmerFilter())},
	"persian":    {before: by(spacing, ar.NewArabicNormalizeFilter(), fa.NewPersianNormalizeFilter()), stop: string(fa.PersianStopWords)},
	"polish":     {stop: string(pl.PolishStopWords), behind: by(polish)},
	"portuguese": {stop: string(pt.PortugueseStopWords), behind: by(pt.NewPortugueseLightStemmerFilter())},
	"romanian":   {stop: string(ro.RomanianStopWords), behind: by(ro.NewRomanianStemmerFilter())},
	"russian":    {stop: string(ru.RussianStopWords), behind: by(ru.NewRussianStemmerFilter())},
	"spanish":    {stop: string(es.SpanishStopWords), behind: by(es.NewSpanishLightStemmerFilter())},
	"swedish":    {stop: string(sv.SwedishStopWords), behind: by(sv.NewSwedishStemmerFilter())},
	"thai":       {before: by(pairs(unicode.Thai)), stop: fewEnglish},
	"turkish":    {lower: lowerTurkish, stop: string(tr.TurkishStopWords), behind: by(tr.NewTurkishStemmerFilter())},
}

// cjkStopWords are those of CJKAnalyzer.
const cjkStopWords = fewEnglish + " s t www"

// polishStems is made when it is needed: it reads a table of half a megabyte.
var polishStems = sync.OnceValues(pl.NewPolishStemmerFilter)

// polish finds stems by the table of Stempel. What it has no stem for stays as it is.
var polish = filter(func(s analysis.TokenStream) analysis.TokenStream {
	stems, err := polishStems()
	if err != nil {
		return s // the table is part of the program
	}
	for _, t := range s {
		word := *t
		if stems.Filter(analysis.TokenStream{&word}); len(word.Term) > 0 {
			t.Term = word.Term
		}
	}
	return s
})
