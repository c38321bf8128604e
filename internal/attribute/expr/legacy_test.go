package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
)

func TestLegacyConditions(t *testing.T) {
	i := item(t, `{"n":5,"s":"banana","t":true,"ss":{"$ss":["a","b"]},"l":[1]}`)
	for text, want := range map[string]bool{
		`{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"5"}]}}`:                  true,
		`{"t":{"ComparisonOperator":"EQ","AttributeValueList":[{"BOOL":true}]}}`:              true,
		`{"n":{"ComparisonOperator":"NE","AttributeValueList":[{"N":"5"}]}}`:                  false,
		`{"gone":{"ComparisonOperator":"NE","AttributeValueList":[{"N":"5"}]}}`:               true,
		`{"n":{"ComparisonOperator":"LT","AttributeValueList":[{"N":"10"}]}}`:                 true,
		`{"n":{"ComparisonOperator":"LE","AttributeValueList":[{"N":"4"}]}}`:                  false,
		`{"n":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"4"}]}}`:                  false,
		`{"n":{"ComparisonOperator":"GE","AttributeValueList":[{"N":"5"}]}}`:                  true,
		`{"n":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"5"}]}}`:   true,
		`{"n":{"ComparisonOperator":"IN","AttributeValueList":[{"N":"1"},{"N":"5"}]}}`:        true,
		`{"s":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"ba"}]}}`:        true,
		`{"s":{"ComparisonOperator":"CONTAINS","AttributeValueList":[{"S":"nan"}]}}`:          true,
		`{"ss":{"ComparisonOperator":"CONTAINS","AttributeValueList":[{"S":"a"}]}}`:           true,
		`{"l":{"ComparisonOperator":"CONTAINS","AttributeValueList":[{"N":"1"}]}}`:            true,
		`{"s":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"nan"}]}}`:      false,
		`{"gone":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"nan"}]}}`:   false,
		`{"n":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"nan"}]}}`:      true,
		`{"ss":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"c"}]}}`:       true,
		`{"gone":{"ComparisonOperator":"NULL"}}`:                                              true,
		`{"n":{"ComparisonOperator":"NULL"}}`:                                                 false,
		`{"n":{"ComparisonOperator":"NOT_NULL"},"s":{"ComparisonOperator":"NOT_NULL"}}`:       true,
		`{"n":{"ComparisonOperator":"NOT_NULL"},"gone":{"ComparisonOperator":"NOT_NULL"}}`:    false,
		`OR{"n":{"ComparisonOperator":"NOT_NULL"},"gone":{"ComparisonOperator":"NOT_NULL"}}`:  true,
		`AND{"n":{"ComparisonOperator":"NOT_NULL"},"gone":{"ComparisonOperator":"NOT_NULL"}}`: false,
	} {
		raw, operator := text[strings.Index(text, "{"):], text[:strings.Index(text, "{")]
		filter, err := ParseFilter("ScanFilter", []byte(raw), operator)
		if err != nil || filter.Holds(i) != want {
			t.Errorf("ScanFilter %s: %v, want %v", text, err, want)
		}
		expected, err := ParseExpected([]byte(raw), operator)
		if err != nil || expected.Holds(i) != want {
			t.Errorf("Expected %s: %v, want %v", text, err, want)
		}
	}
	for text, want := range map[string]bool{
		`{"n":{"Value":{"N":"5"}}}`:                           true,
		`{"n":{"Value":{"N":"6"}}}`:                           false,
		`{"n":{"Exists":true,"Value":{"N":"5.0"}}}`:           true,
		`{"n":{"Exists":false}}`:                              false,
		`{"gone":{"Exists":false},"n":{"Value":{"N":"5"}}}`:   true,
		`{"n":{"ComparisonOperator":"GT","Value":{"N":"4"}}}`: true,
		`{"gone":{"Exists":false,"Value":null}}`:              true,
	} {
		c, err := ParseExpected([]byte(text), "")
		if err != nil || c.Holds(i) != want {
			t.Errorf("Expected %s: %v, want %v", text, err, want)
		}
	}
	if c, err := ParseFilter("QueryFilter", []byte(`{}`), ""); c != nil || err != nil {
		t.Error(c, err)
	}
	c, err := ParseFilter("QueryFilter", []byte(`{"pk":{"ComparisonOperator":"NULL"}}`), "")
	if err != nil || reason(c.CheckNoKeys("pk")) != "QueryFilter can only contain non-primary key attributes: Primary key attribute: pk" {
		t.Error(err, c.CheckNoKeys("pk"))
	}
}

// TestLegacyErrors: the texts are those of dynalite's validations/index.js and of
// DynamoDB Local's table.
func TestLegacyErrors(t *testing.T) {
	const bad = "One or more parameter values were invalid: "
	const operators = "Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"
	many := []string{}
	for i := range maxOperators + 1 {
		many = append(many, fmt.Sprintf(`"a%d":{"ComparisonOperator":"NULL"}`, i))
	}
	for _, c := range []struct{ parameter, raw, operator, want string }{
		{"ScanFilter", `{"a":{}}`, "", "1 validation error detected: Value null at 'scanFilter.a.member.comparisonOperator' failed to satisfy constraint: Member must not be null"},
		{"QueryFilter", `{"a":{"ComparisonOperator":"X"}}`, "", "1 validation error detected: Value 'X' at 'queryFilter.a.member.comparisonOperator' failed to satisfy constraint: " + operators},
		{"ScanFilter", `{"a":{"ComparisonOperator":"EQ"}}`, "", bad + "Invalid number of argument(s) for the EQ ComparisonOperator"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"NULL","AttributeValueList":[{"S":"x"}]}}`, "", bad + "Invalid number of argument(s) for the NULL ComparisonOperator"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"IN","AttributeValueList":[{"S":"x"},{"N":"1"}]}}`, "", bad + "AttributeValues inside AttributeValueList must be of same type"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"LT","AttributeValueList":[{"BOOL":true}]}}`, "", bad + "ComparisonOperator LT is not valid for BOOL AttributeValue type"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"N":"1"}]}}`, "", bad + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"2"},{"N":"1"}]}}`, "", "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`, "", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"EQ","AttributeValueList":"x"}}`, "", "SerializationException: Unexpected field type"},
		{"ScanFilter", `{"a":{"ComparisonOperator":1}}`, "", "SerializationException: NUMBER_VALUE cannot be converted to String"},
		{"ScanFilter", `{"a":1}`, "", "SerializationException: Unexpected field type"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"IN","AttributeValueList":[` + strings.Repeat(`{"S":"x"},`, 200) + `1]}}`, "", bad + "Invalid number of argument(s) for the IN ComparisonOperator"},
		{"ScanFilter", `{` + strings.Join(many, ",") + `}`, "", bad + "ScanFilter has more than 300 conditions"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"NULL"}}`, "OR", "ConditionalOperator can only be used when Filter or Expected has two or more elements"},
		{"ScanFilter", `{}`, "OR", "ConditionalOperator cannot be used without Filter or Expected"},
		{"ScanFilter", `{"a":{"ComparisonOperator":"NULL"}}`, "XOR", "1 validation error detected: Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]"},
		{"Expected", `{"a":{"Value":{"S":"x"},"AttributeValueList":[{"S":"x"}]}}`, "", bad + "Value and AttributeValueList cannot be used together for Attribute: a"},
		{"Expected", `{"a":{"Exists":true,"ComparisonOperator":"EQ"}}`, "", bad + "Exists and ComparisonOperator cannot be used together for Attribute: a"},
		{"Expected", `{"a":{"ComparisonOperator":"EQ"}}`, "", bad + "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a"},
		{"Expected", `{"a":{"ComparisonOperator":"NULL","Value":{"S":"x"}}}`, "", bad + "Invalid number of argument(s) for the NULL ComparisonOperator"},
		{"Expected", `{"a":{"AttributeValueList":[{"S":"x"}]}}`, "", bad + "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"},
		{"Expected", `{"a":{}}`, "", bad + "Value must be provided when Exists is null for Attribute: a"},
		{"Expected", `{"a":{"Exists":true}}`, "", bad + "Value must be provided when Exists is true for Attribute: a"},
		{"Expected", `{"a":{"Exists":false,"Value":{"S":"x"}}}`, "", bad + "Value cannot be used when Exists is false for Attribute: a"},
		{"Expected", `{"a":{"Exists":1}}`, "", "SerializationException: NUMBER_VALUE cannot be converted to Boolean"},
		{"KeyConditions", `{"a":{"ComparisonOperator":"EQ"}}`, "", bad + "Invalid number of argument(s) for the EQ ComparisonOperator"},
		{"KeyConditions", `{}`, "", "Conditions can be of length 1 or 2 only"},
		{"KeyConditions", `{"a":{"ComparisonOperator":"NULL"},"b":{"ComparisonOperator":"NULL"},"c":{"ComparisonOperator":"NULL"}}`, "", "Conditions can be of length 1 or 2 only"},
		{"KeyConditions", `{"a":{"ComparisonOperator":"CONTAINS","AttributeValueList":[{"S":"x"}]}}`, "", "Attempted conditional constraint is not an indexable operation"},
		{"AttributeUpdates", `{"a":{"Action":"X","Value":{"S":"x"}}}`, "", "1 validation error detected: Value 'X' at 'attributeUpdates.a.member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, DELETE, PUT]"},
		{"AttributeUpdates", `{"a":{"Action":"PUT"}}`, "", bad + "Only DELETE action is allowed when no attribute value is specified"},
		{"AttributeUpdates", `{"a":{}}`, "", bad + "Only DELETE action is allowed when no attribute value is specified"},
		{"AttributeUpdates", `{"a":{"Action":"DELETE","Value":{"S":"x"}}}`, "", bad + "DELETE action with value is not supported for the type S"},
		{"AttributeUpdates", `{"a":{"Action":"ADD","Value":{"S":"x"}}}`, "", bad + "ADD action is not supported for the type S"},
		{"AttributeUpdates", `{"a":{"Value":{}}}`, "", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
		{"AttributeUpdates", `{"":{"Value":{"S":"x"}}}`, "", "Empty attribute name"},
		{"AttributeUpdates", `[]`, "", "SerializationException: Unexpected field type"},
		{"AttributesToGet", `[]`, "", "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"AttributesToGet", `["a","b","a"]`, "", bad + "Duplicate value in attribute name: a"},
		{"AttributesToGet", `["a",1]`, "", "SerializationException: NUMBER_VALUE cannot be converted to String"},
		{"AttributesToGet", `"a"`, "", "SerializationException: Unexpected field type"},
	} {
		var err error
		switch c.parameter {
		case "Expected":
			_, err = ParseExpected([]byte(c.raw), c.operator)
		case "KeyConditions":
			_, err = ParseKeyConditions([]byte(c.raw))
		case "AttributeUpdates":
			_, err = ParseAttributeUpdates([]byte(c.raw))
		case "AttributesToGet":
			_, err = ParseAttributesToGet([]byte(c.raw))
		default:
			_, err = ParseFilter(c.parameter, []byte(c.raw), c.operator)
		}
		if got := reason(err); got != c.want {
			t.Errorf("%s %.80s:\n%s\nwant\n%s", c.parameter, c.raw, got, c.want)
		}
	}
}

func TestLegacyKeyConditions(t *testing.T) {
	hash := `"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"b"}]}`
	for text, want := range map[string]string{
		`{` + hash + `}`: "{S:b}",
		`{"sk":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"5"}]},` + hash + `}`: "{S:b} [1..5]",
		`{` + hash + `,"sk":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"1"}]}}`:                "{S:b} (1..]",
		`{` + hash + `,"sk":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"1"}]}}`:                "One or more parameter values were invalid: Condition parameter type does not match schema type",
		`{` + hash + `,"x":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"1"}]}}`:                 "Query condition missed key schema element: sk",
		`{"sk":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`:                             "Query condition missed key schema element: pk",
		`{"pk":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"1"}]}}`:                             "Query key condition not supported",
	} {
		k, err := ParseKeyConditions([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.Range(Key{"pk", attribute.S}, Key{"sk", attribute.N})
		got := r.shown()
		if err != nil {
			got = reason(err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	k, err := ParseKeyConditions([]byte(`{` + hash + `,"sk":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"1"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Range(Key{"pk", attribute.S}, Key{}); reason(err) != "Query key condition not supported" {
		t.Error(err)
	}
}

func TestLegacyUpdates(t *testing.T) {
	before := `{"n":10,"tags":{"$ss":["a","b","c"]},"l":[1],"extra":"x"}`
	for text, want := range map[string]string{
		`{"n":{"Value":{"S":"x"}}}`: `{"n":"x","tags":{"$ss":["a","b","c"]},"l":[1],"extra":"x"}`,
		`{"n":{"Action":"ADD","Value":{"N":"5"}},"extra":{"Action":"DELETE"},"gone":{"Action":"DELETE"}}`: `{"n":15,"tags":{"$ss":["a","b","c"]},"l":[1]}`,
		`{"tags":{"Action":"DELETE","Value":{"SS":["b"]}}}`:                                               `{"n":10,"tags":{"$ss":["a","c"]},"l":[1],"extra":"x"}`,
		`{"tags":{"Action":"ADD","Value":{"SS":["d"]}}}`:                                                  `{"n":10,"tags":{"$ss":["a","b","c","d"]},"l":[1],"extra":"x"}`,
		`{"l":{"Action":"ADD","Value":{"L":[{"N":"2"}]}},"status":{"Action":"ADD","Value":{"N":"2"}}}`:    `{"n":10,"tags":{"$ss":["a","b","c"]},"l":[1,2],"extra":"x","status":2}`,
		`{}`: before,
		`{"n":{"Action":"ADD","Value":{"SS":["d"]}}}`:    "Type mismatch for attribute to update",
		`{"l":{"Action":"ADD","Value":{"N":"1"}}}`:       "Type mismatch for attribute to update",
		`{"n":{"Action":"DELETE","Value":{"SS":["d"]}}}`: "Type mismatch for attribute to update",
	} {
		u, err := ParseAttributeUpdates([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		after, err := u.Apply(item(t, before))
		got := body(after)
		if err != nil {
			got = reason(err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	u, err := ParseAttributeUpdates([]byte(`{"pk":{"Value":{"S":"x"}},"n":{"Value":{"S":"y"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := reason(u.CheckKeys("pk")); got != "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key" {
		t.Error(got)
	}
	if got := body(u.Touched(item(t, before))); got != `{"n":10}` {
		t.Error(got)
	}
	p, err := ParseAttributesToGet([]byte(`["n","gone","a.b"]`))
	if err != nil || body(p.Apply(item(t, `{"a.b":1,"n":2,"a":{"b":3}}`))) != `{"n":2,"a.b":1}` {
		t.Error(err)
	}
}
