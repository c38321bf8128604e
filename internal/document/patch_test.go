package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// mergePatch patches a body.
func mergePatch(body, patch []byte, operators bool) ([]byte, error) {
	p, err := ParsePatch(patch, operators)
	if err != nil {
		return nil, err
	}
	return p.Apply(body)
}

func TestMergePatch(t *testing.T) {
	tests := []struct{ body, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{"a":"foo"}`, `{"a":{"b":null,"c":{"d":null}}}`, `{"a":{"c":{}}}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":[null]}`, `{"a":[null,{"b":null}]}`, `{"a":[null,{"b":null}]}`},
		{`{"z":1.50,"y":100000000000000000001,"x":{"b":1,"a":2}}`, `{"n":2.0,"y":1e3,"x":{"c":3,"b":0},"m":1}`,
			`{"z":1.50,"y":1e3,"x":{"b":0,"a":2,"c":3},"n":2.0,"m":1}`},
		{`{"a":1,"b":2,"c":3}`, `{"c":null,"a":null}`, `{"b":2}`},
		{`{"é":1,"a\"b":2}`, ` { "\u00e9" : 3 , "a\"b" : null } `, `{"é":3}`},
		{`{}`, `{}`, `{}`},
		{`{"":1}`, `{"":{"":2}}`, `{"":{"":2}}`},
		{`{"$inc":{"a":1}}`, `{"$inc":{"b":2},"$max":null}`, `{"$inc":{"a":1,"b":2}}`},
	}
	for _, tt := range tests {
		got, err := mergePatch([]byte(tt.body), []byte(tt.patch), false)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s and %s: %s, %v, want %s", tt.body, tt.patch, got, err, tt.want)
		}
	}
}

func TestMergePatchRefuses(t *testing.T) {
	for _, tt := range []struct{ body, patch, want string }{
		{`{}`, `[]`, noObject},
		{`{}`, `null`, noObject},
		{`{}`, `"x"`, noObject},
		{`[]`, `{}`, noObject},
		{`{}`, `{`, badJSON},
		{`{}`, ``, badJSON},
		{`{`, `{}`, badJSON},
	} {
		if got, err := mergePatch([]byte(tt.body), []byte(tt.patch), false); refused(err) != tt.want || got != nil {
			t.Errorf("%s and %s: %s, %v", tt.body, tt.patch, got, err)
		}
	}
}

// patched is the rule of RFC 7396 over decoded values.
func patched(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = patched(object[name], value)
		}
	}
	return object
}

func FuzzMergePatch(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[1]}}`), []byte(`{"b":{"c":null,"d":{"e":null}},"a":null,"\u0066":1.0}`))
	f.Add([]byte(`{"a":"x"}`), []byte(`{"a":{"b":1}}`))
	f.Fuzz(func(t *testing.T, body, patch []byte) {
		got, err := mergePatch(body, patch, false)
		if err != nil {
			return
		}
		if want := patched(decoded(t, body), decoded(t, patch)); !reflect.DeepEqual(decoded(t, got), want) {
			t.Fatalf("%s and %s: %s, want %v", body, patch, got, want)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, got); err != nil || !bytes.Equal(compact.Bytes(), got) {
			t.Fatalf("%q is not compact", got)
		}
	})
}

// A patch takes memory in proportion to its length, however long the names are
// above its members.
func TestPatchMemory(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	var members, paths strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `,"m%d":1`, i)
	}
	paths.WriteString(long)
	for i := range 99 {
		fmt.Fprintf(&paths, ".%d%s", i, long[:1000])
	}
	for name, patch := range map[string]string{
		"members below a long name": `{"` + long + `":{` + members.String()[1:] + `}}`,
		"a path of many names":      `{"$inc":{"` + paths.String() + `":1}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := ParsePatch([]byte(patch), true); err != nil {
			t.Fatal(name, err)
		}
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(30*len(patch)); got > most {
			t.Errorf("%s: %d bytes for a patch of %d, more than %d", name, got, len(patch), most)
		}
	}
}
