package expr

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
)

// sample is the item that fuzz tests evaluate over.
const sample = `{"a":{"b":[1,{"c":"x"}],"d":{"$ss":["a","b"]}},"n":5,"s":"abc","l":[0,1,2,[3]],"ns":{"$ns":[1,2]},"bin":{"$b":"AQI="},"t":true,"nil":null}`

func FuzzCondition(f *testing.F) {
	for _, text := range []string{"n = :n AND NOT (a.b[1].c <> :s OR size(l) BETWEEN :one AND :n)", "contains(a.d, :a) or begins_with(s, :e)", "n IN (:n, l[1])",
		"attribute_type(a, :M) AND attribute_exists(#dot)", "((n) = :n)", "(size(s)) > :n", "n < :t"} {
		f.Add(text)
	}
	i := item(f, sample)
	f.Fuzz(func(t *testing.T, text string) {
		p := placeholders(t, names, values)
		if c, err := p.Condition(ConditionExpression, text); err == nil {
			c.Holds(i)
			c.Holds(attribute.Item{})
		}
		if k, err := p.KeyCondition(text); err == nil {
			k.Range(Key{"n", attribute.N}, Key{"s", attribute.S}) //nolint:errcheck // it must not panic
			k.Range(Key{"s", attribute.S}, Key{})                 //nolint:errcheck
		}
	})
}

func FuzzProjection(f *testing.F) {
	f.Add("a.b[1].c, n, l[3], l[0]")
	f.Add("#dot, a.d, a.b[0]")
	i := item(f, sample)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := placeholders(t, names, "").Projection(text)
		if err != nil {
			return
		}
		got := p.Apply(i)
		if got.Len() > len(p.Names()) || got.Size() > i.Size() {
			t.Fatalf("%s: %s", text, body(got))
		}
	})
}

func FuzzUpdate(f *testing.F) {
	for _, text := range []string{"SET n = n + :n, a.b[0] = list_append(l, :l), a.x = if_not_exists(a.y, s) REMOVE l[0], l[2]", "ADD n :n, a.d :ss DELETE ns :ns", "SET l[9] = a, l[0] = n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := placeholders(t, names, values).Update(text)
		if err != nil {
			return
		}
		i := item(t, sample)
		after, err := u.Apply(i)
		if body(i) != sample {
			t.Fatalf("%s changed the item before", text)
		}
		u.Touched(i)
		if err != nil {
			return
		}
		u.Touched(after)
		if again, err := attribute.ParseBody(attribute.AppendBody(nil, after)); err != nil || !attribute.EqualItems(again, after) {
			t.Fatalf("%s: %s, %v", text, body(after), err)
		}
	})
}

func FuzzLegacy(f *testing.F) {
	f.Add([]byte(`{"n":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"7"}]},"s":{"Value":{"S":"x"},"Exists":true,"Action":"ADD"}}`))
	f.Add([]byte(`["a","b"]`))
	i := item(f, sample)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := ParseFilter("ScanFilter", raw, ""); err == nil && c != nil {
			c.Holds(i)
		}
		if c, err := ParseExpected(raw, "OR"); err == nil && c != nil {
			c.Holds(i)
		}
		if k, err := ParseKeyConditions(raw); err == nil {
			k.Range(Key{"n", attribute.N}, Key{"s", attribute.S}) //nolint:errcheck // it must not panic
		}
		if u, err := ParseAttributeUpdates(raw); err == nil {
			u.Apply(i) //nolint:errcheck
		}
		if p, err := ParseAttributesToGet(raw); err == nil {
			p.Apply(i)
		}
		ParsePlaceholders(raw, raw) //nolint:errcheck
	})
}

// TestPrecedence writes random conditions with as few parentheses as the precedence of
// NOT, AND and OR allows, and holds what they say against what they were made from.
func TestPrecedence(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	i := item(t, `{"n":5}`)
	for range 3000 {
		text, want := randomCondition(r, 4, 0)
		c, err := placeholders(t, names, values).Condition(FilterExpression, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c.Holds(i) != want {
			t.Fatalf("%s: %v", text, !want)
		}
	}
}

// randomCondition returns a condition, and whether it holds; binding is what it stands
// in: 0 nothing, 1 OR, 2 AND, 3 NOT.
func randomCondition(r *rand.Rand, depth, binding int) (text string, holds bool) {
	if depth == 0 {
		holds = r.IntN(2) == 0
		return map[bool][]string{true: {"n = :n", "n BETWEEN :one AND :ten", "attribute_exists(n)"}, false: {"n = :one", "n IN (:one, :ten)", "contains(n, :n)"}}[holds][r.IntN(3)], holds
	}
	own := 1 + r.IntN(3)
	a, aHolds := randomCondition(r, depth-1, own)
	switch own {
	case 3:
		text, holds = "NOT "+a, !aHolds
	default:
		b, bHolds := randomCondition(r, r.IntN(depth), own)
		operator := " OR "
		if holds = aHolds || bHolds; own == 2 {
			operator, holds = " AND ", aHolds && bHolds
		}
		text = a + operator + b
	}
	if own < binding {
		text = "(" + text + ")"
	}
	return text, holds
}

func BenchmarkExpressions(b *testing.B) {
	i := item(b, sample)
	attributes := append([]attribute.Attribute{}, i.Attributes()...)
	for n := range 20 {
		attributes = append(attributes, attribute.Attribute{Name: "x" + strings.Repeat("y", n), Value: attribute.Int(int64(n))})
	}
	i = attribute.NewItem(attributes)
	p := placeholders(b, names, values)
	const condition, update = "attribute_exists(n) AND n < :ten AND a.b[1].c <> :s", "SET n = n + :n, a.x = :s"
	c, err := p.Condition(ConditionExpression, condition)
	if err != nil {
		b.Fatal(err)
	}
	u, err := p.Update(update)
	if err != nil {
		b.Fatal(err)
	}
	for name, run := range map[string]func(){
		"parse condition": func() { p.Condition(ConditionExpression, condition) }, //nolint:errcheck
		"condition holds": func() { c.Holds(i) },
		"parse update":    func() { p.Update(update) }, //nolint:errcheck
		"apply update":    func() { u.Apply(i) },       //nolint:errcheck
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
