package lucene

import (
	"fmt"
	"strings"
	"testing"
)

// constructs has every construct of the syntax. The expected trees were worked out from
// the grammar of Lucene 4.6.
var constructs = []struct{ query, want string }{
	// Terms and fields.
	{`apple`, `default:"apple"`},
	{`Apple`, `default:"Apple"`},
	{`name:apple`, `name:"apple"`},
	{`name : apple`, `name:"apple"`},
	{`a b c`, `(default:"a" default:"b" default:"c")`},
	{"a\tb\n\u3000c", `(default:"a" default:"b" default:"c")`},
	{`a.b:c`, `a.b:"c"`},
	{`a-b+c`, `default:"a-b+c"`},
	{`name:(a b)`, `(name:"a" name:"b")`},
	{`name:(a other:b c)`, `(name:"a" other:"b" name:"c")`},
	{`name:(a)`, `name:"a"`},
	{`schön Москва 東京`, `(default:"schön" default:"Москва" default:"東京")`},
	{`12`, `default:"12"`},
	{`R&D`, `default:"R&D"`},
	{`a|b`, `default:"a|b"`},
	{`_id:x`, `_id:"x"`},
	// AND and OR change their neighbours; there is no precedence.
	{`a OR b`, `(default:"a" default:"b")`},
	{`a AND b`, `(+default:"a" +default:"b")`},
	{`a && b`, `(+default:"a" +default:"b")`},
	{`a || b`, `(default:"a" default:"b")`},
	{`a AND b OR c`, `(+default:"a" +default:"b" default:"c")`},
	{`a OR b AND c`, `(default:"a" +default:"b" +default:"c")`},
	{`a AND b c`, `(+default:"a" +default:"b" default:"c")`},
	{`a b AND c`, `(default:"a" +default:"b" +default:"c")`},
	{`a AND NOT b`, `(+default:"a" -default:"b")`},
	{`a OR NOT b`, `(default:"a" -default:"b")`},
	{`NOT a AND b`, `(-default:"a" +default:"b")`},
	{`-a AND b`, `(-default:"a" +default:"b")`},
	{`(a OR b) AND c`, `(+(default:"a" default:"b") +default:"c")`},
	{`a AND (b OR c)`, `(+default:"a" +(default:"b" default:"c"))`},
	{`a and b`, `(default:"a" default:"and" default:"b")`},
	{`ANDa ORb NOTc`, `(default:"ANDa" default:"ORb" default:"NOTc")`},
	{`&&a`, `default:"&&a"`},
	// Signs.
	{`+a -b c`, `(+default:"a" -default:"b" default:"c")`},
	{`+a`, `(+default:"a")`},
	{`NOT a`, `(-default:"a")`},
	{`!a`, `(-default:"a")`},
	{`a!b`, `(default:"a" -default:"b")`},
	{`-(a b)`, `(-(default:"a" default:"b"))`},
	{`a - b`, `(default:"a" default:"-" default:"b")`},
	{`a OR -b AND c`, `(default:"a" -default:"b" +default:"c")`},
	{`+a OR b`, `(+default:"a" default:"b")`},
	{`a AND -b`, `(+default:"a" -default:"b")`},
	{`field:-a`, `error: Cannot parse 'field:-a': Encountered "-" at line 1, column 7`},
	// Boosts.
	{`a^2`, `default:"a"^2`},
	{`a^0.5 b`, `(default:"a"^0.5 default:"b")`},
	{`"a b"^3`, `default:phrase("a b")~0^3`},
	{`(a b)^4 c`, `((default:"a" default:"b")^4 default:"c")`},
	{`(a)^4`, `default:"a"^4`},
	{`name:(a b)^2.5`, `(name:"a" name:"b")^2.5`},
	{`a*^2 b?c^3 [a TO b]^4 /x/^5 a~^6 *:*^7`,
		`(default:prefix("a")^2 default:wildcard("b" ? "c")^3 default:["a" TO "b"]^4 default:regexp("x")^5 default:fuzzy("a")~2^6 *:*^7)`},
	{`a^2.`, `(default:"a"^2 default:".")`},
	// Phrases.
	{`"new york"`, `default:phrase("new york")~0`},
	{`name:"new york"`, `name:phrase("new york")~0`},
	{`"new york"~3`, `default:phrase("new york")~3`},
	{`"new york"~2.7`, `default:phrase("new york")~2`},
	{`"new york"~`, `default:phrase("new york")~0`},
	{`"a b"~3^2`, `default:phrase("a b")~3^2`},
	{`"12"`, `default:phrase("12")~0`},
	{`"a \"quoted\" b"`, `default:phrase("a \"quoted\" b")~0`},
	{`"a\\"`, `default:phrase("a\\")~0`},
	{`"a AND (b"`, `default:phrase("a AND (b")~0`},
	{`""`, `default:phrase("")~0`},
	{`name:("a" "b")`, `(name:phrase("a")~0 name:phrase("b")~0)`},
	{`"a"b`, `(default:phrase("a")~0 default:"b")`},
	// Prefixes and wildcards.
	{`app*`, `default:prefix("app")`},
	{`App*`, `default:prefix("app")`},
	{`a?ple`, `default:wildcard("a" ? "ple")`},
	{`*ple`, `default:wildcard(* "ple")`},
	{`?pple`, `default:wildcard(? "pple")`},
	{`a*e`, `default:wildcard("a" * "e")`},
	{`A*E*`, `default:wildcard("a" * "e" *)`},
	{`**`, `default:wildcard(* *)`},
	{`*`, `default:wildcard(*)`},
	{`name:*`, `name:wildcard(*)`},
	{`?`, `default:wildcard(?)`},
	{`*:*`, `*:*`},
	{`* : *`, `*:*`},
	{`*:(* a)`, `(*:* *:"a")`},
	{`*:*^2 AND NOT a`, `(+*:*^2 -default:"a")`},
	{`a\*`, `default:"a*"`},
	{`a\?b*`, `default:prefix("a?b")`},
	{`a\**b`, `default:wildcard("a*" * "b")`},
	{`a\\*b`, `default:wildcard("a\\" * "b")`},
	{`\*`, `default:"*"`},
	{`a*~1`, `default:prefix("a")`},
	// Fuzzy terms.
	{`roam~`, `default:fuzzy("roam")~2`},
	{`Roam~`, `default:fuzzy("roam")~2`},
	{`roam~1`, `default:fuzzy("roam")~1`},
	{`roam~5`, `default:fuzzy("roam")~2`},
	{`roam~0`, `default:fuzzy("roam")~0`},
	{`roam~0.8`, `default:fuzzy("roam")~0`},
	{`roam~0.7`, `default:fuzzy("roam")~1`},
	{`roam~0.5`, `default:fuzzy("roam")~2`},
	{`höhe~0.74`, `default:fuzzy("höhe")~1`},
	{`roam~1^2`, `default:fuzzy("roam")~1^2`},
	{`roam^2~1`, `default:fuzzy("roam")~1^2`},
	{`roam~1^2~2`, `default:fuzzy("roam")~2^2`},
	{`roam~1.5`, `error: Cannot parse 'roam~1.5': Fractional edit distances are not allowed!`},
	// Ranges.
	{`[a TO b]`, `default:["a" TO "b"]`},
	{`{a TO b}`, `default:{"a" TO "b"}`},
	{`[a TO b}`, `default:["a" TO "b"}`},
	{`{a TO b]`, `default:{"a" TO "b"]`},
	{`name:[Alpha TO Beta]`, `name:["alpha" TO "beta"]`},
	{`n:[1 TO 10]`, `n:[1 TO 10]`},
	{`n:{1.5 TO 1e3}`, `n:{1.5 TO 1000}`},
	{`n:[-5 TO +5]`, `n:[-5 TO 5]`},
	{`n:[* TO 10]`, `n:[-Inf TO 10]`},
	{`n:[10 TO *]`, `n:[10 TO +Inf]`},
	{`n:[* TO *]`, `n:[-Inf TO +Inf]`},
	{`n:[0x10p0 TO Infinity]`, `n:[16 TO +Inf]`},
	{`n:[1 TO b]`, `n:["1" TO "b"]`},
	{`n:[a TO *]`, `n:["a" TO *]`},
	{`d:[2019-01-01 TO 2019-02-01}`, `d:["2019-01-01" TO "2019-02-01"}`},
	{`[a b]`, `default:["a" TO "b"]`},
	{`["a b" TO "c d"]`, `default:["a b" TO "c d"]`},
	{`["*" TO b]`, `default:["*" TO "b"]`},
	{`["1" TO "2"]`, `default:[1 TO 2]`},
	{`[a\:b TO "c\"d"]`, `default:["a:b" TO "c\"d"]`},
	{`[ a  TO  b ]`, `default:["a" TO "b"]`},
	{`["a"x TO b]`, `default:["\"a\"x" TO "b"]`},
	{`n:[1 TO 2] AND n:{3 TO 4}`, `(+n:[1 TO 2] +n:{3 TO 4})`},
	// Regular expressions.
	{`/ab+c/`, `default:regexp("ab+c")`},
	{`name:/[A-Z]{2}/`, `name:regexp("[a-z]{2}")`},
	{`/a\/b/`, `default:regexp("a\\/b")`},
	{`/a/ /b/`, `(default:regexp("a") default:regexp("b"))`},
	{`//`, `default:regexp("")`},
	{`/a\/`, `default:regexp("a\\")`},
	{`http\:\/\/x`, `default:"http://x"`},
	// Escapes.
	{`\(1\+1\)\:2`, `default:"(1+1):2"`},
	{`\A\b`, `default:"Ab"`},
	{`a\ b`, `default:"a b"`},
	{`\AND b`, `(default:"AND" default:"b")`},
	{`na\:me:x`, `na:me:"x"`},
	{`\u0041\u00e4`, `default:"Aä"`},
	{`\ud83d\ude00`, `default:"😀"`},
	{`\🙂`, `default:"🙂"`},
	{`\u00`, `error: Cannot parse '\u00': Truncated unicode escape sequence.`},
	{`\u00zz`, `error: Cannot parse '\u00zz': Non-hex character in Unicode escape sequence: z`},
	{`a\`, `error: Cannot parse 'a\': the escape doesn't end at line 1, column 2`},
	// What isn't a query.
	{``, `error: Cannot parse '': Encountered "<EOF>" at line 1, column 1`},
	{`a AND`, `error: Cannot parse 'a AND': Encountered "<EOF>" at line 1, column 6`},
	{`AND a`, `error: Cannot parse 'AND a': Encountered "AND" at line 1, column 1`},
	{`a OR OR b`, `error: Cannot parse 'a OR OR b': Encountered "OR" at line 1, column 6`},
	{`a NOT NOT b`, `error: Cannot parse 'a NOT NOT b': Encountered "NOT" at line 1, column 7`},
	{`(a`, `error: Cannot parse '(a': Encountered "<EOF>" at line 1, column 3`},
	{`a)`, `error: Cannot parse 'a)': Encountered ")" at line 1, column 2`},
	{`()`, `error: Cannot parse '()': Encountered ")" at line 1, column 2`},
	{`a:b:c`, `error: Cannot parse 'a:b:c': Encountered ":" at line 1, column 4`},
	{`a:`, `error: Cannot parse 'a:': Encountered "<EOF>" at line 1, column 3`},
	{`"a`, `error: Cannot parse '"a': the text in quotation marks doesn't end at line 1, column 1`},
	{"x\nö \"a", "error: Cannot parse 'x\nö \"a': the text in quotation marks doesn't end at line 2, column 3"},
	{`/a`, `error: Cannot parse '/a': the regular expression doesn't end at line 1, column 1`},
	{`a^`, `error: Cannot parse 'a^': Encountered "<EOF>" at line 1, column 3`},
	{`a^b`, `error: Cannot parse 'a^b': a number has to follow ^, not b at line 1, column 3`},
	{`a^-1`, `error: Cannot parse 'a^-1': a number has to follow ^, not - at line 1, column 3`},
	{`[a TO b`, `error: Cannot parse '[a TO b': Encountered "<EOF>" at line 1, column 8`},
	{`[TO TO b]`, `error: Cannot parse '[TO TO b]': Encountered "TO" at line 1, column 2`},
	{`[a]`, `error: Cannot parse '[a]': Encountered "]" at line 1, column 3`},
	{`~`, `error: Cannot parse '~': Encountered "~" at line 1, column 1`},
	{"a\xff", "error: Cannot parse 'a\ufffd': a query must be valid UTF-8"},
}

func TestParse(t *testing.T) {
	for _, test := range constructs {
		if got := parsed(test.query, Options{}); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.query, got, test.want)
		}
	}
}

func parsed(query string, o Options) string {
	n, err := Parse(query, o)
	if err != nil {
		return "error: " + err.Error()
	}
	return n.String()
}

// TestDropped: of what an analyzer drops nothing is left in the tree, and AND refers to
// what comes before it then.
func TestDropped(t *testing.T) {
	o := Options{DefaultField: "d", Dropped: func(field, text string) bool { return field == "d" && (text == "the" || text == "1") }}
	for _, test := range []struct{ query, want string }{
		{`the`, `()`},
		{`a the`, `d:"a"`},
		{`the a`, `(d:"a")`},
		{`a AND the AND b`, `(+d:"a" +d:"b")`},
		{`a the AND b`, `(+d:"a" +d:"b")`},
		{`a AND the`, `d:"a"`},
		{`-the a`, `(d:"a")`},
		{`(the)^2 a`, `(d:"a")`},
		{`x:the`, `x:"the"`},
		{`"the" a`, `(d:"a")`},
		{`1`, `d:"1"`},
		{`"1"`, `()`},
		{`the* the~`, `(d:prefix("the") d:fuzzy("the")~2)`},
	} {
		if got := parsed(test.query, o); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.query, got, test.want)
		}
	}
}

// TestBounds: a query that would need much depth, many clauses or much text is refused.
func TestBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	group := strings.Repeat("(x y z) ", 500)
	for _, test := range []struct{ name, query, want string }{
		{"depth", nested(maxDepth), ""},
		{"too deep", nested(maxDepth + 1), "parentheses are nested more than 100 deep"},
		{"far too deep", strings.Repeat("(", maxBytes), "parentheses are nested more than 100 deep"},
		{"signs", strings.Repeat("+(", 200), "parentheses are nested more than 100 deep"},
		{"clauses", strings.Repeat("a ", maxClauses), ""},
		{"too many clauses", strings.Repeat("a ", maxClauses+1), "too many boolean clauses"},
		{"too many in all", strings.Repeat("("+group+") ", 5), "too many boolean clauses"},
		{"too long", strings.Repeat("a", maxBytes+1), "a query has at most 1048576 bytes"},
	} {
		got := parsed(test.query, Options{})
		if test.want == "" && strings.HasPrefix(got, "error") || test.want != "" && !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %.100s … want %q", test.name, got, test.want)
		}
	}
	if got := parsed(strings.Repeat("x", maxShown)+`ä "`, Options{}); len(got) > 2*maxShown {
		t.Errorf("the error repeats %d bytes", len(got))
	}
}

// TestOtherField: what names no field is of the default field.
func TestOtherField(t *testing.T) {
	if got := parsed(`a b:c "d"`, Options{DefaultField: "f"}); got != `(f:"a" b:"c" f:phrase("d")~0)` {
		t.Error(got)
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"1", "1"}, {"-1.5", "-1.5"}, {"+.5", "0.5"}, {"1.", "1"}, {"1e3", "1000"}, {"1E-2", "0.01"}, {"2d", "2"}, {"2.5F", "2.5"},
		{" 7\t", "7"}, {"NaN", "NaN"}, {"-Infinity", "-Inf"}, {"Infinity", "+Inf"}, {"0x1.8p1", "3"}, {"0x.8p1D", "1"}, {"1e999", "+Inf"},
		{"", "no"}, {"a", "no"}, {"1a", "no"}, {"1_000", "no"}, {"inf", "no"}, {"nan", "no"}, {"infinity", "no"}, {"0x10", "no"}, {".", "no"},
		{"1 2", "no"}, {"1e", "no"}, {"--1", "no"}, {"١", "no"}, {"Infinityd", "no"}, {"2019-01-01", "no"},
	} {
		got := "no"
		if f, ok := Number(test.text); ok {
			got = fmt.Sprint(f)
		}
		if got != test.want {
			t.Errorf("%q: %s, want %s", test.text, got, test.want)
		}
	}
}

// FuzzParse: any text is a tree of a bounded size or an *Error, the same each time, and
// what a tree holds keeps what the types promise.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`a AND (b OR -c:d)^2 "e f"~3`, `[a TO "b c"} /x\/y/ *:* \u0041 a*b? c~0.5`, `NOT a && !b || +c - d`, "(((", `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		n, err := Parse(query, Options{})
		if (n == nil) == (err == nil) {
			t.Fatalf("%v, %v", n, err)
		}
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("a %T: %v", err, err)
			}
			return
		}
		if again := parsed(query, Options{}); again != n.String() {
			t.Fatalf("%s\n%s", n, again)
		}
		if spaced := parsed(" "+query+"\n", Options{}); spaced != n.String() && !strings.HasSuffix(query, `\`) && !endsInSign(query) {
			t.Fatalf("with white space around it: %s\n%s", n, spaced)
		}
		checkTree(t, n, 0)
	})
}

// endsInSign reports whether white space makes a term of a query's last sign.
func endsInSign(query string) bool {
	return query != "" && strings.ContainsAny(query[len(query)-1:], "+-!")
}

func checkTree(t *testing.T, n Node, depth int) {
	if depth > maxDepth {
		t.Fatal("too deep")
	}
	switch n := n.(type) {
	case *Boolean:
		if len(n.Clauses) == 0 || len(n.Clauses) > maxClauses {
			t.Fatalf("%d clauses", len(n.Clauses))
		}
		for _, c := range n.Clauses {
			checkTree(t, c.Node, depth+1)
		}
	case *Fuzzy:
		if n.Edits < 0 || n.Edits > maxEdits {
			t.Fatalf("%d edits", n.Edits)
		}
	case *Phrase:
		if n.Slop < 0 {
			t.Fatalf("a slop of %d", n.Slop)
		}
	case *Wildcard:
		for _, p := range n.Pattern {
			if (p.Kind == Literal) == (p.Text == "") {
				t.Fatalf("%v", n.Pattern)
			}
		}
	}
}

// TestExact has a field whose terms keep their case: so does what is not analyzed.
func TestExact(t *testing.T) {
	exact := func(field string) bool { return field == "id" }
	for query, want := range map[string]string{
		`id:Ab* Ab*`:                 `(id:prefix("Ab") default:prefix("ab"))`,
		`id:A?b*C x:A?b`:             `(id:wildcard("A" ? "b" * "C") x:wildcard("a" ? "b"))`,
		`id:Ab~1 Ab~1`:               `(id:fuzzy("Ab")~1 default:fuzzy("ab")~1)`,
		`id:/A[Bc]/ /A[Bc]/`:         `(id:regexp("A[Bc]") default:regexp("a[bc]"))`,
		`id:[A TO "B c"] x:[A TO B]`: `(id:["A" TO "B c"] x:["a" TO "b"])`,
	} {
		tree, err := Parse(query, Options{Exact: exact})
		if err != nil || tree.String() != want {
			t.Errorf("%s: %v %v", query, tree, err)
		}
	}
}
