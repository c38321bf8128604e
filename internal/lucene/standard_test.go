package lucene

import (
	"math"
	"strings"
	"testing"
)

// standardConstructs has what the standard syntax has, where it is not as in the classic
// one above all. The trees were worked out from the grammar of Lucene 9.
var standardConstructs = []struct{ query, want string }{
	{`apple`, `default:"apple"`},
	{`name:apple`, `name:"apple"`},
	{`name = apple`, `name:"apple"`},
	{`12`, `default:"12"`},
	{`a b c`, `(default:"a" default:"b" default:"c")`},
	{`name:(a b)`, `(name:"a" name:"b")`},
	{`*:*`, `*:*`},
	{`a AND b OR c`, `(+default:"a" +default:"b" default:"c")`},
	{`a OR b AND c`, `(default:"a" +default:"b" +default:"c")`},
	{`a AND b OR c AND d`, `(+default:"a" +default:"b" +default:"c" +default:"d")`},
	{`a b AND c`, `(default:"a" +default:"b" +default:"c")`},
	{`a AND -b`, `(+default:"a" -default:"b")`},
	{`a AND NOT b OR +c`, `(+default:"a" -default:"b" +default:"c")`},
	{`NOT a`, `(-default:"a")`},
	{`-a`, `(-default:"a")`},
	{`+a`, `default:"a"`},
	{`(NOT a) b`, `((-default:"a") default:"b")`},
	{`NOT (a b)`, `(-(default:"a" default:"b"))`},
	{`ANDa && b`, `(+default:"ANDa" +default:"b")`},
	{`(a b)^2`, `(default:"a" default:"b")^2`},
	{`a^2 b^0.5`, `(default:"a"^2 default:"b"^0.5)`},
	{`a~ b~1 c~0.5`, `(default:fuzzy("a")~2 default:fuzzy("b")~1 default:fuzzy("c")~0)`},
	{`"a b"~3^2`, `default:phrase("a b")~3^2`},
	{`Ab*`, `default:prefix("ab")`},
	{`a*b?`, `default:wildcard("a" * "b" ?)`},
	{`a\*`, `default:"a*"`},
	{`/a.B/`, `default:regexp("a.b")`},
	{`p:[1 TO 5}`, `p:[1 TO 5}`},
	{`p:{* TO x]`, `p:{* TO "x"]`},
	{`p:["a b" TO ""]`, `p:["a b" TO "\"\""]`},
	{`p:[TO TO TO]`, `p:["TO" TO "TO"]`},
	{`p<5 p<=5 p>5 p>=5`, `(p:[-Inf TO 5} p:[-Inf TO 5] p:{5 TO +Inf] p:[5 TO +Inf])`},
	{`p > "x y"`, `p:{"x y" TO *]`},
	{`the`, `()`},
	{`the AND a`, `(+default:"a")`},
	{`NOT the`, `()`},
	{`f\:x:a`, `f:x:"a"`},
	{`*a`, `error: Leading wildcard is not allowed: default:*a`},
	{`f:*`, `error: Leading wildcard is not allowed: f:*`},
	{`(`, `error: Syntax Error, cannot parse (: Encountered "<EOF>" at line 1, column 2`},
	{`a AND`, `error: Syntax Error, cannot parse a AND: Encountered "<EOF>" at line 1, column 6`},
	{`a OR OR b`, `error: Syntax Error, cannot parse a OR OR b: Encountered "OR" at line 1, column 6`},
	{`a)`, `error: Syntax Error, cannot parse a): Encountered ")" at line 1, column 2`},
	{`p:[1 5]`, `error: Syntax Error, cannot parse p:[1 5]: Encountered "5" at line 1, column 6`},
	{`f:-a`, `error: Syntax Error, cannot parse f:-a: Encountered "-" at line 1, column 3`},
	{`a~1.5`, `error: Syntax Error, cannot parse a~1.5: Fractional edit distances are not allowed!`},
	{`"a`, `error: Syntax Error, cannot parse "a: the text in quotation marks doesn't end at line 1, column 1`},
	{`fn:ordered(a b)`, `error: Syntax Error, cannot parse fn:ordered(a b): functions of intervals are not supported`},
	{`(a b c)@2`, `error: Syntax Error, cannot parse (a b c)@2: clauses that must match in part (@) are not supported`},
	{``, `error: Syntax Error, cannot parse : Encountered "<EOF>" at line 1, column 1`},
}

func TestStandard(t *testing.T) {
	o := Options{Dropped: func(_, text string) bool { return text == "the" }}
	for _, c := range standardConstructs {
		n, err := ParseStandard(c.query, o)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = n.String()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.query, got, c.want)
		}
	}
}

// TestStandardIsBounded: what would be a deep or a large tree is refused.
func TestStandardIsBounded(t *testing.T) {
	for _, q := range []string{
		strings.Repeat("(", 1<<16), strings.Repeat("a ", 2000), strings.Repeat("a AND ", 2000) + "a",
		strings.Repeat("(a b c d e f g) ", 1023) + strings.Repeat("(a b c d e f g)", 300), strings.Repeat("x", 2<<20), "a\xff",
	} {
		if _, err := ParseStandard(q, Options{}); err == nil {
			t.Errorf("%.40q is taken", q)
		}
	}
}

func TestLocalNumber(t *testing.T) {
	for _, c := range []struct {
		text, locale string
		want         float64
		ok           bool
	}{
		{"12", "", 12, true},
		{"-1,234.5x", "us", -1234.5, true},
		{"10.0", "de", 100, true},
		{"1.234,5", "de_AT", 1234.5, true},
		{"1.5", "de-CH", 1.5, true},
		{"1,5", "fr", 1.5, true},
		{"1\u202f000,5", "fr", 1000.5, true},
		{"1E3", "", 1000, true},
		{"1E-2", "", 0.01, true},
		{"1e3", "", 1, true},
		{"1Ex", "", 1, true},
		{".5", "", 0.5, true},
		{"-Infinity", "", math.Inf(-1), true},
		{"∞", "", math.Inf(1), true},
		{"x", "", 0, false},
		{"", "", 0, false},
		{"-", "", 0, false},
		{".", "", 0, false},
		{"1E999", "", math.Inf(1), true},
	} {
		if got, ok := LocalNumber(c.text, c.locale); ok != c.ok || got != c.want {
			t.Errorf("%q in %q: %v %v, want %v %v", c.text, c.locale, got, ok, c.want, c.ok)
		}
	}
}

// FuzzStandard: whatever is parsed has a text, and no text panics.
func FuzzStandard(f *testing.F) {
	for _, c := range standardConstructs {
		f.Add(c.query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if n, err := ParseStandard(query, Options{}); err == nil {
			_ = n.String()
		}
	})
}
