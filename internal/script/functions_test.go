package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
)

// doc makes a design document.
func document(t *testing.T, members map[string]any) Realm {
	t.Helper()
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return design(string(b))
}

func answered(r Response, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return fmt.Sprintf("%d %s %v %s", r.Code, r.Type, r.Headers, r.Body)
}

func matches(got, want string) bool {
	before, open := strings.CutSuffix(want, "*")
	return got == want || open && strings.HasPrefix(got, before)
}

func TestShow(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	const req = `{"method":"GET","path":["db","_design","d","_show","x","a"],"query":{},"headers":{}}`
	const undefined = "error render_error: undefined response from show function"
	for _, c := range []struct{ source, want string }{
		{"function(doc, req){ return 'hello ' + (doc ? doc.n : 'nobody'); }", "0 text/html; charset=utf-8 [] hello Ada"},
		{"function(doc, req){ return {body: 'b', headers: {'Content-Type': 'text/css', 'X-Mine': 'yes'}, code: 202}; }", "202 text/css [{X-Mine yes}] b"},
		{"function(doc, req){ return {json: {id: doc._id, keys: Object.keys(doc).length}}; }", `0 application/json [] {"id":"a","keys":2}`},
		{"function(doc, req){ return {base64: 'aGVsbG8=', headers: {'Content-Type': 'text/plain'}}; }", "0 text/plain [] hello"},
		{"function(doc, req){ }", "0 application/json [] "},
		{"function(doc, req){ return 5; }", undefined},
		{"function(){ return ''; }", "0 application/json [] "},
		{"function(){ return []; }", undefined},
		{"function(){ return {other: 1}; }", `error external_response_error: Invalid data from external server: {<<"other">>,1}`},
		{"function(){ return {body: {a: [1, 'x', null]}}; }", `error external_response_error: Invalid data from external server: {<<"body">>,{[{<<"a">>,[1,<<"x">>,null]}]}}`},
		{"function(doc){ return doc.x.y; }", `error render_error: function raised error: (new TypeError("Cannot read property 'y' of undefined")) ` + "\nstacktrace: TypeError*"},
		{"function(){ throw 'text'; }", `error render_error: function raised error: (new String("text")) ` + "\nstacktrace: undefined"},
		{"function(){ throw ['error', 'mine', 'because']; }", "error mine: because"},
		{"function(){ throw ['error', 'not_found', 'gone away']; }", "error not_found: gone away"},
		{"function(){ throw {error: 'mine', reason: 'because'}; }", "error mine: because"},
		{"function(){ throw {forbidden: 'no'}; }", `error render_error: function raised error: ({forbidden:"no"}) ` + "\nstacktrace: undefined"},
		{"function(){ throw {a: [1, 'x', {b: null}], c: undefined}; }", `error render_error: function raised error: ({a:[1, "x", {b:null}], c:(void 0)}) ` + "\nstacktrace: undefined"},
		{"function(){ start({code: 201, headers: {'X-A': 'b'}}); send('a'); send(1); return 'c' }", "201 text/html; charset=utf-8 [{X-A b}] a1c"},
		{"function(){ start({'X-A': 'b', 'X-C': 1}); send('a'); }", "0 text/html; charset=utf-8 [{X-A b} {X-C 1}] a"},
		{"function(){ start({'X-A': 'b'}); send('a'); return {headers: {'X-A': 'no', 'X-D': 'e'}, body: 'f'} }", "0 text/html; charset=utf-8 [{X-A b} {X-D e}] af"},
		{"function(){ start({code: 302, headers: {Location: 'there'}}); }", "302 application/json [{Location there}] "},
		{"function(){ start('nothing'); send('a') }", "0 text/html; charset=utf-8 [] a"},
		{"function(){ provides('text', function(){ send('4'); send('5'); return '6' }); send('1'); send('2'); return '3' }", "0 text/plain; charset=utf-8 [] 123456"},
		{"function(){ return require('lib/m').f('hi') + require('lib/n').g + this.extra; }", "0 text/html; charset=utf-8 [] hi!n!E"},
		{"function(){ return require('lib/n').k; }", "0 text/html; charset=utf-8 [] current,exports,id,parent"},
		{"function(){ return require('lib/none').x; }", "error invalid_require_path: *"},
		{"function(){ return toJSON(this.lib.o) + typeof this.shows.x; }", `0 text/html; charset=utf-8 [] {"a":[1]}string`},
		{"function(){ return getRow() }", "error render_error: getRow is for list functions"},
		{"function(){ return Date.now() > 1.7e12 ? 'now' : 'then' }", "0 text/html; charset=utf-8 [] now"},
		{"function(", "error compilation_error: *"},
		{"5", "error compilation_error: Expression does not eval to a function. (5)"},
	} {
		realm := document(t, map[string]any{"extra": "E", "shows": map[string]any{"x": c.source}, "lib": map[string]any{
			"m": "exports.f = function(x){ return x + '!'; };", "n": "exports.g = require('./m').f('n'); exports.k = Object.keys(module).sort().join();", "o": map[string]any{"a": []int{1}}}})
		if got := answered(p.Show(t.Context(), realm, "x", []byte(`{"_id":"a","n":"Ada"}`), []byte(req))); !matches(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.source, got, c.want)
		}
	}
	realm := document(t, map[string]any{"shows": map[string]any{"x": "function(doc){ return String(doc) }"}})
	if got := answered(p.Show(t.Context(), realm, "x", nil, []byte(req))); got != "0 text/html; charset=utf-8 [] null" {
		t.Error(got)
	}
	const missing = `{"id":"none","path":["db","_design","d","_show","x","none"],"query":{},"headers":{}}`
	for source, want := range map[string]string{
		"function(doc){ return doc._id }":                           "error not_found: document not found",
		"function(doc){ throw ['error', 'mine', 'because'] }":       "error not_found: document not found",
		"function(doc){ return 5 }":                                 "error not_found: document not found",
		"function(doc, req){ return {code: 404, body: req.id} }":    "404 text/html; charset=utf-8 [] none",
		"function(doc, req){ start({code: 404}); send('no such') }": "404 text/html; charset=utf-8 [] no such",
		"function(": "error compilation_error: *",
	} {
		realm := document(t, map[string]any{"shows": map[string]any{"x": source}})
		if got := answered(p.Show(t.Context(), realm, "x", nil, []byte(missing))); !matches(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
		nobody := strings.Replace(missing, `"id":"none"`, `"id":null`, 1)
		if got := answered(p.Show(t.Context(), realm, "x", nil, []byte(nobody))); strings.Contains(got, "not_found") {
			t.Errorf("%s without an id: %s", source, got)
		}
	}
	for name, r := range map[string]Realm{"none": realm, "shows": design(`{}`)} {
		if _, err := p.Show(t.Context(), r, "none", nil, []byte(req)); !dberr.Is(err, dberr.NotFound) || err.Error() != "missing json key: "+name {
			t.Error(err)
		}
	}
}

func TestProvides(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := document(t, map[string]any{"shows": map[string]any{"p": "function(doc, req){ provides('html', function(){ return '<b>' + doc._id + '</b>'; }); provides('json', function(){ return toJSON({i: doc._id}); }); registerType('zap', 'application/zap', 'text/zap'); provides('zap', function(){ return 'zap'; }); provides('text', function(){ return 'plain'; }); }"}})
	for _, c := range []struct{ accept, format, want string }{
		{"text/html", "", "0 text/html; charset=utf-8 [] <b>a</b>"},
		{"application/json", "", `0 application/json [] {"i":"a"}`},
		{"text/plain", "", "0 text/plain; charset=utf-8 [] plain"},
		{"text/zap", "", "0 text/zap [] zap"},
		{"*/*", "", "0 text/html; charset=utf-8 [] <b>a</b>"},
		{"", "", "0 text/html; charset=utf-8 [] <b>a</b>"},
		{"image/png", "", "error not_acceptable: Content-Type image/png not supported, try one of: text/plain; charset=utf-8, txt, application/zap, text/zap, application/json, text/x-json, text/html; charset=utf-8"},
		{"text/plain;q=0.2,text/html;q=0.1", "", "0 text/plain; charset=utf-8 [] plain"},
		{"text/html;q=0", "", "error not_acceptable: *"},
		{"", "html", "0 text/html; charset=utf-8 [] <b>a</b>"},
		{"", "zap", "0 application/zap [] zap"},
		{"", "nope", "error render_error: function raised error: *"},
	} {
		headers, query := map[string]string{}, map[string]string{}
		if c.accept != "" {
			headers["Accept"] = c.accept
		}
		if c.format != "" {
			query["format"] = c.format
		}
		req, err := json.Marshal(map[string]any{"headers": headers, "query": query, "path": []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if got := answered(p.Show(t.Context(), realm, "p", []byte(`{"_id":"a"}`), req)); !matches(got, c.want) {
			t.Errorf("%q %q\ngot  %s\nwant %s", c.accept, c.format, got, c.want)
		}
	}
}

func TestUpdate(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	for _, c := range []struct{ source, method, want string }{
		{"function(doc, req){ doc.n = (doc.n || 0) + 1; return [doc, String(doc.n)]; }", "POST", `{"_id":"a","n":6} 0 text/html; charset=utf-8 [] 6`},
		{"function(doc, req){ doc._deleted = true; return [doc, 'deleted']; }", "POST", `{"_id":"a","n":5,"_deleted":true} 0 text/html; charset=utf-8 [] deleted`},
		{"function(doc, req){ return [null, {code: 418, body: 'tea'}]; }", "POST", " 418 text/html; charset=utf-8 [] tea"},
		{"function(doc, req){ return [null, {base64: 'AAEC', headers: {'Content-Type': 'application/octet-stream'}}]; }", "POST", " 0 application/octet-stream [] \x00\x01\x02"},
		{"function(doc, req){ return [null, {json: {ok: 1}}]; }", "POST", ` 0 application/json [] {"ok":1}`},
		{"function(doc, req){ return [5, 'x']; }", "POST", " 0 text/html; charset=utf-8 [] x"},
		{"function(doc, req){ return 'x'; }", "POST", " error render_error: undefined response from update function"},
		{"function(doc, req){ }", "POST", " error render_error: function raised error: *"},
		{"function(doc, req){ return [doc]; }", "DELETE", " error render_error: undefined response from update function"},
		{"function(doc, req){ throw ['error', 'mine', 'because']; }", "POST", " error mine: because"},
		{"function(doc, req){ throw {forbidden: 'no'}; }", "POST", ` error render_error: function raised error: ({forbidden:"no"}) ` + "\nstacktrace: undefined"},
		{"function(doc, req){ return [doc, 'x']; }", "GET", " error method_not_allowed: Update functions do not allow GET"},
		{"function(doc, req){ return [doc, 'x']; }", "HEAD", " error method_not_allowed: Update functions do not allow GET"},
	} {
		realm := document(t, map[string]any{"updates": map[string]any{"u": c.source}})
		written, answer, err := p.Update(t.Context(), realm, "u", []byte(`{"_id":"a","n":5}`), []byte(`{"method":"`+c.method+`"}`))
		if got := string(written) + " " + answered(answer, err); !matches(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.source, got, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := document(t, map[string]any{"lib": map[string]string{"rules": "exports.text = 'n must be above 0'"},
		"validate_doc_update": `function(n, o, u, s){ if (n.t == 'f') throw {forbidden: 'no'}; if (n.t == 'u') throw {unauthorized: 'who'};
		if (n.t == 's') throw 'text'; if (n.t == 'o') throw {other: 'x'}; if (n.t == 'e') throw new Error('msg'); if (n.t == 'r') n.x.y; if (n.t == 'n') throw null;
		if (n.t == 'a') throw ['error', 'mine', 'because']; if (n.t == 'fo') throw {forbidden: {a: 1}}; if (n.t == 'fn') throw {forbidden: 5};
		if (n.t == 'all') throw {forbidden: toJSON([o, u, s])}; if (n.t == 'lib') throw {forbidden: require('lib/rules').text}; if (n.t == 'hang') for (;;); return false; }`})
	kinds := map[string]dberr.Kind{"f": dberr.Forbidden, "u": dberr.Unauthorized, "fo": dberr.Forbidden, "fn": dberr.Forbidden, "all": dberr.Forbidden, "lib": dberr.Forbidden}
	want := map[string]string{"f": "forbidden: no", "u": "unauthorized: who", "s": "unknown_error: text", "o": "unknown_error: x", "e": "Error: msg",
		"r": "TypeError: Cannot read property 'y' of undefined", "n": "unknown_error: null: null", "a": "mine: because", "fo": `forbidden: {"a":1}: {"a":1}`, "fn": "forbidden: 5: 5",
		"all": `forbidden: [null,{"name":"x"},{"admins":{}}]`, "lib": "forbidden: n must be above 0", "ok": ""}
	var writes []Write
	var order []string
	for kind := range want {
		order = append(order, kind)
		writes = append(writes, Write{New: []byte(`{"t":"` + kind + `"}`), User: []byte(`{"name":"x"}`), Security: []byte(`{"admins":{}}`)})
	}
	refusals, err := p.Validate(t.Context(), realm, writes)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, kind := range order {
		got[kind] = ""
		if refusals[i] != nil {
			got[kind] = refusals[i].Error()
			if !dberr.Is(refusals[i], kinds[kind]) {
				t.Errorf("%s: %v", kind, refusals[i])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, kind := range order {
		var thrown *Thrown
		if structured := errors.As(refusals[i], &thrown); structured != (kind == "fo" || kind == "fn" || kind == "n") {
			t.Errorf("%s: %v", kind, thrown)
		}
	}
	broken := document(t, map[string]any{"validate_doc_update": "function(n){ return n."})
	refusals, err = p.Validate(t.Context(), broken, writes[:1])
	if err != nil || !strings.HasPrefix(refusals[0].Error(), "compilation_error: ") {
		t.Error(refusals, err)
	}
}

func TestFilter(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	docs := texts(`{"n":0}`, `{"n":1}`, `{"n":2}`)
	for source, want := range map[string][]bool{
		"function(doc, req){ return doc.n % 2 == 0; }":                              {true, false, true},
		"function(doc, req){ return 'x'; }":                                         {true, true, true},
		"function(doc){ return ''; }":                                               {false, false, false},
		"function(doc){ }":                                                          {false, false, false},
		"function(doc){ return {}; }":                                               {true, true, true},
		"function(doc){ return null; }":                                             {false, false, false},
		"function(doc, req){ return doc.n >= parseInt(req.query.min || '0', 10); }": {false, true, true},
		"function(doc, req){ return this.lib.x == doc.n }":                          {false, true, false},
	} {
		realm := document(t, map[string]any{"filters": map[string]any{"f": source}, "lib": map[string]int{"x": 1}})
		got, err := p.Filter(t.Context(), realm, "f", docs, []byte(`{"query":{"min":"1"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
	realm := document(t, map[string]any{"filters": map[string]any{"f": "function(doc){ throw 'x' }"}})
	if _, err := p.Filter(t.Context(), realm, "f", docs, []byte(`{}`)); err == nil || err.Error() != `unnamed_error: (new String("x"))` {
		t.Error(err)
	}
	if _, err := p.Filter(t.Context(), design(`{"views":{}}`), "f", docs, []byte(`{}`)); err == nil || err.Error() != "missing json key: filters" {
		t.Error(err)
	}
	got, err := p.ViewFilter(t.Context(), mapping("function(doc){ if (doc.n > 1) emit(null); }"), docs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{false, false, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRewrite(t *testing.T) {
	p := newPool(t, Options{Children: 1})
	realm := design(`{"rewrites":"function(req){ if (req.path[0] == 'doc') return '../../' + req.path[1]; if (req.path[0] == 'ans') return {code: 203, body: 'direct'}; }"}`)
	for path, want := range map[string]string{`["doc","a"]`: `"../../a"`, `["ans"]`: `{"code":203,"body":"direct"}`, `["else"]`: "null"} {
		got, err := p.Rewrite(t.Context(), realm, []byte(`{"path":`+path+`}`))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}
