package script

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// local makes a realm in this process, which is in UTC as children are.
func local(flavour flavour, functions ...string) *realm {
	return &realm{child: &child{limits: Limits{}.withDefaults()}, flavour: flavour, document: []byte(`{}`), functions: functions}
}

// mapWith maps a document in this process, with the whole document or what is seen to be read.
func mapWith(t *testing.T, source, document string, whole bool) string {
	t.Helper()
	r := local(flavourMap, source)
	if err := r.build(false); err != nil {
		t.Fatal(err)
	}
	if whole {
		r.only = nil
	}
	o, interrupted := r.unit(task{op: opMap, width: 1, inputs: texts(document)}, 0)
	if interrupted {
		t.Fatal("interrupted")
	}
	return written(mapped(o))
}

// TestProjection holds what is seen to be read, and that rows are the same as with the whole document.
func TestProjection(t *testing.T) {
	testrun.Sequential(t)
	const all = "(all)"
	documents := []string{
		`{"_id":"a","_rev":"1-a","type":"order","date":"2018-04-05T01:02:03Z","total":1.5,"tags":["x",{"y":null}],"o":{"p":{"q":1}},"n":2,"a b":3,"1":4,"ä":5,"__proto__":{"x":1}}`,
		`{}`,
		`{"type":"a","type":"order","\u0074otal":7,"tags":[],"tags":["twice"],"o":null}`,
		`{"o":{"p":{"q":[1,{"r":2}]}},"tags":"text","n":-0.0}`,
	}
	for _, c := range []struct{ source, want string }{
		{sales, "date total type"},
		{`doc => emit(doc.n, doc['a b'])`, "a b n"},
		{`(function(d){ d.tags.forEach(function(t){ emit(t, d._id) }) });`, "_id tags"},
		{`function(doc){ emit(doc.o.p.q, doc.ä); var q = doc.n; q++; emit(q, doc.missing) }`, "missing n o ä"},
		{`function(doc){ doc.n = 9; doc.z = 1; delete doc.total; emit(doc.n, [doc.z, doc.total]); doc.n++; emit(doc.n) }`, "n total z"},
		{`function(doc){ 'use strict'; emit(doc.n); doc.z = 1 }`, "n z"},
		{`function(doc){ 'use strict'; emit(doc.n); doc.n = 1 }`, "n"},
		{`function(doc){ 'use strict'; emit(doc.n); delete doc.o.p }`, "n o"},
		{`function(doc){ for (var i in doc.o) emit(i, doc.o[i]); for (const t of doc.tags || []) emit(t) }`, "o tags"},
		{`function(doc){ var {p} = doc.o || {}; emit(p, toJSON(doc.tags)) }`, "o tags"},
		{`function(doc){ emit(typeof doc.toString, doc.valueOf === Object(1).valueOf) }`, "toString valueOf"},
		{`function(doc){ emit(Math.random() < 2, doc.n) }`, "n"},
		{`function(){ emit(1) }`, ""},
		{`function(doc){ emit(1, doc) }`, all},
		{`function(doc){ if (doc) emit(doc.n) }`, all},
		{`function(doc){ for (var k in doc) emit(k) }`, all},
		{`function(doc){ var {n} = doc; emit(n) }`, all},
		{`function({n}){ emit(n) }`, all},
		{`function(doc = {n: 1}){ emit(doc.n) }`, all},
		{`function(...docs){ emit(docs[0]) }`, all},
		{`function(doc, more){ emit(doc.n, more) }`, all},
		{`function(doc){ emit(doc['n' + '']) }`, all},
		{`function(doc){ emit(doc.hasOwnProperty('n')) }`, all},
		{`function(doc){ emit(doc['toString']()) }`, all},
		{"function(doc){ doc.tags`x` }", all},
		{`function(doc){ emit(arguments[0]) }`, all},
		{`function(doc){ emit(eval('doc')) }`, all},
		{`function(doc){ emit({doc}) }`, all},
		{`function(doc){ emit(doc?.n) }`, all},
		{`function(doc){ with (doc.o || {}) emit(doc.n) }`, all},
		{`function(doc){ var d = doc; emit(d) }`, all},
		{`function(doc){ (function(doc){ emit(doc.n) })({n: 1}) }`, all},
		{`function(doc){ doc = {n: 5}; emit(doc.n) }`, all},
		{`function(doc){ emit(1 in doc, 'n' in doc) }`, all},
		{`function(doc){ Object.defineProperty(Object.prototype, 'n', {get: function(){ return Object.keys(this) }}); emit(doc.n) }`, all},
		{`function(doc){ emit(doc.__proto__) }`, all},
		{`function(doc){ emit(doc.constructor) }`, all},
		{`var seen; (function(doc){ emit(doc.n, seen); seen = doc.n })`, all},
		{`(function(){ return function(doc){ emit(doc.n) } })()`, all},
		{`(0, 1, function(doc){ emit(doc.n) })`, all},
	} {
		got := all
		if p := projectionOf([]string{c.source}, []byte(`{}`)); p != nil {
			got = strings.Join(slices.Sorted(maps.Keys(p)), " ")
		}
		if got != c.want {
			t.Errorf("%s: reads %s, want %s", c.source, got, c.want)
		}
		if got == all {
			continue // both would have the whole document
		}
		for _, document := range documents {
			if diff := cmp.Diff(mapWith(t, c.source, document, true), mapWith(t, c.source, document, false)); diff != "" {
				t.Errorf("%s\n%s\n%s", c.source, document, diff)
			}
		}
	}
	if p := projectionOf([]string{`function(doc){ emit(doc.n) }`, `function(doc){ emit(doc.o) }`}, nil); len(p) != 2 {
		t.Error("two functions:", p)
	}
	if p := projectionOf([]string{`function(doc){ emit(doc.n) }`}, []byte(`{"m":"Object.prototype.n = 1"}`)); p != nil {
		t.Error("a library that changes prototypes:", p)
	}
}

// FuzzDecode compares the reader of JSON with JSON.parse.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5,1e5,1E-7,0.1,-0,"x",true,false,null,{}],"b":{"c":"\u00e4\n\"\\\/"},"a":2,"10":1,"9":2}`, `"ä😀"`, ` [ 1 , 2 ] `, `[]`, `{}`, `12345678901234567890`,
		`1e999`, `-1e999`, `"\u2028"`, `{"":{"":[]}}`, `[[[[[[]]]]]]`, `123456789012345`, `1234567890123456`, `-9007199254740993`, `{"__proto__":1,"x":2}`} {
		f.Add([]byte(text))
	}
	r := local(flavourDesign)
	if err := r.build(false); err != nil {
		f.Fatal(err)
	}
	parse, ok := goja.AssertFunction(r.rt.GlobalObject().Get("JSON").(*goja.Object).Get("parse"))
	if !ok {
		f.Fatal("no JSON.parse")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) || strings.Contains(strings.ToLower(string(text)), `\ud`) {
			return // documents are valid; JSON.parse of goja loses halves of surrogate pairs
		}
		want, err := parse(goja.Undefined(), r.rt.ToValue(string(text)))
		if err != nil {
			return
		}
		for _, how := range []freezing{thawed, frozen} {
			got, err := r.decode(text, how)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(string(r.json(want)), string(r.json(got))); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	})
}

// TestDecodeRefuses holds that broken text is an error, not a crash.
func TestDecodeRefuses(t *testing.T) {
	r := local(flavourDesign)
	if err := r.build(false); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{``, ` `, `{`, `[`, `"`, `"\`, `"\u12`, `"\x"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{a:1}`, `[1`, `[1 2]`, `{"a":1 "b":2}`, `tru`, `nul`, `-`, `1 2`, `1x`, strings.Repeat("[", 10_000)} {
		if v, err := r.decode([]byte(text), thawed); err == nil {
			t.Errorf("%.20s: %v", text, v)
		}
	}
}
