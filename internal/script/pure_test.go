package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/script/compiled"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// remembering are map functions that leave something for the next document, each in
// another way, or let the document say where they write. Each emits what it finds.
var remembering = []string{
	`function(doc){ var t = {}; t[doc.a] = t[doc.a] || {}; t[doc.a][doc.b] = doc.c; emit([].polluted, [({}).polluted, ''.polluted, typeof ({}).toString]) }`,
	`function(doc){ var t = {}; var o = t[doc.a]; if (o) { o[doc.b] = doc.c; } emit(({})[doc.b] === doc.c, ({}).polluted) }`,
	`function(doc){ var t = []; t[doc.a][doc.b] = doc.c; emit([][doc.b] === doc.c) }`,
	`function(doc){ var t = 'x'; try { t[doc.a][doc.b] = doc.c; t[doc.a][doc.a][doc.b] = doc.c } catch (e) {} emit(typeof ''[doc.b], typeof (function(){})[doc.b]) }`,
	`function(doc){ n = (typeof n === 'undefined' ? 0 : n) + 1; emit(n) }`,
	`function(doc){ if (typeof n === 'undefined') n = 0; n++; emit(n) }`,
	`function(doc){ { let n = 5 } if (typeof n === 'undefined') n = 0; n++; emit(n) }`,
	`function(doc){ (function(){ var n = 5 })(); n = (typeof n === 'undefined' ? 0 : n) + 1; emit(n) }`,
	`function(doc){ emit(typeof i); for (i = 0; i < 2; i++); emit(i) }`,
	`function(doc){ emit(typeof k); for (k in doc); }`,
	`function(doc){ emit(typeof k); [k] = [1] }`,
	`function(doc){ emit(typeof k); ({k} = {k: 1}) }`,
	`function(doc){ emit(typeof sum); sum = 0; sum += 2; emit(sum) }`,
	`function(doc){ emit(1); emit = function(){} }`,
	`function(doc){ emit(typeof Map); Map = doc }`,
	`(function(){ var n = 0; return function(doc){ emit(n++) } })()`,
	`var n = 0; (function(doc){ emit(n++) })`,
	`var n; (function(doc){ emit(typeof n); n = 1 })`,
	`let n = 0; (function(doc){ emit(n++) })`,
	`class C { static n = 0 } (function(doc){ emit(C.n++) })`,
	`function f(){ return f.n = (f.n || 0) + 1 } (function(doc){ emit(f()) })`,
	`(function me(doc){ me.n = (me.n || 0) + 1; emit(me.n) })`,
	`function(doc){ var f = arguments.callee; f.n = (f.n || 0) + 1; emit(f.n); f.prototype.n = (f.prototype.n || 0) + 1; emit(Object.create(f.prototype).n) }`,
	`doc => { this.n = (this.n || 0) + 1; emit(this.n) }`,
	`function(doc){ this.n = (this.n || 0) + 1; emit(this.n) }`,
	`function(doc){ globalThis.n = (globalThis.n || 0) + 1; emit(globalThis.n) }`,
	`function(doc){ var g = Function('return this')(); g.n = (g.n || 0) + 1; emit(g.n) }`,
	`function(doc){ var g = emit.constructor('return this')(); g.n = (g.n || 0) + 1; emit(g.n) }`,
	`function(doc){ var c = 'construc' + 'tor', g = emit[c]('return this')(); g.n = (g.n || 0) + 1; emit(g.n) }`,
	`function(doc){ emit(typeof q); (0, eval)('var q = 1') }`,
	`function(doc){ emit(typeof q); eval('q = 1') }`,
	`function(doc){ emit(typeof q); try { Object.defineProperty(globalThis, 'q', {value: 1}) } catch (e) { emit('thrown') } }`,
	`function(doc){ emit(typeof q); Object.defineProperty(globalThis, 'q', {get: function(){ throw 1 }, configurable: true}) }`,
	`function(doc){ Object.preventExtensions(globalThis); q = 1; emit(typeof q) }`,
	`function(doc){ emit(typeof q); Object.setPrototypeOf(globalThis, {q: 1}) }`,
	`function(doc){ var s = Symbol.for('s'); emit(typeof globalThis[s]); globalThis[s] = 1 }`,
	`function(doc){ emit(typeof globalThis[0]); globalThis[0] = 1 }`,
	`function(doc){ var m = require('views/lib/m'); emit(m.next(), m.n); m.n = 1 }`,
	`function(doc){ var m = require('views/lib/m'), k = require('views/lib/k'); emit(m.cache[doc.a], k.m.next()); m.cache[doc.a] = 1 }`,
	`function(doc){ emit(require.n); require.n = 1; emit(emit.n); emit.n = 1; isArray.prototype = 1 }`,
	`function(doc){ provides.n = 1; emit(sum.n, sum.prototype.n); sum.n = 1; sum.prototype.n = 1 }`,
	`function(doc){ emit(Math.n, JSON.n); Math.n = JSON.n = 1; Math.max = null; emit(typeof Math.max) }`,
	`function(doc){ 'use strict'; try { Array.prototype.n = 1 } catch (e) { emit(e.name) } emit([].n) }`,
	`function(doc){ var all = [[], {}, '', 1, true, /x/, new Date(0), new Error('x'), new TypeError('x'), new Map(), new Set(), Symbol.iterator, function(){}, function*(){}, async function(){}, (function*(){}).prototype, [].keys(), new Map().keys(), new Set().keys(), ''[Symbol.iterator](), 'a'.matchAll(/a/g), new Uint8Array(1), new ArrayBuffer(1), Promise.resolve(), new WeakMap(), new Proxy({}, {}), Reflect, Math, JSON, arguments];
		for (var x of all) for (var o = x; o; o = Object.getPrototypeOf(o)) { if (o === x && x === Object(x)) continue; emit(Object.isFrozen(o), o.polluted); try { o.polluted = 1 } catch (e) {} }
		emit(Object.isFrozen(Object.getOwnPropertyDescriptor((function(){ 'use strict'; return arguments })(), 'callee').get)) }`,
	`function(doc){ emit(Object.getOwnPropertyNames(globalThis).filter(function(n){ var v = globalThis[n]; return v !== globalThis && v === Object(v) && !Object.isFrozen(v) })) }`,
	`function(doc){ Object.prototype.hasOwnProperty = Object.prototype.hasOwnProperty; try { Object.prototype.hasOwnProperty = 1 } catch (e) { emit(e.name) } emit({a: 1}.hasOwnProperty('a')) }`,
	`function(doc){ function F(){} F.prototype = {}; F.prototype.toString = function(){ return 'mine' }; F.prototype.constructor = F; var e = new Error('x'); e.name = 'N'; e.message = 'm'; e.toString = function(){ return 'e' }; var f = function(){}; f.call = 1; emit([String(new F()), new F().constructor === F, String(e), e.name, f.call, Object.keys(e)]) }`,
	`function(doc){ emit(Object.keys(doc), Object.getPrototypeOf(doc) === Object.prototype) }`,
	`function(doc){ emit(doc.__proto__, doc.a) }`,
	`function(doc){ var o = {}; for (var k in doc) { o[k] = doc[k] } emit(o, o.polluted) }`,
}

// nasty are documents whose members and values name what objects have.
func nasty(r *rand.Rand, n int) (docs [][]byte) {
	words := []string{"__proto__", "constructor", "prototype", "toString", "polluted", "x", "hasOwnProperty", "length", "valueOf"}
	word := func() string { return words[r.IntN(len(words))] }
	docs = append(docs, []byte(`{"a":"__proto__","b":"polluted","c":"evil"}`), []byte(`{"a":"constructor","b":"prototype","c":null}`))
	for len(docs) < n {
		extra := ""
		if r.IntN(2) == 0 {
			extra = fmt.Sprintf(`,%q:{"polluted":%d}`, word(), r.IntN(3))
		}
		docs = append(docs, fmt.Appendf(nil, `{"_id":"%d","a":%q,"b":%q,"c":%q%s}`, len(docs), word(), word(), word(), extra))
	}
	return docs
}

// TestOrderOfDocuments holds that no document finds what another one left: each has
// the same rows alone in a world of its own and after others, in any order, interpreted and compiled.
func TestOrderOfDocuments(t *testing.T) {
	testrun.Sequential(t)
	p := newPool(t, Options{Children: 1})
	r := rand.New(rand.NewPCG(1, 2))
	lib := []byte(`{"views":{"lib":{"m":"var n = 0; exports.next = function(){ return n++ }; exports.cache = {};","k":"exports.m = require('./m')"}}}`)
	docs := nasty(r, 5)
	rounds := 1
	if testrun.IsLong() {
		rounds = 5
	}
	want := map[string]string{} // rows by function and document
	alone := func(source string, doc []byte) string {
		key := source + "\x00" + string(doc)
		if _, known := want[key]; !known {
			want[key] = rowsOf(t, p, Realm{Database: "alone", Version: key, Document: lib, Functions: []string{source}}, string(doc))
		}
		return want[key]
	}
	for _, source := range remembering {
		t.Run(source, func(t *testing.T) {
			realm := Realm{Database: "many", Version: source, Document: lib, Functions: []string{source}}
			for range rounds {
				order := make([][]byte, 0, 2*len(docs))
				for range 2 * len(docs) {
					order = append(order, docs[r.IntN(len(docs))])
				}
				mapped, err := p.Map(t.Context(), realm, order)
				if err != nil {
					t.Fatal(source, err)
				}
				for i, m := range mapped {
					if diff := cmp.Diff(alone(source, order[i]), written(m[0])); diff != "" {
						t.Fatalf("%s\ndocument %d, %s (-alone +behind others):\n%s", source, i, order[i], diff)
					}
					if strings.Contains(written(m[0]), "evil") && !strings.Contains(source, "o[k]") {
						t.Errorf("%s\n%s is polluted: %s", source, order[i], written(m[0]))
					}
				}
			}
			compiledAlike(t, source, docs, alone)
		})
	}
}

// compiledAlike holds a function that can be compiled against what the interpreter gave.
func compiledAlike(t *testing.T, source string, docs [][]byte, alone func(string, []byte) string) {
	t.Helper()
	m, _ := compiled.Compile(source)
	if m == nil {
		return
	}
	machine := m.NewMachine()
	for _, doc := range docs {
		rows, err := machine.Run(context.Background(), doc, nil)
		if errors.Is(err, compiled.ErrInterpret) {
			continue
		}
		got := ""
		for _, row := range rows {
			got += string(row.Key) + " " + string(row.Value) + "\n"
		}
		if want := alone(source, doc); err == nil && got != want {
			t.Errorf("%s\n%s\ncompiled: %sinterpreted: %s", source, doc, got, want)
		}
	}
}

// TestWhatIsBornIsFrozen holds what the functions above must find, lest all of them are wrong alike.
func TestWhatIsBornIsFrozen(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	for source, want := range map[string]string{
		`function(doc){ emit(Object.keys(doc).join(), [Object.getPrototypeOf(doc) === Object.prototype, doc.__proto__, doc['__proto__']]) }`: `"a,__proto__" [true,{"x":1},{"x":1}]` + "\n",
		remembering[len(remembering)-5]: "\"TypeError\" null\ntrue null\n",
		remembering[len(remembering)-4]: `["mine",true,"e","N",1,["name","toString"]] null` + "\n",
		remembering[len(remembering)-6]: "[] null\n",
		`var n = 1; function f(){ return n } (function(doc){ emit(f(), typeof globalThis.n) })`: "1 \"undefined\"\n",
	} {
		if got := rowsOf(t, p, mapping(source), `{"a":1,"__proto__":{"x":1}}`); got != want {
			t.Errorf("%s\n%s", source, got)
		}
	}
	if got := rowsOf(t, p, mapping(remembering[len(remembering)-7]), `{}`); strings.Contains(got, "false") || strings.Contains(got, "1") || strings.Count(got, "true null\n") < 40 {
		t.Errorf("not frozen: %s", got)
	}
	m, why := compiled.Compile(`function(doc){ emit(doc.a, doc.b) }`)
	if m == nil {
		t.Fatal(why)
	}
}

// TestForgetful holds which functions are used for many documents as they are: that costs nothing, and must be seen
// of those that people write most.
func TestForgetful(t *testing.T) {
	for source, want := range map[string]bool{
		sales:                          true,
		`function(doc){ emit(doc.n) }`: true,
		`doc => emit(doc.n)`:           true,
		`function(doc){ for (var i = 0; i < doc.l.length; i++) { var x = doc.l[i]; if (x) emit(x, i) } }`:    true,
		`function(doc){ var o = {}; for (var k in doc) { o[k] = 1; } emit(o) }`:                              true,
		`function(doc){ for (const x of doc.l) { let n = 0; n++; emit(x, n) } }`:                             true,
		`function(doc){ doc.l.forEach(function(x){ var n = 0; n += x; emit(n) }) }`:                          true,
		`function(doc){ try { emit(doc.a.b) } catch (e) { e = 1; emit(null) } }`:                             true,
		`function(doc){ switch (doc.t) { case 1: let n = 0; n++; emit(n) } }`:                                true,
		`function(doc){ function up(x){ return x + 1 } var s = 0; doc.l.map(x => { s += up(x) }); emit(s) }`: true,
		`function(doc){ i = 0; emit(i) }`:                                                                    false,
		`function(doc){ for (i in doc) emit(i) }`:                                                            false,
		`function(doc){ { let i } i = 1 }`:                                                                   false,
		`function(doc){ (function(){ var i })(); i = 1 }`:                                                    false,
		`function(doc){ emit(require('views/lib/m').f(doc)) }`:                                               false,
		`function(doc){ emit(this.x) }`:                                                                      false,
		`function(doc){ delete x }`:                                                                          false,
		`function(doc){ x[doc.a](1) }`:                                                                       false,
		`function(doc){ f()() }`:                                                                             false,
		`var a; (function(doc){ })`:                                                                          false,
		`(function(){ return function(doc){ } })()`:                                                          false,
	} {
		tree, err := goja.Parse("", expression(source), parser.WithDisableSourceMaps)
		if err != nil {
			t.Fatal(source, err)
		}
		if got := isPure(tree); got != want {
			t.Errorf("%s: %v", source, got)
		}
	}
}

// TestDesignsForget holds the same of functions of design documents: of what they
// find in `this`, in modules, and of media types that they know.
func TestDesignsForget(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	d := design(`{"lib":{"c":"var n = 0; exports.next = function(){ return ++n }"},"filters":{
		"design":"function(doc, req){ this.n = (this.n || 0) + 1; this.lib.x = (this.lib.x || 0) + 1; return this.n > 1 || this.lib.x > 1 }",
		"module":"function(doc){ return require('lib/c').next() > 1 }", "global":"function(doc){ g = typeof g === 'undefined' ? 1 : 2; return g > 1 }",
		"reads":"function(doc){ return typeof g !== 'undefined' }"},
		"shows":{"first":"function(){ registerType('zap', 'application/zap'); return 'x' }","then":"function(){ provides('zap', function(){ return 'zap' }) }"}}`)
	for _, name := range []string{"design", "module", "global", "reads", "global", "reads"} {
		passed, err := p.Filter(t.Context(), d, name, texts(`{}`, `{}`, `{}`), []byte(`{}`))
		if err != nil || passed[0] || passed[1] || passed[2] {
			t.Errorf("%s: %v %v", name, passed, err)
		}
	}
	if _, err := p.Show(t.Context(), d, "first", nil, []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if r, err := p.Show(t.Context(), d, "then", nil, []byte(`{"headers":{"Accept":"application/zap"},"query":{}}`)); err == nil {
		t.Errorf("a type that another function registered: %s", r.Body)
	}
}
