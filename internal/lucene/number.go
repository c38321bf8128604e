package lucene

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// doubles are the texts that Java reads as a double (java.lang.Double.valueOf).
var doubles = regexp.MustCompile(`^[+-]?(NaN|Infinity|` +
	`([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|` +
	`0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)$`)

// Number reads a text as Clouseau decides whether a term or an end of a range is a
// number: decimal or hexadecimal, NaN and Infinity, with Java's suffixes. It reports
// whether it is one.
func Number(text string) (float64, bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	if !doubles.MatchString(text) {
		return 0, false
	}
	if !strings.HasSuffix(text, "Infinity") {
		text = strings.TrimRight(text, "fFdD")
	}
	f, err := strconv.ParseFloat(text, 64) // beyond the largest: infinite, as in Java
	return f, err == nil || math.IsInf(f, 0)
}

// Numbers returns the ends of a range of numbers, infinite where they are open, and
// reports whether it is one: whether both ends are numbers.
func (n *Range) Numbers() (low, high float64, ok bool) {
	low, okLow := end(n.Min, math.Inf(-1))
	high, okHigh := end(n.Max, math.Inf(1))
	return low, high, okLow && okHigh
}

func end(text *string, open float64) (float64, bool) {
	if text == nil {
		return open, true
	}
	return Number(*text)
}
