package keyspace

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// ordered is a string of a list in ICU's order.
type ordered struct {
	text     []byte
	equal    bool // to the one before
	icuBytes int  // length of ICU's own sort key
}

// icuOrder is the list that the generator made.
const icuOrder = "testdata/collation_icu.gz"

// readOrder reads the list that the generator made with ICU.
func readOrder(t testing.TB, name string) (all []ordered) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		var o ordered
		var relation, quoted, s string
		if _, err := fmt.Sscanf(lines.Text(), "%1s %d", &relation, &o.icuBytes); err != nil {
			t.Fatal(err)
		}
		_, quoted, _ = strings.Cut(lines.Text()[2:], " ")
		if err := json.Unmarshal([]byte(quoted), &s); err != nil {
			t.Fatal(err)
		}
		o.text, o.equal = []byte(s), relation == "="
		all = append(all, o)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) < 10_000 {
		t.Fatalf("only %d strings", len(all))
	}
	return all
}

// TestOrderIsICUs holds thousands of strings against ICU's own order: each
// neighbour by both ways to compare, and pairs further apart.
func TestOrderIsICUs(t *testing.T) { checkOrder(t, readOrder(t, icuOrder)) }

func checkOrder(t *testing.T, all []ordered) {
	t.Helper()
	keys := make([][]byte, len(all))
	place := make([]int, len(all)) // equal strings have the same
	for i, o := range all {
		keys[i] = appendCollatedString(nil, o.text)
		if i == 0 {
			continue
		}
		place[i] = place[i-1]
		if !o.equal {
			place[i]++
		}
		want := cmp.Compare(place[i-1], place[i])
		if got := bytes.Compare(keys[i-1], keys[i]); got != want {
			t.Errorf("%+q and %+q: keys %x and %x compare %d, want %d", all[i-1].text, o.text, keys[i-1], keys[i], got, want)
		}
		for _, other := range []int{i - 1, i * 7919 % len(all), i / 2} {
			if other < i {
				want := cmp.Compare(place[other], place[i])
				if a, b := CompareText(all[other].text, o.text), CompareText(o.text, all[other].text); a != want || b != -want {
					t.Errorf("%+q and %+q compare %d and %d, want %d", all[other].text, o.text, a, b, want)
				}
			}
		}
	}
}

// TestKeysAreNotLongerThanICUs compares lengths over the whole list; ICU's count
// includes an end of one byte too.
func TestKeysAreNotLongerThanICUs(t *testing.T) {
	var ours, icu int
	for _, o := range readOrder(t, icuOrder) {
		ours += len(appendCollatedString(nil, o.text))
		icu += o.icuBytes
	}
	if ours > icu {
		t.Errorf("keys have %d bytes, ICU's %d", ours, icu)
	}
	for _, c := range []struct {
		text string
		want int
	}{
		{"lower case ascii.", 18},                           // 17 characters, for which ICU has 23 bytes
		{"Home#Kitchen#Smal", 22},                           // a byte for each of upper case, and a mark
		{"Zürich Flughafen!", 24},                           // three more for the accent
		{strings.Repeat("x", 1000), 1001},                   // common weights cost nothing
		{"A" + strings.Repeat("x", 999), 1003},              // nor after the last other one
		{strings.Repeat("x", 999) + "A", 1000 + 1 + 13 + 1}, // before it, one byte for each 83
		{"Привет", 15},
		{"日本語", 10},
		{"にほんご", 12},
		{"한국어", 17},
	} {
		if key := appendCollatedString(nil, []byte(c.text)); len(key) != c.want {
			t.Errorf("the key of %q has %d bytes, want %d: %x", c.text, len(key), c.want, key)
		}
	}
}

// TestASCIIAgreesWithTable proves the two fast paths: what they take for granted
// of single characters, and that no two contract.
func TestASCIIAgreesWithTable(t *testing.T) {
	k := &keyer{table: root()}
	var pairs [][]byte
	for a := range byte(utf8.RuneSelf) {
		if e := k.table.entryOf(rune(a)); e.kind() != entrySingle && (e.kind() != entryElements || len(k.table.elementsOf(e)) > 0) {
			t.Errorf("%q has the entry %x", a, e)
		}
		for b := range byte(utf8.RuneSelf) {
			pairs = append(pairs, []byte{a, b})
		}
	}
	for i, a := range pairs {
		b := pairs[(i*7919+i/128)%len(pairs)]
		for _, s := range [][]byte{a[:1], a, append(slices.Clone(a), b...)} {
			want := k.appendKey(nil, s)
			if got, ok := appendASCIIKey(nil, s); !ok || !bytes.Equal(got, want) {
				t.Fatalf("key of %q: %x, want %x", s, got, want)
			}
		}
		want := bytes.Compare(k.appendKey(nil, a), k.appendKey(nil, b))
		if got, ok := compareASCII(a, b); !ok || got != want {
			t.Fatalf("%q and %q compare %d, want %d", a, b, got, want)
		}
		if PlainText(a) && PlainText(b) && (want == 0) != bytes.Equal(a, b) {
			t.Fatalf("%q and %q are plain text and compare %d", a, b, want)
		}
	}
}

// TestPlainTextDiffers holds that different printable characters have different
// weights, so that different printable strings are never equal.
func TestPlainTextDiffers(t *testing.T) {
	seen := map[string]byte{}
	for c := byte(0x20); c <= 0x7e; c++ {
		key := string(appendCollatedString(nil, []byte{c}))
		if o, ok := seen[key]; ok || len(key) < 2 {
			t.Errorf("%q has the key %x, as %q", c, key, o)
		}
		seen[key] = c
	}
}

// modelWeights returns the three levels of a text's weights in the plain way:
// numbers in a row, those of a level that a character lacks left out.
func modelWeights(s []byte) (levels [3][]uint32) {
	t := root()
	text := []rune(string(s))
	for i := 0; i < len(text); {
		var e entry
		e, i = t.match(text, i)
		for _, x := range modelElements(e, text[i-1]) {
			for l, w := range [...]uint32{x.primary, uint32(x.secondary), uint32(x.tertiary)} {
				if w != 0 {
					levels[l] = append(levels[l], w)
				}
			}
		}
	}
	return levels
}

func modelElements(e entry, r rune) (all []element) {
	t := root()
	switch {
	case e.kind() == entrySingle:
		return []element{{e.code(), secondaryCommon, e.tertiary()}}
	case e.kind() == entryElements:
		return t.elementsOf(e)
	case hangulFirst <= r && r <= hangulLast:
		n := r - hangulFirst
		for _, l := range []rune{0x1100 + n/588, 0x1161 + n%588/28, 0x11a7 + n%28} {
			if l != 0x11a7 {
				all = append(all, modelElements(t.entryOf(l), l)...)
			}
		}
		return all
	}
	return []element{{t.implicitCode(r), secondaryCommon, tertiaryCommon}}
}

// modelText compares level by level, with none of the bytes' compression.
func modelText(a, b []byte) int {
	if string(a) == highest || string(b) == highest {
		return compareBools(string(a) == highest, string(b) == highest)
	}
	x, y := modelWeights(a), modelWeights(b)
	for l := range x {
		if c := slices.Compare(x[l], y[l]); c != 0 {
			return c
		}
	}
	return 0
}

func checkTexts(t *testing.T, a, b, c []byte) {
	t.Helper()
	texts := [][]byte{a, b, c}
	for _, x := range texts {
		key := appendCollatedString(nil, x)
		if rest, ok := skipKey(append(slices.Clone(key), 1, 2)); !ok || !bytes.Equal(rest, []byte{1, 2}) {
			t.Errorf("the key of %+q does not end itself: %x", x, key)
		}
		for _, y := range texts {
			want := modelText(x, y)
			if got := bytes.Compare(key, appendCollatedString(nil, y)); got != want {
				t.Errorf("%+q and %+q: keys compare %d, want %d", x, y, got, want)
			}
			if got := CompareText(x, y); got != want {
				t.Errorf("%+q and %+q compare %d, want %d", x, y, got, want)
			}
		}
	}
	slices.SortFunc(texts, CompareText)
	if CompareText(texts[0], texts[2]) > 0 || CompareText(texts[0], texts[1]) > 0 || CompareText(texts[1], texts[2]) > 0 {
		t.Errorf("%+q, %+q and %+q go round in a circle", a, b, c)
	}
}

func FuzzText(f *testing.F) {
	all := readOrder(f, icuOrder)
	for i := 0; i+2 < len(all); i += 97 {
		f.Add(all[i].text, all[i+1].text, all[i+2].text)
	}
	f.Fuzz(checkTexts)
}

// TestLongRuns compares texts whose levels have more common weights in a row
// than a byte can count.
func TestLongRuns(t *testing.T) {
	testrun.Sequential(t)
	lengths := []int{0, 1, 59, 60, 61, 82, 83, 84, 120, 121, 166, 252, 253, 254, 506}
	for _, n := range lengths {
		for _, m := range lengths {
			x, y := strings.Repeat("か", n), strings.Repeat("か", m)
			rest := strings.Repeat("か", 520-n)
			other := strings.Repeat("か", 520-m)
			checkTexts(t, []byte(x+"っ"+rest), []byte(y+"っ"+other), []byte(y+"つ"+other)) // low
			checkTexts(t, []byte(x+"ッ"+rest), []byte(y+"ツ"+other), []byte(y+"㋡"+other)) // high
			checkTexts(t, []byte(x+"\u3099"+rest), []byte(y+"\u309a"+other), []byte(y+"か\u3099か\u309a"+other))
		}
	}
}

// TestMarksFurtherAway holds how far a contraction reaches over other marks:
// difference 90.
func TestMarksFurtherAway(t *testing.T) {
	for _, n := range []int{1, maxMarks - 1, maxMarks, 2 * maxMarks} {
		below := strings.Repeat("\u0323", n)
		if equal := CompareText([]byte("И"+below+"\u0306"), []byte("Й"+below)) == 0; equal != (n < maxMarks) {
			t.Errorf("a letter and its mark behind %d others are equal to both in one: %v", n, equal)
		}
	}
}

// TestVersionNamesTheBytes holds the form of keys. Whoever has to change this
// test has to raise CollationVersion.
func TestVersionNamesTheBytes(t *testing.T) {
	if CollationVersion != 2 || root().version != "ICU 76.1, Unicode 16.0" {
		t.Errorf("version %d is of %s", CollationVersion, root().version)
	}
	const data = "ee744a13539a23b970ef4d71eed06008d7cf86d9d41735ef33f2058c836061c7"
	if sum := fmt.Sprintf("%x", sha256.Sum256(rootData)); sum != data {
		t.Errorf("the data have the sum %s", sum)
	}
	var keys []string
	for _, o := range readOrder(t, icuOrder) {
		keys = append(keys, string(appendCollatedString(nil, o.text)))
	}
	const all = "5780e088c302dfab0aca06ed56a81c240353ed0bd06d9b1f39b88be75c1e6eb4"
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(keys, "")))); sum != all {
		t.Errorf("the keys of all strings have the sum %s", sum)
	}
	for s, want := range map[string]string{
		"":       "01",
		"abc":    "6c6e7001",
		"a B":    "6c0c6e03f801",
		"Zürich": "9e948e7c707a043f5703fe01",
		"\uffff": "ff01",
	} {
		if got := fmt.Sprintf("%x", appendCollatedString(nil, []byte(s))); got != want {
			t.Errorf("the key of %q is %s, want %s", s, got, want)
		}
	}
}

// TestMarksInARow holds that text made of marks takes time in proportion to
// its length: a quadratic way would not end.
func TestMarksInARow(t *testing.T) {
	const n = 200_000
	for _, s := range []string{
		strings.Repeat("\u0f71", n),
		strings.Repeat("\u0f71", n/2) + strings.Repeat("\u0f74", n/2),
		strings.Repeat("\u0fb2\u0334\u0f71\u0f80", n/4),
		"И" + strings.Repeat("\u0323", n) + "\u0306",
	} {
		if key := appendCollatedString(nil, []byte(s)); len(key) < 2 || bytes.IndexByte(key, endLevels) != len(key)-1 {
			t.Errorf("a key of %d bytes for %d", len(key), len(s))
		}
	}
}
