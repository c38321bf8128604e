package document

import (
	"bytes"
	"cmp"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

func TestCompositeID(t *testing.T) {
	s := func(text string) Value { return Value{StringValue, text} }
	n := func(text string) Value { return Value{NumberValue, text} }
	for _, c := range []struct {
		values []Value
		id     ID
	}{
		{[]Value{s("user#1234")}, "Suser#1234!:!"},
		{[]Value{s("user#1234"), n("12.5")}, "Suser#1234!:N2202125"},
		{[]Value{s("a:b c"), {BinaryValue, "\x00\xff"}}, `Sa;0b"Cc!:B-Ew`},
		{[]Value{s("_x;"), s("")}, "S_x;1!:S"},
		{[]Value{s(""), n("0"), s("é")}, "S!:N1!Sé"},
		{[]Value{{BinaryValue, ""}, n("-12.5")}, "B!:N0797874~"},
		{[]Value{n("1e-130"), n("-9.9e125")}, "N20711!:N067300~"},
	} {
		id, err := CompositeID(c.values, 0)
		if err != nil || id != c.id {
			t.Errorf("%v: %q, %v; want %q", c.values, id, err, c.id)
		}
		if err := id.CheckPartitioned(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, v := range []Value{s("\xff"), n("x"), n(""), n("01"), n("1e126"), n("1e-131"), n("1e999"), n(strings.Repeat("1", 39)), n("1 ")} {
		if id, err := CompositeID([]Value{v}, 0); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%v: %q, %v", v, id, err)
		}
	}
	if _, err := CompositeID([]Value{s("abcdef")}, 9); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("an id of 10 bytes where 9 are allowed: %v", err)
	}
}

func TestCompositeValuesRefuses(t *testing.T) {
	for _, id := range []ID{"", "a:b", "S!:", "S:!", "Sa!", "Sa!:!!", "Sa!:x", "Sa!:B-Ex", "Sa!:B-", "Sa!:N", "Sa!:N3", "Sa!:N2", "Sa!:N22021250",
		"Sa!:N2202", "Sa!:N0797874", "Sa!:N2-021", "Sa!:N0797~", "Sa\"!:!", "Sa;!:!", "Sa;2!:!", "Sa b!:!", "Sa!:Sa:b", "Sa!:S\"", "_design/x!:!"} {
		if values, err := CompositeValues(id); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%q: %v, %v", id, values, err)
		}
	}
}

// compareKey is the order that ids are to have.
func compareKey(a, b Value) int {
	if a.Kind != b.Kind {
		return cmp.Compare(a.Kind, b.Kind)
	}
	if a.Kind == NumberValue {
		x, _ := new(big.Rat).SetString(a.Text)
		y, _ := new(big.Rat).SetString(b.Text)
		return x.Cmp(y)
	}
	return strings.Compare(a.Text, b.Text)
}

func compareKeys(a, b []Value) int {
	for i := range min(len(a), len(b)) {
		if c := compareKey(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// checkComposites holds two keys of equally many values against their ids.
func checkComposites(t *testing.T, a, b []Value) {
	t.Helper()
	x, y := checkComposite(t, a), checkComposite(t, b)
	if got, want := strings.Compare(string(x), string(y)), compareKeys(a, b); got != want {
		t.Errorf("%v is %q, %v is %q: they compare %d, want %d", a, x, b, y, got, want)
	}
}

// checkComposite makes an id of values and has them back.
func checkComposite(t *testing.T, values []Value) ID {
	t.Helper()
	id, err := CompositeID(values, 0)
	if err != nil {
		t.Fatalf("%v: %v", values, err)
	}
	if err := id.CheckPartitioned(); err != nil || id.Designs(true) {
		t.Errorf("%q is not a legal id: %v", id, err)
	}
	back, err := CompositeValues(id)
	if err != nil || len(back) != len(values) || compareKeys(back, values) != 0 {
		t.Errorf("%v is %q, which gives %v, %v", values, id, back, err)
	}
	return id
}

// randomValue makes values that are often near one another.
func randomValue(r *rand.Rand, kind ValueKind) Value {
	v := Value{Kind: kind}
	if kind == NumberValue {
		var b strings.Builder
		if r.IntN(2) == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(byte('0' + r.IntN(3)))
		if r.IntN(3) > 0 {
			b.WriteByte('.')
			for range 1 + r.IntN(5) {
				b.WriteByte("01599"[r.IntN(5)])
			}
		}
		if r.IntN(3) == 0 {
			b.WriteString([]string{"e-5", "e1", "e+3", "e-2", "e120", "E-120"}[r.IntN(6)])
		}
		v.Text = b.String()
		return v
	}
	for range r.IntN(4) {
		if kind == BinaryValue {
			v.Text += string([]byte{[]byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]})
		} else {
			v.Text += []string{"\x00", " ", "!", "\"", "#", "9", ":", ";", "<", "_", "a", "~", "é", "😀", "\U0010ffff"}[r.IntN(15)]
		}
	}
	return v
}

func TestCompositeOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []ValueKind{BinaryValue, NumberValue, StringValue}
	for range 100_000 {
		var a, b []Value
		for range 1 + r.IntN(3) {
			k := kinds[r.IntN(3)]
			a, b = append(a, randomValue(r, k)), append(b, randomValue(r, k))
		}
		if r.IntN(2) == 0 {
			b[0] = a[0]
		}
		if r.IntN(10) == 0 {
			b[0] = randomValue(r, kinds[r.IntN(3)])
		}
		checkComposites(t, a, b)
	}
}

// FuzzCompositeID holds ids of any strings, bytes and numbers against their order.
func FuzzCompositeID(f *testing.F) {
	f.Add("a", "a:", []byte{0}, []byte{0, 0}, "1", "-1.50")
	f.Add("", "\x00", []byte{}, []byte{255}, "1e125", "1e-130")
	f.Fuzz(func(t *testing.T, s1, s2 string, b1, b2 []byte, n1, n2 string) {
		var keys [2][]Value
		for i, k := range [...]struct {
			s string
			b []byte
			n string
		}{{s1, b1, n1}, {s2, b2, n2}} {
			keys[i] = []Value{{StringValue, k.s}, {BinaryValue, string(bytes.Clone(k.b))}, {NumberValue, k.n}}
			if _, err := CompositeID(keys[i], 0); err != nil {
				if !dberr.Is(err, dberr.Invalid) {
					t.Fatalf("%v: %v", keys[i], err)
				}
				return
			}
		}
		for _, order := range [][3]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
			checkComposites(t, pick(keys[0], order), pick(keys[1], order))
		}
	})
}

func pick(values []Value, order [3]int) []Value {
	return []Value{values[order[0]], values[order[1]], values[order[2]]}
}

// FuzzCompositeValues: what is read as values is the id of these values and no other.
func FuzzCompositeValues(f *testing.F) {
	f.Add("Suser#1234!:N2202125")
	f.Add("Sa!:!")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := CompositeValues(ID(text))
		if err != nil {
			return
		}
		if id, err := CompositeID(values, 0); err != nil || string(id) != text {
			t.Errorf("%q gives %v, which is %q, %v", text, values, id, err)
		}
	})
}

// TestPlainStrings: what is taken for plain strings at a glance is so many strings.
func TestPlainStrings(t *testing.T) {
	for id, want := range map[ID]int{
		"Sa!:!": 1, "S!:!": 1, "Sa!:Sb": 2, "S!:S": 2, "Sa!:Sb!Sc": 3, "Sa!:S~": 2,
		"": 0, "S": 0, "Sa": 0, "Sa!": 0, "Sa!:": 0, "Sa!:b": 0, "Sa!:Sb!": 0, "Sa!:N1": 0, "Na!:Sb": 0, "Sa!Sb": 0, "Sa:Sb": 0, `Sa"C!:Sb`: 0, "Sa;0!:Sb": 0, "Sä!:Sb": 0,
		"Sa!:!!": 0, "Sa!:Sb!:!": 0, "Sa!:Sb!:Sc": 0, "_design/a": 0, "Sa!:_design/a": 0, "S\x7f!:!": 0, "Sa\x1f!:!": 0,
	} {
		if got := PlainStrings(id); got != want {
			t.Errorf("%q: %d, want %d", id, got, want)
		}
	}
	r := rand.New(rand.NewPCG(8, 9))
	found := 0
	for range 10_000 {
		b := []byte("S")
		for range r.IntN(7) {
			b = append(b, []string{"S", "a", "b", "!:", "!:S", "!S", "!", ":", `"`, ";", "N0"}[r.IntN(11)]...)
		}
		n := PlainStrings(ID(b))
		if n == 0 {
			continue
		}
		found++
		values, err := CompositeValues(ID(b))
		if err != nil || len(values) != n {
			t.Fatalf("%q is taken for %d strings, but is %v, %v", b, n, values, err)
		}
		for _, v := range values {
			if v.Kind != StringValue {
				t.Fatalf("%q has %v", b, values)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d of the ids were plain", found)
	}
}
