package selector

import (
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/sectional/sectional/internal/jsonscan"
)

// regexTimeout bounds one match. A pattern that backtracks for longer on some
// string does not match it; CouchDB's engine gives up in the same way after a
// number of steps.
const regexTimeout = 100 * time.Millisecond

// maxBacktracking bounds the memory of one match; beyond it there is no match.
const maxBacktracking = 1 << 20

// regexTest is $regex. CouchDB runs PCRE over the bytes of a string, each taken
// as a character of Latin-1, unless the pattern begins with (*UTF8) or (*UTF).
// So "." is one byte of an accented letter, which is what selectors written
// for CouchDB have adapted to.
type regexTest struct {
	re   *regexp2.Regexp
	utf8 bool
}

func compileRegex(arg []byte) (tester, error) {
	pattern, utf8 := cutVerbs(string(jsonscan.Text(nil, arg)))
	if !utf8 {
		pattern = latin1(pattern)
	}
	translated, ok := translatePattern(pattern)
	if !ok {
		return nil, badArgument("$regex", arg)
	}
	re, err := regexp2.Compile(translated, regexp2.OptionMaintainCaptureOrder(), regexp2.OptionMaxBacktrackingStackSize(maxBacktracking))
	if err != nil {
		return nil, badArgument("$regex", arg)
	}
	re.MatchTimeout = regexTimeout
	return &regexTest{re, utf8}, nil
}

// cutVerbs takes the option verbs from the beginning of a pattern.
func cutVerbs(pattern string) (rest string, utf8 bool) {
	for {
		verb, rest, ok := strings.Cut(pattern, ")")
		switch {
		case ok && (verb == "(*UTF8" || verb == "(*UTF"):
			utf8 = true
		case ok && verb == "(*UCP":
		default:
			return pattern, utf8
		}
		pattern = rest
	}
}

// latin1 makes a character of each byte.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

var runeBuffers = sync.Pool{New: func() any { return new([]rune) }}

func (t *regexTest) match(v value) bool {
	if v.kind() != jsonscan.String {
		return false
	}
	buf := runeBuffers.Get().(*[]rune)
	defer runeBuffers.Put(buf)
	runes := (*buf)[:0]
	if s := v.string(); t.utf8 {
		for _, r := range string(s) {
			runes = append(runes, r)
		}
	} else {
		for _, c := range s {
			runes = append(runes, rune(c))
		}
	}
	*buf = runes
	ok, err := t.re.MatchRunes(runes)
	return ok && err == nil
}
