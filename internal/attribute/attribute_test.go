package attribute

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/jsonscan"
)

// parse reads wire JSON as the API will: validated and compact.
func parse(t *testing.T, text string) Item {
	t.Helper()
	i, err := ParseItem(compact(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return i
}

func compact(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := jsonscan.Compact([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return raw
}

func TestItemsOnTheWireAndAsDocuments(t *testing.T) {
	for _, c := range []struct{ in, wire, body string }{
		{`{}`, `{}`, `{}`},
		{`{"a":{"S":"x"},"e":{"S":""}}`, `{"a":{"S":"x"},"e":{"S":""}}`, `{"a":"x","e":""}`},
		{`{"a":{"N":"12.50"}}`, `{"a":{"N":"12.5"}}`, `{"a":12.5}`},
		{`{"a":{"B":"AQI="},"e":{"B":""}}`, `{"a":{"B":"AQI="},"e":{"B":""}}`, `{"a":{"$b":"AQI="},"e":{"$b":""}}`},
		{`{"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}}`, `{"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}}`, `{"a":true,"b":false,"c":null}`},
		{`{"a":{"L":[]},"b":{"L":[{"N":"1"},{"L":[{"S":"x"}]}]}}`, `{"a":{"L":[]},"b":{"L":[{"N":"1"},{"L":[{"S":"x"}]}]}}`, `{"a":[],"b":[1,["x"]]}`},
		{`{"a":{"M":{}},"b":{"M":{"c":{"S":"x"}}}}`, `{"a":{"M":{}},"b":{"M":{"c":{"S":"x"}}}}`, `{"a":{},"b":{"c":"x"}}`},
		{`{"a":{"SS":["b","a",""]}}`, `{"a":{"SS":["","a","b"]}}`, `{"a":{"$ss":["","a","b"]}}`},
		{`{"a":{"NS":["10","9","-1.0"]}}`, `{"a":{"NS":["-1","9","10"]}}`, `{"a":{"$ns":[-1,9,10]}}`},
		{`{"a":{"BS":["/w==","AQ=="]}}`, `{"a":{"BS":["AQ==","/w=="]}}`, `{"a":{"$bs":["AQ==","/w=="]}}`},
		// members that are null or unknown are not there
		{`{"a":{"S":"x","N":null,"Z":{"S":["y"]}}}`, `{"a":{"S":"x"}}`, `{"a":"x"}`},
		// names
		{`{"_id":{"S":"x"},"$a":{"S":"y"},"$$":{"S":"z"},"$":{"S":"w"},"$_":{"S":"v"},"a_":{"S":"u"}}`, `{"_id":{"S":"x"},"$a":{"S":"y"},"$$":{"S":"z"},"$":{"S":"w"},"$_":{"S":"v"},"a_":{"S":"u"}}`,
			`{"$_id":"x","$$a":"y","$$$":"z","$$":"w","$$_":"v","a_":"u"}`},
		{`{"m":{"M":{"_id":{"S":"x"},"$b":{"S":"AQI="}}}}`, `{"m":{"M":{"_id":{"S":"x"},"$b":{"S":"AQI="}}}}`, `{"m":{"_id":"x","$$b":"AQI="}}`},
		{`{"\"\n":{"S":"\u0001\\é"}}`, `{"\"\n":{"S":"\u0001\\é"}}`, `{"\"\n":"\u0001\\é"}`},
	} {
		item := parse(t, c.in)
		if got := string(AppendItem(nil, item)); got != c.wire {
			t.Errorf("%s on the wire is %s, want %s", c.in, got, c.wire)
		}
		body := AppendBody(nil, item)
		if string(body) != c.body {
			t.Errorf("%s as a document is %s, want %s", c.in, body, c.body)
		}
		checkBody(t, body, item)
	}
}

// checkBody holds a document against the item that it is.
func checkBody(t *testing.T, body []byte, item Item) {
	t.Helper()
	if valid, err := jsonscan.Compact(body); err != nil || string(valid) != string(body) {
		t.Fatalf("%s is not compact JSON: %v", body, err)
	}
	back, err := ParseBody(body)
	if err != nil || !EqualItems(back, item) {
		t.Fatalf("%s came back as %s, %v", body, AppendItem(nil, back), err)
	}
	wire, size, err := AppendWire([]byte("…"), body)
	if err != nil || string(wire) != "…"+string(AppendItem(nil, item)) || size != item.Size() {
		t.Fatalf("%s is on the wire %s of %d, %v; want %s of %d", body, wire, size, err, AppendItem(nil, item), item.Size())
	}
}

// TestParseRefuses: of SerializationException the texts are those of dynalite's tests
// (test/helpers), of ValidationException those of its validations/index.js, of DynamoDB
// Local and of dynamodb-conformance (tests/tier3/error-messages/putItem.test.ts).
func TestParseRefuses(t *testing.T) {
	const v, s, bad = "ValidationException: ", "SerializationException: ", "ValidationException: One or more parameter values were invalid: "
	for in, want := range map[string]string{
		`{"a":{}}`:                             v + "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"a":{"X":"y"}}`:                      v + "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"a":null}`:                           v + "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"a":{"S":null}}`:                     v + "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"a":{"L":[{"M":{"b":{}}}]}}`:         v + "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
		`{"a":{"S":"x","N":"1"}}`:              v + "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
		`{"a":{"N":""}}`:                       v + "The parameter cannot be converted to a numeric value",
		`{"a":{"N":"b"}}`:                      v + "The parameter cannot be converted to a numeric value: b",
		`{"a":{"NS":["1",""]}}`:                v + "The parameter cannot be converted to a numeric value",
		`{"a":{"NULL":false}}`:                 bad + "Null attribute value types must have the value of true",
		`{"a":{"SS":[]}}`:                      bad + "An string set  may not be empty",
		`{"a":{"NS":[]}}`:                      bad + "An number set  may not be empty",
		`{"a":{"M":{"b":{"BS":[]}}}}`:          bad + "Binary sets should not be empty",
		`{"a":{"SS":["a","b","a"]}}`:           bad + "Input collection [a, b, a] contains duplicates.",
		`{"a":{"NS":["1","1.0"]}}`:             v + "Input collection contains duplicates",
		`{"a":{"BS":["AQI=","AQI="]}}`:         bad + "Input collection [java.nio.HeapByteBuffer[pos=0 lim=2 cap=2], java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]]of type BS contains duplicates.",
		`{"":{"S":"a"}}`:                       v + "Empty attribute name",
		deep(32, `{"S":"x"}`):                  v + "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
		`{"a":"x"}`:                            s + "Unexpected value type in payload",
		`{"a":1}`:                              s + "Unexpected value type in payload",
		`{"a":[]}`:                             s + "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
		`{"a":{"S":1}}`:                        s + "NUMBER_VALUE cannot be converted to String",
		`{"a":{"N":1.5}}`:                      s + "DECIMAL_VALUE cannot be converted to String",
		`{"a":{"S":true}}`:                     s + "TRUE_VALUE cannot be converted to String",
		`{"a":{"SS":[false]}}`:                 s + "FALSE_VALUE cannot be converted to String",
		`{"a":{"S":[]}}`:                       s + "Unrecognized collection type class java.lang.String",
		`{"a":{"S":{}}}`:                       s + "Start of structure or map found where not expected",
		`{"a":{"BOOL":"true"}}`:                s + "Unexpected token received from parser",
		`{"a":{"NULL":1}}`:                     s + "NUMBER_VALUE cannot be converted to Boolean",
		`{"a":{"BOOL":[]}}`:                    s + "Unrecognized collection type class java.lang.Boolean",
		`{"a":{"B":1}}`:                        s + "only base-64-encoded strings are convertible to bytes",
		`{"a":{"B":[]}}`:                       s + "Unrecognized collection type class java.nio.ByteBuffer",
		`{"a":{"BS":[{}]}}`:                    s + "Start of structure or map found where not expected",
		`{"a":{"B":"23456"}}`:                  s + "Base64 encoded length is expected a multiple of 4 bytes but found: 5",
		`{"a":{"B":"=+/="}}`:                   s + "Invalid last non-pad Base64 character dectected",
		`{"a":{"B":"+/+="}}`:                   s + "Invalid last non-pad Base64 character dectected",
		`{"a":{"B":"A~==" }}`:                  s + "Invalid Base64 character: '~'",
		`{"a":{"L":"x"}}`:                      s + "Unexpected field type",
		`{"a":{"SS":{}}}`:                      s + "Start of structure or map found where not expected",
		`{"a":{"M":1}}`:                        s + "Unexpected field type",
		`{"a":{"M":[]}}`:                       s + "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
		`[]`:                                   s + "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
		`{"a":{"N":"x"},"b":{"S":1}}`:          s + "NUMBER_VALUE cannot be converted to String", // the form before the content
		`{"a":{"N":"x"},"b":{"S":"y","N":""}}`: v + "The parameter cannot be converted to a numeric value: x",
	} {
		if _, err := ParseItem(compact(t, in)); reason(err) != want {
			t.Errorf("%s:\n%v\nwant\n%s", in, err, want)
		}
	}
	if _, err := ParseItem(compact(t, `{"`+strings.Repeat("a", 65536)+`":{"S":"x"}}`)); reason(err) != v+"Attribute name is too large, must be less than 65536 bytes" {
		t.Error(err)
	}
	parse(t, deep(31, `{"S":"x"}`)) // the value is the 32nd
	parse(t, `{"`+strings.Repeat("a", 65535)+`":{"S":"x"}}`)
}

// deep returns an item with a value within n maps.
func deep(n int, value string) string {
	return `{"a":` + strings.Repeat(`{"M":{"n":`, n) + value + strings.Repeat(`}}`, n) + `}`
}

func TestMisfits(t *testing.T) {
	for body, where := range map[string]string{
		`[]`: "", `{"$a":1}`: "/$a", `{"$":1}`: "/$", `{"_a":1}`: "/_a", `{"":1}`: "/", `{"a":{"$_b":1}}`: "/a/$_b", `{"a":[1,{"b":{"$x":1}}]}`: "/a/1/b/$x", `{"a":1e126}`: "/a",
		`{"a":123456789012345678901234567890123456789}`: "/a", `{"a/b":{"c~":1e-200}}`: "/a~1b/c~0", `{"$b":"AQI="}`: "/$b",
		`{"a":{"$b":"x"}}`: "/a/$b", `{"a":{"$b":"AQI=","c":1}}`: "/a/$b", `{"a":{"c":1,"$b":"AQI="}}`: "/a/$b", `{"a":{"$b":1}}`: "/a/$b", `{"a":{"$b":"AR=="}}`: "/a/$b",
		`{"a":{"$ss":[]}}`: "/a/$ss", `{"a":{"$ss":["a","a"]}}`: "/a/$ss", `{"a":{"$ss":"a"}}`: "/a/$ss", `{"a":{"$ns":[1,"2"]}}`: "/a/$ns/1", `{"a":{"$ns":[1,1.0]}}`: "/a/$ns",
		`{"a":{"$bs":["AQI=","?"]}}`: "/a/$bs/1", `{"a":{"":1}}`: "/a/", `{"` + strings.Repeat("a", 65536) + `":1}`: "/" + strings.Repeat("a", 65536),
		`{"a":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`: "/a" + strings.Repeat("/0", 32),
	} {
		_, err := ParseBody(compact(t, body))
		_, _, err2 := AppendWire(nil, compact(t, body))
		for _, err := range []error{err, err2} {
			var m *Misfit
			if !errors.As(err, &m) || m.Where != where || m.Why == "" {
				t.Errorf("%s: %v, want one at %q", body, err, where)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	// The Developer Guide's rules: 3 bytes for a list or map and 1 for each element, 1 for
	// null and truth values.
	for in, want := range map[string]int{
		`{"id":{"S":"abc"}}`: 5, `{"£":{"S":"é"}}`: 4, `{"n":{"N":"12345"}}`: 5, `{"b":{"B":"AQI="}}`: 3, `{"a":{"BOOL":false},"b":{"NULL":true}}`: 4,
		`{"a":{"L":[]}}`: 4, `{"a":{"L":[{"S":"xy"},{"N":"1"}]}}`: 1 + 3 + 2 + 2 + 2, `{"a":{"M":{"b":{"S":"xy"}}}}`: 1 + 3 + 1 + 1 + 2, `{"a":{"SS":["x","yz"]}}`: 4, `{"a":{"NS":["1","2"]}}`: 5,
	} {
		if got := parse(t, in).Size(); got != want {
			t.Errorf("%s: %d, want %d", in, got, want)
		}
	}
	item := func(n int) Item { return NewItem([]Attribute{{"p", String(strings.Repeat("x", n-1))}}) }
	if err := item(MaxItemSize).CheckPut(); err != nil {
		t.Error(err)
	}
	if err := item(MaxItemSize + 1).CheckPut(); reason(err) != "ValidationException: Item size has exceeded the maximum allowed size" {
		t.Error(err)
	}
	if err := item(MaxItemSize + 1).CheckUpdate(); reason(err) != "ValidationException: Item size to update has exceeded the maximum allowed size" {
		t.Error(err)
	}
	value := String("x")
	for range MaxDepth {
		value = List([]Value{value})
	}
	if err := NewItem([]Attribute{{"p", value}}).CheckUpdate(); reason(err) != reason(errTooDeep) {
		t.Error(err)
	}
}

// TestTooLargeToRead: what is larger than an item is refused before all of it has been
// read; the last value of each is of another form, which would be told first.
func TestTooLargeToRead(t *testing.T) {
	many := func(element string) string { return strings.Repeat(element+",", MaxItemSize+1) }
	var names strings.Builder
	for n := range MaxItemSize / 6 {
		fmt.Fprintf(&names, `"%06d":{"NULL":true},`, n)
	}
	var numbers strings.Builder
	for n := range MaxItemSize + 1 {
		fmt.Fprintf(&numbers, `"%d.5",`, n*7919%1_000_003)
	}
	for _, in := range []string{
		`{"a":{"S":"` + strings.Repeat("x", MaxItemSize+1) + `"},"b":1}`, `{"a":{"L":[` + many(`{"NULL":true}`) + `1]}}`,
		`{"a":{"M":{` + names.String() + `"b":{"S":"` + strings.Repeat("x", 10) + `"},"c":1}}}`, `{"a":{"NS":[` + numbers.String() + `1]}}`,
	} {
		if _, err := ParseItem([]byte(in)); reason(err) != "ValidationException: Item size has exceeded the maximum allowed size" {
			t.Errorf("%.40s: %v", in, err)
		}
	}
	parse(t, `{"a":{"S":"`+strings.Repeat("x", MaxItemSize-1)+`"}}`)
	if _, err := ParseValue([]byte(`{"S":"` + strings.Repeat("x", MaxItemSize+1) + `"}`)); err != nil {
		t.Error(err)
	}
}

func TestCompareAndSets(t *testing.T) {
	ascending := []Value{String(""), String("a"), String("aa"), String("b"), String("é"), String("\U0001F600")}
	for i, a := range ascending {
		for j, b := range ascending {
			if order, ok := Compare(a, b); !ok || (order < 0) != (i < j) || (order == 0) != (i == j) {
				t.Errorf("%v %v: %d", a, b, order)
			}
		}
	}
	if _, ok := Compare(String("1"), Int(1)); ok {
		t.Error("values of two types have an order")
	}
	if _, ok := Compare(Bool(true), Bool(false)); ok {
		t.Error("truth values have an order")
	}
	set := func(text string) Value {
		v, err := ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	a, b := set(`{"NS":["1","3","20"]}`), set(`{"NS":["3.0","4","100"]}`)
	if got := a.Union(b).String(); got != `{NS:{"NS":["1","3","4","20","100"]}}` {
		t.Error(got)
	}
	if got := a.Without(b).String(); got != `{NS:{"NS":["1","20"]}}` {
		t.Error(got)
	}
	if a.Without(a).Type() != None {
		t.Error("a set without itself has elements")
	}
	if !a.Has(Int(20)) || a.Has(Int(2)) || a.Has(String("20")) || String("x").Has(String("x")) {
		t.Error("Has")
	}
}

func TestWith(t *testing.T) {
	item := parse(t, `{"a":{"N":"1"},"b":{"N":"2"},"c":{"N":"3"}}`)
	changed := item.With(Attribute{"d", Int(4)}, Attribute{"b", Int(5)}, Attribute{"a", Value{}}, Attribute{"z", Value{}})
	if got := string(AppendBody(nil, changed)); got != `{"b":5,"c":3,"d":4}` {
		t.Error(got)
	}
	if got := string(AppendBody(nil, item)); got != `{"a":1,"b":2,"c":3}` {
		t.Error("the item changed:", got)
	}
	var many []Attribute
	for n := range 3 * indexAttributesFrom {
		many = append(many, Attribute{fmt.Sprint("a", n), Int(int64(n))})
	}
	large := NewItem(nil).With(many...)
	for n := range many {
		if v, ok := large.Get(fmt.Sprint("a", n)); !ok || !Equal(v, Int(int64(n))) {
			t.Error(n, v, ok)
		}
	}
	if _, ok := large.Get("a"); ok {
		t.Error("an attribute is there that is not")
	}
}

// randomValue returns a value with at most depth values within each other.
func randomValue(r *rand.Rand, depth int) Value {
	kinds := 10
	if depth <= 1 {
		kinds = 8 // the last two are nested
	}
	switch r.IntN(kinds) {
	case 0:
		return String(randomText(r))
	case 1:
		return Num(randomNumber(r))
	case 2:
		return Binary(randomText(r) + "\xff")
	case 3:
		return Bool(r.IntN(2) == 0)
	case 4:
		return Null()
	case 5, 6, 7:
		return randomSet(r)
	case 8:
		return Map(randomItem(r, depth-1))
	}
	list := make([]Value, r.IntN(4))
	for i := range list {
		list[i] = randomValue(r, depth-1)
	}
	return List(list)
}

func randomSet(r *rand.Rand) Value {
	kind := SS + Type(r.IntN(3))
	for {
		elements := make([]string, 1+r.IntN(4))
		for i := range elements {
			elements[i] = randomText(r)
			if kind == NS {
				elements[i] = string(randomNumber(r))
			}
		}
		if v, err := NewSet(kind, elements); err == nil {
			return v
		}
	}
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteRune([]rune("$_ab\"\\\n\x00é\U0001F600:")[r.IntN(11)])
	}
	return b.String()
}

func randomItem(r *rand.Rand, depth int) Item {
	seen := map[string]bool{"": true}
	var attributes []Attribute
	for range r.IntN(6) {
		if name := randomText(r); !seen[name] {
			seen[name] = true
			attributes = append(attributes, Attribute{name, randomValue(r, depth)})
		}
	}
	return NewItem(attributes)
}

func TestRandomItemsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		item := randomItem(r, 1+r.IntN(6))
		back, err := ParseItem(compact(t, string(AppendItem(nil, item))))
		if err != nil || !EqualItems(item, back) || back.Size() != item.Size() {
			t.Fatalf("%s came back as %s, %v", AppendItem(nil, item), AppendItem(nil, back), err)
		}
		checkBody(t, AppendBody(nil, item), item)
	}
}

func FuzzItem(f *testing.F) {
	f.Add([]byte(`{"a":{"S":"x"},"b":{"L":[{"N":"1"},{"M":{"c":{"BS":["AQI="]}}}]}}`))
	f.Add([]byte(`{"a":{"B":"A"},"b":{"NS":["1",null]},"c":{"S":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ParseItem(text) //nolint:errcheck // it must not panic
		raw, err := jsonscan.Compact(text)
		if err != nil {
			return
		}
		item, err := ParseItem(raw)
		if err != nil || item.Len() == 0 {
			return
		}
		wire := AppendItem(nil, item)
		if back, err := ParseItem(wire); err != nil || !EqualItems(item, back) {
			t.Fatalf("%s came back as %s, %v", wire, AppendItem(nil, back), err)
		}
		checkBody(t, AppendBody(nil, item), item)
	})
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"$ss":["x"]},{"$$b":null}],"$_id":{"c":{"$b":"AQI="}}}`))
	f.Add([]byte(`{"a":{"$b":1},"b":1e300,"$c":{}}`))
	f.Add([]byte(`{"a":{"$ss":["a","b"]},"b":{"$ss":["b","a\"","é"]},"c":-0.5,"d":[100,-0,0.10,1E3],"e\n":"\u0000` + strings.Repeat("long ", 9) + `"}`))
	f.Add([]byte(`{"a":{"$ss":["`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ParseBody(text)       //nolint:errcheck // it must not panic
		AppendWire(nil, text) //nolint:errcheck
		body, err := jsonscan.Compact(text)
		if err != nil {
			return
		}
		item, err := ParseBody(body)
		_, _, err2 := AppendWire(nil, body)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%s: %v, but %v", body, err, err2)
		}
		if err != nil {
			return
		}
		checkBody(t, AppendBody(nil, item), item)
		if wire, size, err := AppendWire(nil, body); err != nil || string(wire) != string(AppendItem(nil, item)) || size != item.Size() {
			t.Fatalf("%s is on the wire %s of %d, %v", body, wire, size, err)
		}
	})
}

func BenchmarkItem(b *testing.B) {
	var wire strings.Builder
	wire.WriteString(`{"partition":{"S":"organisation-1234"},"key":{"S":"project-99"}`)
	for n := range 8 {
		fmt.Fprintf(&wire, `,"attribute%d":{"S":%q},"count%d":{"N":"%d"}`, n, strings.Repeat("text ", 16), n, n*1000)
	}
	wire.WriteString(`,"data":{"B":"` + base64.StdEncoding.EncodeToString(make([]byte, 64)) + `"}}`)
	raw := []byte(wire.String())
	item, err := ParseItem(raw)
	if err != nil {
		b.Fatal(err)
	}
	body := AppendBody(nil, item)
	buf := make([]byte, 0, 2*len(raw))
	for name, run := range map[string]func(){
		"wire to item": func() { ParseItem(raw) }, //nolint:errcheck
		"item to body": func() { AppendBody(buf, item) },
		"body to item": func() { ParseBody(body) },       //nolint:errcheck
		"body to wire": func() { AppendWire(buf, body) }, //nolint:errcheck
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
