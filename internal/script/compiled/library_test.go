package compiled

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/jsonscan"
)

// TestInheritedNames asks the interpreter what its prototypes have.
func TestInheritedNames(t *testing.T) {
	o := newOracle()
	for expression, k := range map[string]kind{
		"Object.prototype": rawObject, "Array.prototype": rawArray, "String.prototype": text,
		"Number.prototype": number, "Date.prototype": date, "Boolean.prototype": boolean,
	} {
		v, err := o.vm.RunString("Object.getOwnPropertyNames(" + expression + ")")
		if err != nil {
			t.Fatal(err)
		}
		names := v.Export().([]any)
		if len(names) < 3 {
			t.Errorf("%s has only %v", expression, names)
		}
		for _, name := range names {
			if !inherited(k, name.(string)) && name != "length" {
				t.Errorf("%s.%s is not known", expression, name)
			}
		}
	}
}

// try runs one function over many documents and wants most of them decided.
func try(t *testing.T, source string, leastDecided float64, documents []string) {
	t.Helper()
	m, why := Compile(source)
	if m == nil {
		t.Fatalf("%s: %s", source, why)
	}
	o := newOracle()
	f, err := o.compile(source)
	if err != nil {
		t.Fatal(err)
	}
	machine := m.NewMachine()
	decided := 0
	for _, doc := range documents {
		difference, handed := differ(machine, o, f, doc)
		if difference != "" {
			t.Fatalf("%s\nwith %s\n%s", source, doc, difference)
		}
		if !handed {
			decided++
		}
	}
	if float64(decided) < leastDecided*float64(len(documents)) {
		t.Errorf("%s: only %d of %d documents were decided", source, decided, len(documents))
	}
}

func TestNumbersAreWrittenAsInJavaScript(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var documents []string
	for range 10000 {
		n := math.Float64frombits(r.Uint64())
		switch r.IntN(4) {
		case 0:
			n = float64(r.Int64N(1<<54) - 1<<53)
		case 1:
			n = float64(r.Int64N(1e6)) / math.Pow10(r.IntN(9))
		case 2:
			n = math.Pow10(r.IntN(40)-15) * float64(r.IntN(100))
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			continue
		}
		spelling := strconv.FormatFloat(n, "efg"[r.IntN(3)], r.IntN(22)-1, 64)
		documents = append(documents, `{"a":`+spelling+`,"b":[`+spelling+`]}`)
	}
	try(t, `function(doc){ emit(doc.a, doc); emit(doc.a + "", doc.a * 3); emit(Math.round(doc.a), doc.a % 7); emit(doc.a / 3 - 1, String(-doc.a)) }`, 1, documents)
	try(t, `function(doc){ emit(doc.a.toFixed(2), doc.a.toFixed()) }`, 0.4, documents)
}

func TestStringsAreNumbersAsInJavaScript(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var documents []string
	for range 6000 {
		alphabet := []string{"0123456789", "0123456789.-", "019.eE+-_xXbBoO abcdefInfintyNaN:/#", "0.", "12e-+"}[r.IntN(5)]
		var s strings.Builder
		for range r.IntN(1 + r.IntN(8)) {
			s.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		documents = append(documents, fmt.Sprintf(`{"a":%q,"n":%d,"x":%g}`, s.String(), r.IntN(30)-5, float64(r.IntN(100))/10))
	}
	try(t, `function(doc){ emit(Number(doc.a), doc.a * 1) }`, 0.5, documents)
	try(t, `function(doc){ emit(parseInt(doc.a), parseInt(doc.a, 10)) }`, 0.4, documents)
	try(t, `function(doc){ emit(parseFloat(doc.a)) }`, 0.4, documents)
	try(t, `function(doc){ emit(doc.a == doc.n, doc.x == doc.a); emit(doc.a == true, doc.a == false) }`, 0.3, documents)
	try(t, `function(doc){ emit(doc.a < doc.n, doc.a >= doc.x) }`, 0.5, documents)
}

func TestDatesAreReadAsInJavaScript(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var documents []string
	for range 15000 {
		s := fmt.Sprintf("%04d-%02d-%02d", r.IntN(10000), r.IntN(14), r.IntN(33))
		if r.IntN(6) == 0 {
			s = s[:4+3*r.IntN(2)]
		}
		if r.IntN(3) > 0 {
			s += fmt.Sprintf("T%02d:%02d", r.IntN(26), r.IntN(62))
			if r.IntN(3) > 0 {
				s += fmt.Sprintf(":%02d", r.IntN(62))
				if r.IntN(2) > 0 {
					s += "." + fmt.Sprint(r.IntN(1<<r.IntN(32)))
				}
			}
			s += []string{"", "Z", "+02:00", "-11:30", "+0200", "z", " ", "+24:00"}[r.IntN(8)]
		}
		documents = append(documents, `{"d":"`+s+`"}`)
	}
	for range 10000 {
		documents = append(documents, fmt.Sprintf(`{"d":%g}`, (r.Float64()-0.5)*math.Pow10(r.IntN(18))))
	}
	try(t, `function(doc){ var d = new Date(doc.d); emit(d.getTime(), Date.parse(doc.d)); emit([d.getFullYear(), d.getMonth(), d.getDate(), d.getDay()],
		[d.getHours(), d.getMinutes(), d.getSeconds()]) }`, 0.3, documents)
	try(t, `function(doc){ emit(new Date(doc.d), new Date(doc.d).toISOString()) }`, 0.3, documents)
}

func TestPartsMakeDatesAsInJavaScript(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var documents []string
	for range 6000 {
		documents = append(documents, fmt.Sprintf(`{"y":%d,"m":%d,"d":%d,"h":%d,"s":%g}`, r.IntN(4000)-500, r.IntN(60)-30, r.IntN(200)-90,
			r.IntN(200)-90, r.Float64()*300-150))
	}
	try(t, `function(doc){ emit(new Date(doc.y, doc.m).getTime(), new Date(doc.y, doc.m, doc.d, doc.h, doc.d, doc.s, doc.h).getTime());
		emit(new Date(doc.y, doc.m, doc.d, doc.h).getDay()) }`, 0.9, documents)
}

func TestCaseOfCharacters(t *testing.T) {
	var documents []string
	count := 0
	for r := rune(0x20); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && plainCase(r) {
			count++
			documents = append(documents, `{"a":`+string(jsonscan.AppendQuoted(nil, "a"+string(r)+"B"))+`}`)
		}
	}
	if count < 1000 {
		t.Errorf("only %d characters", count)
	}
	try(t, `function(doc){ emit(doc.a.toLowerCase(), doc.a.toUpperCase()) }`, 1, documents)
}

// TestStringsInCodeUnits tries what counts, cuts and orders UTF-16.
func TestStringsInCodeUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	alphabet := []rune("ab,\u00e9\u00a0 \u2028\u3000\ufeff\ud7ff\ue000\uffff\U00010000\U0001f600\U0010ffff\"\\\n\u0001\u007f")
	word := func() string {
		var s []rune
		for range r.IntN(7) {
			s = append(s, alphabet[r.IntN(len(alphabet))])
		}
		return string(jsonscan.AppendQuoted(nil, string(s)))
	}
	var documents []string
	for range 6000 {
		documents = append(documents, fmt.Sprintf(`{"a":%s,"b":%s,"i":%d,"j":%d}`, word(), word(), r.IntN(12)-4, r.IntN(12)-4))
	}
	try(t, `function(doc){ emit(doc.a < doc.b, doc.a >= doc.b); emit(doc.a.length, doc.a + doc.b); emit(doc.a.trim(), doc.a.indexOf(doc.b)) }`, 1, documents)
	for _, method := range []string{"slice(doc.i, doc.j)", "substring(doc.i, doc.j)", "substr(doc.i, doc.j)", "charAt(doc.i)",
		"indexOf(doc.b, doc.i)", "split(doc.b)", "split(',')", "replace(doc.b, 'x')", "startsWith(doc.b, doc.i)",
		"includes(doc.b)"} {
		try(t, `function(doc){ emit(doc.a.`+method+`) }`, 0.5, documents)
	}
	try(t, `function(doc){ emit(doc.a[doc.i]) }`, 0.5, documents)
}

// TestLongValues tries what is done in pieces: strings in chunks and windows, objects with
// many members, lists and rows that grow.
func TestLongValues(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	var documents []string
	for range 60 {
		n := r.IntN(1500)
		unit := [...]string{"a", "ab,", "é", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", `\n"`, "x\U0001f600"}[r.IntN(6)]
		s := strings.Repeat(unit, n/len(unit)) + "end"
		part := ""
		if i, j := r.IntN(len(s)), r.IntN(len(s)); utf8.RuneStart(s[i]) && utf8.RuneStart(s[j]) && i < j {
			part = s[i:min(j, i+r.IntN(100))]
		}
		var members []string
		for _, i := range r.Perm(r.IntN(60)) {
			members = append(members, fmt.Sprintf(`"%s%d":%d`, [...]string{"", "k"}[r.IntN(2)], i, i))
		}
		if !utf8.ValidString(part) {
			part = "b"
		}
		documents = append(documents, fmt.Sprintf(`{"s":%s,"p":%s,"o":{%s},"l":[%s1]}`, jsonscan.AppendQuoted(nil, s),
			jsonscan.AppendQuoted(nil, part), strings.Join(members, ","), strings.Repeat(`"x",`, r.IntN(300))))
	}
	for _, source := range []string{
		`function(doc){ emit(doc.s.indexOf(doc.p), doc.s.split(doc.p)); emit(doc.s.replace(doc.p, "-"), doc.s.includes(doc.p + "x")); emit(doc.s.length, doc.s.trim()) }`,
		`function(doc){ var a = "", b = ""; for (var i = 0; i < 700; i++) { a += i; if (i % 3 == 0) b += "y" + a.length } emit(a, b); emit(b + a, a + a) }`,
		`function(doc){ emit(doc.o, Object.keys(doc.o)); for (var k in doc.o) emit(k, doc.o[k]); emit(doc) }`,
		`function(doc){ var o = {}; for (var k in doc.o) o[doc.o[k]] = k; emit(o, Object.keys(o)); emit([o, o].concat(doc.l), doc.l.join("")) }`,
		`function(doc){ var l = []; for (var i = 0; i < doc.l.length; i++) { l.push([i, doc.l[i]]); emit(l.length, doc.s) } emit(l.slice(3).map(function(x){ return x + "!" }), l.length) }`,
		`function(doc){ emit(doc.s.toUpperCase(), doc.s.toLowerCase() + doc.s.toUpperCase()); emit(doc.s.slice(5, 900), doc.s.charAt(700) + doc.s[3]) }`,
	} {
		try(t, source, 0.6, documents)
	}
}

// TestUnits holds how code units are counted and parts are found.
func TestUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	m := &Machine{work: math.MaxInt}
	for range 2000 {
		var s, part []rune
		for range r.IntN(1200) {
			s = append(s, []rune("aaab\u00e9\uffff\U0001f600")[r.IntN(1+r.IntN(7))])
		}
		if i := r.IntN(len(s) + 1); i < len(s) {
			part = s[i:min(len(s), i+r.IntN(80))]
		}
		if want, got := len(utf16.Encode(s)), units([]byte(string(s))); got != want {
			t.Fatalf("%q has %d units, counted as %d", string(s), want, got)
		}
		looked := string(part) + [...]string{"", "b"}[r.IntN(2)]
		if want, got := strings.Index(string(s), looked), m.index([]byte(string(s)), []byte(looked)); got != want {
			t.Fatalf("%q is in %q at %d, found at %d", looked, string(s), want, got)
		}
	}
}

// TestReadNumberKeepsOnlyCanonicalText holds the text of numbers against
// writing them anew.
func TestReadNumberKeepsOnlyCanonicalText(t *testing.T) {
	reader := &Machine{work: math.MaxInt}
	r := rand.New(rand.NewPCG(11, 12))
	kept := 0
	for range 200000 {
		s := strconv.FormatInt(r.Int64N(int64(math.Pow10(1+r.IntN(17)))), 10)
		if r.IntN(2) == 0 {
			s += "." + strings.Repeat("0", r.IntN(8)) + strconv.Itoa(r.IntN(1<<(1+r.IntN(30))))
		}
		if r.IntN(3) == 0 {
			s = "-" + s
		}
		v := reader.decodeNumber([]byte(s))
		if want, _ := strconv.ParseFloat(s, 64); v.n != want || math.Signbit(v.n) != math.Signbit(want) {
			t.Fatalf("%s is read as %v, want %v", s, v.n, want)
		}
		if v.s != nil {
			kept++
			if got := string(appendNumber(nil, v.n)); got != s {
				t.Fatalf("%s is kept and would be written as %s", s, got)
			}
		}
	}
	if kept < 50000 {
		t.Errorf("only %d texts were kept", kept)
	}
}

// TestNoGarbage runs what should make none.
func TestNoGarbage(t *testing.T) {
	m, why := Compile(`function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1], doc.total); emit(doc.user + doc.status.toUpperCase(), {a: doc}) } }`)
	if m == nil {
		t.Fatal(why)
	}
	machine := m.NewMachine()
	doc := order(100)
	var rows []Row
	var failure error
	run := func() {
		rows, failure = machine.Run(context.Background(), doc, rows[:0])
		machine.Reset()
	}
	for range 3 {
		run()
	}
	if n := testing.AllocsPerRun(100, run); n > 0 || failure != nil || len(rows) != 2 {
		t.Errorf("%v allocations a run, %d rows, %v", n, len(rows), failure)
	}
}

// TestNestedSources returns the parser sources that go deep.
func TestNestedSources(t *testing.T) {
	for _, one := range []string{"(", "[", "!", "- ", "{a:", "a=>", "(a=>", "({a:", "`${", "(a=", "if(1)", "for(;;)", "1+", "function a(){", "a?"} {
		m, why := Compile(("function(doc){" + strings.Repeat(one, sourceLimit))[:sourceLimit])
		if m != nil || why == "" {
			t.Errorf("%s was compiled", one)
		}
	}
	deep := `function(doc){ emit(` + strings.Repeat("(1+", 1500) + "doc.a" + strings.Repeat(")", 1500) + `) }`
	m, why := Compile(deep)
	if m == nil {
		t.Fatal(why)
	}
	rows, err := m.NewMachine().Run(context.Background(), []byte(`{"a":1}`), nil)
	if err != nil || len(rows) != 1 || string(rows[0].Key) != "1501" {
		t.Errorf("%q, %v", rows, err)
	}
	nested := []byte(`{"a":` + strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000) + `}`)
	for _, source := range []string{`function(doc){ emit(doc.a) }`, `function(doc){ emit(1, doc) }`, `function(doc){ emit(doc.a + "") }`} {
		m, _ := Compile(source)
		if _, err := m.NewMachine().Run(context.Background(), nested, nil); !errors.Is(err, ErrInterpret) {
			t.Errorf("%s: %v", source, err)
		}
	}
}
