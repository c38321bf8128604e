package regex

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// meter counts, and ends a match beyond most; 0 is never.
type meter struct{ steps, max int }

var errMeter = errors.New("enough")

func (m *meter) Spend(steps int) error {
	if m.steps += steps; m.max > 0 && m.steps > m.max {
		return errMeter
	}
	return nil
}

// What each line says was worked out from PCRE's manual; what CouchDB itself answered is in the
// selectors' scripts.
func TestSyntax(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want, linear     bool
	}{
		{`^[[:alpha:]_]+$`, "ab_C", true, true},
		{`^[[:^digit:]]+$`, "a1", false, true},
		{`^[^[:space:]]+$`, "a b", false, true},
		{`^[[a]$`, "[", true, true},
		{`^[a-z-[b]+$`, "b[", true, true}, // no subtraction of classes
		{`^[]a]+$`, "]a", true, true},
		{`^[^]a]$`, "b", true, true},
		{`(?P<y>\d{4})-(?P=y)`, "2018-2018", true, false},
		{`(?<y>a)(b)\1`, "aba", true, false}, // named groups count with the others
		{`(?<y>a)(b)\1`, "abb", false, false},
		{`(a)\g1`, "aa", true, false},
		{`(a)(b)\g{2}`, "abb", true, false},
		{`(?<n>a)\g{n}`, "ab", false, false},
		{`(?i)(ab)\1`, "aBAb", true, false},
		{`(*UTF8)(?i)(é)x\1`, "Éxé", true, false},
		{`(a*)b\1$`, "aabaa", true, false},
		{`^(a*)b\1$`, "aaba", false, false},
		{`(?:(?=(a))|b)*\1`, "a", true, false}, // a round that matches nothing is the last one, and counts
		{`a\Kb`, "ab", true, true},
		{`^\h+$`, " \t", true, true},
		{`^\H+$`, "a b", false, true},
		{`^a\vb$`, "a\nb", true, true},
		{`^\V+$`, "a\nb", false, true},
		{`^\N+$`, "a\nb", false, true},
		{`(?s)^.\R.$`, "a\r\nb", true, false},
		{`^\R\n$`, "\r\n", false, false},
		{`^[\h]$`, "\t", true, true},
		{`^\Qa.b\E.$`, "a.bc", true, true},
		{`^\Qa.b`, "axb", false, true},
		{`^\x{41}\x42$`, "AB", true, true},
		{`^[\x{41}-\x{43}]+$`, "ABC", true, true},
		{`^\o{101}$`, "A", true, true},
		{`a{2,3}+a`, "aaa", false, false},
		{`a*+a`, "aaa", false, false},
		{`(?x)a* +a`, "aaa", false, false},
		{`(?x)a* # all` + "\n" + `+a`, "aaa", false, false},
		{`(?>a+)b`, "aab", true, false},
		{`(?>a|ab)c`, "abc", false, false},
		{`^(?!x)a`, "a", true, false},
		{`^(?!x)a`, "xa", false, false},
		{`(?<=ab)c`, "abc", true, false},
		{`(?<!ab)c`, "abc", false, false},
		{`(?<=(a|b)c)\1`, "acc bca", false, false},
		{`(?<=(a|b)c)\1`, "bcb", true, false},
		{`^a$`, "a\n", true, true},
		{`^a$`, "a\n\n", false, true},
		{`^a\Z`, "a\n", true, true},
		{`^a\z`, "a\n", false, true},
		{`(?m)^b$`, "a\nb\nc", true, true},
		{`\bve\b`, "a ve", true, true},
		{`\Bve`, "ve", false, true},
		{`(?i)É`, "É", true, true},
		{`^.$`, "é", false, true},
		{`(*UTF8)^.$`, "é", true, true},
		{`(*UTF8)(*UCP)^\w+$`, "naïve", true, true},
		{`(*UTF)(?i)^é$`, "É", true, true},
		{`(*UTF8)^\x{1F600}$`, "😀", true, true},
		{`(*UTF8)(?<=é)x`, "éx", true, false},
		{`(*UTF8)^\X$`, "e\u0301", true, false},
		{`^(a)?(?(1)b|c)$`, "ab", true, false},
		{`^(a)?(?(1)b|c)$`, "b", false, false},
		{`^(?(?=a)ab|cd)$`, "cd", true, false},
		{`^(?(?!a)ab|cd)$`, "cd", false, false},
		{`(a+)+$`, "aaa", true, true},
		{`^(a*)*$`, "b", false, true},
		{`^(a?){3}$`, "aaaa", false, true},
		{`^a{2,5}?$`, "aaaaa", true, true},
		{`^(?:ab){2,}$`, "ababab", true, true},
		{`^.{3,60000}$`, "abcd", true, false}, // the loop is too large to be written out
		{`foo|ba[rz]`, "xbaz", true, true},
		{``, "", true, true},
	} {
		p, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		got, err := p.Match([]byte(c.subject), &meter{})
		if err != nil || got != c.want || p.Linear() != c.linear {
			t.Errorf("%s on %q: %v, %v, linear %v; want %v, linear %v", c.pattern, c.subject, got, err, p.Linear(), c.want, c.linear)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, p := range []string{`(`, `[`, `a**`, `\`, `(?R)`, `(?1)`, `(?|a|b)`, `(?P>x)`, `(?&x)`, `\C`, `[[:foo:]]`, `\x{110000}`, `\x{`,
		`\g{-1}`, `(?<n>a`, `[z-a]`, `(*COMMIT)a`, `(?<a-b>x)`} {
		if _, err := Compile(p); !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, p := range []string{strings.Repeat("a", maxPattern+1), strings.Repeat("(", 300) + strings.Repeat(")", 300), `((a{100}){100}){100}`, `(?!x)((a{100}b){100}){100}`} {
		if _, err := Compile(p); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.20s: %v", p, err)
		}
	}
}

// What a linear match costs is in proportion to the subject.
func TestLinear(t *testing.T) {
	for _, text := range []string{`^(a|aa)+$`, `^(\w+\s?)*!$`, `(x+x+)+y`, `(.*)*=.*`, `^(a+)+b$`, `(a?){50}a{50}$`} {
		p, err := Compile(text)
		if err != nil || !p.Linear() {
			t.Fatal(text, err)
		}
		for _, c := range []string{"a", "x"} {
			subject := strings.Repeat(c, 20_000) + "!!"
			var m meter
			if _, err := p.Match([]byte(subject), &m); err != nil {
				t.Error(text, err)
			}
			if most := len(subject) * len(p.code) * 4; m.steps > most {
				t.Errorf("%s: %d steps, more than %d", text, m.steps, most)
			}
		}
	}
}

// A match of another kind that would run for longer than the universe ends with an error, after the
// same number of steps each time.
func TestSteps(t *testing.T) {
	for _, text := range []string{`^(a|aa)+\1\1b$`, `^(?!b)(a+)+c$`, `(?=a)(a+a+)+b|\1`} {
		p, err := Compile(text)
		if err != nil || p.Linear() {
			t.Fatal(text, err)
		}
		subject := []byte(strings.Repeat("a", 60) + "!")
		var first meter
		if ok, err := p.Match(subject, &first); ok || !errors.Is(err, ErrSteps) {
			t.Errorf("%s: %v, %v", text, ok, err)
		}
		var again meter
		if _, err := p.Match(subject, &again); err == nil || again.steps != first.steps {
			t.Errorf("%s: %d steps and then %d", text, first.steps, again.steps)
		}
		m := meter{max: 100_000}
		if _, err := p.Match(subject, &m); !errors.Is(err, errMeter) || m.steps > 2*m.max {
			t.Errorf("%s: %v after %d steps", text, err, m.steps)
		}
	}
}

// A pattern can't take long to compile either: one that did would outlast the run of the tests.
func TestCompileIsBounded(t *testing.T) {
	for _, p := range []string{
		strings.Repeat("(", 240) + "a" + strings.Repeat("*)", 240), strings.Repeat("(?=", 240) + "a" + strings.Repeat(")", 240),
		strings.Repeat("a|", 30_000), strings.Repeat("[a-z]", 10_000), strings.Repeat("a*", 30_000), strings.Repeat("ab|a", 16_000),
		strings.Repeat(`\w`, 30_000), "(*UTF8)(?i)" + strings.Repeat("[a-é]", 9_000), strings.Repeat("(a)", 20_000), strings.Repeat("x?", 30_000),
		strings.Repeat("(a|b)*", 10_000), strings.Repeat("a+b+", 15_000), strings.Repeat("(?:aa|ab)", 7000),
	} {
		_, err := Compile(p)
		t.Logf("%.20s…: %v", p, err)
	}
}

// FuzzSame holds matches against the parser's own engine, which runs patterns in another way.
func FuzzSame(f *testing.F) {
	for _, c := range [][2]string{{`^(a|aa)+$`, "aaa"}, {`(a*)*b`, "aab"}, {`(?<=a)b\b`, "ab c"}, {`(?i)[^a-c]+\1?(x)`, "ABCDx"}, {`a{2,3}?(?!b)`, "aaab"}, {`(a)|\1b`, "ab"}, {`(?>a|ab)c`, "abc"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		p, err := Compile(pattern)
		if err != nil || len(subject) > 60 || len(pattern) > 60 {
			return
		}
		rest, utf := cutVerbs(pattern)
		text := subject
		if !utf {
			rest, text = latin1(rest), latin1(subject)
		}
		translated, err := translate(rest)
		if err != nil {
			t.Fatal(err)
		}
		other, err := regexp2.Compile(translated.text, regexp2.OptionMaintainCaptureOrder())
		if err != nil {
			return
		}
		other.MatchTimeout = 200 * time.Millisecond
		want, err := other.MatchString(text)
		if err != nil {
			return
		}
		if got, err := p.Match([]byte(subject), &meter{}); err == nil && got != want {
			t.Errorf("%q on %q: %v, and %v by the other engine", pattern, subject, got, want)
		}
	})
}
