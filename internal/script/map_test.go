package script

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
)

// TestMapRows holds what map functions emit. Most cases were recorded from CouchDB 3.5.
func TestMapRows(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	for _, c := range []struct{ name, doc, source, want string }{
		{"arguments", `{}`, `function(doc){ emit(); emit(1); emit(1, 2, 3); emit('r', typeof emit(1)); emit(typeof doc, typeof this) }`,
			"null null\n1 null\n1 2\n1 null\n\"r\" \"undefined\"\n\"object\" \"object\"\n"},
		{"special values", `{}`, `function(doc){ emit('nan', NaN); emit('inf', Infinity); emit('ninf', -Infinity); emit('undef', undefined); emit('func', function(){ return 1; }); emit('negzero', -0); emit('date', new Date(86400000)); emit('baddate', new Date(NaN)); emit('regex', /a+/g); emit('sparse', [1,,3]); emit('arrundef', [undefined, function(){}, NaN]); emit('objundef', {a: undefined, b: function(){}, c: NaN, d: 1}); emit('tojson', {toJSON: function(){ return 'mine'; }}); emit('boxed', [new Number(3), new String('s'), new Boolean(false)]); emit('error', new Error('x')); emit('map', new Map([[1,2]])); emit('typed', new Uint8Array([1,2])); emit('symbol', Symbol('q')); emit('args', arguments.length); emit('nul', null); emit('proto', Object.create({a: 1})); emit(new Error('x'), true) }`,
			`"nan" null
"inf" null
"ninf" null
"undef" null
"func" null
"negzero" 0
"date" "1970-01-02T00:00:00.000Z"
"baddate" null
"regex" {}
"sparse" [1,null,3]
"arrundef" [null,null,null]
"objundef" {"c":null,"d":1}
"tojson" "mine"
"boxed" [3,"s",false]
"error" {"error":"Error","message":"x"}
"map" {}
"typed" {"0":1,"1":2}
"symbol" null
"args" 1
"nul" null
"proto" {}
{} true
`},
		{"numbers", `{}`, `function(doc){ [1e21,1e20,123456789012345680000,1e22,0.1+0.2,5e-324,1.7976931348623157e308,9007199254740991,9007199254740993,-9007199254740993,1/3,1e-7,0.000001,-1e-10,4.0,100,2147483648,-2147483649,1e300*10].forEach(function(n){ emit(n, String(n)); }); }`,
			`1e+21 "1e+21"
100000000000000000000 "100000000000000000000"
123456789012345680000 "123456789012345680000"
1e+22 "1e+22"
0.30000000000000004 "0.30000000000000004"
5e-324 "5e-324"
1.7976931348623157e+308 "1.7976931348623157e+308"
9007199254740991 "9007199254740991"
9007199254740992 "9007199254740992"
-9007199254740992 "-9007199254740992"
0.3333333333333333 "0.3333333333333333"
1e-7 "1e-7"
0.000001 "0.000001"
-1e-10 "-1e-10"
4 "4"
100 "100"
2147483648 "2147483648"
-2147483649 "-2147483649"
1e+301 "1e+301"
`},
		{"numbers of documents", `{"n":[9007199254740993,12345678901234567890,1e21,1E+2,0.1,1.0,-0.0,-0,1e-7,123456789.123456789,18446744073709551616,1e999]}`,
			`function(doc){ emit(JSON.stringify(doc.n), doc.n); emit(1/doc.n[6], 1/doc.n[7]) }`,
			`"[9007199254740992,12345678901234567000,1e+21,100,0.1,1,0,0,1e-7,123456789.12345679,18446744073709552000,null]" [9007199254740992,12345678901234567000,1e+21,100,0.1,1,0,0,1e-7,123456789.12345679,18446744073709552000,null]` + "\nnull null\n"},
		{"halves of pairs", `{"h":"\ud800x","p":"\ud83d\ude00"}`, `function(doc){ emit('\ud800', '\udc00\ud800'); emit(doc.h, doc.h.length); emit(doc.p, '\\ud800' + '\ud83d\ude00'.substr(0, 1) + 'z') }`,
			"\"\ufffd\" \"\ufffd\ufffd\"\n\"\ufffdx\" 2\n\"😀\" \"\\\\ud800\ufffdz\"\n"},
		{"integer-like members", `{"o":{"b":1,"10":2,"a":3,"2":4,"-1":5,"01":6,"4294967294":7,"4294967295":8}}`, `function(doc){ emit(doc.o, Object.keys(doc.o)) }`,
			`{"2":4,"10":2,"4294967294":7,"b":1,"a":3,"-1":5,"01":6,"4294967295":8} ["2","10","4294967294","b","a","-1","01","4294967295"]` + "\n"},
		{"names with a meaning", `{"o":{"__proto__":{"x":1},"z":0},"constructor":2,"toString":3,"hasOwnProperty":4,"length":5}`,
			`function(doc){ emit(Object.keys(doc), [doc.x, doc.constructor, doc.toString, doc.length, Object.keys(doc.o).sort(), doc.o.x === undefined ? 'no x' : doc.o.x, JSON.stringify(doc.o)]); }`,
			`["o","constructor","toString","hasOwnProperty","length"] [null,2,3,5,["__proto__","z"],"no x","{\"__proto__\":{\"x\":1},\"z\":0}"]` + "\n"},
		{"a member twice", `{"a":1,"b":{"c":1,"c":2},"a":3}`, `function(doc){ doc.a = 9; doc.b.c = 9; emit(doc.a, doc.b); emit(Object.isFrozen(doc.b), Object.keys(doc)) }`, "3 {\"c\":2}\ntrue [\"a\",\"b\"]\n"},
		{"changing the document", `{"n":1,"o":{"p":1},"l":[1]}`, `function(doc){ doc.n = 99; doc.o.p = 99; doc.z = 1; delete doc.n; doc.l[0] = 2; doc.l.length = 0; emit(doc.n, [doc.o.p, doc.z, doc.l, Object.isFrozen(doc), Object.isFrozen(doc.l)]); }`, "1 [1,null,[1],true,true]\n"},
		{"a change after emit", `{}`, `function(doc){ var o = {a: 1}; emit(1, o); o.a = 2 }`, "1 {\"a\":2}\n"},
		{"globals", `{}`, `function(doc){ emit(typeof JSON, [typeof require, typeof sum, typeof isArray, typeof toJSON, typeof log, typeof emit, typeof getRow, typeof provides, typeof registerType, typeof XMLHttpRequest, typeof setTimeout, typeof console, typeof print, typeof quit, typeof load, typeof Promise]); }`,
			`"object" ["function","function","function","function","function","function","function","function","function","undefined","undefined","undefined","undefined","undefined","undefined","function"]` + "\n"},
		{"helpers", `{"l":[1,2,3.5]}`, `function(doc){ log('x'); emit(sum(doc.l), [isArray(doc.l), isArray({}), toJSON(doc.l), toJSON({a: undefined, b: 'q'})]); }`,
			`6.5 [true,false,"[1,2,3.5]","{\"b\":\"q\"}"]` + "\n"},
		{"dates and strings", `{"d":"2024-02-29T23:30:00Z"}`, `function(doc){ var d = new Date(doc.d); emit([d.getUTCFullYear(), d.getMonth() + 1, d.getDate(), d.getHours()], [d.toISOString(), d.getTime(), d.getTimezoneOffset(), Date.parse('2024-01-01'), 'ÄB'.toLowerCase(), 'straße'.toUpperCase(), 'a\u0301'.normalize('NFC').length, [3, 20, 100].sort()]); }`,
			`[2024,2,29,23] ["2024-02-29T23:30:00.000Z",1709249400000,0,1704067200000,"äb","STRASSE",1,[100,20,3]]` + "\n"},
		{"promises", `{}`, `function(doc){ Promise.resolve(1).then(function(v){ emit(v, 'later') }); emit(0, 'now') }`, "0 \"now\"\n1 \"later\"\n"},
		{"the stopped clock", `{}`, `function(doc){ emit(Date.now(), [new Date().toISOString(), new Date().getTime()]) }`, `0 ["1970-01-01T00:00:00.000Z",0]` + "\n"},
		{"thrown text", `{}`, `function(doc){ emit(1); throw 'text' }`, `error unnamed_error: (new String("text"))`},
		{"thrown object", `{}`, `function(doc){ throw {forbidden: 'no'} }`, `error unnamed_error: ({forbidden:"no"})`},
		{"thrown nothing", `{}`, `function(doc){ throw undefined }`, `error unnamed_error: (void 0)`},
		{"missing name", `{}`, `function(doc){ emit(doc._id, undefinedName) }`, `error ReferenceError: undefinedName is not defined`},
		{"BigInt", `{}`, `function(doc){ emit(1, 1); emit(2, BigInt(5)) }`, `error TypeError: Do not know how to serialize a BigInt`},
		{"circle", `{}`, `function(doc){ emit(1, 1); var o = {}; o.o = o; emit(2, o) }`, `error TypeError: Converting circular structure to JSON`},
		{"thrown trap", `{}`, `function(doc){ throw {get error(){ throw 1 }} }`, `error unnamed_error: The function threw something that can't be read.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, rowsOf(t, p, mapping(c.source), c.doc)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestForms holds which sources are functions, and CouchDB's words about the others.
func TestForms(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	const no = "Compilation of the map function in the 'v' view failed: "
	for _, c := range []struct{ source, want string }{
		{"(doc) => { emit(doc.n, 'arrow'); }", ""},
		{"doc => emit(doc.n, 'arrow1')", ""},
		{"function(doc) { emit(doc.n, 'semi'); };", ""},
		{"// first\nfunction(doc) { /* in */ emit(doc.n, 'comment'); } // after", ""},
		{"/* a */ // b\n function /* c */ (doc) { emit(doc.n, 'comments') }", ""},
		{"(function(doc) { emit(doc.n, 'paren'); })", ""},
		{"function(doc) { const s = `t${doc.n * 2}`; let [a = 5] = []; for (const k of Object.keys(doc)) emit(s + k, a); }", ""},
		{"function({n, ...rest}) { emit(n ** 2, rest?.x ?? 7); }", ""}, // newer than CouchDB's
		{"  \n function (doc)\n{ emit(doc.n, 'space') }\n ", ""},
		{"var x = 1; (function(doc){ emit(x) })", ""},
		{"function mine(doc) { emit(doc.n, 'named'); }", no + "Expression does not eval to a function. (function mine(doc) { emit(doc.n, 'named'); })"},
		{"1+1", no + "Expression does not eval to a function. (1+1)"},
		{"null", no + "Expression does not eval to a function. (null)"},
		{"var f = function(doc){}", no + "Expression does not eval to a function. (var f = function(doc){})"},
		{"{}", no + "Expression does not eval to a function. ({})"},
		{"function(doc){}; function(b){}", no + "*"},
		{"async function(doc){ emit(1); }", no + "*"},
		{"function(){", no + "*"},
		{"return 1", no + "*"},
		{"not a function(", no + "*"},
		{"(function(){ throw 'early' })()", no + "*"},
		{"// nothing but this", no + "*"},
		{"function", no + "*"},
	} {
		err := p.Check(t.Context(), false, []Source{{View: "v", Kind: "map", Code: c.source}})
		got := ""
		if err != nil {
			if !dberr.Is(err, dberr.Invalid) {
				t.Errorf("%s: %v", c.source, err)
			}
			got = strings.TrimPrefix(err.Error(), "compilation_error: ")
		}
		if want, open := strings.CutSuffix(c.want, "*"); got != c.want && (!open || !strings.HasPrefix(got, want) || got == want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.source, got, c.want)
		}
	}
	if err := p.Check(t.Context(), false, []Source{{View: "v", Kind: "reduce"}}); !dberr.Is(err, dberr.NotFound) || err.Error() != "not_found: missing function" {
		t.Error("an empty function:", err)
	}
	err := p.Check(t.Context(), false, []Source{{View: "a", Kind: "map", Code: "function(){}"}, {Kind: "filters.f", Code: "function("}})
	if err == nil || !strings.HasPrefix(err.Error(), "compilation_error: Compilation of the function filters.f failed: ") {
		t.Error(err)
	}
}

// TestEachByItself maps several documents by several functions: what one throws touches nothing else.
func TestEachByItself(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := mapping(`function(doc){ emit('before', doc._id); emit(doc.x.y, null) }`, `function(doc){ if (doc._id == 'c') throw {forbidden: 'no'}; emit(doc._id, 1) }`, `function(doc){`)
	results, err := p.Map(t.Context(), realm, texts(`{"_id":"a","x":{"y":1}}`, `{"_id":"b"}`, `{"_id":"c","x":{"y":3}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		s := ""
		for _, m := range r[:2] {
			s += written(m) + ";"
		}
		if !dberr.Is(r[2].Err, dberr.Internal) || !strings.HasPrefix(r[2].Err.Error(), "compilation_error: ") {
			t.Error(r[2].Err)
		}
		got = append(got, s)
	}
	want := []string{
		"\"before\" \"a\"\n1 null\n;\"a\" 1\n;",
		"error TypeError: Cannot read property 'y' of undefined;\"b\" 1\n;",
		"\"before\" \"c\"\n3 null\n;error unnamed_error: ({forbidden:\"no\"});",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRandom holds that Math.random of a map depends on the document alone.
func TestRandom(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := mapping(`function(doc){ emit(Math.random(), Math.random()) }`, `function(doc){ emit(Math.random(), Math.random()) }`)
	first, err := p.Map(t.Context(), realm, texts(`{"_id":"a"}`, `{"_id":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Map(t.Context(), realm, texts(`{"_id":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first[1], again[0]); diff != "" {
		t.Error("the second time it is another:", diff)
	}
	if written(first[0][0]) != written(first[0][1]) {
		t.Error("two functions see different sequences")
	}
	if written(first[0][0]) == written(first[1][0]) {
		t.Error("two documents see the same sequence")
	}
	if r := first[0][0].Rows[0]; string(r.Key) == string(r.Value) || !strings.HasPrefix(string(r.Key), "0.") {
		t.Errorf("no random numbers: %s %s", r.Key, r.Value)
	}
}

func TestLibrary(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := mapping(`function(doc){ var m = require('views/lib/math'); emit(m.sq(doc.n), m.name) }`,
		`function(doc){ emit(require('views/lib/deep/more').four(doc.n), require('views/lib/deep/same').v) }`,
		`function(doc){ emit(require('views/lib/whole')(doc.n), null) }`,
		`function(doc){ emit(require('other/m').x, 1) }`,
		`function(doc){ emit(require('views/lib/none').x, 1) }`,
		`function(doc){ emit(require('views/lib/deep').x, 1) }`,
		`function(doc){ emit(require('views/lib/bad').x, 1) }`,
		`function(doc){ emit(require('views/lib/round/a').b.done, require('views/lib/round/b').a.done) }`,
		`function(doc){ emit(require('views/lib/up').x, 1) }`)
	realm.Document = []byte(`{"other":{"m":"exports.x = 1;"},"views":{"lib":{"math":"exports.sq = function(x){ return x * x; }; exports.name = module.id; // end",
		"deep":{"more":"var m = require('../math'); exports.four = function(x){ return m.sq(m.sq(x)); };","same":"exports.v = require('./more').four(2);"},
		"whole":"module.exports = function(x){ return 'f' + x; };","bad":"exports.","up":"require('../../../../x')",
		"round":{"a":"exports.b = require('./b'); exports.done = 1","b":"exports.a = require('./a'); exports.done = 2"}}}}`)
	results, err := p.Map(t.Context(), realm, texts(`{"n":3}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"9 \"views/lib/math\"\n", "81 16\n", "\"f3\" null\n",
		"error invalid_require_path: Object has no property \"other\": other/m",
		"error invalid_require_path: Object has no property \"none\": views/lib/none",
		"error invalid_require_path: Must require a JavaScript string, not: object",
		"error compilation_error: Module require('views/lib/bad') raised error *",
		"2 1\n",
		"error invalid_require_path: Object has no parent ../../../../x"}
	for i, m := range results[0] {
		if w, open := strings.CutSuffix(want[i], "*"); written(m) != want[i] && (!open || !strings.HasPrefix(written(m), w)) {
			t.Errorf("%d: %s", i, written(m))
		}
	}
}

func TestReduce(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := Realm{Database: "d", Design: "_design/d", Version: "1", Functions: []string{
		`function(keys, values, rereduce){ return rereduce ? sum(values) : keys.length + values.length; }`,
		`function(keys, values, rereduce){ return [typeof sum, typeof require, typeof emit, typeof keys, keys, values, rereduce]; }`,
		`function(){ throw 'x' }`,
		`function(){ }`,
		`function(){ return function(){} }`,
	}}
	groups := []Group{{[]byte(`[["a","1"],["a","2"]]`), []byte(`[1,2]`)}, {[]byte(`[["b","3"]]`), []byte(`[{"x":1}]`)}}
	var got []string
	add := func(l []Reduction, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l {
			if r.Err != nil {
				got = append(got, "error "+r.Err.Error())
			} else {
				got = append(got, string(r.Value))
			}
		}
	}
	for i := range realm.Functions {
		add(p.Reduce(t.Context(), realm, i, groups))
	}
	add(p.Rereduce(t.Context(), realm, 0, texts(`[4,2]`, `[1.5]`)))
	add(p.Rereduce(t.Context(), realm, 1, texts(`[4,2]`)))
	want := []string{"4", "2",
		`["function","undefined","function","object",[["a","1"],["a","2"]],[1,2],false]`, `["function","undefined","function","object",[["b","3"]],[{"x":1}],false]`,
		`error unnamed_error: (new String("x"))`, `error unnamed_error: (new String("x"))`, "null", "null", "null", "null",
		"6", "1.5", `["function","undefined","function","object",null,[4,2],true]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
