package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/sectional/sectional/internal/dberr"
)

const (
	badJSON   = "bad_request: invalid UTF-8 JSON"
	noObject  = "bad_request: Document must be a JSON object"
	tooDeep   = "bad_request: JSON is nested too deeply"
	duplicate = `bad_request: Duplicate member "%s" in a JSON object`
)

func TestSplit(t *testing.T) {
	tests := []struct{ raw, body, special string }{
		{`{}`, `{}`, ``},
		{" \t\r\n{ \n} ", `{}`, ``},
		{`{"a":1,"b":[1,2,{"c":null}],"d":{"e":true,"f":false}}`, `{"a":1,"b":[1,2,{"c":null}],"d":{"e":true,"f":false}}`, ``},
		{" { \"a\" : 1 , \"b\" : [ 1 , 2 , { } , [ ] ] } ", `{"a":1,"b":[1,2,{},[]]}`, ``},
		{`{"_id":"x"}`, `{}`, `_id="x"`},
		{`{"_id":"x","_rev":"1-a","n":1}`, `{"n":1}`, `_id="x" _rev="1-a"`},
		{`{"n":1,"_rev":"1-a","_id":"x"}`, `{"n":1}`, `_rev="1-a" _id="x"`},
		{`{"a":1,"_id":"x","b":2,"_rev":3,"c":4}`, `{"a":1,"b":2,"c":4}`, `_id="x" _rev=3`},
		{` { "a" : 1 , "_x" : { "b" : [ 1 , 2 ] } , "c" : 3 } `, `{"a":1,"c":3}`, `_x={"b":[1,2]}`},
		{`{"a":{"_id":1,"_x":2},"_":[]}`, `{"a":{"_id":1,"_x":2}}`, `_=[]`},
		{`{"\u005fid":"x","a":"\u005f"}`, `{"a":"_"}`, `_id="x"`},
		{`{"_a\n\u00e9":"\u00e9"}`, `{}`, "_a\né=\"é\""},
		{`{"_a":1,"b":2}`, `{"b":2}`, `_a=1`},
		{`{"":"empty key","a":"","b":{},"c":[],"d":null," ":1}`, `{"":"empty key","a":"","b":{},"c":[],"d":null," ":1}`, ``},
		{`{"a":9007199254740993,"b":18446744073709551616,"d":123456789012345678901234567890}`,
			`{"a":9007199254740993,"b":18446744073709551616,"d":123456789012345678901234567890}`, ``},
		{`{"a":1.0,"c":1e3,"e":2.50,"f":1E-7,"g":-0,"h":-0.0,"i":1e+2,"j":0e5,"k":1e-400}`,
			`{"a":1.0,"c":1e3,"e":2.50,"f":1E-7,"g":-0,"h":-0.0,"i":1e+2,"j":0e5,"k":1e-400}`, ``},
		{`{"a":"\u00e9\u65e5","c":"\ud83d\udc19","d":"\u0000\u0001\u001F\u001f","e":"\/ \" \\ \b\f\n\r\t","f":"\u2028\u007f"}`,
			"{\"a\":\"é日\",\"c\":\"🐙\",\"d\":\"\\u0000\\u0001\\u001f\\u001f\",\"e\":\"/ \\\" \\\\ \\b\\f\\n\\r\\t\",\"f\":\"\u2028\u007f\"}", ``},
		{`{"a":"\u0022\u005C\u000a\u0008\u002f"}`, `{"a":"\"\\\n\b/"}`, ``},
		{`{"a":"\ufffd\ufffe"}`, "{\"a\":\"\ufffd\ufffe\"}", ``},
	}
	for _, tt := range tests {
		raw := []byte(tt.raw)
		body, special, err := Split(raw)
		if err != nil {
			t.Errorf("%s: %v", tt.raw, err)
			continue
		}
		clear(raw) // nothing may be shared with it
		var words []string
		for _, m := range special {
			words = append(words, m.Name+"="+string(m.Value))
		}
		if diff := cmp.Diff([]string{tt.body, tt.special}, []string{string(body), strings.Join(words, " ")}); diff != "" {
			t.Errorf("%s: %s", tt.raw, diff)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	tests := map[string][]string{
		badJSON: {
			``, ` `, `{`, `}`, `{'a':1}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a"}`, `{"a":1 "b":2}`, `nonsense`, `{"a":1} trailing`,
			`{"a":1}{}`, `{"a":01}`, `{"a":.5}`, `{"a":5.}`, `{"a":-}`, `{"a":+1}`, `{"a":1e}`, `{"a":1e+}`, `{"a":0x1}`, `{"a":NaN}`, `{a:1}`,
			"{\"a\":\"tab\there\"}", "{\"a\":\"\x00\"}", `{"a":tru}`, `{"a":nul}`, `{"a":falsey}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[}`, `{"a":[`,
			"{\"a\":\"\xff\xfe\x22}", "{\"a\":\"\xc3(\"}", "{\"a\":\"\xed\xa0\x80\"}", "\xef\xbb\xbf{\"a\":1}", "\xff\xfe{\x00}\x00",
			`{"a":"\ud800"}`, `{"a":"\udc00x"}`, `{"a":"\ud800\ud800"}`, `{"a":"\ud800\n"}`, `{"a":"\u12g4"}`, `{"a":"\u12`, `{"a":"\x"}`, `{"a":"\`, `{"a":"\"}`,
			`{"a":1e400}`, `{"a":-1e309}`, `{"a":1.8e308}`, `{"a":1` + strings.Repeat("0", 309) + `}`, `[1,2] trailing`, `"text`, "{\"a\":\u00a01}", `{"a":1}/**/`,
			`{"_a":1,}`, `{"_a":}`, `{"_a"`,
		},
		noObject: {`[]`, `[1,2]`, `"text"`, `42`, `null`, ` true `, `[["_id","a"]]`},
		tooDeep: {
			`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
			strings.Repeat(`{"a":`, 1001), strings.Repeat("[", 1e6),
		},
		fmt.Sprintf(duplicate, "a"):   {`{"a":1,"b":2,"a":3}`, `{"x":{"a":1,"a":2}}`, `{"a":1,"\u0061":3}`, `{"x":[{"a":1,"b":1,"a":2}]}`},
		fmt.Sprintf(duplicate, "_id"): {`{"_id":"a","_id":"a"}`, `{"_id":"a","b":1,"\u005fid":"c"}`},
		fmt.Sprintf(duplicate, "k77"): {`{` + objectOf(200) + `,"k77":1}`, `{` + objectOf(1000) + `,"\u006b77":1}`},
	}
	for want, list := range tests {
		for _, raw := range list {
			body, special, err := Split([]byte(raw))
			if refused(err) != want || !dberr.Is(err, dberr.Invalid) || body != nil || special != nil {
				t.Errorf("%.60q: %v, want %q", raw, err, want)
			}
		}
	}
}

func objectOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return b.String()[1:]
}

func TestSplitLimits(t *testing.T) {
	for _, raw := range []string{
		`{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`,
		strings.Repeat(`{"a":`, 999) + `[]` + strings.Repeat(`}`, 999),
		`{` + objectOf(1000) + `}`,
		`{"a":1` + strings.Repeat("0", 308) + `}`,
		`{"a":0.` + strings.Repeat("0", 400) + `1e400}`,
		`{"a":1.7976931348623157e308}`,
	} {
		if body, _, err := Split([]byte(raw)); err != nil || string(body) != raw {
			t.Errorf("%.50s: %v", raw, err)
		}
	}
}

func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		` 1 `: `1`, `[ 1, "\u0061" ]`: `[1,"a"]`, `"x"`: `"x"`, ` { "_id" : null } `: `{"_id":null}`,
	} {
		if got, err := Compact([]byte(raw)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
	if _, err := Compact([]byte(`[1`)); refused(err) != badJSON {
		t.Error(err)
	}
}

// reference validates raw as Split promises to, by a tokenizer that others
// wrote and by encoding/json.
func reference(raw []byte, depth int) error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		if d.StackDepth() > depth {
			return errors.New("too deep")
		}
		if tok.Kind() == '0' {
			if _, err := strconv.ParseFloat(tok.String(), 64); err != nil {
				return err
			}
		}
		if d.StackDepth() == 0 {
			if len(bytes.Trim(raw[d.InputOffset():], " \t\r\n")) > 0 {
				return errors.New("more behind the value")
			}
			return nil
		}
	}
}

// decoded reads JSON with the digits of its numbers.
func decoded(t *testing.T, raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return v
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"_id":"x","a":[1,2.5e3,-0],"\u005fb":{"c":"\ud83d\udc19"}}`, ` { "a" : "\/" , "_" : [ ] } `, `{"a":1,"a":2}`, `[1]`,
		`{"a":"é日\u00e9\u0000"}`, `{"abcdefghijk":"0123456789abcdef\n","x":null}`, `{"a":1e309}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
		`{` + objectOf(40) + `}`, `{` + objectOf(40) + `,"k3":1}`, strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	} {
		f.Add([]byte(s))
	}
	const depth = 1000
	f.Fuzz(func(t *testing.T, raw []byte) {
		compact, err := Compact(raw)
		if want := reference(raw, depth); (err == nil) != (want == nil) {
			t.Fatalf("%q: %v, by the reference %v", raw, err, want)
		}
		body, special, splitErr := Split(raw)
		if err != nil {
			if refused(splitErr) != refused(err) {
				t.Fatalf("%q: %v and %v", raw, err, splitErr)
			}
			return
		}
		value := decoded(t, raw)
		if len(compact) > len(raw) || !reflect.DeepEqual(decoded(t, compact), value) {
			t.Fatalf("%q becomes %q", raw, compact)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, compact); err != nil || !bytes.Equal(want.Bytes(), compact) {
			t.Fatalf("%q is not compact", compact)
		}
		if again, err := Compact(compact); err != nil || !bytes.Equal(again, compact) {
			t.Fatalf("%q is made compact once more: %q, %v", compact, again, err)
		}
		checkSplit(t, value, body, special, splitErr)
	})
}

// checkSplit compares the two parts with the whole.
func checkSplit(t *testing.T, value any, body []byte, special []Member, err error) {
	object, ok := value.(map[string]any)
	if !ok {
		if refused(err) != noObject {
			t.Fatalf("%v: %v", value, err)
		}
		return
	}
	parts := decoded(t, body).(map[string]any)
	for name := range parts {
		if strings.HasPrefix(name, "_") {
			t.Fatalf("%q was left in", name)
		}
	}
	for _, m := range special {
		if !strings.HasPrefix(m.Name, "_") {
			t.Fatalf("%q was taken out", m.Name)
		}
		parts[m.Name] = decoded(t, m.Value)
	}
	if !reflect.DeepEqual(parts, object) {
		t.Fatalf("%v fell into %v", object, parts)
	}
}
