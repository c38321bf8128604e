package document

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOperators(t *testing.T) {
	tests := []struct{ body, patch, want string }{
		{`{"n":1}`, `{"$inc":{"n":1}}`, `{"n":2}`},
		{`{"n":9007199254740993}`, `{"$inc":{"n":1}}`, `{"n":9007199254740994}`},
		{`{"n":99999999999999999999999}`, `{"$inc":{"n":1}}`, `{"n":100000000000000000000000}`},
		{`{"n":0.1}`, `{"$inc":{"n":0.2}}`, `{"n":0.3}`},
		{`{"n":1.50}`, `{"$inc":{"n":-2}}`, `{"n":-0.50}`},
		{`{"n":1e3}`, `{"$inc":{"n":1}}`, `{"n":1001}`},
		{`{"n":1e3}`, `{"$inc":{"n":1e3}}`, `{"n":2000}`},
		{`{"n":1E+300}`, `{"$inc":{"n":1e300}}`, `{"n":2e300}`},
		{`{"n":1e-30}`, `{"$inc":{"n":1e-30}}`, `{"n":2e-30}`},
		{`{"n":-0.001}`, `{"$inc":{"n":0.002}}`, `{"n":0.001}`},
		{`{"n":-1}`, `{"$inc":{"n":1}}`, `{"n":0}`},
		{`{"n":0.25}`, `{"$inc":{"n":-0.25}}`, `{"n":0.00}`},
		{`{}`, `{"$inc":{"a.b.c":5}}`, `{"a":{"b":{"c":5}}}`},
		{`{"a":{"x":1}}`, `{"$inc":{"a.b":5,"a.x":1}}`, `{"a":{"x":2,"b":5}}`},
		{`{"a.b":1,"a":{"b":1}}`, `{"$inc":{"a\\.b":1}}`, `{"a.b":2,"a":{"b":1}}`},
		{`{"a\\b":1}`, `{"$inc":{"a\\\\b":1}}`, `{"a\\b":2}`},
		{`{"$inc":1}`, `{"$inc":{"$inc":1},"$set":{"$x":{"y":null}}}`, `{"$inc":2,"$x":{"y":null}}`},
		{`{"é\"":1}`, `{"$inc":{"\u00e9\"":1}}`, `{"é\"":2}`},
		{`{"n":1}`, `{"\u0024inc":{"n":1}}`, `{"n":2}`},
		{`{"a":{"$inc":{"b":1}}}`, `{"a":{"$inc":{"b":7}}}`, `{"a":{"$inc":{"b":7}}}`},
		{`{"l":[1]}`, `{"$append":{"l":[2,3],"m":[4]}}`, `{"l":[1,2,3],"m":[4]}`},
		{`{"l":[],"m":[1]}`, `{"$append":{"l":[[]],"m":[]}}`, `{"l":[[]],"m":[1]}`},
		{`{"a":5,"b":5,"c":5}`, `{"$max":{"a":7,"b":3,"d":1},"$min":{"c":3}}`, `{"a":7,"b":5,"c":3,"d":1}`},
		{`{"a":10.0,"b":9007199254740992}`, `{"$max":{"a":1e1,"b":9007199254740993}}`, `{"a":10.0,"b":9007199254740993}`},
		{`{"at":"2026-01-02"}`, `{"$max":{"at":"2026-01-10"}}`, `{"at":"2026-01-10"}`},
		{`{"at":"\n"}`, `{"$min":{"at":"a"}}`, `{"at":"\n"}`},
		{`{"n":1,"s":"a"}`, `{"s":null,"t":1,"$inc":{"n":1},"u":{"v":2}}`, `{"n":2,"t":1,"u":{"v":2}}`},
		{`{"a":5}`, `{"a":{"x":1},"$inc":{"a.y":1}}`, `{"a":{"x":1,"y":1}}`},
		{`{"n":1}`, `{"$setOnInsert":{"a.b":1,"n":0}}`, `{"n":1}`},
		{`{"a":{"b":{"c":1}}}`, `{"$set":{"a.b":{"d":null}}}`, `{"a":{"b":{"d":null}}}`},
	}
	for _, tt := range tests {
		got, err := mergePatch([]byte(tt.body), []byte(tt.patch), true)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s and %s: %s, %v, want %s", tt.body, tt.patch, got, err, tt.want)
		}
	}
}

func TestOperatorsOfADocumentThatIsNotThere(t *testing.T) {
	p, err := ParsePatch([]byte(`{"b":2,"gone":null,"$inc":{"n":1},"$setOnInsert":{"made":"now"},"$append":{"l":[1]},"$max":{"m":3}}`), true)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Insert(); err != nil || string(got) != `{"b":2,"n":1,"made":"now","l":[1],"m":3}` {
		t.Errorf("inserted %s, %v", got, err)
	}
	if got, err := p.Apply([]byte(`{"n":4}`)); err != nil || string(got) != `{"n":5,"b":2,"l":[1],"m":3}` {
		t.Errorf("patched %s, %v", got, err)
	}
}

func TestOperatorsRefuse(t *testing.T) {
	deep := strings.Repeat("a.", 99) + "a"
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf(`"m%d":1`, i)
	}
	nested := strings.Repeat("[", 950) + strings.Repeat("]", 950)
	for _, tt := range []struct{ body, patch, want string }{
		{`{"n":"5"}`, `{"$inc":{"n":1}}`, "$inc of `n`: the member is a string, not a number."},
		{`{"n":null}`, `{"$inc":{"n":1}}`, "$inc of `n`: the member is null, not a number."},
		{`{"n":{}}`, `{"$inc":{"n":1}}`, "$inc of `n`: the member is an object, not a number."},
		{`{"n":5}`, `{"$inc":{"n":"1"}}`, "$inc of `n` takes a number of 1000 digits at most."},
		{`{"n":5}`, `{"$max":{"n":"1"}}`, "$max of `n`: the member is a number, not a string."},
		{`{"n":5}`, `{"$max":{"n":true}}`, "$max of `n` takes a number of 1000 digits at most, or a string."},
		{`{"l":5}`, `{"$append":{"l":[1]}}`, "$append of `l`: the member is a number, not an array."},
		{`{"l":[]}`, `{"$append":{"l":1}}`, "$append of `l` takes an array, the elements to append."},
		{`{"a":5}`, `{"$inc":{"a.b":1}}`, "`a` is a number, not an object."},
		{`{"a":[1]}`, `{"$inc":{"a.0":1}}`, "`a` is an array, not an object."},
		{`{}`, `{"$inc":{"a":1},"$max":{"a":1}}`, "Two changes of the patch meet at `a`."},
		{`{}`, `{"$inc":{"a":1,"a.b":1}}`, "Two changes of the patch meet at `a`."},
		{`{}`, `{"$inc":{"a.b":1,"a":1}}`, "Two changes of the patch meet at `a`."},
		{`{}`, `{"a":1,"$inc":{"a":1}}`, "Two changes of the patch meet at `a`."},
		{`{}`, `{"a":{"b":null},"$inc":{"a.b":1}}`, "Two changes of the patch meet at `a.b`."},
		{`{}`, `{"a":{},"$set":{"a":1}}`, "Two changes of the patch meet at `a`."},
		{`{}`, `{"$inc":{"a":1},"$setOnInsert":{"a":1}}`, "Two changes of the patch meet at `a`."},
		{`{}`, `{"$push":{"a":1}}`, "There is no operator $push. A member of this name is set by $set, or with Content-Type: application/merge-patch+json."},
		{`{}`, `{"$inc":5}`, "$inc takes an object of paths and values."},
		{`{}`, `{"$inc":{"":1}}`, "`` is not a path: a name in it is empty."},
		{`{}`, `{"$inc":{"a..b":1}}`, "`a..b` is not a path: a name in it is empty."},
		{`{}`, `{"$inc":{"a.":1}}`, "`a.` is not a path: a name in it is empty."},
		{`{}`, `{"$inc":{"a\\b":1}}`, "`a\\b` is not a path: only a dot and a backslash follow a backslash."},
		{`{}`, `{"$inc":{"_rev":1}}`, "A patch can't change the member _rev"},
		{`{}`, `{"$set":{"_deleted":true}}`, "A patch can't change the member _deleted"},
		{`{}`, `{"$inc":{"` + deep + `.a":1}}`, "A path has 100 names at most."},
		{`{}`, `{"$inc":{` + strings.Join(many, ",") + `}}`, "A patch has 1000 operations at most."},
		{`{"n":1}`, `{"$inc":{"n":` + strings.Repeat("0", 1) + `.` + strings.Repeat("1", 1000) + `}}`, "$inc of `n` takes a number of 1000 digits at most."},
		{`{"n":1}`, `{"$inc":{"n":1e-1000000000}}`, "$inc of `n` takes a number of 1000 digits at most."},
		{`{"n":1e-99999999999999999999}`, `{"$inc":{"n":1}}`, "$inc of `n`: a number has more than 1000 digits."},
		{`{"n":1.7e308}`, `{"$inc":{"n":1.7e308}}`, "$inc of `n`: the sum is out of range."},
		{`{}`, `{"$set":{"` + deep + `":` + nested + `}}`, "depth"},
	} {
		got, err := mergePatch([]byte(tt.body), []byte(tt.patch), true)
		if got != nil || err == nil || !strings.HasSuffix(refused(err), tt.want) && !(tt.want == "depth" && strings.Contains(refused(err), "deep")) {
			t.Errorf("%s and %.100s: %s, %v, want %s", tt.body, tt.patch, got, err, tt.want)
		}
	}
}

// TestSumsAreExact holds the arithmetic against fractions.
func TestSumsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	literal := func() string {
		text := fmt.Sprint(r.Int64N(1<<uint(1+r.IntN(62))) - r.Int64N(1<<20))
		if r.IntN(2) == 0 {
			text += fmt.Sprintf(".%0*d", 1+r.IntN(25), r.IntN(10))
		}
		if r.IntN(2) == 0 {
			text += fmt.Sprintf("e%d", r.IntN(80)-40)
		}
		return text
	}
	for range 2000 {
		a, b := literal(), literal()
		got, err := mergePatch([]byte(`{"n":`+a+`}`), []byte(`{"$inc":{"n":`+b+`}}`), true)
		if err != nil {
			t.Fatal(a, b, err)
		}
		var sum struct{ N json.Number }
		if err := json.Unmarshal(got, &sum); err != nil {
			t.Fatalf("%s + %s = %s: %v", a, b, got, err)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if z, ok := new(big.Rat).SetString(sum.N.String()); !ok || z.Cmp(x.Add(x, y)) != 0 {
			t.Fatalf("%s + %s = %s, want %s", a, b, sum.N, x)
		}
	}
}

func FuzzOperators(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1},"l":[1]}`), []byte(`{"a":{"c":1},"$inc":{"a.b":1},"$append":{"l":[2]},"$max":{"x":"y"}}`))
	f.Fuzz(func(t *testing.T, body, patch []byte) {
		p, err := ParsePatch(patch, true)
		if err != nil {
			return
		}
		for _, apply := range []func() ([]byte, error){func() ([]byte, error) { return p.Apply(body) }, p.Insert} {
			got, err := apply()
			if err != nil {
				continue
			}
			if again, err := Compact(got); err != nil || string(again) != string(got) {
				t.Fatalf("%q is not compact: %v", got, err)
			}
		}
	})
}
