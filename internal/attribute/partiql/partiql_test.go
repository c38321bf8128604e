package partiql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// item reads the body of a document as an item.
func item(t testing.TB, body string) attribute.Item {
	t.Helper()
	raw, err := jsonscan.Compact([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	i, err := attribute.ParseBody(raw)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func body(i attribute.Item) string { return string(attribute.AppendBody(nil, i)) }

// parameters are what statements of tests have for question marks.
func parameters(t testing.TB, list string) []attribute.Value {
	v, _ := item(t, `{"p":[`+list+`]}`).Get("p")
	return v.List()
}

func parse(t testing.TB, text, list string) *Statement {
	t.Helper()
	s, err := Parse(text, parameters(t, list))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func reason(err error) string {
	var e *dberr.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return fmt.Sprint(err)
}

const sample = `{"pk":"a","sk":5,"n":7,"s":"abc","l":[1,[2],{"x":"y"}],"m":{"in side":1,"k":{"z":true}},"ss":{"$ss":["x","y"]},"ns":{"$ns":[1,2]},"nil":null,"f":false,"q\"t":1,"it's":2}`

// TestConditions: which conditions hold for the sample.
func TestConditions(t *testing.T) {
	for where, want := range map[string]bool{
		"n = 7": true, "n <> 7": false, "n != 8": true, "n < 7": false, "n <= 7.0": true, "n > 69e-1": true, "n >= 8": false, "7 = n": true, "gone <> 1": true, "n > -5": true,
		"n = ?": true, "n BETWEEN 7 AND ?": true, "n NOT BETWEEN 8 AND 9": true, "n NOT IN (1, 2)": true, "n IN [1, 7]": true, "n in (?, 2)": true, "s IN ['abc']": true,
		"s = 'it''s' OR n = 7": true, "s = 'it''s'": false, "NOT (n = 7 AND s = 'x')": true, "n = 7 AND NOT s = 'abc'": false, "f = FALSE and nil = null": true,
		"n = 1 AND n = 2 OR n = 7": true, "n = 1 AND (n = 2 OR n = 7)": false, "not not n = 7": true, "((n = 7))": true,
		"gone IS MISSING": true, "n IS MISSING": false, "n IS NOT MISSING": true, "nil IS NULL": true, "n IS NULL": false, "gone IS NULL": false, "n IS NOT NULL": true, "s IS STRING": true, "m is struct": true, "l IS LIST": true,
		"begins_with(s, 'ab')": true, "begins_with(\"s\", 'b')": false, "contains(s, 'bc')": true, "CONTAINS(ss, 'x')": true, "contains(ns, 3)": false, "size(s) = 3": true, "n > size(l)": true,
		"size(ss) BETWEEN 2 AND 2": true, "attribute_type(s, 'S')": true, "attribute_exists(m.k.z)": true, "attribute_not_exists(m.k)": false,
		"l[0] = 1 AND l[1][0] = 2 AND l[2].x = 'y'": true, "m.\"in side\" = 1": true, "m['k'].z = true": true, "\"q\"\"t\" = 1": true, "\"it's\" = 2": true,
		"m = {'in side': 1, 'k': {'z': true}}": true, "l[1] = [2]": true, "ss = <<'y', 'x'>>": true, "ns = <<2, 1>>": true, "ns = <<1, ?>>": false,
	} {
		text, list := `SELECT * FROM "t" WHERE `+where, ""
		if strings.Contains(where, "?") {
			list = "7"
		}
		if got := parse(t, text, list).Where.Condition().Holds(item(t, sample)); got != want {
			t.Errorf("%s: %v", where, got)
		}
	}
}

// TestSelect: tables, indexes, projections and orders.
func TestSelect(t *testing.T) {
	for text, want := range map[string]string{
		`SELECT * FROM "my.table"`:                                "my.table//all []",
		`select * from Music;`:                                    "Music//all []",
		`SELECT pk, m.k FROM t."by-x" WHERE pk = 'a'`:             `t/by-x/{"pk":"a","m":{"k":{"z":true}}} []`,
		`SELECT l[1], "s" FROM "t" WHERE pk = 'a' ORDER BY sk`:    `t//{"l":[[2]],"s":"abc"} [{sk false}]`,
		`SELECT s FROM t WHERE pk='a' ORDER BY pk DESC, "sk" ASC`: `t//{"s":"abc"} [{pk true} {sk false}]`,
		"-- all\nSELECT * FROM t -- of it":                        "t//all []",
		"SELECT s/* or n */,n/**/FROM/* ' */t WHERE pk = '--'":    `t//{"s":"abc","n":7} []`,
		`SELECT value FROM t`:                                     `t//{} []`,
	} {
		s := parse(t, text, "")
		got := "all"
		if s.Projection != nil {
			got = body(s.Projection.Apply(item(t, sample)))
		}
		if got = fmt.Sprintf("%s/%s/%s %v", s.Table, s.Index, got, s.Order); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if s := parse(t, `EXISTS(SELECT * FROM "t" WHERE pk = 'a' AND n = 7)`, ""); s.Kind != Exists || s.Table != "t" || s.Where == nil {
		t.Errorf("%+v", s)
	}
}

// TestInsert: what literals become.
func TestInsert(t *testing.T) {
	s := parse(t, `INSERT INTO "t" value {'pk': 'a''b', 'n': -1.50e1, 'l': [?, null, [], {}], 'm': {'x': <<1, 2>>}, 's': <<'b', 'a'>>, 't': true, 'p': ?}`, `1,{"$b":"AQI="}`)
	want := `{"pk":"a'b","n":-15,"l":[1,null,[],{}],"m":{"x":{"$ns":[1,2]}},"s":{"$ss":["a","b"]},"t":true,"p":{"$b":"AQI="}}`
	if s.Kind != Insert || s.Table != "t" || body(s.Item) != want {
		t.Errorf("%s", body(s.Item))
	}
}

// TestUpdates: what updates make of the sample's attributes.
func TestUpdates(t *testing.T) {
	for text, want := range map[string]string{
		`SET a = 1 SET b = {'x': [2020, 2018]}`:                        `{"a":1,"b":{"x":[2020,2018]}}`,
		`SET n = n + 1, m.k.z = ?`:                                     `{"n":8,"m":{"k":{"z":9}}}`,
		`SET n = ? - n REMOVE f, l[0]`:                                 `{"n":2,"l":[[2]]}`,
		`SET l = list_append(l, [3])`:                                  `{"l":[1,[2],{"x":"y"},3]}`,
		`SET a = if_not_exists(a, 5), n = if_not_exists(n, 5)`:         `{"a":5,"n":7}`,
		`SET ss = set_add(ss, <<'z'>>) SET ns = SET_DELETE(ns, <<1>>)`: `{"ss":{"$ss":["x","y","z"]},"ns":{"$ns":[2]}}`,
		`SET s = n`: `{"s":7}`,
	} {
		list := ""
		if strings.Contains(text, "?") {
			list = "9"
		}
		s := parse(t, `UPDATE "t" `+text+` WHERE pk = 'a' AND sk = 5 RETURNING MODIFIED NEW *`, list)
		after, err := s.Update.Apply(item(t, sample))
		if got := body(s.Update.Touched(after)); err != nil || got != want || s.Kind != Update || s.Returning != "UPDATED_NEW" {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	if s := parse(t, `DELETE FROM "t" WHERE pk = 'a' RETURNING ALL OLD *`, ""); s.Kind != Delete || s.Returning != "ALL_OLD" {
		t.Errorf("%+v", s)
	}
}

var (
	hash     = expr.Key{Name: "pk", Type: attribute.S}
	rangeKey = expr.Key{Name: "sk", Type: attribute.N}
)

// TestKey: the keys that statements about one item bind, and what is left.
func TestKey(t *testing.T) {
	for where, want := range map[string]string{
		"WHERE pk = 'a' AND sk = 5":                    `{"pk":"a","sk":5} -`,
		"WHERE 5 = sk AND ('a' = pk)":                  `{"pk":"a","sk":5} -`,
		"WHERE sk = 5 AND n = 7 AND pk = 'a'":          `{"pk":"a","sk":5} true`,
		"WHERE sk = 5 AND (n = 8 OR n = 9) AND pk='a'": `{"pk":"a","sk":5} false`,
		"":                                              "Where clause does not contain a mandatory equality on all key attributes",
		"WHERE pk = 'a'":                                "Where clause does not contain a mandatory equality on all key attributes",
		"WHERE pk = 'a' AND sk > 5":                     "Where clause does not contain a mandatory equality on all key attributes",
		"WHERE pk = 'a' OR sk = 5":                      "Where clause does not contain a mandatory equality on all key attributes",
		"WHERE pk = 'a' AND NOT sk = 5":                 "Where clause does not contain a mandatory equality on all key attributes",
		"WHERE pk = 'a' AND sk = 5 AND sk < 6":          "Multiple conditions on same key sk. Only single item Update/Insert/Delete are supported",
		"WHERE pk = 'a' AND sk = '5'":                   "Key attribute's data type should match its data type in table's schema: Key sk",
		"WHERE pk.x = 'a' AND sk = 5":                   "Where clause does not contain a mandatory equality on all key attributes",
		"WHERE pk = 'a' AND sk = 5 AND s IS NOT STRING": `{"pk":"a","sk":5} false`,
	} {
		key, rest, err := parse(t, "DELETE FROM t "+where, "").Where.Key(hash, rangeKey)
		got := reason(err)
		if err == nil {
			got = body(attribute.NewItem(key)) + " -"
			if rest != nil {
				got = fmt.Sprintf("%s %v", strings.TrimSuffix(got, " -"), rest.Holds(item(t, sample)))
			}
		}
		if got != want {
			t.Errorf("%s: %s", where, got)
		}
	}
}

// TestAccess: what is read for a SELECT: partition keys, whether the range keys 4, 5
// and 6 are within the bounds, and whether the filter holds for the sample.
func TestAccess(t *testing.T) {
	for where, want := range map[string]string{
		"":                                                "[] all -",
		"WHERE n = 7":                                     "[] all true",
		"WHERE pk = 'a'":                                  "[a] all -",
		"WHERE pk = 'a' AND sk > 5":                       "[a] ..6 -",
		"WHERE pk = 'a' AND 5 >= sk AND n = 8":            "[a] 45. false",
		"WHERE pk = 'a' AND sk BETWEEN 5 AND 6":           "[a] .56 -",
		"WHERE pk = 'a' AND sk <> 5":                      "[a] all false",
		"WHERE pk IN ['a', 'b', 'a'] AND sk = 5":          "[a b] .5. -",
		"WHERE pk = 'a' AND sk >= 5 AND sk < 6":           "[a] .56 true",
		"WHERE pk = 'a' OR sk = 5":                        "[] all true",
		"WHERE pk > 'a'":                                  "[] all false",
		"WHERE pk = 1":                                    "One or more parameter values were invalid: Condition parameter type does not match schema type",
		"WHERE pk = 'a' AND sk > 'x'":                     "One or more parameter values were invalid: Condition parameter type does not match schema type",
		"WHERE pk = 'a' AND begins_with(s, 'a')":          "[a] all true",
		"WHERE pk = 'a' AND attribute_not_exists(gone)":   "[a] all true",
		"WHERE pk = 'a' AND (sk = 5 AND (n = 7))":         "[a] .5. true",
		"WHERE pk = 'a' AND (sk = 5 OR sk = 6)":           "[a] all true",
		"WHERE pk = 'a' AND sk IN (4, 5)":                 "[a] all true",
		"WHERE pk = ''":                                   "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
		"WHERE NOT pk = 'a'":                              "[] all false",
		"WHERE pk = s":                                    "[] all false",
		"WHERE pk = 'a' AND begins_with(sk, 'a')":         "One or more parameter values were invalid: Condition parameter type does not match schema type",
		"WHERE pk = 'a' AND (n = 7 AND s = 'x') AND sk=4": "[a] 4.. false",
	} {
		a, err := parse(t, "SELECT * FROM t "+where, "").Where.Access(hash, rangeKey)
		got := reason(err)
		if err == nil {
			got = show(a, item(t, sample))
		}
		if got != want {
			t.Errorf("%s: %s", where, got)
		}
	}
	a, err := parse(t, "SELECT * FROM t WHERE pk = 'a' AND begins_with(s, 'ab')", "").Where.Access(hash, expr.Key{Name: "s", Type: attribute.S})
	if err != nil || a.Filter != nil || !a.Bounds.Contains(attribute.String("abc")) || a.Bounds.Contains(attribute.String("b")) {
		t.Errorf("%+v %v", a, err)
	}
}

func show(a Access, i attribute.Item) string {
	texts := []string{}
	for _, h := range a.Hashes {
		texts = append(texts, h.Text())
	}
	within := "all"
	if a.Bounds != nil {
		within = ""
		for n := range 3 {
			if v := attribute.Int(int64(n + 4)); a.Bounds.Contains(v) {
				within += v.Text()
			} else {
				within += "."
			}
		}
	}
	if a.Filter == nil {
		return fmt.Sprint(texts, " ", within, " -")
	}
	return fmt.Sprint(texts, " ", within, " ", a.Filter.Holds(i))
}

// TestErrors: AWS's texts. Those about functions are what a suite saw at AWS.
func TestErrors(t *testing.T) {
	const malformed = "Statement wasn't well formed, can't be processed: "
	for text, want := range map[string]string{
		"NOT A STATEMENT":                                          malformed + "Expected data manipulation",
		"SLECT * FROM t":                                           malformed + "Expected data manipulation",
		"SELECT * t":                                               malformed + "Expected FROM",
		"SELECT * FROM 't'":                                        malformed + "Expected identifier",
		"SELECT * FROM (SELECT * FROM t)":                          malformed + "Expected identifier",
		"SELECT *, a FROM t":                                       "Other attributes should not be present in the projection when '*' is used.",
		"SELECT a, * FROM t":                                       "Other attributes should not be present in the projection when '*' is used.",
		"SELECT * FROM a, b":                                       "Only select from a single table or index is supported.",
		"SELECT * FROM a x":                                        "Aliasing is not supported",
		"SELECT * FROM a.b.c":                                      "A path may contain at most 2 components in the FROM clause",
		"SELECT * FROM t WHERE a":                                  "WHERE clause must contain an expression that resolves to a boolean",
		"SELECT * FROM t WHERE size(a)":                            "WHERE clause must contain an expression that resolves to a boolean",
		"SELECT * FROM t WHERE contains(a, 'x') = true":            "The function is not allowed to be used this way in an expression; function: contains",
		"SELECT * FROM t WHERE a = MISSING":                        "MISSING must be compared using IS operator",
		"SELECT * FROM t WHERE a IN []":                            "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member",
		"SELECT * FROM t WHERE a IN 5":                             "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member",
		"SELECT * FROM t WHERE 1 IS NULL":                          "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
		"SELECT * FROM t WHERE a IS 'NULL'":                        "Unsupported data type for IS operator: 'NULL'. Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]",
		"SELECT * FROM t WHERE (a = 1":                             malformed + "Expected RIGHT_PAREN",
		"SELECT * FROM t WHERE a = 1 garbage":                      malformed + "Unexpected token after expression",
		"SELECT * FROM t; SELECT * FROM t":                         "Only one operation is allowed in a statement.",
		"SELECT * FROM t WHERE a = FROM":                           malformed + "Unexpected keyword",
		"SELECT * FROM t WHERE a = ":                               malformed + "Unexpected term",
		"SELECT * FROM t WHERE a = #x":                             malformed + "Unexpected character '#'",
		"SELECT * FROM t WHERE a = 'x":                             malformed + "Unexpected end of a text in quotes",
		"SELECT * FROM t WHERE a = ?":                              "Number of parameters in request and statement don't match.",
		"SELECT * FROM t WHERE m.inner = 1":                        malformed + "Invalid path dot component",
		"SELECT * FROM t WHERE l[*] = 1":                           "Wildcard path component like a[*].b are not supported",
		"SELECT l[-1] FROM \"t\"":                                  "List index is not within the allowable range; index: [-1] at 1:11:1",
		"SELECT * FROM t ORDER BY a":                               "Must have WHERE clause in the statement when using ORDER BY clause.",
		"SELECT attribute_exists(ss) FROM \"t\"":                   "Unexpected path component at 1:8:16",
		"SELECT a, a FROM t":                                       "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
		"SELECT * FROM t\nWHERE EXISTS(ss)":                        "Unrecognized function: exists at 2:7:6",
		"SELECT * FROM t WHERE attribute_exists('ss')":             "Operator or function requires a document path; operator or function: attribute_exists",
		"SELECT * FROM t WHERE attribute_exists()":                 "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 0",
		"SELECT * FROM t WHERE attribute_exists(a, b)":             "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
		"SELECT * FROM t WHERE ü = set_add(a, <<'x'>>)":            malformed + "Unexpected character 'ü'",
		"SELECT * FROM t WHERE \"ü\" = set_add(a, <<'x'>>)":        "Unrecognized function: set_add at 1:29:7",
		"SELECT * FROM t WHERE a = [":                              malformed + "Unexpected term",
		"SELECT * FROM t /* WHERE a = 1":                           malformed,
		"SELECT * FROM t WHERE a = 1e":                             malformed + "Unexpected token after expression",
		"UPDATE t SET b = set_add(a, <<'x'>>)":                     "The first argument to SET_ADD must equal the assignment value at 1:18:7",
		"UPDATE t SET a = set_add(<<'x'>>, <<'x'>>)":               "The first argument to SET_ADD must equal the assignment value at 1:18:7",
		"UPDATE t SET aa = set_add(aa, 'x')":                       "The second argument to SET_ADD must be a value with type SET at 1:27:2",
		"UPDATE t SET a = set_delete(a, ['x'])":                    "The second argument to SET_DELETE must be a value with type SET at 1:29:1",
		"UPDATE t SET a = set_add(a)":                              "SET_ADD must have exactly two arguments at 1:18:7",
		"UPDATE t SET a = set_add(a, <<'x', 'x'>>)":                "One or more parameter values were invalid: Input collection [x, x] contains duplicates.",
		"UPDATE t SET a = set_add(a, <<>>)":                        "Empty bags are not supported",
		"UPDATE t SET a = set_add(a, <<'a', 1>>)":                  "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
		"UPDATE t SET a = 1, a.b = 2":                              "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]",
		"UPDATE t SET a = b + 'x'":                                 "Incorrect operand type for operator or function; operator or function: +, operand type: S",
		"UPDATE t WHERE a = 1":                                     malformed + "Expected SET or REMOVE",
		"UPDATE t.i SET a = 1 WHERE a = 1":                         "This operation is not supported on an index",
		"UPDATE t SET a = 1 WHERE a = 1 RETURNING ALL OLD":         "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
		"DELETE FROM t WHERE a = 1 RETURNING MODIFIED NEW *":       "Invalid returning clause: RETURNING MODIFIED NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
		"INSERT INTO t (a, b) VALUES (1, 2)":                       malformed + "Unexpected keyword",
		"INSERT INTO t VALUE <<{'a': 1}>>":                         "Unsupported operation: Inserting multiple items in a single statement is not supported, use \"INSERT INTO tableName VALUE item\" instead",
		"INSERT INTO t VALUE 'a'":                                  "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement.",
		"INSERT INTO t VALUE {'a': 1, 'a': 2}":                     "Duplicate keys in tuple. Key: a under root",
		"INSERT INTO t VALUE {'a': 1} RETURNING ALL OLD *":         "RETURNING is not supported in INSERT",
		"INSERT INTO \"t\" VALUE {'a': set_add(<<'a'>>, <<'b'>>)}": "Unsupported data type: set_add under key root at 1:29:7",
		"INSERT INTO t VALUE {'a': " + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "}": "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
		"SELECT * FROM t WHERE a = 1" + strings.Repeat(" AND a = 1", 300):                      "The expression contains too many operators; operator count: 301",
		"SELECT * FROM t WHERE " + strings.Repeat("(", 5000):                                   malformed + "Conditions lie too deep in each other",
		"SELECT a" + strings.Repeat(".a", 4000) + " FROM t":                                    "The document path has too many nesting levels; nesting levels: 33",
		strings.Repeat(" ", MaxLength+1):                                                       malformed + "Unexpected length",
	} {
		if _, err := Parse(text, nil); reason(err) != want {
			t.Errorf("%.80s: %s", text, reason(err))
		}
	}
	if _, err := Parse("SELECT * FROM t", parameters(t, "1")); reason(err) != reason(errParameters) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`SELECT a.b[1], "c" FROM "t"."i" WHERE pk = 'a' AND (sk BETWEEN 1 AND ? OR NOT s IN [1, 'x']) AND begins_with(s, 'a') ORDER BY sk DESC`,
		`INSERT INTO t VALUE {'a': [1, {'b': <<'x'>>}, ?], 'c': -1.5e3}`, `UPDATE "t" SET a = a + ?, l = list_append(l, [1]) REMOVE b SET s = set_add(s, <<1>>) WHERE pk = 'a' RETURNING ALL NEW *`,
		`DELETE FROM t WHERE pk = 'a' AND x IS NOT MISSING RETURNING ALL OLD *`, `EXISTS(SELECT * FROM t WHERE size(a) > 1)`} {
		f.Add(text)
	}
	i, values := item(f, sample), parameters(f, `7`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text, values)
		if err != nil {
			if s != nil || reason(err) == "" {
				t.Fatalf("%q: %v, %v", text, s, err)
			}
			return
		}
		if s.Table == "" {
			t.Fatalf("%q has no table", text)
		}
		if s.Update != nil {
			s.Update.Apply(i) //nolint:errcheck // it must not panic
		}
		if s.Projection != nil && s.Projection.Apply(i).Size() > i.Size() {
			t.Fatalf("%q projects more than there is", text)
		}
		checkWhere(t, s.Where, i)
	})
}

// checkWhere: what a plan reads is what holds of the whole condition.
func checkWhere(t *testing.T, w *Where, i attribute.Item) {
	if w == nil {
		return
	}
	want := w.Condition().Holds(i)
	if key, rest, err := w.Key(hash, rangeKey); err == nil {
		if got := body(attribute.NewItem(key)) == `{"pk":"a","sk":5}` && (rest == nil || rest.Holds(i)); got != want {
			t.Fatalf("key: %v, whole: %v", got, want)
		}
	}
	a, err := w.Access(hash, rangeKey)
	if err != nil {
		return
	}
	got := a.Filter == nil || a.Filter.Holds(i)
	if a.Hashes != nil {
		found := false
		for _, h := range a.Hashes {
			found = found || h.Text() == "a"
		}
		got = got && found && (a.Bounds == nil || a.Bounds.Contains(attribute.Int(5)))
	}
	if got != want {
		t.Fatalf("access: %v, whole: %v", got, want)
	}
}
