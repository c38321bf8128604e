package jsonscan

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`null`, ` [1, "a\"b\\", {"x" : [ ] } , -1.5e3]`, `{"a\u00e9\ud83d\ude00":"\n\t\r\b\f\/","":{}}`,
		`"\\"`, `["\\\"",[[],{}],true,false]`, `{"a":1,"b":{"c":[1,2,{"d":null}]}}`, `[`, `{"a`, `"\u12`, `[,]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) || !utf8.Valid(in) || hasLoneSurrogate(in) {
			walk(in) // refused before it comes here; must end all the same
			return
		}
		var want any
		d := json.NewDecoder(bytes.NewReader(in))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Skip(err)
		}
		if diff := cmp.Diff(want, walk(in)); diff != "" {
			t.Errorf("walk(%q) (-want +got):\n%s", in, diff)
		}
	})
}

// hasLoneSurrogate reports an escape that stands for no character.
func hasLoneSurrogate(in []byte) bool {
	var s any
	_ = json.Unmarshal(in, &s)
	b, _ := json.Marshal(s)
	return bytes.Contains(b, []byte("\ufffd")) || bytes.Contains(b, []byte(`\ufffd`))
}

// walk decodes a value by this package alone, into what encoding/json gives.
func walk(v []byte) any {
	v = Trim(v)
	Depth(v)
	switch KindOf(v) {
	case True:
		return true
	case False:
		return false
	case Number:
		return json.Number(v)
	case String:
		return string(Text(nil, v))
	case Array:
		out := []any{}
		for e := ElementsOf(v); ; {
			x, ok := e.Next()
			if !ok {
				return out
			}
			out = append(out, walk(x))
		}
	case Object:
		out := map[string]any{}
		for m := MembersOf(v); ; {
			n, x, ok := m.Next()
			if !ok {
				return out
			}
			out[string(Text(nil, n))] = walk(x)
		}
	}
	return nil
}

func TestMemberAndElement(t *testing.T) {
	obj := []byte(`{ "a" : 1, "b\u0063" : [10, 20,30], "\\" : {} }`)
	for name, want := range map[string]string{"a": "1", "bc": "[10, 20,30]", `\`: "{}"} {
		if v, ok := Member(obj, name); !ok || string(v) != want {
			t.Errorf("Member(%q) = %q, %v, want %q", name, v, ok, want)
		}
	}
	if _, ok := Member(obj, `b\u0063`); ok {
		t.Error("a name was found in its escaped form")
	}
	arr, _ := Member(obj, "bc")
	if v, ok := Element(arr, 2); !ok || string(v) != "30" {
		t.Errorf("Element 2 = %q, %v", v, ok)
	}
	if _, ok := Element(arr, 3); ok {
		t.Error("Element 3 of three elements was found")
	}
	if n := Len(arr); n != 3 {
		t.Errorf("Len = %d, want 3", n)
	}
}

func TestWith(t *testing.T) {
	for _, c := range []struct{ object, name, value, want string }{
		{`{}`, "a", `1`, `{"a":1}`},
		{`{"b":[1]}`, "a\"", `{}`, `{"b":[1],"a\"":{}}`},
		{`{"b":1,"\u0061":2,"c":3}`, "a", `4`, `{"b":1,"\u0061":4,"c":3}`},
		{`{"b":1,"a":2,"c":3}`, "b", "", `{"a":2,"c":3}`},
		{`{"a":1}`, "a", "", `{}`},
		{`{"a":1}`, "b", "", `{"a":1}`},
		{`{"a":1,"a":2}`, "a", `3`, `{"a":3}`},
	} {
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		if got := string(With([]byte(c.object), c.name, value)); got != c.want {
			t.Errorf("%s with %s = %s: %s, want %s", c.object, c.name, c.value, got, c.want)
		}
	}
}

func TestTokens(t *testing.T) {
	in := []byte(` {"a":[1, -2.5e3,{}],"\"b":null} `)
	var got []string
	for i := 0; i < len(in); {
		_, start, end := Token(in, i)
		got = append(got, string(in[start:end]))
		i = end
	}
	want := []string{`{`, `"a"`, `[`, `1`, `-2.5e3`, `{`, `}`, `]`, `"\"b"`, `null`, `}`, ``}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	for text, want := range map[string]int{`1`: 0, `[]`: 1, `[{"a":[]},[]]`: 3, `"[[["`: 0} {
		if got := Depth([]byte(text)); got != want {
			t.Errorf("Depth(%s) = %d, want %d", text, got, want)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	in := "a\"\\\n\t\r\b\f\x00\x1fé😀"
	q := AppendQuoted(nil, in)
	var back string
	if err := json.Unmarshal(q, &back); err != nil || back != in {
		t.Errorf("AppendQuoted(%q) = %s reads back as %q, %v", in, q, back, err)
	}
	if compact, err := Compact(q); err != nil || !bytes.Equal(compact, q) {
		t.Errorf("AppendQuoted(%q) = %s is %s in the compact form, %v", in, q, compact, err)
	}
	if got := string(Text(nil, q)); got != in {
		t.Errorf("Text(%s) = %q, want %q", q, got, in)
	}
}
