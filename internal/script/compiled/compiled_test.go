package compiled

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// documents are what every function of the tables is tried with.
var documents = []string{
	`{"_id":"a","_rev":"1-x","type":"order","date":"2020-02-29T23:59:59.999Z","total":12.50,"tags":["b","a"],"a":1,"b":{"c":{"d":[1,2,{"e":"f"}]}}}`,
	`{"_id":"b","type":"order","date":"2017-03-01T01:02:03+02:30","total":1e21,"tags":[],"a":null}`,
	`{"_id":"c","type":"order","date":"2016-01-01","total":-0,"tags":"text","a":"1","b":null}`,
	`{"_id":"d","type":"order","date":1500000000000.7,"total":1e400,"tags":{"length":2,"0":"x"},"a":true,"b":"b"}`,
	`{"_id":"e","type":"order","date":null,"total":12345678901234567890,"tags":[["x"],[1,null,[2]]],"a":[1],"b":5}`,
	`{"_id":"f","type":"order","tags":null,"a":{},"b":[]}`,
	`{"_id":"g","date":"1969-12-31T23:59:59.999","a":"Ünïcödé","tags":["\u00df","x\ud83d\ude00y","\"\\\n\u0001\u007f\u2028<"],"b":{"10":1,"9":2,"a":3,"-1":4,"01":5,"a":6,"4294967295":7,"4294967294":8}}`,
	` { "_id" : "h" , "\u0061" : 1.0 , "a" : 1e-7 , "tags" : [ 1.10 , 0.1e1 , 1E2 , -1.5 , 123456789012345678 , 0.000001 , 0.0000001 , 100000000000000000000 ] , "b" : { "x" : [ ] , "y" : { } } } `,
	`{"_id":"i","date":"2021-12-31T24:00:00Z","a":"12","tags":["12","1e3"," 7","0x10","","-3","abc","2020-01-01"]}`,
	`{"_id":"j","date":"tomorrow","a":"` + strings.Repeat("long ", 20) + `","toString":1,"constructor":2,"length":3,"b":{"valueOf":1}}`,
}

// covered are functions that must compile.
var covered = []string{
	`function(doc){ if(doc.type == "order"){ var date = new Date(doc.date); emit([date.getFullYear(), date.getMonth()+1, date.getDate()], doc.total); } }`,
	`function(doc){ emit(doc.a, null) }`,
	`function (doc) { if (doc.tags && doc.tags.length) { for (var i = 0; i < doc.tags.length; i++) emit(doc.tags[i], 1); } }`,
	`function(doc){ emit([doc.workoutId, doc.createdAt]) }`,
	`function(doc){ emit() }`,
	`function(){ emit(1, 2) }`,
	`doc => emit(doc._id, doc)`,
	`(doc) => { const {} = 1; }`[:0] + `(doc) => { emit(doc) }`,
	`function(doc){ emit(doc.b.c.d[2].e, doc.b) }`,
	`function(doc){ emit(doc.b && doc.b.c && doc.b.c.d, doc.tags) };`,
	`function(doc){ emit(doc.b?.c?.d?.[0], doc.a || "none") }`,
	`function(doc){ for (var k in doc) emit(k, doc[k]) }`,
	`function(doc){ for (var k in doc.b) emit(k, typeof doc.b[k]) }`,
	"function(doc){ for (const t of Object.keys({a: doc.a, b: !doc.b}).concat(`${doc.type}`, doc.t)) emit(t) }",
	`function(doc){ for (const t of doc.tags) { if (t === "a") continue; emit(t) } }`,
	`function(doc){ doc.tags.forEach(function(t, i, all){ if (i > 1) return; emit([t, i], all.length) }) }`,
	`function(doc){ emit(doc.tags.map(t => t + "!").filter(t => t != "a!").join("-"), doc.tags.some(t => t == "b")) }`,
	`function(doc){ emit(doc.a == 1, doc.a === 1); emit(doc.a == "1", doc.a != null); emit(doc.a < 2, doc.a >= "1") }`,
	`function(doc){ emit(doc.a + 1, doc.a + "x"); emit(doc.a * 2, doc.a - 1); emit(doc.a / 3, doc.a % 2); emit(-doc.a, +doc.a) }`,
	`function(doc){ emit(typeof doc.a, typeof doc.nothing); emit(!doc.a, !!doc.b) }`,
	`function(doc){ emit("a" in doc, "b" in doc); emit(doc.hasOwnProperty("date")) }`,
	`function(doc){ emit(doc.a.toLowerCase(), doc.a.toUpperCase()) }`,
	`function(doc){ emit(doc.date.substring(0, 4), doc.date.substr(-5, 3)); emit(doc.date.slice(2, -2), doc.date.split("-")) }`,
	`function(doc){ emit(doc.date.split("T")[0].split("-").map(Number_), 1) ; function Number_(x) { return parseInt(x, 10) } }`,
	`function(doc){ emit(doc.tags[0].length, doc.tags[1][1]); emit(doc.tags[1].charAt(0)) }`,
	`function(doc){ emit(doc.tags.indexOf("a"), doc.tags.slice(1)); emit(doc.tags.concat([1], 2), Array.isArray(doc.tags)) }`,
	`function(doc){ emit(isArray(doc.tags), String(doc.tags)); emit(Number(doc.a), parseInt(doc.a)); emit(parseFloat(doc.a), isNaN(doc.a)) }`,
	`function(doc){ emit(Math.floor(doc.total), Math.round(doc.total)); emit(Math.floor(doc.a)) }`,
	`function(doc){ var d = new Date(doc.date); emit(d.getTime(), d); emit([d.getDay(), d.getHours(), d.getMinutes(), d.getSeconds(), d.getUTCDate()], d > 0) }`,
	`function(doc){ emit(new Date(doc.date).toISOString()) }`,
	`function(doc){ var o = {a: doc.a, 2: 1, 1: doc.nothing, "b c": [doc.b]}; o.more = o.a; emit(o, {x: o, "y": undefined}) }`,
	`function(doc){ var list = []; for (var i = 0; i < 3; i++) { list.push(i * i); list[0] += 1 } emit(list, list.length) }`,
	`function(doc){ var n = 0, s = ""; while (n < 5) { s += n; n++; if (n == 4) break } while (--n > 0) s += 1; emit(s, n) }`,
	`function(doc){ switch (doc.type) { case "x": emit(1); break; case "order": emit(2); default: emit(3) } }`,
	`function(doc){ let x = 1; { let x = 2; emit(x) } const y = x; emit(y, undefined); emit(-0, 1/-0) }`,
	`function(doc){ function pad(n){ return n < 10 ? "0" + n : "" + n } var d = new Date(doc.date); emit(d.getFullYear() + "-" + pad(d.getMonth() + 1) + "-" + pad(pad(d.getDate()))) }`,
	"function(doc){ emit(`${doc._id}:${doc.a}`, [`x`]) }",
	`function(doc){ emit(Object.keys(doc), doc.b) }`,
	`function(doc){ doc = doc.b || doc; emit(doc._id, doc.c) }`,
	`function(doc){ emit(1); emit(doc.b.c.d.e.f.g, 2) }`,
	`function(doc){ var date = doc.date; if (date) { var parts = date.split("-"); emit(parts, parts.length) } emit(parts) }`,
	`function(doc){ emit(doc.total.toFixed(2), doc.total.toString()) }`,
	`function(doc){ emit(doc.a.trim().replace("l", "L"), doc.a.indexOf("n")); emit(doc.a.startsWith("1")) }`,
	`function(doc){ emit([[[doc.a], {b: [doc.b]}]], {"": {"x": doc.tags}}) }`,
	`function(doc){ if (doc.date < "2018") emit(doc.date); if (doc.tags > doc.a) emit("more"); if (doc.tags == "b,a") emit("joined") }`,
	`function(doc){ emit(x); let x = 1 }`,
	`function(doc){ emit((doc.a, doc.b), 0) }`,
	`function(doc){ var doc; emit(doc._id) }`,
	`function(doc){ var f = function(x){ return x + 1 }; const g = x => [f(x)]; emit(f(1), g(doc.a)) }`,
	`function(doc){ emit(g(1)); var g = function(){ return 1 } }`[:0] + `function(doc){ if (doc.a) { var g = function(){ return 1 } } emit(g()) }`,
	`function(doc){ emit(doc.tags.reduce(function(sum, t, i){ return sum + t + i }, 0)) }`,
	`function(doc){ emit([doc.a, doc.type].sort(), [3, 10, "2", doc._id].sort()) }`,
	`function(doc){ emit(new Date(2020, 1, 29), new Date(99, -1)); emit(new Date(2020, 13, 1, 25, 61), new Date(doc.a, doc.b, 1.7)) }`,
	`function(doc){ emit(Object.keys(doc.b), Object.keys(doc.tags)) }`,
	`function(doc){ emit(doc.type.split("")) }`,
	`function(doc){ "use strict"; emit(doc["a"], doc["b"]["c"]) }`,
}

func TestCovered(t *testing.T) {
	o := newOracle()
	handed := 0
	for _, source := range covered {
		m, why := Compile(source)
		if m == nil {
			t.Errorf("%s\nis not compiled: %s", source, why)
			continue
		}
		f, err := o.compile(strings.TrimRight(source, ";"))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		machine := m.NewMachine()
		for _, doc := range documents {
			difference, given := differ(machine, o, f, doc)
			if difference != "" {
				t.Errorf("%s\nwith %s\n%s", source, doc, difference)
			}
			if given {
				handed++
			}
		}
	}
	if most := len(covered) * len(documents) / 6; handed > most {
		t.Errorf("%d of %d runs were handed to the interpreter, want at most %d", handed, len(covered)*len(documents), most)
	}
}

func TestRefused(t *testing.T) {
	for _, source := range []string{
		`function(doc){ total = doc.a; emit(total) }`,
		`function(doc){ emit(require("views/lib/x").f(doc)) }`,
		`function(doc){ emit(this.a) }`,
		`function(doc){ emit(arguments.length) }`,
		`function(doc){ eval("emit(1)") }`,
		`function(doc){ emit(new Date()) }`,
		`function(doc){ emit(Date.now()) }`,
		`function(doc){ emit(Math.random()) }`,
		`function(doc){ if (/x/.test(doc.a)) emit(1) }`,
		`function(doc){ throw "no type" }`,
		`function(doc){ for (const t of [{a: t}]) emit(t) }`,
		"function(doc){ for (const t in {a: `${t}`}) emit(t) }",
		`function(doc){ do { emit(1) } while (doc.a) }`,
		`function(doc){ emit(doc.a ?? 1) }`,
		`function(doc){ emit(doc.a | 0) }`,
		`function(doc){ emit(NaN) }`,
		`function(doc){ try { emit(doc.a.b) } catch (e) { emit(2) } }`,
		`function(doc){ emit({get a(){ return 1 }}) }`,
		`function(doc){ doc.x = 1; emit(doc) }`,
		`function(doc){ doc.tags.sort(); emit(doc.tags) }`,
		`function(doc){ doc.b.c = 1; emit(doc) }`,
		`function(doc){ delete doc.a; emit(doc) }`,
		`function(doc){ var f = function(){ return 1 }; f = 2; emit(f()) }`,
		`function(doc){ var f = function(){ return 1 }; emit(f) }`,
		`function(doc){ var f = function(){ return 1 }; var f = 3; emit(f()) }`,
		`function(doc){ let f = n => n ? f(n - 1) : 0; emit(f(1)) }`,
		`function(doc){ function f(n){ return n ? f(n - 1) : 0 } emit(f(3)) }`,
		`function(doc){ var emit = 1; }`,
		`function emit(doc){ emit(1) }`,
		`function(doc){ emit(doc.__proto__) }`,
		`function(doc){ emit([1,,2]) }`,
		`function(doc){ for (;;) { a: for (;;) break a } }`,
		`function(doc){ with (doc) emit(a) }`,
		`function(doc, req){ emit(doc) }`,
		`function(doc){ var {a} = doc; emit(a) }`,
		`function(doc){ emit(...doc.tags) }`,
		`async function(doc){ emit(1) }`,
		`function*(doc){ emit(1) }`,
		`function(doc){ emit(1) }) ; (function(doc){ emit(2) }`,
		`function(doc){ emit(1n) }`,
		`function(doc){`, `42`, ``, `{}`,
		`function(doc){ emit("` + strings.Repeat("x", sourceLimit) + `") }`,
		`function(doc){ emit("\ud800") }`,
		`function(doc){ String.prototype.trim = 1; emit(doc.a.trim()) }`,
		`function(doc){ Array.isArray = 1 }`,
		`function(doc){ emit(Math) }`,
		`function(doc){ emit((!1 && doc.a, 1)) }`,
		`function(doc){ emit(typeof require) }`,
		"function(doc){ emit(doc.a`x`) }",
	} {
		if m, why := Compile(source); m != nil || why == "" {
			t.Errorf("%s is compiled", source)
		}
	}
}

// TestHandedOver has functions that compile and documents that they must not
// decide about.
func TestHandedOver(t *testing.T) {
	for source, doc := range map[string]string{
		`function(doc){ for (;;) {} }`:                                                   `{}`,
		`function(doc){ while (true) emit(doc) }`:                                        `{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`,
		`function(doc){ var s = "x"; while (true) s += s }`:                              `{}`,
		`function(doc){ var a = []; while (true) a = [a, a] }`:                           `{}`,
		`function(doc){ var a = [1]; while (true) a = a.concat(a) }`:                     `{}`,
		`function(doc){ var a = []; a.push(a); emit(a) }`:                                `{}`,
		`function(doc){ var a = [1]; emit(a); a.push(2) }`:                               `{}`,
		`function(doc){ var o = {a: 1}; emit([o], (o.b = 2)) }`:                          `{}`,
		`function(doc){ function f(){ emit(1) } emit(f(), 2) }`:                          `{}`,
		`function(doc){ emit(doc.a) }`:                                                   `{"a":"\ud800"}`,
		`function(doc){ emit(doc.a, 1) }`:                                                `{"a":{"b":"\udc00\ud800"}}`,
		`function(doc){ emit(doc.a.substring(0, 1)) }`:                                   `{"a":"😀"}`,
		`function(doc){ emit(doc.a[1]) }`:                                                `{"a":"😀"}`,
		`function(doc){ emit(new Date(doc.a)) }`:                                         `{"a":"Mon, 3 May 2010"}`,
		`function(doc){ emit(new Date(doc.a).toISOString()) }`:                           `{"a":8640000000000000}`,
		`function(doc){ emit(doc.a + "") }`:                                              `{"a":{"toString":1}}`,
		`function(doc){ emit(doc[doc.a]) }`:                                              `{"a":"constructor"}`,
		`function(doc){ emit(doc.a, doc) }`:                                              `{"a":1,"__proto__":{"x":1}}`,
		`function(doc){ emit(doc.a.toUpperCase()) }`:                                     `{"a":"straße"}`,
		`function(doc){ emit(new Date(doc.a) === new Date(doc.a)) }`:                     `{"a":1}`,
		`function(doc){ var d = doc; d.x = 1; emit(d) }`:                                 `{}`,
		`function(doc){ emit(doc.a) }` + " ":                                             `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
		`function(doc){ for (var i = 0; i < 1e9; i++) doc.a.indexOf("b") }`:              `{"a":"` + strings.Repeat("a", 1000) + `"}`,
		`function(doc){ for (var i = 0; i < 1e9; i++) if (doc.b.c) emit(1) }`:            `{"b":{"a":"` + strings.Repeat("a", 1000) + `"}}`,
		`function(doc){ for (var i = 0; i < 1e9; i++) doc.a.length }`:                    `{"a":"` + strings.Repeat("é", 1000) + `"}`,
		`function(doc){ var a = [1]; for (;;) { a.push(a.length); a.join("x") } }`:       `{}`,
		`function(doc){ var i = 0, o = {}; for (;;) { o[i] = o[i + "x"]; o[i++] = 1 } }`: `{}`,
	} {
		m, why := Compile(source)
		if m == nil {
			t.Errorf("%s is not compiled: %s", source, why)
			continue
		}
		rows, err := m.NewMachine().Run(context.Background(), []byte(doc), nil)
		if !errors.Is(err, ErrInterpret) || len(rows) > 0 {
			t.Errorf("%s\nwith %.80s gave %d rows, %v", source, doc, len(rows), err)
		}
	}
}

func TestThrown(t *testing.T) {
	m, why := Compile(`function(doc){ emit(1); emit(doc.a.b) }`)
	if m == nil {
		t.Fatal(why)
	}
	machine := m.NewMachine()
	before := []Row{{Key: []byte("0")}}
	rows, err := machine.Run(context.Background(), []byte(`{}`), before)
	var e *Exception
	if !errors.As(err, &e) || e.Name != "TypeError" || e.Error() != "TypeError: Cannot read property 'b' of undefined" {
		t.Errorf("error %v", err)
	}
	if len(rows) != 1 {
		t.Errorf("%d rows were left by a function that threw", len(rows))
	}
	rows, err = machine.Run(context.Background(), []byte(`{"a":{"b":2}}`), rows)
	if err != nil || len(rows) != 3 || string(rows[1].Key) != "1" || string(rows[2].Key) != "2" {
		t.Errorf("rows %q, error %v", rows, err)
	}
}
