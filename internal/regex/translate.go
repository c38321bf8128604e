package regex

import (
	"fmt"
	"strings"
)

// translation is a pattern as the parser spells it.
type translation struct {
	text string
	// exact says that the pattern holds what a linear program can't express and
	// the parser's tree does not show: atomic groups, possessive loops, \R.
	exact bool
}

// translate rewrites the parts of PCRE's syntax that the parser spells
// differently or reads as something else; it refuses what the parser has
// no like of (recursion, branch reset, callouts). The parser itself then
// refuses what is broken.
func translate(p string) (translation, error) {
	t := translator{in: p}
	for t.i < len(t.in) {
		if !t.step() {
			return translation{}, ErrSyntax
		}
	}
	if t.deepest > maxNesting {
		return translation{}, ErrTooLarge
	}
	return translation{t.out.String(), t.exact || hasComments(p) && strings.Contains(p, "+")}, nil
}

// hasComments reports that there may be comments, which could be between a
// quantifier and what makes it possessive.
func hasComments(p string) bool {
	for {
		_, after, ok := strings.Cut(p, "(?")
		if !ok {
			return false
		}
		flags := after[:len(after)-len(strings.TrimLeft(after, "^-imnsxJU"))]
		if strings.HasPrefix(after, "#") || strings.Contains(flags, "x") {
			return true
		}
		p = after
	}
}

type translator struct {
	in      string
	i       int
	out     strings.Builder
	exact   bool
	loop    bool // what comes before i may be the end of a quantifier
	nesting int
	deepest int
}

// replacements are escapes outside of classes.
var replacements = map[byte]string{
	'h': `[\t \u00a0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]`,
	'H': `[^\t \u00a0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]`,
	'v': `[\n\x0b\f\r\u0085\u2028\u2029]`,
	'V': `[^\n\x0b\f\r\u0085\u2028\u2029]`,
	'N': `[^\n]`,
	'K': ``, // moves the beginning of the match, and nobody asks where it is
}

// groups are the beginnings of groups that are spelt differently.
var groups = [...]struct{ pcre, parser string }{
	{"(?>", "(?>"}, {"(?P<", "(?<"},
	{"(?P=", `\k<`},
	{"(?|", ""}, {"(?R", ""}, {"(?&", ""}, {"(?P>", ""}, {"(?C", ""}, {"(?+", ""}, {"(*", ""},
}

func (t *translator) step() bool {
	c := t.in[t.i]
	t.exact = t.exact || c == '+' && t.loop
	// White space may be between in a pattern with (?x).
	t.loop = strings.IndexByte("*+?}", c) >= 0 || t.loop && strings.IndexByte(" \t\n\r", c) >= 0
	switch c {
	case '\\':
		return t.escape()
	case '[':
		return t.class()
	case '(':
		t.nesting++
		t.deepest = max(t.deepest, t.nesting)
		return t.group()
	case ')':
		t.nesting--
	}
	t.copy(1)
	return true
}

func (t *translator) copy(n int) {
	n = min(n, len(t.in)-t.i)
	t.out.WriteString(t.in[t.i : t.i+n])
	t.i += n
}

func (t *translator) replace(n int, with string) {
	t.out.WriteString(with)
	t.i += n
}

func (t *translator) group() bool {
	rest := t.in[t.i:]
	for _, g := range groups {
		if !strings.HasPrefix(rest, g.pcre) {
			continue
		}
		t.exact = t.exact || g.pcre == "(?>"
		if g.pcre == "(?P=" {
			name, _, ok := strings.Cut(rest[len(g.pcre):], ")")
			t.replace(len(g.pcre)+len(name)+1, `\k<`+name+`>`)
			return ok
		}
		t.replace(len(g.pcre), g.parser)
		return g.parser != ""
	}
	if len(rest) > 2 && rest[1] == '?' && (rest[2] >= '0' && rest[2] <= '9') {
		return false // a subroutine call
	}
	t.copy(1)
	return true
}

func (t *translator) escape() bool {
	if t.i+1 >= len(t.in) {
		return false
	}
	c := t.in[t.i+1]
	if with, ok := replacements[c]; ok {
		t.replace(2, with)
		return true
	}
	switch c {
	case 'Q':
		t.quoted()
		return true
	case 'g':
		return t.reference()
	case 'x', 'o':
		if strings.HasPrefix(t.in[t.i+2:], "{") {
			return t.braced(c)
		}
	case 'R':
		t.exact = true
	case 'C':
		return false
	}
	t.copy(2)
	return true
}

// quoted copies what is between \Q and \E, which the parser reads alike.
func (t *translator) quoted() {
	text, _, _ := strings.Cut(t.in[t.i+2:], `\E`)
	t.copy(2 + len(text) + 2)
}

// reference rewrites \g1, \g{1} and \g{name}. Relative references are refused.
func (t *translator) reference() bool {
	rest := t.in[t.i+2:]
	if strings.HasPrefix(rest, "{") {
		name, _, ok := strings.Cut(rest[1:], "}")
		t.replace(2+1+len(name)+1, `\k<`+name+`>`)
		return ok && name != "" && name[0] != '-' && name[0] != '+'
	}
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	name := rest[:n]
	t.replace(2+n, `\k<`+name+`>`)
	return n > 0
}

// braced rewrites \x{…} and \o{…}.
func (t *translator) braced(c byte) bool {
	digits, _, closed := strings.Cut(t.in[t.i+3:], "}")
	r, valid := parseDigits(digits, c)
	if !closed || !valid {
		return false
	}
	t.i += 2 + 1 + len(digits) + 1
	if r <= 0xffff {
		fmt.Fprintf(&t.out, `\u%04x`, r)
	} else {
		t.out.WriteRune(r)
	}
	return true
}

func parseDigits(s string, c byte) (rune, bool) {
	base := rune(16)
	if c == 'o' {
		base = 8
	}
	var r rune
	for _, d := range strings.ToLower(s) {
		n := rune(strings.IndexRune("0123456789abcdef", d))
		if n < 0 || n >= base || r > 0x10ffff {
			return 0, false
		}
		r = r*base + n
	}
	return r, s != "" && r <= 0x10ffff
}

// posix are the classes that are in brackets within a class.
var posix = map[string]string{
	"alpha": `a-zA-Z`, "digit": `0-9`, "alnum": `a-zA-Z0-9`, "upper": `A-Z`, "lower": `a-z`, "word": `\w`, "space": `\s`,
	"blank": ` \t`, "punct": `!-/:-@\[-` + "`" + `{-~`, "xdigit": `0-9a-fA-F`, "cntrl": `\x00-\x1f\x7f`, "graph": `!-~`, "print": ` -~`, "ascii": `\x00-\x7f`,
	"^digit": `\D`, "^word": `\W`, "^space": `\S`,
}

// class copies a character class. A bracket within one is a character, for
// the parser it would begin a subtraction.
func (t *translator) class() bool {
	t.copy(1)
	if strings.HasPrefix(t.in[t.i:], "^") {
		t.copy(1)
	}
	if strings.HasPrefix(t.in[t.i:], "]") {
		t.replace(1, `\]`)
	}
	for t.i < len(t.in) {
		switch t.in[t.i] {
		case ']':
			t.copy(1)
			return true
		case '[':
			if !t.bracket() {
				return false
			}
		case '\\':
			if !t.classEscape() {
				return false
			}
		default:
			t.copy(1)
		}
	}
	return false
}

func (t *translator) bracket() bool {
	rest := t.in[t.i:]
	if !strings.HasPrefix(rest, "[:") {
		t.replace(1, `\[`)
		return true
	}
	name, _, ok := strings.Cut(rest[2:], ":]")
	if !ok {
		t.replace(1, `\[`)
		return true
	}
	set, known := posix[name]
	t.replace(len(name)+4, set)
	return known
}

func (t *translator) classEscape() bool {
	if t.i+1 >= len(t.in) {
		return false
	}
	switch c := t.in[t.i+1]; c {
	case 'h', 'v':
		set := replacements[c]
		t.replace(2, set[1:len(set)-1])
		return true
	case 'H', 'V', 'N', 'R', 'X':
		return false
	case 'Q':
		t.quoted()
		return true
	case 'x', 'o':
		if strings.HasPrefix(t.in[t.i+2:], "{") {
			return t.braced(c)
		}
	}
	t.copy(2)
	return true
}
