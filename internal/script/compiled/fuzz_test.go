package compiled

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// author writes random functions and documents.
type author struct {
	*rand.Rand
	locals []string
	loops  int
	names  int
	inside int // functions within
}

func (a *author) pick(list ...string) string { return list[a.IntN(len(list))] }

func (a *author) field() string {
	if a.IntN(60) == 0 {
		return a.pick("valueOf", "indexOf", "constructor")
	}
	return a.pick("a", "b", "c", "d", "s", "s", "t", "t", "o", "n", "nothing", "type", "length", "_id")
}

func (a *author) literal() string {
	return a.pick("0", "1", "2", "-1", "1.5", "10", "1e21", "0.1", "4294967296", "(0/0)", "(1/0)", `""`, `"a"`, `"b"`, `"1"`,
		`"10"`, `"é😀"`, `"1.5"`, `"x,y"`, `","`, `"order"`, `"\n\"\\"`, "true", "false", "null", "undefined", "[]", "({})", "doc.t", "doc.s", "doc")
}

func (a *author) local() string {
	if len(a.locals) == 0 {
		return "doc." + a.field()
	}
	return a.locals[a.IntN(len(a.locals))]
}

func (a *author) binary() string {
	return a.pick("+", "+", "-", "*", "/", "%", "==", "!=", "===", "!==", "<", ">", "<=", ">=", "&&", "||")
}

// expression writes an expression of at most the given depth.
func (a *author) expression(depth int) string {
	if depth <= 0 {
		switch a.IntN(4) {
		case 0:
			return a.literal()
		case 1:
			return a.local()
		default:
			return "doc." + a.field()
		}
	}
	e := func() string { return a.expression(depth - 1) }
	switch a.IntN(21) {
	case 0, 1:
		return "doc." + a.field()
	case 2:
		return "(" + e() + ")." + a.field()
	case 3:
		return "(" + e() + ")[" + e() + "]"
	case 4, 5:
		return "(" + e() + " " + a.binary() + " " + e() + ")"
	case 6:
		return "(" + a.pick("!", "-", "+", "typeof ") + "(" + e() + "))"
	case 7:
		return "(" + e() + " ? " + e() + " : " + e() + ")"
	case 8:
		return "[" + e() + ", " + e() + "]"
	case 9:
		return "({" + a.pick("a", "b", "1", `"x y"`, "2") + ": " + e() + ", " + a.pick("a", "c", "0", `"é"`) + ": " + e() + "})"
	case 10, 11, 12:
		return a.method(depth)
	case 13:
		return a.global(depth)
	case 14:
		return a.date(depth)
	case 15:
		return "`" + a.pick("", "x", "-") + "${" + e() + "}" + a.pick("", "é") + "`"
	case 16:
		return a.assignment(depth)
	case 17:
		return "(" + e() + ")?." + a.field()
	case 18:
		return a.walk(depth)
	case 19:
		return "(" + e() + ", " + e() + ")"
	default:
		return a.local()
	}
}

func (a *author) method(depth int) string {
	e := func() string { return a.expression(depth - 1) }
	this := "(" + e() + ")"
	if a.IntN(3) > 0 { // mostly of something that has the method
		switch a.IntN(3) {
		case 0:
			this = "doc.s"
		case 1:
			this = "doc.t"
		default:
			this = a.pick("String("+this+")", "["+a.expression(0)+", "+this+"]", a.local())
		}
	}
	switch a.IntN(4) {
	case 0:
		return this + "." + a.pick("toLowerCase", "toUpperCase", "trim", "toString", "join", "toFixed", "sort") + "()"
	case 1:
		return this + "." + a.pick("substring", "substr", "slice", "replace", "concat", "indexOf", "includes") + "(" + e() + ", " + e() + ")"
	case 2:
		return this + ".length"
	default:
		return this + "." + a.pick("substring", "substr", "slice", "split", "indexOf", "includes", "startsWith", "charAt",
			"concat", "join", "push", "hasOwnProperty", "toFixed") + "(" + e() + ")"
	}
}

func (a *author) global(depth int) string {
	e := func() string { return a.expression(depth - 1) }
	if a.IntN(6) == 0 {
		return "(" + e() + " in " + e() + ")"
	}
	return a.pick("Math.floor", "Math.round", "Number", "String", "parseInt", "parseFloat", "isNaN", "isArray", "Array.isArray",
		"Object.keys", "Date.parse") + "(" + e() + ")"
}

func (a *author) date(depth int) string {
	d := "new Date(" + a.pick("doc.d", "doc.d", "doc.d", "doc.n", "doc.d", "doc.d", a.expression(depth-1)) + ")"
	if a.IntN(8) == 0 {
		d = "new Date(" + a.expression(depth-1) + ", " + a.expression(depth-1) + a.pick("", ", 31", ", "+a.expression(0)) + ")"
	}
	if a.IntN(6) == 0 {
		return d
	}
	return d + "." + a.pick("getFullYear", "getMonth", "getDate", "getDay", "getHours", "getMinutes", "getSeconds",
		"getTime", "getUTCFullYear", "getUTCDay", "toISOString") + "()"
}

func (a *author) assignment(depth int) string {
	if len(a.locals) == 0 {
		return a.literal()
	}
	to := a.local()
	if a.IntN(3) == 0 {
		to += "[" + a.expression(depth-1) + "]"
	}
	if a.IntN(4) == 0 {
		return "(" + a.pick(to+"++", to+"--", "++"+to, "--"+to) + ")"
	}
	return "(" + to + " " + a.pick("=", "=", "+=", "-=", "*=") + " " + a.expression(depth-1) + ")"
}

func (a *author) walk(depth int) string {
	a.inside++
	defer func() { a.inside-- }()
	if a.inside > 2 {
		return a.literal()
	}
	before := len(a.locals)
	x, i := a.name(), a.name()
	of := a.pick("doc.t", "doc.t", "Object.keys(doc)", "("+a.expression(depth-1)+")")
	a.locals = append(a.locals, x, i)
	defer func() { a.locals = a.locals[:before] }()
	method := a.pick("forEach", "map", "filter", "some")
	if a.IntN(6) == 0 {
		return fmt.Sprintf("%s.reduce((%s, %s) => (%s), %s)", of, x, i, a.expression(depth-1), a.literal())
	}
	if a.IntN(2) == 0 {
		return fmt.Sprintf("%s.%s((%s, %s) => %s)", of, method, x, i, "("+a.expression(depth-1)+")")
	}
	return fmt.Sprintf("%s.%s(function(%s, %s){ %s return %s })", of, method, x, i, a.assignment(1)+";", a.expression(depth-1))
}

func (a *author) forEach(depth int) string {
	a.inside++
	defer func() { a.inside-- }()
	before := len(a.locals)
	x := a.name()
	of := a.pick("doc.t", "doc.t", "("+a.expression(1)+")")
	a.locals = append(a.locals, x)
	defer func() { a.locals = a.locals[:before] }()
	return fmt.Sprintf("%s.forEach(function(%s){ %s});", of, x, a.block(depth-1))
}

func (a *author) name() string {
	a.names++
	return fmt.Sprintf("v%d", a.names)
}

func (a *author) block(depth int) string {
	before := len(a.locals)
	var out strings.Builder
	for range 1 + a.IntN(3) {
		out.WriteString(a.statement(depth) + " ")
	}
	a.locals = a.locals[:before]
	return out.String()
}

func (a *author) statement(depth int) string {
	e := func() string { return a.expression(2) }
	if depth <= 0 {
		if a.IntN(8) == 0 {
			return e() + ";"
		}
		return "emit(" + e() + ", " + e() + ");"
	}
	switch a.IntN(16) {
	case 0, 1:
		return "if (" + e() + ") { " + a.block(depth-1) + "}"
	case 2:
		return "if (" + e() + ") { " + a.statement(0) + " } else { " + a.block(depth-1) + "}"
	case 3, 4:
		source := e()
		name := a.name()
		a.locals = append(a.locals, name)
		return a.pick("var ", "let ") + name + " = " + source + ";"
	case 5:
		return e() + ";"
	case 6:
		if a.inside == 0 && a.IntN(3) == 0 {
			return a.forEach(depth)
		}
		return a.loop(depth)
	case 7:
		if a.inside > 0 || a.IntN(3) > 0 {
			return a.assignment(2) + ";"
		}
		return "return;"
	case 8:
		return "switch (" + e() + ") { case " + e() + ": " + a.statement(depth-1) + " break; default: " + a.statement(0) + " case " + e() +
			": " + a.statement(0) + " }"
	case 9:
		return "emit(" + e() + ");"
	default:
		return "emit(" + e() + ", " + e() + ");"
	}
}

func (a *author) loop(depth int) string {
	if a.loops >= 2 {
		return a.statement(0)
	}
	a.loops++
	defer func() { a.loops-- }()
	source := a.expression(1)
	name := a.name()
	before := len(a.locals)
	a.locals = append(a.locals, name)
	body := a.block(depth - 1)
	a.locals = a.locals[:before]
	if a.IntN(4) == 0 {
		body += a.pick("break; ", "continue; ", "if ("+a.expression(1)+") break; ")
	}
	kind := a.pick("var", "let", "const")
	switch a.IntN(4) {
	case 0:
		return fmt.Sprintf("for (%s %s of %s) { %s}", kind, name, a.pick("doc.t", "doc.s", source), body)
	case 1:
		return fmt.Sprintf("for (%s %s in %s) { %s}", kind, name, a.pick("doc.o", "doc.t", "doc", source), body)
	case 2:
		return fmt.Sprintf("for (var %[1]s = 0; %[1]s < %[2]s; %[1]s++) { %[3]s}", name, a.pick("doc.t.length", "3", source), body)
	default:
		return fmt.Sprintf("var %[1]s = 3; while (%[1]s-- > 0) { %[2]s}", name, body)
	}
}

// function writes a whole map function.
func (a *author) function() string {
	helper := ""
	if a.IntN(4) == 0 {
		a.locals = []string{"x"}
		helper = a.pick("function helper(x){ ", "var helper = function(x){ ", "const helper = (x) => { ") + a.statement(1) + " return " + a.expression(2) + " }; "
		a.locals = nil
		helper += "emit(1, doc.a); var h = helper(doc." + a.field() + "); "
		a.locals = append(a.locals, "h")
	}
	body := a.statement(1)
	for range a.IntN(3) {
		body += " " + a.statement(a.IntN(4))
	}
	return "function(doc){ " + helper + body + " }"
}

// json writes a random JSON value.
func (a *author) json(depth int) string {
	if depth > 0 && a.IntN(3) == 0 {
		var parts []string
		for range a.IntN(5) {
			parts = append(parts, a.json(depth-1))
		}
		if a.IntN(2) == 0 {
			return "[" + strings.Join(parts, a.pick(",", " , ")) + "]"
		}
		for i := range parts {
			parts[i] = a.memberName() + a.pick(":", " : ") + parts[i]
		}
		return "{" + strings.Join(parts, ",") + a.pick("", "\n") + "}"
	}
	switch a.IntN(4) {
	case 0:
		return a.pick("0", "-0", "1", "2", "10", "-1", "1.0", "1.50", "0.1", "1e21", "1e400", "-1e400", "1E2", "5e-7", "0.000001",
			"12345678901234567890", "1500000000000", "123456789.123456789", "-0.0", "9007199254740993", "4294967295", "2147483648", "-1.5e-10")
	case 1:
		return a.pick("true", "false", "null")
	}
	return a.textLiteral()
}

func (a *author) textLiteral() string {
	return a.pick(`""`, `"a"`, `"b"`, `"order"`, `"1"`, `"-1"`, `"10"`, `"1.5"`, `" 1"`, `"1e3"`, `"x,y"`, `"Ünï"`, `"ß"`, `"\ud83d\ude00b"`,
		`"😀"`, `"\uffff"`, `"\n\t\"\\\/\u0000\u001f\u007f"`, `"\u2028"`, `"2020-02-29"`, `"2020-02-29T12:00:00Z"`, `"2019-12-31T23:59:59.999+01:30"`,
		`"2020"`, `"2020-13"`, `"May 3"`, `"length"`, `"constructor"`, `"12px"`, `"  trim  "`, `"\u00a0x\ufeff"`, `"Infinity"`, `"0x1f"`, `"007"`,
		`"`+strings.Repeat("long", 10)+`"`, `"`+strings.Repeat("ab,", 30)+`"`, `"`+strings.Repeat(`é\n`, 40)+`"`)
}

func (a *author) memberName() string {
	return a.pick(`"a"`, `"b"`, `"c"`, `"d"`, `"s"`, `"t"`, `"o"`, `"n"`, `"1"`, `"0"`, `"10"`, `"01"`, `"-1"`, `"\u0061"`, `"é"`, `"length"`,
		`"type"`, `"4294967295"`, `"4294967294"`, `"x y"`, `"indexOf"`)
}

// document writes a document that has, mostly, what functions look for.
func (a *author) document() string {
	parts := []string{`"_id":"x"`, `"_rev":"1-0"`, `"type":"order"`}
	for range a.IntN(8) {
		parts = append(parts, a.memberName()+":"+a.json(3))
	}
	if a.IntN(3) > 0 {
		parts = append(parts, `"s":`+a.textLiteral(), `"d":`+a.pick(`"2020-02-29T12:34:56.789Z"`, `"2019-01-31"`, `1577836799999`, `-1.5`, `"1969-12-31T23:59:59Z"`),
			`"t":[`+a.json(2)+","+a.json(1)+","+a.textLiteral()+"]", `"o":{`+a.memberName()+":"+a.json(1)+","+a.memberName()+":"+a.json(2)+"}")
	}
	a.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, a.pick(",", ", ")) + "}"
}

// tally counts what became of functions and documents.
type tally struct{ functions, refused, runs, handed int }

// compare writes a function and documents from seed, and compares.
func compare(t *testing.T, o *oracle, seed uint64, count *tally) {
	a := &author{Rand: rand.New(rand.NewPCG(seed, 7))}
	source := a.function()
	count.functions++
	m, why := Compile(source)
	if m == nil {
		count.refused++
		if why == "it does not parse" {
			t.Fatalf("seed %d does not parse: %s", seed, source)
		}
		return
	}
	f, err := o.compile(source)
	if err != nil {
		t.Fatalf("seed %d: %s: %v", seed, source, err)
	}
	machine := m.NewMachine()
	for range 4 {
		doc := a.document()
		difference, handed := differ(machine, o, f, doc)
		if difference != "" {
			t.Fatalf("seed %d: %s\nwith %s\n%s", seed, source, doc, difference)
		}
		count.runs++
		if handed {
			count.handed++
		}
	}
}

var (
	functionCount = flag.Uint64("functions", 5000, "how many functions TestDifferential writes")
	firstSeed     = flag.Uint64("seed", 0, "the seed of the first of them")
)

func TestDifferential(t *testing.T) {
	o := newOracle()
	var count tally
	for i := range *functionCount {
		compare(t, o, *firstSeed+i, &count)
	}
	t.Logf("%+v", count)
	if count.refused > count.functions/3 || count.handed > count.runs/2 {
		t.Errorf("too little was compared: %+v", count)
	}
}

func FuzzDifferential(f *testing.F) {
	o := newOracle()
	var count tally
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { compare(t, o, seed, &count) })
}
