package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
)

// TestUpdates: what an update makes of an item, and what UPDATED_OLD and UPDATED_NEW
// give. The cases about touched paths are those of Alternator's test_returnvalues.py.
func TestUpdates(t *testing.T) {
	for _, c := range []struct{ before, text, after, old, new string }{
		{`{"a":1}`, "SET a = :n", `{"a":5}`, `{"a":1}`, `{"a":5}`},
		{`{"a":1}`, "SET b = :n, c = :s", `{"a":1,"b":5,"c":"b"}`, `{}`, `{"b":5,"c":"b"}`},
		{`{"a":1}`, "SET a = a + :n", `{"a":6}`, `{"a":1}`, `{"a":6}`},
		{`{"a":1}`, "SET a = :n - a", `{"a":4}`, `{"a":1}`, `{"a":4}`},
		{`{"a":1}`, "SET a = (a + :n)", `{"a":6}`, `{"a":1}`, `{"a":6}`},
		{`{"a":1}`, "SET a = (a) - (:n)", `{"a":-4}`, `{"a":1}`, `{"a":-4}`},
		{`{"a":1,"b":2}`, "SET a = b, b = a", `{"a":2,"b":1}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`}, // as it was before
		{`{"a":1,"b":2}`, "SET c = a REMOVE a", `{"b":2,"c":1}`, `{"a":1}`, `{"c":1}`},
		{`{"a":1}`, "set a = if_not_exists(a, :n), b = if_not_exists(b, :n)", `{"a":1,"b":5}`, `{"a":1}`, `{"a":1,"b":5}`},
		{`{}`, "SET a = if_not_exists(a, :one) + :n", `{"a":6}`, `{}`, `{"a":6}`},
		{`{"b":7}`, "SET a = if_not_exists(a, if_not_exists(b, :n))", `{"b":7,"a":7}`, `{}`, `{"a":7}`},
		{`{"l":[1]}`, "SET l = list_append(l, :l2)", `{"l":[1,2,3]}`, `{"l":[1]}`, `{"l":[1,2,3]}`},
		{`{"l":[1]}`, "SET l = list_append(:l2, l)", `{"l":[2,3,1]}`, `{"l":[1]}`, `{"l":[2,3,1]}`},
		{`{"l":[0]}`, "SET k = list_append(if_not_exists(gone, list_append(l, :l2)), if_not_exists(gone, :l2))", `{"l":[0],"k":[0,2,3,2,3]}`, `{}`, `{"k":[0,2,3,2,3]}`},
		{`{"a":{"b":"dog","c":[1,2,3]}}`, "SET a.b = :s", `{"a":{"b":"b","c":[1,2,3]}}`, `{"a":{"b":"dog"}}`, `{"a":{"b":"b"}}`},
		{`{"a":{"b":"dog","c":[1,2,3]}}`, "SET a.c[1] = :n, a.b = :s", `{"a":{"b":"b","c":[1,5,3]}}`, `{"a":{"c":[2],"b":"dog"}}`, `{"a":{"c":[5],"b":"b"}}`},
		{`{"a":{"c":[1,2,3]}}`, "REMOVE a.c[1], a.c[3]", `{"a":{"c":[1,3]}}`, `{"a":{"c":[2]}}`, `{"a":{"c":[3]}}`},
		{`{"a":{"c":[1]}}`, "SET a.x = :n", `{"a":{"c":[1],"x":5}}`, `{}`, `{"a":{"x":5}}`},
		{`{"a":{"c":[1]}}`, "SET a.c[100] = :n", `{"a":{"c":[1,5]}}`, `{}`, `{}`}, // not at its path
		{`{"l":[]}`, "SET l[7] = :n, l[3] = :s, l[0] = :one", `{"l":[1,"b",5]}`, `{}`, `{"l":[1]}`},
		{`{"l":[0,1,2,3,4]}`, "REMOVE l[3], l[0], l[9] SET l[1] = :s", `{"l":["b",2,4]}`, `{"l":[0,1,3]}`, `{"l":["b",2]}`},
		{`{"l":[0,[1,2]]}`, "REMOVE l[1][0] SET l[5] = :n", `{"l":[0,[2],5]}`, `{"l":[[1]]}`, `{"l":[[2]]}`},
		{`{"l":[0,{"x":1}]}`, "SET l[1].x = :n, l[1].y = :s", `{"l":[0,{"x":5,"y":"b"}]}`, `{"l":[{"x":1}]}`, `{"l":[{"x":5,"y":"b"}]}`},
		{`{"a":1,"b":2}`, "REMOVE a, gone", `{"b":2}`, `{"a":1}`, `{}`},
		{`{"m":{"x":1,"y":2}}`, "REMOVE m.x", `{"m":{"y":2}}`, `{"m":{"x":1}}`, `{}`},
		{`{"a":1}`, "ADD a :n, b :n", `{"a":6,"b":5}`, `{"a":1}`, `{"a":6,"b":5}`},
		{`{"a":{"b":1}}`, "ADD a.b :neg, a.c :ss", `{"a":{"b":0,"c":{"$ss":["a","b"]}}}`, `{"a":{"b":1}}`, `{"a":{"b":0,"c":{"$ss":["a","b"]}}}`},
		{`{"a":{"$ss":["b","c"]}}`, "ADD a :ss", `{"a":{"$ss":["a","b","c"]}}`, `{"a":{"$ss":["b","c"]}}`, `{"a":{"$ss":["a","b","c"]}}`},
		{`{"a":{"$ss":["b","c"]}}`, "DELETE a :ss", `{"a":{"$ss":["c"]}}`, `{"a":{"$ss":["b","c"]}}`, `{"a":{"$ss":["c"]}}`},
		{`{"a":{"$ns":[1,5]},"b":1}`, "DELETE a :ns, gone :ns", `{"b":1}`, `{"a":{"$ns":[1,5]}}`, `{}`}, // an empty set is none
		{`{"l":[{"$ns":[1]}]}`, "DELETE l[0] :ns", `{"l":[]}`, `{"l":[{"$ns":[1]}]}`, `{}`},
		{`{"status":1}`, "SET #status = #status + :n, #dot = :n", `{"status":6,"a.b":5}`, `{"status":1}`, `{"status":6,"a.b":5}`},
		{`{"a":1}`, "SET b = :nil, c = :t, d = :m, e1 = :b", `{"a":1,"b":null,"c":true,"d":{"x":1},"e1":{"$b":"AQI="}}`, `{}`, `{"b":null,"c":true,"d":{"x":1},"e1":{"$b":"AQI="}}`},
	} {
		before := item(t, c.before)
		u, err := placeholders(t, names, values).Update(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		after, err := u.Apply(before)
		if err != nil || body(after) != c.after {
			t.Errorf("%s of %s: %s, %v; want %s", c.text, c.before, body(after), err, c.after)
		}
		if body(before) != c.before {
			t.Errorf("%s changed the item before to %s", c.text, body(before))
		}
		if got := body(u.Touched(before)); got != c.old {
			t.Errorf("%s of %s: UPDATED_OLD %s, want %s", c.text, c.before, got, c.old)
		}
		if got := body(u.Touched(after)); got != c.new {
			t.Errorf("%s of %s: UPDATED_NEW %s, want %s", c.text, c.before, got, c.new)
		}
	}
}

// TestUpdateErrors: texts as in TestConditionErrors, and of dynalite's
// db/updateParser.pegjs; those of ADD and DELETE as AWS tells them today.
func TestUpdateErrors(t *testing.T) {
	const function = "Incorrect operand type for operator or function; operator or function: "
	const operator = "Incorrect operand type for operator or function; operator: "
	for text, want := range map[string]string{
		"":                           "The expression can not be empty;",
		"INVALID SYNTAX HERE":        `Syntax error; token: "INVALID", near: "INVALID SYNTAX"`, // dynamodb-conformance
		"SET a":                      `Syntax error; token: "<EOF>", near: "a"`,
		"SET a = :n,":                `Syntax error; token: "<EOF>", near: ","`,
		"SET a = :n + :n + :n":       `Syntax error; token: "+", near: ":n + :n"`, // Alternator, test_update_expression.py
		"SET a = (:n + :n) + :n":     `Syntax error; token: "+", near: ") + :n"`,
		"SET a = :n * :n":            `Syntax error; token: "*", near: ":n * :n"`,
		"ADD a b":                    `Syntax error; token: "b", near: "a b"`,
		"REMOVE a = :n":              `Syntax error; token: "=", near: "a = :n"`,
		"SET a = :n SET b = :n":      `The "SET" section can only be used once in an update expression;`,
		"ADD a :n REMOVE c ADD b :n": `The "ADD" section can only be used once in an update expression;`,
		"SET name = :n":              "Attribute name is a reserved keyword; reserved keyword: name",
		"SET a = foo(b)":             "Invalid function name; function: foo",
		"SET a = size(b)":            "The function is not allowed in an update expression; function: size",
		"SET a = list_append(list_append(:l, :l2), :l)": "The function is not allowed to be used this way in an expression; function: list_append", // Alternator
		"SET a = list_append(a)":                        "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1",
		"SET a = if_not_exists(:n, a)":                  "Operator or function requires a document path; operator or function: if_not_exists",
		"SET a = if_not_exists(a, a)":                   "The first operand must be distinct from the remaining operands for this operator or function; operator: if_not_exists, first operand: [a]",
		"SET a = list_append(a, :n)":                    function + "list_append, operand type: N",
		"SET a = :s + :n":                               function + "+, operand type: S",
		"SET a = b - :l":                                function + "-, operand type: L",
		"SET a = list_append(a, :l) + :n":               function + "+, operand type: L",
		"ADD a :s":                                      operator + "ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"ADD a :l":                                      operator + "ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"DELETE a :n":                                   operator + "DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
		"DELETE a :m":                                   operator + "DELETE, operand type: MAP, typeSet: ALLOWED_FOR_DELETE_OPERAND",
		"SET #gone = :n":                                "An expression attribute name used in the document path is not defined; attribute name: #gone",
		"SET a = #gone":                                 "An expression attribute name used in the document path is not defined; attribute name: #gone",
		"SET a = :gone":                                 "An expression attribute value used in expression is not defined; attribute value: :gone",
		"SET a = :n, a = :s":                            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
		"SET a = :n, a.b = :s":                          "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]",
		"SET a.b[1].c = :n REMOVE a.b":                  "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, b, [1], c], path two: [a, b]",
		"SET a[1] = :n REMOVE a[1].b":                   "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, [1]], path two: [a, [1], b]",
		"SET x = :n REMOVE #sp":                         "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [x], path two: [x]",
		"SET a.b = :n, a[1] = :s":                       "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [1]]",
		"SET a.b = :n, a.c = :s":                        "",
		"SET a[1] = :n, a[0] = :s":                      "",
		"SET a = :n, a = :gone":                         "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
		"SET a" + strings.Repeat(".b", 32) + " = :n":    "The document path has too many nesting levels; nesting levels: 33",
	} {
		_, err := placeholders(t, names, values).Update(text)
		got := ""
		if err != nil {
			got = reason(err)
		}
		if want != "" {
			want = "Invalid UpdateExpression: " + want
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestUpdatesThatFail: errors that depend on the item. The texts are those of DynamoDB
// Local's table and of dynalite's actions/updateItem.js.
func TestUpdatesThatFail(t *testing.T) {
	const wrongType, missing, wrongPath = "An operand in the update expression has an incorrect data type",
		"The provided expression refers to an attribute that does not exist in the item", "The document path provided in the update expression is invalid for update"
	big := `{"a":"` + strings.Repeat("x", 400*1024-200) + `","m":{"x":1},"s":"x","l":[1],"ss":{"$ss":["a"]},"n":1}`
	small := `{"m":{"x":1},"s":"x","l":[1],"ss":{"$ss":["a"]},"n":1}`
	for text, want := range map[string]string{
		"SET a = b":                          missing,
		"SET a = m.y":                        missing,
		"SET a = n + b":                      missing,
		"SET a = list_append(b, l)":          missing,
		"SET a = if_not_exists(b, c)":        missing,
		"SET a = s + :n":                     wrongType,
		"SET a = b + s":                      wrongType,
		"SET a = list_append(l, n)":          wrongType,
		"SET a = list_append(b, s)":          wrongType,
		"SET a = b, c = s + n":               wrongType, // the type first
		"ADD s :n":                           wrongType,
		"ADD n :ss":                          wrongType,
		"ADD ss :ns":                         wrongType,
		"ADD l :n":                           wrongType,
		"DELETE s :ss":                       wrongType,
		"SET b.c = :n":                       wrongPath,
		"SET b[0] = :n":                      wrongPath,
		"SET m[0] = :n":                      wrongPath,
		"SET l.x = :n":                       wrongPath,
		"SET s.x = :n":                       wrongPath,
		"SET m.x.y = :n":                     wrongPath,
		"SET m.y.z = :n":                     wrongPath,
		"REMOVE b.c":                         wrongPath,
		"REMOVE l[1].x":                      wrongPath,
		"ADD b.c :n":                         wrongPath,
		"DELETE l.x :ss":                     wrongPath,
		"SET m[0] = s + n":                   wrongPath, // a parent of another type first
		"SET b.c = s + n":                    wrongType,
		"SET b.c = d":                        wrongPath,
		"SET a = d REMOVE b.c":               wrongPath,
		"REMOVE b.c SET a = d":               missing, // the last section first
		"SET a = :big + :big":                "Number overflow. Attempting to store a number with magnitude larger than supported range",
		"ADD n :big":                         "Number overflow. Attempting to store a number with magnitude larger than supported range",
		"SET a = :n, b = :big - n, c = gone": missing,
		"SET c = list_append(l, if_not_exists(gone, list_append(:l, gone)))": missing,
	} {
		u, err := placeholders(t, names, values).Update(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		before := item(t, small)
		if after, err := u.Apply(before); reason(err) != want || !attribute.EqualItems(before, after) && want != "" {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	u, err := placeholders(t, names, values).Update("SET c = a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Apply(item(t, big)); reason(err) != "Item size to update has exceeded the maximum allowed size" {
		t.Error(err)
	}
}

// TestUpdatesAreBounded gives updates that would become very large.
func TestUpdatesAreBounded(t *testing.T) {
	large := item(t, `{"l":[`+strings.TrimSuffix(strings.Repeat("1,", 100_000), ",")+`]}`)
	doubled := "l"
	for range 5 {
		doubled = "list_append(if_not_exists(gone, " + doubled + "), if_not_exists(gone, " + doubled + "))"
	}
	sets := make([]string, 500)
	for i := range sets {
		sets[i] = fmt.Sprintf("a%d=l", i)
	}
	for _, text := range []string{"SET a = " + doubled, "SET " + strings.Join(sets, ",")} {
		u, err := placeholders(t, names, values).Update(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Apply(large); reason(err) != "Item size to update has exceeded the maximum allowed size" {
			t.Error(err)
		}
	}
	deep := `{"x":1}`
	for range 30 {
		deep = `{"x":` + deep + `}`
	}
	u, err := placeholders(t, "", `{"v":`+deep+`}`).Update("SET a.b = :v")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Apply(item(t, `{"a":{}}`)); !strings.HasPrefix(reason(err), "Nesting Levels have exceeded supported limits") {
		t.Error(err)
	}
}

func TestUpdatesOfKeys(t *testing.T) {
	for text, want := range map[string]string{
		"SET a = :n, pk = :s": "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key", // dynamodb-conformance
		"REMOVE sk":           "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key",
		"ADD sk.x :n":         "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key",
		"SET a = sk[1]":       "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: sk",
		"SET a = sk":          "",
	} {
		u, err := placeholders(t, "", values).Update(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := u.CheckKeys("pk", "sk"); err == nil && want != "" || err != nil && reason(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]bool{"REMOVE a": true, "DELETE a :ss REMOVE b": true, "REMOVE a SET b = :n": false, "ADD a :n": false} {
		u, err := placeholders(t, "", values).Update(text)
		if err != nil || u.OnlyRemoves() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestProjections(t *testing.T) {
	i := item(t, `{"a":1,"b":{"c":2,"d":{"e":3,"f":4}},"l":[0,{"x":1,"y":2},[5,6,7]],"status":9,"a.b":10}`)
	for text, want := range map[string]string{
		"a":                     `{"a":1}`,
		"gone, a":               `{"a":1}`,
		"gone":                  `{}`,
		"b.c":                   `{"b":{"c":2}}`,
		"b.d.f, b.c, a":         `{"b":{"d":{"f":4},"c":2},"a":1}`,
		"b.gone, a":             `{"a":1}`,
		"b.c.x":                 `{}`,
		"a.b":                   `{}`,
		"l[2], l[0]":            `{"l":[0,[5,6,7]]}`, // elements close up, in their order
		"l[1].y, l[2][2], l[9]": `{"l":[{"y":2},[7]]}`,
		"l[0].x":                `{}`,
		"#status,\n#dot":        `{"status":9,"a.b":10}`,
		"l.x, b[0]":             `{}`,
	} {
		p, err := placeholders(t, names, "").Projection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := body(p.Apply(i)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	p, err := placeholders(t, names, "").Projection("b.c, #status, b.d")
	if err != nil || strings.Join(p.Names(), " ") != "b status" {
		t.Error(p.Names(), err)
	}
	if got := reason(p.CheckKeyPaths("b")); got != "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: b" {
		t.Error(got)
	}
}

// TestProjectionErrors: texts as in TestConditionErrors; the overlaps are
// dynamodb-conformance's (tests/tier3/error-messages/query.test.ts).
func TestProjectionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "The expression can not be empty;",
		"a,":                            `Syntax error; token: "<EOF>", near: ","`,
		"a b":                           `Syntax error; token: "b", near: "a b"`,
		"a = b":                         `Syntax error; token: "=", near: "a = b"`,
		":n":                            `Syntax error; token: ":n", near: ":n"`,
		"a, name":                       "Attribute name is a reserved keyword; reserved keyword: name",
		"#gone":                         "An expression attribute name used in the document path is not defined; attribute name: #gone",
		"a, a":                          "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
		"x, #sp":                        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [x], path two: [x]",
		"a, a.b":                        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]",
		"a.b.c, d, a.b":                 "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, b, c], path two: [a, b]",
		"a.b, a[0]":                     "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]",
		"a" + strings.Repeat("[0]", 32): "The document path has too many nesting levels; nesting levels: 33",
	} {
		_, err := placeholders(t, names, "").Projection(text)
		if got := reason(err); got != "Invalid ProjectionExpression: "+want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}
