package lucene

import (
	"math"
	"strconv"
	"strings"
)

// separators are what stands before the fraction of a number, and between its thousands.
type separators struct {
	point  rune
	groups string
}

// The separators of languages. Those that are not named write as English does.
var (
	commaAndPoint = separators{',', "."}
	commaAndSpace = separators{',', "\u00a0\u202f"}
	bySeparators  = map[separators]string{
		commaAndPoint: "ca da de el es fo gl hr id is it mk nl pt ro sl sr tr vi",
		commaAndSpace: "be bg cs et fi fr hu hy ka kk lt lv nb nn no pl ru sk sq sv uk",
	}
)

// separatorsOf returns the separators of a locale such as "de" or "de_AT".
func separatorsOf(locale string) separators {
	language, region, _ := strings.Cut(strings.ReplaceAll(locale, "-", "_"), "_")
	language = strings.ToLower(language)
	switch region = strings.ToUpper(region); {
	case language == "de" && (region == "CH" || region == "LI"), language == "it" && region == "CH":
		return separators{'.', "\u2019"}
	case language == "es" && (region == "MX" || region == "US"):
		return separators{'.', ","}
	}
	for s, languages := range bySeparators {
		if strings.Contains(" "+languages+" ", " "+language+" ") {
			return s
		}
	}
	return separators{'.', ","}
}

// LocalNumber reads the number with which a text begins, as java.text.NumberFormat does
// for a locale; what comes after it does not count. "Infinity" is infinite, as is "∞". It
// reports whether there is a number.
func LocalNumber(text, locale string) (float64, bool) {
	sign := 1.0
	if strings.HasPrefix(text, "-") {
		sign, text = -1, text[1:]
	}
	if strings.HasPrefix(text, "∞") || text == "Infinity" {
		return math.Inf(int(sign)), true
	}
	of := separatorsOf(locale)
	var b strings.Builder
	fraction := false
scan:
	for i, r := range text {
		switch {
		case '0' <= r && r <= '9':
			b.WriteRune(r)
		case !fraction && r == of.point:
			fraction = true
			b.WriteByte('.')
		case !fraction && b.Len() > 0 && strings.ContainsRune(of.groups, r):
		case r == 'E' && strings.ContainsAny(b.String(), "0123456789"):
			b.WriteString(exponent(text[i:]))
			break scan
		default:
			break scan
		}
	}
	if !strings.ContainsAny(b.String(), "0123456789") {
		return 0, false
	}
	f, _ := strconv.ParseFloat(b.String(), 64) // beyond the largest: infinite
	return sign * f, true
}

// exponent returns the exponent with which a text begins, "" if it is none.
func exponent(text string) string {
	digitsAt := 1
	if strings.HasPrefix(text[1:], "-") {
		digitsAt = 2
	}
	if n := digits(text[digitsAt:]); n > 0 {
		return text[:digitsAt+n]
	}
	return ""
}
