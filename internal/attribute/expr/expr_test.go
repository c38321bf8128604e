package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// item reads the body of a document as an item, which is shorter to write than the
// wire.
func item(t testing.TB, body string) attribute.Item {
	t.Helper()
	raw, err := jsonscan.Compact([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	i, err := attribute.ParseBody(raw)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return i
}

func body(i attribute.Item) string { return string(attribute.AppendBody(nil, i)) }

// placeholders returns names that stand for themselves without '#' and the values of a
// document whose members are called as the values' placeholders.
func placeholders(t testing.TB, names, values string) *Placeholders {
	t.Helper()
	var n, v []byte
	if names != "" {
		parts := []string{}
		for _, name := range strings.Fields(names) {
			key, stands, ok := strings.Cut(name, "=")
			if !ok {
				stands = key
			}
			parts = append(parts, fmt.Sprintf("%q:%q", "#"+key, stands))
		}
		n = []byte("{" + strings.Join(parts, ",") + "}")
	}
	if values != "" {
		v = attribute.AppendItem(nil, item(t, values))
	}
	p, err := ParsePlaceholders(n, prefixKeys(v))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// prefixKeys puts a colon before the names of members.
func prefixKeys(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	out := []byte{'{'}
	for m := jsonscan.MembersOf(raw); ; {
		name, value, ok := m.Next()
		if !ok {
			return append(out, '}')
		}
		out = jsonscan.AppendMember(out, jsonscan.AppendQuoted(nil, ":"+string(jsonscan.Text(nil, name))), value)
	}
}

// reason returns the text of a Validation error.
func reason(err error) string {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	if e.Code != attribute.Validation {
		return e.Code + ": " + e.Reason
	}
	return e.Reason
}

// values are those that the tables use.
const values = `{"n":5,"s":"b","a":"a","z":"z","b":{"$b":"AQI="},"t":true,"nil":null,"l":[1],"m":{"x":1},"ss":{"$ss":["a","b"]},"ns":{"$ns":[1,5]},"bs":{"$bs":["AQI="]},
	"S":"S","M":"M","L":"L","X":"X","one":1,"ten":10,"neg":-1,"big":9e125,"e":"","l2":[2,3]}`

const names = `n s status=status dot=a.b sp=x`

func TestConditions(t *testing.T) {
	i := item(t, `{"id":"1","n":5,"s":"banana","b":{"$b":"AQID"},"t":true,"nil":null,"l":[1,"b",{"x":1}],"m":{"x":1,"y":{"z":"b"},"a":"a"},
		"ss":{"$ss":["a","b"]},"ns":{"$ns":[1,5]},"bs":{"$bs":["AQI=","AQ=="]},"status":"b","a.b":1,"u":"é"}`)
	for text, want := range map[string]bool{
		"n = :n": true, "n <> :n": false, "n < :ten": true, "n <= :n": true, "n > :n": false, "n >= :n": true, ":n = n": true, ":ten > n": true,
		"s = :s": false, "s > :s": true, "s > :n": false, "s <> :n": true, "s < :z": true, "b > :b": true,
		"gone = :n": false, "gone <> :n": true, "gone < :n": false, "gone <> lost": true, "gone = lost": false, // Alternator, test_condition_expression.py
		"m.x = :one": true, "m.y.z = :s": true, "l[0] = :one": true, "l[2].x = :one": true, "l[9] = :one": false, "m.x.q = :one": false, "l.x = :one": false, "#status = :s": true, "#dot = :one": true,
		"m.x = l[0]": true, "t = :t": true, "nil = :nil": true, "ss = :ss": true, "ns = :ns": true, "l = :l": false,
		"n BETWEEN :one AND :ten": true, "n between :n AND :n": true, "s BETWEEN :a AND :z": true, "n BETWEEN :a AND :z": false, "gone BETWEEN :a AND :z": false, ":n BETWEEN m.x AND :ten": true,
		"n IN (:one, :n)": true, "n in (:one)": false, "gone IN (:one)": false, "l[1] IN (s, :s)": true,
		"attribute_exists(n)": true, "attribute_exists(gone)": false, "attribute_not_exists(gone)": true, "attribute_not_exists(m.x)": false, "attribute_exists(nil)": true,
		"attribute_type(s, :S)": true, "attribute_type(n, :S)": false, "attribute_type(m, :M)": true, "attribute_type(gone, :S)": false, "attribute_type(:n, :S)": false, "attribute_type(:s, :S)": true, "attribute_type(l, :L)": true,
		"begins_with(s, :s)": true, "begins_with(s, :a)": false, "begins_with(b, :b)": true, "begins_with(n, :s)": false, "begins_with(gone, :s)": false, "begins_with(s, :e)": true,
		"contains(s, :a)": true, "contains(s, :z)": false, "contains(ss, :a)": true, "contains(ss, :n)": false, "contains(ns, :n)": true, "contains(ns, :ten)": false, "contains(bs, :b)": true,
		"contains(l, :one)": true, "contains(l, :s)": true, "contains(l, :m)": true, "contains(l, :ten)": false, "contains(b, :b)": true, "contains(n, :n)": false, "contains(gone, :n)": false,
		"contains(:z, gone)": false, "contains(m, :a)": false,
		"size(s) > :n": true, "size(ss) < :n": true, "size(b) < size(s)": true, "size(l) <= :n": true, "size(m) = size(l)": true, "size(n) < :ten": false, "size(gone) < :ten": false, "(size(s)) > (:n)": true,
		"size(u) > :one": true, "size(:s) = :one": true,
		// NOT before AND before OR, and parentheses (the Developer Guide, "Precedence in conditions")
		"n = :n OR n = :one AND n = :ten": true, "(n = :n OR n = :one) AND n = :ten": false, "NOT n = :one AND n = :n": true, "NOT (n = :one AND n = :n)": true, "NOT n = :n OR n = :n": true,
		"not NOT n = :n": true, "n = :n and (s = :s or t = :t) AND NOT attribute_exists(gone)": true, "(((n)) = :n)": false,
		"n=:n\tAND\r\n#status=:s": true, "(n) = :n AND ((s) > :s)": true,
	} {
		p := placeholders(t, names, values)
		c, err := p.Condition(FilterExpression, text)
		if text == "(((n)) = :n)" {
			if reason(err) != "Invalid FilterExpression: The expression has redundant parentheses;" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil || c.Holds(i) != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// TestConditionErrors: the texts are those of DynamoDB Local's table of errors, with the
// details after the semicolon as in dynalite's db/conditionParser.pegjs and its tests,
// which were run against AWS; the near text as in dynamodb-conformance.
func TestConditionErrors(t *testing.T) {
	const function, misplaced = "Incorrect operand type for operator or function; operator or function: ", "The function is not allowed to be used this way in an expression; function: "
	for text, want := range map[string]string{
		"":                                       "The expression can not be empty;",
		strings.Repeat(" ", 4097):                "Expression size has exceeded the maximum allowed size; expression size: 4097",
		"a":                                      `Syntax error; token: "<EOF>", near: "a"`,
		"a = ":                                   `Syntax error; token: "<EOF>", near: "= "`,
		"a b":                                    `Syntax error; token: "b", near: "a b"`,
		"a = :n :s":                              `Syntax error; token: ":s", near: ":n :s"`,
		"INVALID SYNTAX HERE":                    `Syntax error; token: "SYNTAX", near: "INVALID SYNTAX HERE"`,
		"a ~ :n":                                 `Syntax error; token: "~", near: "a ~ :n"`,
		"a = 5":                                  `Syntax error; token: "5", near: "= 5"`,
		"a[01] = :n":                             `Syntax error; token: "1", near: "01]"`,
		"a[x] = :n":                              `Syntax error; token: "x", near: "[x]"`,
		"a. = :n":                                `Syntax error; token: "=", near: ". = :n"`,
		"a = :":                                  `Syntax error; token: ":", near: "= :"`,
		"_a = :n":                                `Syntax error; token: "_", near: "_a"`,
		"a = :n AND":                             `Syntax error; token: "<EOF>", near: "AND"`,
		"(a = :n":                                `Syntax error; token: "<EOF>", near: ":n"`,
		"size()":                                 `Syntax error; token: ")", near: "()"`,
		"a IN ()":                                `Syntax error; token: ")", near: "()"`,
		"a BETWEEN :n OR :n":                     `Syntax error; token: "OR", near: ":n OR :n"`,
		"é = :n":                                 `Syntax error; token: "é", near: "é ="`,
		"((a = :n))":                             "The expression has redundant parentheses;",
		"((a)) = :n":                             "The expression has redundant parentheses;",
		"a = :n AND ((b) = :s)":                  "", // not redundant
		"size = :n":                              "Attribute name is a reserved keyword; reserved keyword: size",
		"a.Name = :n":                            "Attribute name is a reserved keyword; reserved keyword: Name",
		"a[2147483648] = :n":                     "List index is not within the allowable range; index: [2147483648]",
		"foo(a)":                                 "Invalid function name; function: foo",
		"Size(a) > :n":                           "Invalid function name; function: Size",
		"if_not_exists(a, :n) = :n":              "The function is not allowed in a condition expression; function: if_not_exists",
		"size(a)":                                misplaced + "size",
		"a = :n OR size(b)":                      misplaced + "size",
		"NOT size(b)":                            misplaced + "size",
		"contains(a, :s) = :t":                   misplaced + "contains",
		"a = begins_with(b, :s)":                 misplaced + "begins_with",
		"size(contains(a, :s)) > :n":             misplaced + "contains",
		"contains(a)":                            "Incorrect number of operands for operator or function; operator or function: contains, number of operands: 1",
		"attribute_exists(a, b)":                 "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
		"#gone = :n":                             "An expression attribute name used in the document path is not defined; attribute name: #gone",
		"a = :gone":                              "An expression attribute value used in expression is not defined; attribute value: :gone",
		"a = a":                                  "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]",
		"a.b[1] < a.b[1]":                        "The first operand must be distinct from the remaining operands for this operator or function; operator: <, first operand: [a, b, [1]]",
		"#dot = x":                               "",
		"contains(#sp, x)":                       "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [x]",
		"a IN (b, a)":                            "The first operand must be distinct from the remaining operands for this operator or function; operator: IN, first operand: [a]",
		"a BETWEEN a AND b":                      "The first operand must be distinct from the remaining operands for this operator or function; operator: BETWEEN, first operand: [a]",
		"attribute_exists(:n)":                   "Operator or function requires a document path; operator or function: attribute_exists",
		"attribute_not_exists(:n)":               "Operator or function requires a document path; operator or function: attribute_not_exists",
		"begins_with(a, :n)":                     function + "begins_with, operand type: N",
		"begins_with(:l, a)":                     function + "begins_with, operand type: L",
		"begins_with(a, size(b))":                function + "begins_with, operand type: N",
		"size(:n) > :n":                          function + "size, operand type: N",
		"size(:t) > :n":                          function + "size, operand type: BOOL",
		"attribute_type(a, :n)":                  function + "attribute_type, operand type: N",
		"attribute_type(a, b)":                   function + "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
		"attribute_type(a, :X)":                  "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
		"a < :t":                                 function + "<, operand type: BOOL",
		":m >= a":                                function + ">=, operand type: M",
		"a BETWEEN :l AND :n":                    function + "BETWEEN, operand type: L",
		"a BETWEEN :n AND :s":                    "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {S:b}",
		"a BETWEEN :z AND :s":                    "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:z}, upper bound operand: AttributeValue: {S:b}",
		"a = :l AND b <> :m":                     "",
		"a" + strings.Repeat(".b", 32) + " = :n": "The document path has too many nesting levels; nesting levels: 33", // Alternator, test_projection_expression.py
		"a" + strings.Repeat(".b", 31) + " = :n": "",
		"a IN (" + strings.Repeat(":n,", 100) + ":n)":                               "The IN operator is provided with too many operands; number of operands: 101",
		"a IN (" + strings.Repeat(":n,", 99) + ":n)":                                "",
		"a<b" + strings.Repeat(" or a<b", 150):                                      "The expression contains too many operators; operator count: 301", // Alternator, test_limits.py
		"a < " + strings.Repeat("f(", 1355) + "b" + strings.Repeat(")", 1355):       "Invalid function name; function: f",                              // Alternator, test_limits.py
		"a<b" + strings.Repeat(" or a<b", 149):                                      "",
		strings.Repeat("(NOT ", 600) + "a=b" + strings.Repeat(")", 600):             "The expression contains too many operators; operator count: 301",
		strings.Repeat("(", 4096):                                                   "The expression has redundant parentheses;",
		strings.Repeat("(", 299) + "(a) = :n" + strings.Repeat(" AND b = :n)", 299): "The expression contains too many operators; operator count: 301",
		// what is found first: syntax, then names, then placeholders
		"size = :gone AND":      `Syntax error; token: "<EOF>", near: "AND"`,
		"a = :gone AND foo(b)":  "Invalid function name; function: foo",
		"a = :gone AND c = #no": "An expression attribute value used in expression is not defined; attribute value: :gone",
	} {
		_, err := placeholders(t, names, values).Condition(ConditionExpression, text)
		got := ""
		if err != nil {
			got = reason(err)
		}
		if want != "" {
			want = "Invalid ConditionExpression: " + want
		}
		if got != want {
			t.Errorf("%.60s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestReservedWords(t *testing.T) {
	if len(reserved) != 573 {
		t.Errorf("%d words are reserved", len(reserved))
	}
	for word, want := range map[string]bool{"ABORT": true, "zone": true, "Status": true, "id": false, "attribute_exists": false} {
		if isReserved(word) != want {
			t.Error(word)
		}
	}
}

// TestPlaceholders: the texts are those of dynalite's validations/index.js and of
// DynamoDB Local's table.
func TestPlaceholders(t *testing.T) {
	var many []string
	for n := range maxPlaceholders + 1 {
		many = append(many, fmt.Sprintf(`":v%d":{"NULL":true}`, n))
	}
	for _, c := range []struct{ names, values, want string }{
		{`{"#a":"x"}`, `{":v":{"S":"y"}}`, ""},
		{`null`, `null`, ""},
		{`{}`, ``, "ExpressionAttributeNames must not be empty"},
		{``, `{}`, "ExpressionAttributeValues must not be empty"},
		{`{"a":"x"}`, ``, `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
		{`{"#":"x"}`, ``, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#"`},
		{`{"#a-b":"x"}`, ``, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"`},
		{`{"#a":""}`, ``, `ExpressionAttributeNames contains invalid value: Empty attribute name for key #a`},
		{``, `{"v":{"S":"y"}}`, `ExpressionAttributeValues contains invalid key: Syntax error; key: "v"`},
		{``, `{":v":{}}`, `ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :v`},
		{``, `{":v":{"N":"x"}}`, `ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :v`},
		{``, `{":v":{"SS":[]}}`, `ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: An string set  may not be empty for key :v`},
		{``, `{":v":{"S":1}}`, `SerializationException: NUMBER_VALUE cannot be converted to String`},
		{`{"#a":1}`, ``, `SerializationException: NUMBER_VALUE cannot be converted to String`},
		{`[]`, ``, `SerializationException: Unexpected field type`},
		{``, `{` + strings.Join(many, ",") + `}`, `ExpressionAttributeValues has 4097 members, of which no expressions can use more than 4096`},
		{`{"#` + strings.Repeat("a", 255) + `":"x"}`, ``, `ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; size of key: 256`},
		{``, `{":v":{"S":"` + strings.Repeat("a", 2<<20) + `"},":w":{"S":"b"}}`, "Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max size"},
	} {
		var n, v []byte
		if c.names != "" {
			n = []byte(c.names)
		}
		if c.values != "" {
			v = []byte(c.values)
		}
		_, err := ParsePlaceholders(n, v)
		if got := reason(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%.80s %.80s: %s, want %s", c.names, c.values, got, c.want)
		}
	}
}

func TestUnusedPlaceholders(t *testing.T) {
	p, err := ParsePlaceholders([]byte(`{"#a":"x","#b":"y","#c":"z"}`), []byte(`{":v":{"S":"y"},":w":{"S":"y"}}`))
	if err != nil {
		t.Fatal(err)
	}
	use := func(text string) {
		if _, err := p.Condition(ConditionExpression, text); err != nil {
			t.Fatal(err)
		}
	}
	use("#a = :v")
	if got := reason(p.CheckUsed()); got != "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c}" {
		t.Error(got)
	}
	use("attribute_exists(#b.#c)")
	if got := reason(p.CheckUsed()); got != "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}" {
		t.Error(got)
	}
	use("a = :w")
	if err := p.CheckUsed(); err != nil {
		t.Error(err)
	}
}

func TestKeysInConditions(t *testing.T) {
	for text, want := range map[string]string{
		"a = :n AND pk > :s":   "Filter Expression can only contain non-primary key attributes: Primary key attribute: pk",
		"attribute_exists(sk)": "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
		"a.pk = :n":            "",
	} {
		c, err := placeholders(t, "", values).Condition(FilterExpression, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckNoKeys("pk", "sk"); err == nil && want != "" || err != nil && reason(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, err := placeholders(t, "", values).Condition(ConditionExpression, "a = :n OR pk[0] = :s")
	if err != nil {
		t.Fatal(err)
	}
	if got := reason(c.CheckKeyPaths("pk")); got != "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk" {
		t.Error(got)
	}
	if err := c.CheckKeyPaths("a", ""); err != nil {
		t.Error(err)
	}
}
