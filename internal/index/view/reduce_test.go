package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// reducerNamed returns the reducer of a built-in.
func reducerNamed(t *testing.T, name string) reducer {
	r, _, ok := reducerOf(&Def{Reduce: name})
	if !ok {
		t.Fatalf("no reducer %s", name)
	}
	return r
}

// reduce returns the value of a reduction of rows, whose keys are their positions.
func reduce(t *testing.T, name string, values ...string) string {
	t.Helper()
	r := reducerNamed(t, name)
	g := newGroup(r)
	for i, v := range values {
		g.row(&Row{Key: fmt.Append(nil, i), Value: []byte(v)})
	}
	return shown(r, g.end())
}

func shown(r reducer, n node) string {
	if failed(n.state) {
		return failureOf(n.state).Error()
	}
	return string(r.value(n.count, n.state))
}

func TestReductions(t *testing.T) {
	bad := func(cause string) string {
		return `{"error":"builtin_reduce_error","reason":"` + sumReason + `","caused_by":` + cause + `}`
	}
	stat := "view.reduce: invalid_value: The _stats function requires that map values be numbers or arrays of numbers, not "
	for _, c := range []struct{ reduce, values, want string }{
		{"_sum", `1 2.5 -4`, "-0.5"},
		{"_sum", `0.1 0.2`, "0.30000000000000004"},
		{"_sum", `0.5 0.5`, "1.0"},
		{"_sum", `2.5 -2.5`, "0.0"},
		{"_sum", `9007199254740991 2`, "9007199254740993"},
		{"_sum", `9223372036854775807 9223372036854775807 -9223372036854775807`, "9223372036854775807"},
		{"_sum", `-9223372036854775807 -9223372036854775807`, "-18446744073709551614"},
		{"_sum", `1e308 1e308`, "view.reduce: invalid_value: A sum is too large for a number."},
		{"_sum", `1e-9 1e22`, "1e+22"},
		{"_sum", `[1,2] [10,20]`, "[11,22]"},
		{"_sum", `[1] [1,2,3]`, "[2,2,3]"},
		{"_sum", `5 [1,1]`, "[6,1]"},
		{"_sum", `[1,1] 5`, "[6,1]"},
		{"_sum", `[]`, "[0]"},
		{"_sum", `[1,"x"] 3`, `[4,"x"]`},
		{"_sum", `{"x":1,"y":2} {"x":10,"z":3}`, `{"x":11,"y":2,"z":3}`},
		{"_sum", `{"o":{"p":1,"q":1}} {"o":{"p":2},"n":1}`, `{"n":1,"o":{"p":3,"q":1}}`},
		{"_sum", `{"x":[1]} {"x":1}`, `{"x":[2]}`},
		{"_sum", `{}`, `{}`},
		{"_sum", `1 "five" 2`, bad(`"five"`)},
		{"_sum", `null`, bad(`null`)},
		{"_sum", `[[1]]`, bad(`[0]`)},
		{"_sum", `1 {"x":1}`, bad(`{"x":1}`)},
		{"_sum", `{"x":1} 1`, bad(`1`)},
		{"_count", `1 "a" null`, "3"},
		{"_stats", `1 2 6`, `{"sum":9,"count":3,"min":1,"max":6,"sumsqr":41}`},
		{"_stats", `-1.5 0`, `{"sum":-1.5,"count":2,"min":-1.5,"max":0,"sumsqr":2.25}`},
		{"_stats", `[1,10] [3,30]`, `[{"sum":4,"count":2,"min":1,"max":3,"sumsqr":10},{"sum":40,"count":2,"min":10,"max":30,"sumsqr":1000}]`},
		{"_stats", `{"sum":10,"count":4,"min":1,"max":5,"sumsqr":30} 7`, `{"sum":17,"count":5,"min":1,"max":7,"sumsqr":79}`},
		{"_stats", `{"sum":10,"count":4,"min":1,"max":5}`,
			`view.reduce: invalid_value: user _stats input missing required field sumsqr ([{<<"sum">>,10},{<<"count">>,4},{<<"min">>,1},{<<"max">>,5}])`},
		{"_stats", `{"sum":"10","count":4,"min":1,"max":5,"sumsqr":1}`, `view.reduce: invalid_value: non-numeric _stats input received for sum: <<49,48>>`},
		{"_stats", `{}`, `view.reduce: invalid_value: user _stats input missing required field sum ([])`},
		{"_stats", `1 "five"`, stat + `'<<"five">>'`},
		{"_stats", `null`, stat + `'null'`},
		{"_stats", `[1,"x"]`, stat + `'[1,<<"x">>]'`},
		{"_stats", `1 [1]`, stat + `'[1]'`},
		{"_stats", `[1] 1`, stat + `'1'`},
		{"_stats", `[1] [1,2]`, stat + `'[1,2]'`},
		{"_approx_count_distinct", `1 1 1`, "3"},
		{"_first", `"a" "b"`, `"a"`},
		{"_last", `"a" null`, `null`},
		{"_top_3", `5 9 1 9 7`, `[9,7,5]`},
		{"_bottom_2", `null "a" 3 false`, `[null,false]`},
		{"_top_20", `null true false 3 "a" "A" "b" [] [1] {} {"z":1}`, `[{"z":1},{},[1],[],"b","A","a",3,true,false,null]`},
	} {
		if got := reduce(t, c.reduce, strings.Fields(c.values)...); got != c.want {
			t.Errorf("%s of %s\ngot  %s\nwant %s", c.reduce, c.values, got, c.want)
		}
	}
}

// TestReducesAreLawful holds that a reduction of reductions is the reduction of all
// rows, wherever the spans are cut.
func TestReducesAreLawful(t *testing.T) {
	pools := map[string][]string{
		"_sum":                   {"1", "-7", "9223372036854775807", "[1,2]", "[3]", "[]", "12345678901234567890"},
		"_stats":                 {"1", "-3", "0", `{"sum":1,"count":2,"min":0,"max":1,"sumsqr":1}`, "40"},
		"_count":                 {"1", "null"},
		"_approx_count_distinct": {"1", "2"},
		"_first":                 {"1", `"x"`, "null", `{"a":1}`},
		"_last":                  {"1", `"x"`, "null", `{"a":1}`},
		"_top_5":                 {"1", `"x"`, "null", "[1]", "2", "3.5"},
		"_bottom_3":              {"1", `"x"`, "null", "[1]", "2", "3.5"},
	}
	r := rand.New(rand.NewPCG(5, 5))
	for name, pool := range pools {
		red := reducerNamed(t, name)
		for range 200 {
			rows := make([]Row, 1+r.IntN(40))
			for i := range rows {
				rows[i] = Row{Key: fmt.Append(nil, r.IntN(30)), Value: []byte(pool[r.IntN(len(pool))])}
			}
			whole := newGroup(red)
			for i := range rows {
				whole.row(&rows[i])
			}
			if got, want := shown(red, cut(r, red, rows, 3).end()), shown(red, whole.end()); got != want {
				t.Fatalf("%s of %v: %s in spans, %s at once", name, rows, got, want)
			}
		}
	}
}

// cut reduces rows by spans of spans.
func cut(r *rand.Rand, red reducer, rows []Row, depth int) *group {
	g := newGroup(red)
	for len(rows) > 0 {
		n := 1 + r.IntN(len(rows))
		if depth == 0 || r.IntN(3) == 0 {
			g.row(&rows[0])
			n = 1
		} else {
			g.node(cut(r, red, rows[:n], depth-1).end())
		}
		rows = rows[n:]
	}
	return g
}

func TestDistinctIsClose(t *testing.T) {
	for _, n := range []int{1, 5, 100, 2000, 20_000, 200_000} {
		red := distinguisher{}
		g := newGroup(red)
		for i := range n {
			r := Row{Key: fmt.Appendf(nil, `["k",%d]`, i)}
			g.row(&r)
			g.row(&r)
		}
		var got int
		fmt.Sscan(shown(red, g.end()), &got)
		if d := got - n; max(d, -d)*20 > n {
			t.Errorf("%d keys are estimated as %d", n, got)
		}
	}
}

// TestCustomReduce holds how functions are called: all groups in one call.
func TestCustomReduce(t *testing.T) {
	reduces, rereduces := 0, 0
	w := newWorld(t, &Kind{functions: goFunctions{&reduces, &rereduces}, spread: 2}, false)
	emits := `function(doc){ for (var i = 0; i < 30; i++) emit([doc.k, i], i); }`
	w.define("length", emits, "length", "")
	w.define("list", emits, "list", "")
	w.define("throw", emits, "throw", "")
	w.define("hang", emits, "hang", "")
	for i := range 10 {
		w.put(fmt.Sprintf("d%d", i), fmt.Sprintf(`{"k":%d}`, i))
	}
	w.follow()
	reduces, rereduces = 0, 0
	if got := w.groups("length", "", Range{}, Exact, 1000); strings.Count(got, " 1\n") != 300 {
		t.Errorf("groups: %s", got)
	}
	if reduces != 1 || rereduces != 1 {
		t.Errorf("%d calls of reduce and %d of rereduce", reduces, rereduces)
	}
	if got, want := w.groups("length", "", Range{}, 1, 4), "[0] 30\n[1] 30\n[2] 30\n[3] 30\n[4] 30\n[5] 30\n[6] 30\n[7] 30\n[8] 30\n[9] 30\n"; got != want {
		t.Errorf("by level: %s", got)
	}
	w.put("d0", "", "d1", `{"k":100}`)
	w.follow()
	if got, want := w.groups("length", "", Range{}, 0, 4), "null 270\n"; got != want {
		t.Errorf("after changes: %s", got)
	}
	if got := w.groups("list", "", Range{Start: Bound{Key: []byte("[5]")}, End: Bound{Key: []byte("[5,3]")}}, 0, 4); got != "null [0,1,2,3]\n" {
		t.Errorf("a list: %s", got)
	}
	if got := w.groups("throw", "", Range{}, 1, 2); !strings.HasPrefix(got, "[2] null\n") {
		t.Errorf("what throws: %s", got)
	}
	if got := w.groups("hang", "", Range{}, 0, 2); got != "null failed: view.reduce: os_process_error: The function did not end in time.\n" {
		t.Errorf("what meets a limit: %s", got)
	}
	for i := range 60 {
		w.put(fmt.Sprintf("e%d", i), fmt.Sprintf(`{"k":"%s"}`, strings.Repeat("y", 10)))
	}
	w.follow()
	if got := w.groups("list", "", Range{}, 0, 4); !strings.Contains(got, "reduce_overflow_error") {
		t.Errorf("what grows: %.300s", got)
	}
	if got := w.groups("list", "", Range{}, 1, 2); !strings.HasPrefix(got, "[2] [0,1,") {
		t.Errorf("a group that does not: %.100s", got)
	}
}

// TestCost holds that queries read few nodes and rows of many.
func TestCost(t *testing.T) {
	testrun.Sequential(t)
	const docs, each = 2000, 100
	w := newWorld(t, New(goFunctions{}), false)
	w.define("d", fmt.Sprintf(`function(doc){ for (var i = 0; i < %d; i++) emit([doc.n, i], 1); }`, each), "_sum", "")
	var pairs []string
	for i := range docs {
		pairs = append(pairs, fmt.Sprintf("d%d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	for part := range slices.Chunk(pairs, 1000) {
		w.put(part...)
	}
	w.follow()
	key := func(n int) Bound { return Bound{Key: fmt.Appendf(nil, "[%d,50]", n)} }
	w.read("d", "", func(v *Reader) error {
		cost := func(what string, most int, fn func() error) {
			v.Read.Rows, v.Read.Nodes = 0, 0
			began := time.Now()
			must(t, fn())
			t.Logf("%s: %d nodes, %d rows, %v", what, v.Read.Nodes, v.Read.Rows, time.Since(began))
			if v.Read.Nodes+v.Read.Rows > most {
				t.Errorf("%s read %d nodes and %d rows", what, v.Read.Nodes, v.Read.Rows)
			}
		}
		cost("a range reduce", 1200, func() error {
			s, err := v.Span(Range{Start: key(17), End: key(1900)})
			must(t, err)
			g, _, err := v.Groups(s, 0, 1)
			if n := g[0].group.count; n != (1900-17)*each+1 {
				t.Errorf("%d rows", n)
			}
			return err
		})
		cost("skip", 1200, func() error {
			s, err := v.Skip(v.Whole(), docs*each-1000)
			if n, _ := v.Count(s); n != 1000 {
				t.Errorf("%d rows are left", n)
			}
			return err
		})
		cost("skip backward", 2400, func() error {
			s, err := v.Span(Range{Descending: true})
			must(t, err)
			_, err = v.Skip(s, docs*each-1000)
			return err
		})
		cost("a page of long groups", 4000, func() error {
			groups, _, err := v.Groups(v.Whole(), 1, 5)
			if len(groups) != 5 || groups[4].group.count != each {
				t.Errorf("%d groups", len(groups))
			}
			return err
		})
		return nil
	})
}

// TestShortNumbers holds the quick way to read a number to the long one.
func TestShortNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"0", "-0", "-0.0", "0.1", "-", "", "1e3", "1E3", "1.5e1", "999999999999999", "-999999999999999", "9999999999999999",
		"0.99999999999999", "123456789.12345", "9007199254740993", "0.000000000000001", "1.1.1", "+1"}
	for range 20_000 {
		digits := strconv.FormatInt(r.Int64N(1_000_000_000_000_000), 10)
		if r.IntN(3) > 0 && len(digits) > 1 {
			at := 1 + r.IntN(len(digits)-1)
			digits = digits[:at] + "." + digits[at:]
		}
		texts = append(texts, []string{"", "-"}[r.IntN(2)]+digits[:1+r.IntN(len(digits))])
	}
	for _, text := range texts {
		text = strings.TrimSuffix(text, ".")
		n, ok := parseShort([]byte(text))
		if !ok {
			continue
		}
		if strings.Contains(text, ".") {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || n.kind != floatNumber || math.Float64bits(f) != math.Float64bits(n.float) {
				t.Errorf("%s is read as %v, want %v, %v", text, n, f, err)
			}
		} else if whole, err := strconv.ParseInt(text, 10, 64); err != nil || n != (number{small: whole}) {
			t.Errorf("%s is read as %v, want %v, %v", text, n, whole, err)
		}
	}
}
