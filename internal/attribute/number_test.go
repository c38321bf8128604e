package attribute

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

// reason returns the text of an error for the public, after its code.
func reason(err error) string {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code + ": " + e.Reason
}

func TestParseNumber(t *testing.T) {
	// The forms are those of Alternator's test_number.py and of the conformance suite.
	for text, normal := range map[string]string{
		"3": "3", "-7.1234": "-7.1234", "-17e5": "-1700000", "-17.4E37": "-17" + "4" + zeros(36), "+3": "3", ".123": "0.123", "0001.23": "1.23", "1e+5": "100000",
		"0e1000": "0", "3.": "3", "-0": "0", "-0.00": "0", "1.5E2": "150", "1.0": "1", "3.1400": "3.14", "00042": "42",
		"1E-130": "0." + zeros(129) + "1", "1E125": "1" + zeros(125), "9.9999999999999999999999999999999999999E+125": strings.Repeat("9", 38) + zeros(88),
		"12345678901234567890123456789012345678":   "12345678901234567890123456789012345678",
		"0.00000000000000000000000000000000000001": "0.00000000000000000000000000000000000001", "1000000000000000000000000000000000000000000": "1" + zeros(42),
		"314159265358979323846.26433832795028841": "314159265358979323846.26433832795028841",
	} {
		if n, err := ParseNumber(text); err != nil || string(n) != normal {
			t.Errorf("%s: %s, %v; want %s", text, n, err, normal)
		}
	}
}

// TestNormalSizes: what is taken for a normal form is one, and has the size that its digits
// say.
func TestNormalSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	texts := []string{"", "-", ".", "0", "-0", "00", "-01", "0.0", "1.", "100", "-100", "0.001", "0.010", "10.01", strings.Repeat("9", maxDigits), strings.Repeat("9", maxDigits+1)}
	for range 100_000 {
		b := make([]byte, 1+r.IntN(6))
		for i := range b {
			b[i] = "-000019.."[r.IntN(9)]
		}
		texts = append(texts, string(b))
	}
	normals := 0
	for _, text := range texts {
		size, normal := normalSize(text)
		if d, ok := parseDecimal(text); normal && (!ok || string(d.number()) != text || d.size() != size) {
			t.Errorf("%q: size %d, but it is %q, of %d", text, size, d.number(), d.size())
		} else if ok && !normal && len(text) < maxDigits && string(d.number()) == text {
			t.Errorf("%q is a normal form", text)
		}
		if normal {
			normals++
		}
	}
	if normals < 1000 {
		t.Errorf("%d of the texts are normal", normals)
	}
}

func TestParseNumberRefuses(t *testing.T) {
	const numeric = "ValidationException: The parameter cannot be converted to a numeric value"
	const over = "ValidationException: Number overflow. Attempting to store a number with magnitude larger than supported range"
	const under = "ValidationException: Number underflow. Attempting to store a number with magnitude smaller than supported range"
	const digits = "ValidationException: Attempting to store more than 38 significant digits in a Number"
	for text, want := range map[string]string{ // dynalite's validations/index.js
		"": numeric, "NaN": numeric + ": NaN", "Infinity": numeric + ": Infinity", "dog": numeric + ": dog", " 1": numeric + ":  1", "1 ": numeric + ": 1 ", "-": numeric + ": -",
		".": numeric + ": .", "1e": numeric + ": 1e", "1e+": numeric + ": 1e+", "--1": numeric + ": --1", "1.2.3": numeric + ": 1.2.3", "0x1": numeric + ": 0x1", "١": numeric + ": ١",
		"1e99999999999": numeric + ": 1e99999999999", "1e126": over, "11e125": over, "-1E+126": over, "1e1000000000": over, "1e-131": under, "0.9e-130": under, "1e-1000000000": under,
		"3.14159265358979323846264338327950288419": digits, "314159265358979323846264338327950288419e30": digits,
	} {
		if n, err := ParseNumber(text); reason(err) != want {
			t.Errorf("%q: %s, %v; want %s", text, n, err, want)
		}
	}
}

func TestArithmetic(t *testing.T) {
	for _, c := range []struct{ a, b, sum, difference string }{
		{"1", "10000000000000000000000", "10000000000000000000001", "-9999999999999999999999"},
		{"0.1", "0.2", "0.3", "-0.1"},
		{"-5", "5", "0", "-10"},
		{"0", "1E-130", "1E-130", "-1E-130"},
		{"99999999999999999999999999999999999999", "1", "1E38", "99999999999999999999999999999999999998"},
		{"9E125", "-9E125", "0", ""},
		{"9E125", "9E125", "", "0"},
		{"1E50", "1", "", ""}, // Alternator: an overflow, although it is the digits
		{"1.5E-130", "1E-130", "2.5E-130", ""},
	} {
		a, b := number(t, c.a), number(t, c.b)
		check := func(name, want string, got Number, err error) {
			if want == "" {
				if !dberr.Is(err, dberr.Invalid) {
					t.Errorf("%s %s %s = %s, %v", a, name, b, got, err)
				}
			} else if err != nil || got != number(t, want) {
				t.Errorf("%s %s %s = %s, %v; want %s", a, name, b, got, err, want)
			}
		}
		sum, err := a.Add(b)
		check("+", c.sum, sum, err)
		difference, err := a.Sub(b)
		check("-", c.difference, difference, err)
	}
	if _, err := number(t, "1E50").Add("1"); reason(err) != reason(errOverflow) {
		t.Error(err)
	}
}

func number(t *testing.T, text string) Number {
	t.Helper()
	n, err := ParseNumber(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// randomNumber returns a number with digits from few to all, of any magnitude.
func randomNumber(r *rand.Rand) Number {
	digits := make([]byte, 1+r.IntN(maxDigits))
	for i := range digits {
		digits[i] = byte('0' + r.IntN(10))
	}
	d := decimal{negative: r.IntN(2) == 0}.of(string(digits), r.IntN(40)-20)
	if r.IntN(4) == 0 {
		d = d.of(d.digits, leastExponent+r.IntN(maxExponent-leastExponent+1))
	}
	return d.number()
}

func rat(t *testing.T, n Number) *big.Rat {
	t.Helper()
	q, ok := new(big.Rat).SetString(string(n))
	if !ok {
		t.Fatalf("%q is not a number", n)
	}
	return q
}

// TestNumbersAreRationals compares numbers with exact arithmetic.
func TestNumbersAreRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	added := 0
	for range 5000 {
		a, b := randomNumber(r), randomNumber(r)
		if again, err := ParseNumber(string(a)); err != nil || again != a {
			t.Fatalf("%s is %s, %v", a, again, err)
		}
		x, y := rat(t, a), rat(t, b)
		if got, want := a.Compare(b), x.Cmp(y); got != want {
			t.Fatalf("%s and %s compare as %d, not %d", a, b, got, want)
		}
		if a.Compare(a) != 0 {
			t.Fatal(a)
		}
		for sign, operation := range map[string]func(Number) (Number, error){"+": a.Add, "-": a.Sub} {
			want := new(big.Rat).Add(x, y)
			if sign == "-" {
				want.Sub(x, y)
			}
			got, err := operation(b)
			if err != nil {
				continue
			}
			added++
			if rat(t, got).Cmp(want) != 0 {
				t.Fatalf("%s %s %s = %s", a, sign, b, got)
			}
		}
	}
	if added < 1000 {
		t.Errorf("only %d sums fitted", added)
	}
}

// TestNumberSize holds the sizes that were measured of AWS (dynamodb-conformance,
// src/item-size.ts), by writing items at the limit.
func TestNumberSize(t *testing.T) {
	for text, want := range map[string]int{
		"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "12345678901234567890123456789012345678": 20, "0042": 2, "100": 2, "1010": 3, "0.0000001": 2, "1E125": 2, "1E-100": 2,
		"1.5": 3, "15": 2, "1.200": 3, "1.234": 4, "3.14159": 5, "123456": 4, "100.5": 4, "0.15": 2, "-42": 3, "-0": 1, "1.05": 3,
	} {
		if got := number(t, text).Size(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-1.5e-3", ".1", "1e130", "0e999", "+", "99999999999999999999999999999999999999.9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNumber(text)
		if err != nil {
			return
		}
		if rat(t, n).Cmp(rat(t, Number(text))) != 0 {
			t.Fatalf("%q became %s", text, n)
		}
		if again, err := ParseNumber(string(n)); err != nil || again != n {
			t.Fatalf("%s became %s, %v", n, again, err)
		}
	})
}
