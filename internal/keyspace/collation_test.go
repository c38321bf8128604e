package keyspace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func collated(t testing.TB, v string) []byte {
	t.Helper()
	b, err := AppendCollated(nil, []byte(v))
	if err != nil {
		t.Fatalf("AppendCollated(%s): %v", v, err)
	}
	return b
}

func raw(t testing.TB, v string) []byte {
	t.Helper()
	b, err := AppendRaw(nil, []byte(v))
	if err != nil {
		t.Fatalf("AppendRaw(%s): %v", v, err)
	}
	return b
}

// recording is the order in which a CouchDB 3.5 gave the rows of a view: ids
// and keys, equal keys in order of their ids.
type recording struct {
	Name  string
	Order string
	Rows  [][2]json.RawMessage
}

func readRecordings(t *testing.T) (all []recording) {
	t.Helper()
	f, err := os.Open("testdata/collation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRecordedOrders(t *testing.T) {
	for _, r := range readRecordings(t) {
		t.Run(r.Order+"/"+r.Name, func(t *testing.T) {
			encode, compare := collated, CompareJSON
			if r.Order == "raw" {
				encode, compare = raw, CompareRawJSON
			}
			for i := 1; i < len(r.Rows); i++ {
				a, b := string(r.Rows[i-1][1]), string(r.Rows[i][1])
				c := compare([]byte(a), []byte(b))
				if c2 := bytes.Compare(encode(t, a), encode(t, b)); c2 != c {
					t.Errorf("%s and %s: encoded %d, compared %d", a, b, c2, c)
				}
				if c > 0 || c == 0 && string(r.Rows[i-1][0]) > string(r.Rows[i][0]) {
					t.Errorf("%s stands before %s in CouchDB, here they compare %d", a, b, c)
				}
			}
		})
	}
}

func TestEqualValues(t *testing.T) {
	for _, same := range [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`, ` 1 `},
		{`0`, `-0`, `0.0`, `-0.0e5`, `0e999999999999999999999999`},
		{`100`, `1e2`, `1.00E2`},
		{`-12.5`, `-125e-1`, `-0.00125e4`},
		{`"é"`, `"e\u0301"`, `"\u00e9"`},
		{`""`, `"\u0000"`, `"\u0001\u0002"`},
		{`[1,{"a":"é"}]`, `[1.0, {"\u0061" : "e\u0301"}]`},
	} {
		for _, v := range same {
			if !bytes.Equal(collated(t, same[0]), collated(t, v)) || CompareJSON([]byte(same[0]), []byte(v)) != 0 {
				t.Errorf("%s and %s differ", same[0], v)
			}
		}
	}
}

func TestNumbersKeepEveryDigit(t *testing.T) {
	ascending := []string{
		`-1e999999999999999`, `-1e309`, `-12345678901234567890123456789012345679`, `-12345678901234567890123456789012345678.5`,
		`-12345678901234567890123456789012345678`, `-100`, `-99.9999999999999999999999999999999999999`, `-1.1`, `-1.01`, `-1`, `-1e-400`, `-1e-999999`, `0`,
		`1e-999999`, `1e-400`, `1e-97`, `1e-96`, `0.1`, `0.10000000000000000000000000000000000001`, `0.101`, `1`, `1.01`, `1.1`, `9007199254740992`,
		`9007199254740993`, `12345678901234567890123456789012345678`, `12345678901234567890123456789012345678.5`, `1e95`, `1e96`, `1e97`, `1e300`, `1e309`, `1e65536`, `1e999999999999999`,
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := cmpInt(i, j)
			if c := bytes.Compare(collated(t, a), collated(t, b)); c != want {
				t.Errorf("%s and %s: encoded %d, want %d", a, b, c, want)
			}
			if c := CompareNumbers([]byte(a), []byte(b)); c != want {
				t.Errorf("%s and %s: compared %d, want %d", a, b, c, want)
			}
		}
	}
}

func cmpInt(a, b int) int { return big.NewInt(int64(a)).Cmp(big.NewInt(int64(b))) }

func TestNesting(t *testing.T) {
	const depth = 1_000_000 // quick, as time does not grow with the depth at each level
	deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	deeper := strings.Repeat("[", depth+1) + strings.Repeat("]", depth+1)
	if rest, ok := skipCollated(collated(t, deep)); !ok || len(rest) != 0 {
		t.Errorf("a deep array was not skipped: %d bytes, %v", len(rest), ok)
	}
	if c := CompareJSON([]byte(deep), []byte(deeper)); c != -1 {
		t.Errorf("a deep array and a deeper one compare %d", c)
	}
	if c := bytes.Compare(collated(t, deep), collated(t, deeper)); c != -1 {
		t.Errorf("a deep array and a deeper one are encoded %d", c)
	}
}

func TestNoValue(t *testing.T) {
	for _, v := range []string{``, ` `, `]`, `x`} {
		if b, err := AppendCollated(nil, []byte(v)); err == nil {
			t.Errorf("AppendCollated(%q) = %x", v, b)
		}
	}
}

func TestCollatedIsSafeForGoroutines(t *testing.T) {
	words := []string{`"cäsar"`, `"日本"`, `"ascii"`, `"ÅÉî"`}
	var want [][]byte
	for _, w := range words {
		want = append(want, collated(t, w))
	}
	done := make(chan string)
	for range 8 {
		go func() {
			for range 200 {
				for i, w := range words {
					if got, _ := AppendCollated(nil, []byte(w)); !bytes.Equal(got, want[i]) {
						done <- w
						return
					}
				}
			}
			done <- ""
		}()
	}
	for range 8 {
		if w := <-done; w != "" {
			t.Errorf("the key of %s changed", w)
		}
	}
}

// modelCompare is the order written the slow, obvious way: decoded values,
// big rationals.
func modelCompare(a, b any, text func(a, b []byte) int, rank func(jsonscan.Kind) int) int {
	ka, kb := modelKind(a), modelKind(b)
	if ka != kb {
		return cmpInt(rank(ka), rank(kb))
	}
	switch ka {
	case jsonscan.Number:
		x, _ := new(big.Rat).SetString(string(a.(json.Number)))
		y, _ := new(big.Rat).SetString(string(b.(json.Number)))
		return x.Cmp(y)
	case jsonscan.String:
		return text([]byte(a.(string)), []byte(b.(string)))
	case jsonscan.Array:
		x, y := a.([]any), b.([]any)
		for i := range min(len(x), len(y)) {
			if c := modelCompare(x[i], y[i], text, rank); c != 0 {
				return c
			}
		}
		return cmpInt(len(x), len(y))
	}
	return 0
}

func modelKind(v any) jsonscan.Kind {
	switch v := v.(type) {
	case bool:
		if v {
			return jsonscan.True
		}
		return jsonscan.False
	case json.Number:
		return jsonscan.Number
	case string:
		return jsonscan.String
	case []any:
		return jsonscan.Array
	}
	return jsonscan.Null
}

// decodeModel decodes a value, if the model can compare it: it knows neither objects nor numbers with exponents.
func decodeModel(in []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil && json.Valid(in) && utf8.Valid(in) && !bytes.Contains(in, []byte(`\u`)) &&
		!bytes.ContainsAny(in, "{\uffff") && !hasExponent(v)
}

func hasExponent(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return strings.ContainsAny(string(v), "eE")
	case []any:
		return slices.ContainsFunc(v, hasExponent)
	}
	return false
}

func FuzzCollation(f *testing.F) {
	for _, s := range []string{`1`, `-0.50`, `"a"`, `"Ab"`, `"é"`, `[1,"a",[null,true]]`, `[]`, `false`, `"a\n"`, `"日本"`, `[[],[]]`, `123456789012345678901234567890`} {
		f.Add([]byte(s), []byte(`"b"`))
		f.Add([]byte(s), []byte(`[1,"a"]`))
		f.Add([]byte(s), []byte(`-1.5`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, okx := decodeModel(a)
		y, oky := decodeModel(b)
		if !okx || !oky {
			skipCollated(a) // must not panic
			t.Skip()
		}
		want := modelCompare(x, y, modelText, rankCollated)
		if got := bytes.Compare(collated(t, string(a)), collated(t, string(b))); got != want {
			t.Errorf("%s and %s: encoded %d, want %d", a, b, got, want)
		}
		if got := CompareJSON(a, b); got != want {
			t.Errorf("%s and %s: compared %d, want %d", a, b, got, want)
		}
		want = modelCompare(x, y, bytes.Compare, rankRaw)
		if got := bytes.Compare(raw(t, string(a)), raw(t, string(b))); got != want {
			t.Errorf("%s and %s raw: encoded %d, want %d", a, b, got, want)
		}
		if got := CompareRawJSON(a, b); got != want {
			t.Errorf("%s and %s raw: compared %d, want %d", a, b, got, want)
		}
		tuple := append(collated(t, string(a)), raw(t, string(b))...)
		rest, ok := skipCollated(tuple)
		if !ok || !bytes.Equal(rest, raw(t, string(b))) {
			t.Errorf("%s does not end itself: rest %x, %v", a, rest, ok)
		}
	})
}

func TestSkipCollated(t *testing.T) {
	for _, v := range []string{`null`, `1`, `-1e500`, `0`, `"a\u0000b"`, `"日\uffff"`, `[]`, `[[1],{}]`, `{"a":{"b":[null]},"c":-5}`, `"\uffff"`} {
		for _, b := range [][]byte{collated(t, v), raw(t, v)} {
			rest, ok := skipCollated(append(slices.Clone(b), "rest"...))
			if !ok || string(rest) != "rest" {
				t.Errorf("%s: rest %q, %v", v, rest, ok)
			}
			for n := range b {
				if rest, ok := skipCollated(b[:n]); ok {
					t.Errorf("%s: the first %d of %d bytes were taken for a value, rest %x", v, n, len(b), rest)
				}
			}
		}
	}
}

// TestTuplesCompareByParts holds that two values in a row compare as pairs.
func TestTuplesCompareByParts(t *testing.T) {
	testrun.Sequential(t)
	values := []string{`null`, `-1.5`, `0`, `2`, `""`, `"a"`, `"a\u0000"`, `"ä"`, `"A"`, `"ab"`, `"ð"`, `"っ"`, `"つ"`, `[]`, `[null]`, `["a"]`, `{}`, `{"a":1}`}
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				for _, d := range values {
					want := CompareJSON([]byte(a), []byte(c))
					if want == 0 {
						want = CompareJSON([]byte(b), []byte(d))
					}
					x := append(collated(t, a), collated(t, b)...)
					y := append(collated(t, c), collated(t, d)...)
					if got := bytes.Compare(x, y); got != want {
						t.Fatalf("(%s, %s) and (%s, %s): %d, want %d", a, b, c, d, got, want)
					}
				}
			}
		}
	}
}

func TestTagsAscend(t *testing.T) {
	order := []byte{tagEnd, tagNull, tagFalse, tagTrue, tagNegative, tagZero, tagPositive, tagString, tagArray, tagObject, 0xff}
	rawOrder := []byte{tagEnd, tagNegative, tagZero, tagPositive, rawTagFalse, rawTagNull, rawTagTrue, rawTagObject, rawTagArray, rawTagString, 0xff}
	for _, o := range [][]byte{order, rawOrder} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(o)), o); diff != "" {
			t.Errorf("tags do not ascend (-sorted +given):\n%s", diff)
		}
	}
}

func BenchmarkAppendCollated(b *testing.B) {
	for _, v := range []string{`12345`, `"Home#Kitchen#Small Appliances"`, `"Zürich Hauptbahnhof"`, `["2018-12-11","bridge-9876",17.25]`} {
		b.Run(v, func(b *testing.B) {
			buf := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = AppendCollated(buf[:0], []byte(v))
			}
		})
	}
}
