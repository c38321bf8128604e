package expr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
)

// TestAmong holds IN against comparisons with each of its operands.
func TestAmong(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	scalars := []string{`{"N":"1"}`, `{"N":"1.0"}`, `{"N":"2"}`, `{"S":"1"}`, `{"S":""}`, `{"B":"MQ=="}`, `{"BOOL":true}`, `{"NULL":true}`}
	draw := func() string {
		a, b := scalars[random.IntN(len(scalars))], scalars[random.IntN(len(scalars))]
		forms := []string{a, `{"L":[` + a + `]}`, `{"L":[` + a + `,` + b + `]}`, `{"M":{"a":` + a + `,"b":` + b + `}}`, `{"M":{"b":` + b + `,"a":` + a + `}}`,
			`{"L":[{"L":[` + a + `]},` + b + `]}`, `{"SS":["1","2"]}`, `{"SS":["2","1"]}`, `{"NS":["1","2.0"]}`, `{"NS":["2","1"]}`, `{"BS":["MQ==","Mg=="]}`, `{"L":[]}`, `{"M":{}}`}
		return forms[random.IntN(len(forms))]
	}
	held := 0
	for range 3000 {
		values := fmt.Sprintf(`{":a":%s,":b":%s,":c":%s}`, draw(), draw(), draw())
		i, err := attribute.ParseItem([]byte(fmt.Sprintf(`{"x":%s,"y":%s}`, draw(), draw())))
		if err != nil {
			t.Fatal(err)
		}
		holds := func(text string) bool {
			p, err := ParsePlaceholders(nil, []byte(values))
			if err != nil {
				t.Fatal(err)
			}
			c, err := p.Condition(ConditionExpression, text)
			if err != nil {
				t.Fatal(err)
			}
			return c.Holds(i)
		}
		in, each := holds("x IN (:a, :b, y, :c, :a, y, z, size(y))"), holds("x = :a OR x = :b OR x = y OR x = :c OR x = size(y)")
		if in != each {
			t.Fatalf("%s %s: %v by IN, %v by =", body(i), values, in, each)
		}
		if in {
			held++
		}
	}
	if held < 100 || held > 2900 {
		t.Errorf("%d held", held)
	}
}

// BenchmarkAmong is an IN of 99 lists that are nearly the item's.
func BenchmarkAmong(b *testing.B) {
	list := strings.Repeat(`{"NULL":true},`, 10_000)
	i, err := attribute.ParseItem([]byte(`{"x":{"L":[` + list + `{"BOOL":true}]}}`))
	if err != nil {
		b.Fatal(err)
	}
	p, err := ParsePlaceholders(nil, []byte(`{":a":{"L":[`+list+`{"BOOL":false}]}}`))
	if err != nil {
		b.Fatal(err)
	}
	c, err := p.Condition(ConditionExpression, "x IN ("+strings.Repeat(":a,", 98)+":a)")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.Holds(i)
	}
}

// BenchmarkPrepare makes a condition of 99 times a large value.
func BenchmarkPrepare(b *testing.B) {
	p, err := ParsePlaceholders(nil, []byte(`{":a":{"L":[`+strings.Repeat(`{"NULL":true},`, 10_000)+`{"BOOL":false}]}}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Condition(ConditionExpression, "x IN ("+strings.Repeat(":a,", 98)+":a)"); err != nil {
			b.Fatal(err)
		}
	}
}
