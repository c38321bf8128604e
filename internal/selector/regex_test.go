package selector

import (
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/jsonscan"
)

func regexMatches(t *testing.T, pattern, subject string) (matches, accepted bool) {
	t.Helper()
	s, err := Parse(append(jsonscan.AppendQuoted([]byte(`{"f":{"$regex":`), pattern), "}}"...))
	if err != nil {
		return false, false
	}
	body := append(jsonscan.AppendQuoted([]byte(`{"f":`), subject), '}')
	return s.Match(&Doc{Body: body}), true
}

// The syntax is PCRE's. What each line says was worked out from its manual;
// what CouchDB itself answered stands in testdata/operators.txt.
func TestRegexSyntax(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{`^[[:alpha:]_]+$`, "ab_C", true},
		{`^[[:^digit:]]+$`, "a1", false},
		{`^[^[:space:]]+$`, "a b", false},
		{`^[[a]$`, "[", true},
		{`^[a-z-[b]+$`, "b[", true}, // no subtraction of classes
		{`^[]a]+$`, "]a", true},
		{`^[^]a]$`, "b", true},
		{`(?P<y>\d{4})-(?P=y)`, "2018-2018", true},
		{`(?<y>a)(b)\1`, "aba", true}, // named groups count with the others
		{`(?<y>a)(b)\1`, "abb", false},
		{`(a)\g1`, "aa", true},
		{`(a)(b)\g{2}`, "abb", true},
		{`(?<n>a)\g{n}`, "ab", false},
		{`a\Kb`, "ab", true},
		{`^\h+$`, " \t", true},
		{`^\H+$`, "a b", false},
		{`^a\vb$`, "a\nb", true},
		{`^\V+$`, "a\nb", false},
		{`^\N+$`, "a\nb", false},
		{`(?s)^.\R.$`, "a\r\nb", true},
		{`^[\h]$`, "\t", true},
		{`^\Qa.b\E.$`, "a.bc", true},
		{`^\Qa.b`, "axb", false},
		{`^\x{41}\x42$`, "AB", true},
		{`^[\x{41}-\x{43}]+$`, "ABC", true},
		{`^\o{101}$`, "A", true},
		{`a{2,3}+a`, "aaa", false},
		{`a*+a`, "aaa", false},
		{`(?>a+)b`, "aab", true},
		{`^(?!x)a`, "a", true},
		{`^a$`, "a\n", true},
		{`^a\z`, "a\n", false},
		{`(?i)É`, "É", true},
		{`^.$`, "é", false},
		{`(*UTF8)^.$`, "é", true},
		{`(*UTF8)(*UCP)^\w+$`, "naïve", true},
		{`(*UTF)(?i)^é$`, "É", true},
		{`(*UTF8)^\x{1F600}$`, "😀", true},
		{`^(a)?(?(1)b|c)$`, "ab", true},
		{`^(a)?(?(1)b|c)$`, "b", false},
	} {
		got, ok := regexMatches(t, c.pattern, c.subject)
		if !ok {
			t.Errorf("%s is refused", c.pattern)
		} else if got != c.want {
			t.Errorf("%s on %q: %v, want %v", c.pattern, c.subject, got, c.want)
		}
	}
}

func TestRegexRefused(t *testing.T) {
	for _, p := range []string{`(`, `[`, `a**`, `\`, `(?R)`, `(?1)`, `(?|a|b)`, `(?P>x)`, `(?&x)`, `\C`, `[[:foo:]]`, `\x{110000}`, `\x{`, `\g{-1}`, `(?<n>a`, `[z-a]`, `(*COMMIT)a`} {
		if _, ok := regexMatches(t, p, "a"); ok {
			t.Errorf("%s is taken", p)
		}
	}
}

// A pattern that backtracks without end must not hold a goroutine for ever: it
// ends without a match. The test itself would run for longer than the universe.
func TestRegexGivesUp(t *testing.T) {
	for _, p := range []string{`^(a|aa)+$`, `^(\w+\s?)*!$`, `(x+x+)+y`} {
		subject := strings.Repeat("a", 100) + "b"
		if p[0] == '(' {
			subject = strings.Repeat("x", 1000)
		}
		if got, ok := regexMatches(t, p, subject); got || !ok {
			t.Errorf("%s: matched %v, taken %v", p, got, ok)
		}
	}
}

func FuzzTranslatePattern(f *testing.F) {
	for _, l := range scriptArguments(f, "match ") {
		f.Add(l)
	}
	for _, p := range []string{`[[:alpha:]-z]`, `\Qa\E[\Q]\E]`, `(?P<a>x)(?P=a)`, `\x{41}[\o{101}]`, `a++(?(1)b)`} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		// Must end, and what it takes the engine must take or refuse.
		_, _ = compileRegex(jsonscan.AppendQuoted(nil, p))
	})
}
