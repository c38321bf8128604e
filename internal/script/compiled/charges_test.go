package compiled

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja/token"
)

// charged is an operation of the library or of the language, with documents for
// which it has as much to do as it can.
type charged struct {
	expression string
	document   func(n int) string // of about n bytes
	makes      int                // bytes of memory that its result takes for each byte of the input, at least
	adds       int                // bytes that it writes, for each byte of the input
}

// The documents.
var (
	plain = func(n int) string { return `{"t":"` + strings.Repeat("a", n) + `","u":"b"}` }
	pair  = func(n int) string {
		return `{"t":"` + strings.Repeat("a", n) + `x","u":"` + strings.Repeat("a", n) + `y"}`
	}
	wide   = func(n int) string { return `{"t":"` + strings.Repeat("é", n/2) + `","u":"b"}` }
	blank  = func(n int) string { return `{"t":"` + strings.Repeat(" ", n) + `"}` }
	quoted = func(n int) string { return `{"t":"` + strings.Repeat(`\n`, n/2) + `"}` }
	digit  = func(n int) string { return `{"t":"` + strings.Repeat("1", n) + `:"}` }
	long   = func(n int) string {
		return `{"t":` + strings.Repeat("1", min(n, 300)) + "." + strings.Repeat("1", n) + `}`
	}
	commas = func(n int) string { return `{"t":"` + strings.Repeat("a,", n/2) + `"}` }
	ones   = func(n int) string { return `{"t":[` + strings.Repeat("1,", n/2) + `1]}` }
	nulls  = func(n int) string { return `{"t":[` + strings.Repeat("null,", n/5) + `1]}` }
	texts  = func(n int) string { return `{"t":[` + strings.Repeat(`"",`, n/3) + `"b"]}` }
	equals = func(n int) string {
		return `{"t":["` + strings.Repeat("a", n) + `x"],"u":"` + strings.Repeat("a", n) + `y"}`
	}
	deep = func(n int) string {
		return `{"t":` + strings.Repeat("[", 100) + strings.Repeat("1,", n/2) + "1" + strings.Repeat("]", 100) + `}`
	}
	branch = func(n int) string { return `{"t":{` + members(n) + `},"u":"b"}` }
	within = func(n int) string { return `{"t":{"a":{"a":{` + members(n) + `}}}}` }
)

// members writes members of an object, with names that are indexes, the last first.
func members(n int) string {
	var b strings.Builder
	for i := n / 10; i > 0; i-- {
		b.WriteString(`"` + strings.Repeat("9", 8-len(number8(i))) + number8(i) + `":1,`)
	}
	return b.String() + `"z":1`
}

func number8(i int) string { return string(appendNumber(nil, float64(i))) }

// chargedMethods has every method of every kind of value, chargedFunctions every
// function, chargedOperators every operator.
var (
	chargedMethods = map[string][]charged{
		"toLowerCase": {{"doc.t.toLowerCase()", plain, 1, 0}, {"doc.t.toLowerCase()", wide, 1, 0}},
		"toUpperCase": {{"doc.t.toUpperCase()", plain, 1, 0}, {"doc.t.toUpperCase()", wide, 1, 0}},
		"trim":        {{"doc.t.trim()", blank, 0, 0}},
		"substring":   {{"doc.t.substring(1, 1)", plain, 0, 0}, {"doc.t.substring(1)", wide, 0, 0}},
		"substr":      {{"doc.t.substr(1, 0)", plain, 0, 0}, {"doc.t.substr(1)", wide, 0, 0}},
		"slice":       {{"doc.t.slice(1, 1)", plain, 0, 0}, {"doc.t.slice(1)", wide, 0, 0}, {"doc.t.slice(1)", ones, 16, 0}},
		"split":       {{"doc.t.split('')", plain, 40, 0}, {"doc.t.split(',')", commas, 20, 0}, {"doc.t.split(doc.u)", pair, 0, 0}},
		"indexOf": {{"doc.t.indexOf(doc.u)", pair, 0, 0}, {"doc.t.indexOf('b')", plain, 0, 0}, {"doc.t.indexOf('b', 1)", wide, 0, 0},
			{"doc.t.indexOf(2)", ones, 0, 0}, {"doc.t.indexOf(doc.u)", equals, 0, 0}},
		"includes":   {{"doc.t.includes(doc.u)", pair, 0, 0}, {"doc.t.includes(2)", ones, 0, 0}, {"doc.t.includes(doc.u)", equals, 0, 0}},
		"startsWith": {{"doc.t.startsWith(doc.u)", pair, 0, 0}},
		"charAt":     {{"doc.t.charAt(1)", plain, 0, 0}, {"doc.t.charAt(1)", wide, 0, 0}},
		"replace":    {{"doc.t.replace('a', '')", plain, 0, 0}, {"doc.t.replace(doc.u, '')", pair, 0, 0}, {"'a'.replace('a', doc.t)", plain, 1, 0}},
		"concat":     {{"doc.t.concat(1)", ones, 16, 0}},
		"join":       {{"doc.t.join('')", ones, 0, 0}, {"doc.t.join('')", nulls, 0, 0}, {"doc.t.join('-')", texts, 0, 0}, {"doc.t.join('')", deep, 0, 0}},
		"push":       {{"(l = doc.t.slice(1), l.push(l))", ones, 16, 0}},
		"sort":       {{"[doc.t, doc.u].sort()", pair, 0, 0}, {"doc.t.slice(0).sort()", func(n int) string { return ones(min(n, 4000)) }, 16, 0}},

		"hasOwnProperty": {{"doc.t.hasOwnProperty('x')", branch, 0, 0}, {"doc.hasOwnProperty(doc.t)", plain, 0, 0}},
		"toString":       {{"doc.t.toString()", ones, 0, 0}, {"doc.t.toString()", texts, 0, 0}, {"doc.t.toString()", long, 0, 0}},
		"toFixed":        {{"doc.t.toFixed(1)", long, 0, 0}, {"(1).toFixed(doc.t)", digit, 0, 0}},
		"getTime":        {{"new Date(doc.t).getTime()", long, 0, 0}},
	}
	chargedWalks = map[string][]charged{
		"forEach": {{"doc.t.forEach(function(x){ })", ones, 0, 0}},
		"map":     {{"doc.t.map(function(x){ return x })", ones, 16, 0}},
		"filter":  {{"doc.t.filter(function(x){ return 1 })", ones, 16, 0}},
		"some":    {{"doc.t.some(function(x){ return 0 })", ones, 0, 0}},
	}
	chargedFunctions = map[string][]charged{
		"Number":        {{"Number(doc.t)", digit, 0, 0}, {"Number(doc.t)", long, 0, 0}, {"Number(doc.t)", texts, 0, 0}},
		"String":        {{"String(doc.t)", ones, 0, 0}, {"String(doc.t)", long, 0, 0}},
		"parseInt":      {{"parseInt(doc.t, 10)", ones, 0, 0}, {"parseInt(doc.t, 10)", plain, 0, 0}},
		"parseFloat":    {{"parseFloat(doc.t)", digit, 0, 0}, {"parseFloat(doc.t)", ones, 0, 0}},
		"isNaN":         {{"isNaN(doc.t)", digit, 0, 0}},
		"isArray":       {{"isArray(doc.t.slice(1))", ones, 16, 0}},
		"Array.isArray": {{"Array.isArray(doc.t.slice(1))", ones, 16, 0}},
		"Object.keys":   {{"Object.keys(doc.t)", branch, 4, 0}, {"Object.keys(doc.t)", ones, 16, 0}},
		"Date.parse":    {{"Date.parse(doc.t)", func(n int) string { return `{"t":["2020` + strings.Repeat("", n) + `"]}` }, 0, 0}},
		"Math.floor":    {{"Math.floor(doc.t)", digit, 0, 0}},
		"Math.round":    {{"Math.round(doc.t)", digit, 0, 0}},
	}
	chargedOperators = map[token.Token][]charged{
		token.PLUS:             {{"doc.t + doc.u", plain, 1, 0}, {"doc.t + 'x'", ones, 0, 0}, {"1 + doc.t", long, 0, 0}},
		token.MINUS:            {{"doc.t - 1", digit, 0, 0}},
		token.MULTIPLY:         {{"doc.t * 1", digit, 0, 0}},
		token.SLASH:            {{"doc.t / 1", digit, 0, 0}},
		token.REMAINDER:        {{"doc.t % 7", digit, 0, 0}},
		token.EQUAL:            {{"doc.t.slice(1) == doc.u.slice(1)", pair, 0, 0}, {"doc.t == 1", digit, 0, 0}, {"doc.t == 'x'", ones, 0, 0}},
		token.NOT_EQUAL:        {{"doc.t != doc.u", pair, 0, 0}},
		token.STRICT_EQUAL:     {{"doc.t === doc.u", pair, 0, 0}},
		token.STRICT_NOT_EQUAL: {{"doc.t !== doc.u", pair, 0, 0}},
		token.LESS:             {{"doc.t < doc.u", pair, 0, 0}},
		token.GREATER:          {{"doc.t > doc.u", pair, 0, 0}},
		token.LESS_OR_EQUAL:    {{"doc.t <= doc.u", pair, 0, 0}},
		token.GREATER_OR_EQUAL: {{"doc.t >= doc.u", pair, 0, 0}},
		token.IN:               {{"'x' in doc.t", branch, 0, 0}, {"doc.t in doc", plain, 0, 0}},
	}
	// chargedOthers is what has no table of its own.
	chargedOthers = map[string][]charged{
		"reading":    {{"doc.t", plain, 0, 0}, {"doc.t", quoted, 0, 0}, {"doc.t", long, 0, 0}, {"doc.missing", branch, 0, 0}, {"doc.t.z", branch, 0, 0}, {"doc.t.a.a.z", within, 0, 0}},
		"indexes":    {{"doc.t[0]", ones, 0, 0}, {"doc.t[0]", wide, 0, 0}, {"doc[doc.t]", plain, 0, 0}, {"({a: 1})[doc.t]", plain, 0, 0}},
		"length":     {{"doc.t.length", plain, 0, 0}, {"doc.t.length", wide, 0, 0}, {"doc.t.length", ones, 0, 0}},
		"unary":      {{"-doc.t", digit, 0, 0}, {"+doc.t", digit, 0, 0}, {"!doc.t", plain, 0, 0}, {"typeof doc.t", plain, 0, 0}},
		"template":   {{"`${doc.t}x${doc.t}`", plain, 2, 0}},
		"reduce":     {{"doc.t.reduce(function(a, x){ return x }, 0)", ones, 0, 0}},
		"dates":      {{"new Date(doc.t)", long, 0, 0}, {"new Date(doc.t, 1)", long, 0, 0}},
		"literals":   {{"[doc.t + 1, {a: doc.t + 2}]", plain, 2, 0}},
		"assignment": {{"(l = {}, l[doc.t] = 1, l)", plain, 0, 0}},
		"emit": {{"emit()", plain, 0, 0}, {"emit(doc.t)", plain, 0, 1}, {"emit(doc.t)", quoted, 0, 1}, {"emit(1, doc.t)", ones, 0, 1}, {"emit([doc], {a: doc})", branch, 0, 2},
			{"emit(doc)", deep, 0, 1}, {"emit(doc)", within, 0, 1}, {"emit(doc.t)", long, 0, 0}, {"emit(doc.t.slice(1))", ones, 16, 1}},
	}
)

// everything returns all of the tables.
func everything(t testing.TB) map[string][]charged {
	all := map[string][]charged{}
	add := func(name string, list []charged) {
		if len(list) == 0 {
			t.Errorf("nothing holds what %s is charged", name)
		}
		all[name] = list
	}
	for name := range methods {
		if (strings.HasPrefix(name, "get") || name == "toISOString") && chargedMethods[name] == nil {
			continue // of a number alone
		}
		add("."+name, chargedMethods[name])
	}
	for name := range functions {
		add(name, chargedFunctions[name])
	}
	for name := range walks {
		add("."+name, chargedWalks[name])
	}
	for t := token.Token(0); t < 200; t++ {
		if operators(t) != nil {
			add("operator "+t.String(), chargedOperators[t])
		}
	}
	for name, list := range chargedOthers {
		add(name, list)
	}
	return all
}

// cost runs an expression once and returns what it was charged beside what reading the
// document takes.
func (c *charged) cost(t testing.TB, n int) (work, memory, output int) {
	t.Helper()
	run := func(expression string) (work, memory, output int) {
		m, why := Compile("function(doc){ var l; " + expression + " }")
		if m == nil {
			t.Fatalf("%s is not compiled: %s", expression, why)
		}
		machine := m.NewMachine()
		_, err := machine.Run(context.Background(), []byte(c.document(n)), nil)
		if e := (*Exception)(nil); err != nil && !errors.As(err, &e) {
			t.Logf("%s with %d bytes: %v", c.expression, n, err)
		}
		return machine.spent(), machine.held(), machine.wrote()
	}
	work, memory, output = run(c.expression)
	base := ""
	if c.expression != "doc.missing" && !strings.HasPrefix(c.expression, "emit") && !strings.Contains(c.expression, "doc)") {
		base = "doc.missing"
	}
	w, h, _ := run(base)
	return work - w, memory - h, output
}

// TestEverythingIsCharged: whatever works on strings, arrays, objects and documents is
// charged in proportion to them, and for the memory of what it makes.
func TestEverythingIsCharged(t *testing.T) {
	for name, list := range everything(t) {
		for _, c := range list {
			n := 1 << 14
			if strings.Contains(c.expression, "sort()") {
				n = 1 << 11
			}
			w1, m1, o1 := c.cost(t, n)
			w2, m2, o2 := c.cost(t, 2*n)
			in := len(c.document(2*n)) - len(c.document(n))
			if in > 0 && c.expression != "emit()" && w2-w1 < in/16 {
				t.Errorf("%s: %s is charged %d and then %d for %d bytes more", name, c.expression, w1, w2, in)
			}
			if in > 0 && m2-m1 < c.makes*in*9/10 {
				t.Errorf("%s: %s is charged %d and then %d bytes of memory for %d bytes more", name, c.expression, m1, m2, in)
			}
			if o2-o1 < c.adds*in*9/10 {
				t.Errorf("%s: %s wrote %d and then %d", name, c.expression, o1, o2)
			}
		}
	}
}

// TestNothingOutrunsItsBudget: each operation is done again and again with a large
// document, its results are kept, and it ends before it has allocated much.
func TestNothingOutrunsItsBudget(t *testing.T) {
	const n = 100_000
	for name, list := range everything(t) {
		for _, c := range list {
			m, why := Compile("function(doc){ var l, kept = []; for (var i = 0; i < 1e9; i++) kept.push(" + c.expression + ") }")
			if m == nil {
				t.Fatalf("%s: %s", c.expression, why)
			}
			machine := m.NewMachine()
			doc := []byte(c.document(n))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := machine.Run(context.Background(), doc, nil)
			runtime.ReadMemStats(&after)
			if e := (*Exception)(nil); !errors.Is(err, ErrInterpret) && !errors.As(err, &e) {
				t.Errorf("%s: %s went on: %v", name, c.expression, err)
			}
			if took := int(after.TotalAlloc - before.TotalAlloc); took > 2*memoryLimit {
				t.Errorf("%s: %s allocated %d MB", name, c.expression, took>>20)
			}
			if machine.held() > memoryLimit+memoryPerByte*len(doc) || machine.spent() > 2*(workLimit+workPerByte*len(doc)) {
				t.Errorf("%s: %s held %d and spent %d", name, c.expression, machine.held(), machine.spent())
			}
		}
	}
}

// TestEveryRunIsWatched: a run looks at its context and at the clock while it spends.
func TestEveryRunIsWatched(t *testing.T) {
	m, why := Compile(`function(doc){ for (;;) doc.t.indexOf("b") }`)
	if m == nil {
		t.Fatal(why)
	}
	doc := []byte(plain(100))
	clock := time.Unix(0, 0)
	machine := m.NewMachine()
	looks := 0
	machine.now = func() time.Time { looks++; clock = clock.Add(timeLimit / 4); return clock }
	if _, err := machine.Run(context.Background(), doc, nil); !errors.Is(err, ErrInterpret) || looks != 6 || machine.spent() > 10*lookAfter {
		t.Errorf("after %d looks at the clock and %d units: %v", looks, machine.spent(), err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	looks = 0
	machine.now = func() time.Time {
		if looks++; looks == 3 {
			cancel()
		}
		return time.Unix(0, 0)
	}
	rows, err := machine.Run(ctx, doc, []Row{{}})
	if !errors.Is(err, context.Canceled) || len(rows) != 1 || looks != 3 || machine.spent() > 10*lookAfter {
		t.Errorf("after %d looks and %d units: %v", looks, machine.spent(), err)
	}

	// What takes next to nothing asks for neither.
	quick, _ := Compile(`function(doc){ emit(doc.t) }`)
	machine = quick.NewMachine()
	machine.now = func() time.Time { t.Error("the clock was looked at"); return clock }
	if _, err := machine.Run(context.Background(), doc, nil); err != nil {
		t.Error(err)
	}
}

// TestLongStringsAreReadOnce: what has been found out about a string of the document is
// not found out again.
func TestLongStringsAreReadOnce(t *testing.T) {
	spent := func(times string) int {
		m, why := Compile(`function(doc){ for (var i = 0; i < ` + times + `; i++) doc.t.slice(1, 1) }`)
		if m == nil {
			t.Fatal(why)
		}
		machine := m.NewMachine()
		if _, err := machine.Run(context.Background(), []byte(plain(1<<20)), nil); err != nil {
			t.Fatal(err)
		}
		return machine.spent()
	}
	if once, often := spent("1"), spent("1000"); often > 2*once {
		t.Errorf("%d units for one, %d for a thousand", once, often)
	}
}

// TestLittleIsKept: a machine does not keep what documents before have made it allocate.
func TestLittleIsKept(t *testing.T) {
	m, why := Compile(`function(doc){ var kept = []; for (var i = 0; i < doc.n; i++) kept.push([]); kept.push(doc.t.split("")) }`)
	if m == nil {
		t.Fatal(why)
	}
	machine := m.NewMachine()
	for i := range 100 {
		doc := `{"n":` + number8(i) + `,"t":"` + strings.Repeat("a", 10000) + `"}`
		if _, err := machine.Run(context.Background(), []byte(doc), nil); err != nil {
			t.Fatal(err)
		}
	}
	kept := cap(machine.text)
	for _, c := range machine.pool {
		kept += cap(c.items) * 48
	}
	if kept > keptMemory+1<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// BenchmarkCharges reports how many nanoseconds a unit of work of each operation takes.
func BenchmarkCharges(b *testing.B) {
	for name, list := range everything(b) {
		for _, c := range list {
			m, why := Compile("function(doc){ var l; for (var i = 0; i < 1e9; i++) " + c.expression + " }")
			if m == nil {
				b.Fatal(why)
			}
			doc := []byte(c.document(20_000))
			b.Run(strings.ReplaceAll(name+" "+c.expression, "/", "div"), func(b *testing.B) {
				machine := m.NewMachine()
				units := 0
				for b.Loop() {
					_, _ = machine.Run(context.Background(), doc, nil)
					units += machine.spent()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(units), "ns/unit")
			})
		}
	}
}
