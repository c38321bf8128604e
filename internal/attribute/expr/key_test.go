package expr

import (
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
)

// shown writes what a Query reads.
func (r Range) shown() string {
	text := r.Hash.String()
	b := r.Bounds
	if b == nil {
		return text
	}
	bound := func(v attribute.Value) string {
		if v.Type() == attribute.None {
			return ""
		}
		return v.Text()
	}
	open, closing := "[", "]"
	if b.LowOpen {
		open = "("
	}
	if b.HighOpen {
		closing = ")"
	}
	if b.Prefix {
		closing = "*"
	}
	return text + " " + open + bound(b.Low) + ".." + bound(b.High) + closing
}

// TestKeyConditions: where no source is said the texts are those of dynalite's
// validations/index.js and actions/query.js; newer ones are dynamodb-conformance's.
func TestKeyConditions(t *testing.T) {
	const in = "Invalid KeyConditionExpression: "
	const operator, condition = in + "Invalid operator used in KeyConditionExpression: ", in + "Invalid condition in KeyConditionExpression: "
	const schema = "One or more parameter values were invalid: Condition parameter type does not match schema type"
	const operand = in + "Incorrect operand type for operator or function; operator or function: "
	for text, want := range map[string]string{
		"pk = :s":                              "{S:b}",
		":s = pk":                              "{S:b}",
		"(pk = :s)":                            "{S:b}",
		"pk = :s AND sk = :n":                  "{S:b} [5..5]",
		"sk < :n AND pk = :s":                  "{S:b} [..5)",
		"pk = :s AND sk <= :n":                 "{S:b} [..5]",
		"pk = :s AND (sk > :n)":                "{S:b} (5..]",
		"(pk = :s AND sk >= :n)":               "{S:b} [5..]",
		"pk = :s AND :n < sk":                  "{S:b} (5..]",
		"pk = :s AND :n >= sk":                 "{S:b} [..5]",
		"pk = :s AND sk BETWEEN :one AND :n":   "{S:b} [1..5]",
		"#pk = :s":                             "{S:b}",
		"pk = :s OR sk = :n":                   operator + "OR",
		"NOT pk = :s":                          operator + "NOT",
		"pk IN (:s)":                           operator + "IN",
		"pk <> :s":                             operator + "<>",
		"pk = :s AND attribute_exists(sk)":     operator + "attribute_exists",
		"pk = :s AND contains(sk, :s)":         operator + "contains",
		"pk = :s AND size(sk) > :n":            in + "KeyConditionExpressions cannot contain nested operations",
		"pk = :s AND sk = x":                   condition + "Multiple attribute names used in one condition",
		"pk = :s AND sk.x = :n":                in + "KeyConditionExpressions cannot have conditions on nested attributes", // dynamodb-conformance
		"pk = :s AND :n = :one":                condition + "No key attribute specified",
		"pk = :s AND :n BETWEEN sk AND :n":     condition + "BETWEEN operator must have the key attribute as its first operand",
		"pk = :s AND begins_with(:s, sk)":      condition + "begins_with operator must have the key attribute as its first operand",
		"pk = :s AND sk > :one AND sk < :n":    in + "KeyConditionExpressions must only contain one condition per key", // this and the next: dynamodb-conformance
		"pk = :s AND sk > :one AND extra = :n": "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
		"sk = :n":                              "Query condition missed key schema element: pk",
		"extra = :n":                           "Query condition missed key schema element: pk",
		"pk = :s AND extra = :n":               "Query condition missed key schema element: sk",
		"pk > :s":                              "Query key condition not supported",
		"begins_with(pk, :s) AND sk = :n":      "Query key condition not supported",
		"pk = :n":                              schema,
		"pk = :s AND sk = :s":                  schema,
		"pk = :s AND begins_with(sk, :s)":      schema, // this to the last but two: dynamodb-conformance
		"pk = :s AND sk = :t":                  schema,
		"pk = :s AND begins_with(sk, :n)":      operand + "begins_with, operand type: N",
		"pk = :s AND sk < :t":                  operand + "<, operand type: BOOL",
		"pk = :s AND :t >= sk":                 operand + ">=, operand type: BOOL",
		"pk = :s AND sk BETWEEN :t AND :t":     operand + "BETWEEN, operand type: BOOL",
		"pk = :e":                              "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
		"pk = :s AND sk BETWEEN :n AND :one":   in + "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {N:1}",
		"((pk = :s))":                          in + "The expression has redundant parentheses;",
		"":                                     in + "The expression can not be empty;",
	} {
		got := ""
		k, err := placeholders(t, "pk", values).KeyCondition(text)
		if err == nil {
			var r Range
			if r, err = k.Range(Key{"pk", attribute.S}, Key{"sk", attribute.N}); err == nil {
				got = r.shown()
			}
		}
		if err != nil {
			got = reason(err)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestKeyConditionsOfOtherSchemas(t *testing.T) {
	for _, c := range []struct {
		text           string
		hash, rangeKey Key
		want           string
	}{
		{"pk = :s AND begins_with(sk, :a)", Key{"pk", attribute.S}, Key{"sk", attribute.S}, "{S:b} [a..*"},
		{"pk = :b AND begins_with(sk, :b)", Key{"pk", attribute.B}, Key{"sk", attribute.B}, "{B:java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]} [\x01\x02..*"},
		{"pk = :n", Key{"pk", attribute.N}, Key{}, "{N:5}"},
		{"pk = :n AND sk = :n", Key{"pk", attribute.N}, Key{}, "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)"},
		{"begins_with(sk, :e) AND pk = :n", Key{"pk", attribute.N}, Key{"sk", attribute.S}, "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: sk"},
	} {
		k, err := placeholders(t, "", values).KeyCondition(c.text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.Range(c.hash, c.rangeKey)
		got := r.shown()
		if err != nil {
			got = reason(err)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// TestBoundsContain holds bounds against the condition that they come from.
func TestBoundsContain(t *testing.T) {
	for _, text := range []string{"sk = :s", "sk < :s", "sk <= :s", "sk > :s", "sk >= :s", ":s > sk", "sk BETWEEN :a AND :s", "begins_with(sk, :s)"} {
		p := placeholders(t, "", values)
		k, err := p.KeyCondition("pk = :s AND " + text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.Range(Key{"pk", attribute.S}, Key{"sk", attribute.S})
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Condition(FilterExpression, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"", "a", "aa", "b", "ba", "c"} {
			v := attribute.String(key)
			i := attribute.NewItem([]attribute.Attribute{{Name: "sk", Value: v}})
			if r.Bounds.Contains(v) != c.Holds(i) {
				t.Errorf("%s: %q", text, key)
			}
		}
		if r.Bounds.Contains(attribute.Int(1)) {
			t.Errorf("%s: a number is within", text)
		}
	}
}

func TestForms(t *testing.T) {
	update := Forms{[]Kind{UpdateExpression, ConditionExpression}, []string{"AttributeUpdates", "Expected", "ConditionalOperator"}}
	query := Forms{[]Kind{KeyConditionExpression, FilterExpression, ProjectionExpression}, []string{"KeyConditions", "QueryFilter", "AttributesToGet", "ConditionalOperator"}}
	scan := Forms{[]Kind{FilterExpression, ProjectionExpression}, []string{"ScanFilter", "AttributesToGet", "ConditionalOperator"}}
	get := Forms{[]Kind{ProjectionExpression}, []string{"AttributesToGet"}}
	const mixed = "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
	for _, c := range []struct { // dynamodb-conformance, and dynalite's validations/index.js
		forms      Forms
		parameters string
		want       string
	}{
		{update, "UpdateExpression AttributeUpdates", mixed + "{AttributeUpdates} Expression parameters: {UpdateExpression}"},
		{update, "ConditionExpression UpdateExpression Expected AttributeUpdates", mixed + "{AttributeUpdates, Expected} Expression parameters: {UpdateExpression, ConditionExpression}"},
		{update, "UpdateExpression ExpressionAttributeNames ExpressionAttributeValues", ""},
		{update, "AttributeUpdates Expected", ""},
		{update, "ExpressionAttributeNames", "ExpressionAttributeNames can only be specified when using expressions"},
		{update, "ExpressionAttributeValues", "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression are null"},
		{scan, "ExpressionAttributeValues ProjectionExpression", "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"},
		{query, "KeyConditionExpression QueryFilter", mixed + "{QueryFilter} Expression parameters: {KeyConditionExpression}"},
		{query, "KeyConditionExpression KeyConditions", mixed + "{KeyConditions} Expression parameters: {KeyConditionExpression}"},
		{query, "KeyConditions FilterExpression ExpressionAttributeValues", ""},
		{get, "AttributesToGet ProjectionExpression", mixed + "{AttributesToGet} Expression parameters: {ProjectionExpression}"},
		{get, "ExpressionAttributeValues", ""},
	} {
		err := c.forms.Check(func(parameter string) bool { return strings.Contains(" "+c.parameters+" ", " "+parameter+" ") })
		if err == nil && c.want != "" || err != nil && reason(err) != c.want {
			t.Errorf("%s: %v, want %s", c.parameters, err, c.want)
		}
	}
}
