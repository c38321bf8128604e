package couchapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// functionsAPI is an API with the database db, which holds a design document.
func functionsAPI(t *testing.T, design string, settings ...config.Setting) *testAPI {
	t.Helper()
	a := newTestAPI(t, settings...)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", design).want(201, "")
	return a
}

// TestFilterFunctionsInPages has a filter function look at more documents than
// it is asked about at once, in every kind of feed.
func TestFilterFunctionsInPages(t *testing.T) {
	a := functionsAPI(t, `{"filters":{"third":"function(doc, req){ return doc.n % req.query.by == 0; }"},
		"views":{"third":{"map":"function(doc){ if (doc.n % 3 == 0) emit(doc.n); }"}}}`)
	var docs []string
	for i := range 450 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%03d","n":%d}`, i, i))
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	for _, filter := range []string{"filter=d/third&by=3", "filter=_view&view=d/third"} {
		for query, want := range map[string]int{"": 150, "&limit=7": 7, "&descending=true": 150, "&include_docs=true": 150, "&since=0&style=all_docs": 150} {
			results := a.do("GET", "/db/_changes?"+filter+query, "").want(200, "").json()["results"].([]any)
			if len(results) != want {
				t.Errorf("%s%s: %d rows, want %d", filter, query, len(results), want)
			}
			for _, row := range results {
				row := row.(map[string]any)
				if doc, ok := row["doc"].(map[string]any); ok != strings.Contains(query, "include_docs") || ok && doc["_id"] != row["id"] {
					t.Fatalf("%s%s: the row %v", filter, query, row)
				}
			}
		}
		w := a.do("GET", "/db/_changes?feed=continuous&timeout=50&"+filter, "")
		if n := strings.Count(w.Body, `"id":`); n != 150 {
			t.Errorf("%s: %d rows in a continuous feed", filter, n)
		}
		w = a.do("POST", "/db/_changes?feed=eventsource&timeout=50&limit=3&"+filter, "{}")
		if n := strings.Count(w.Body, "data: {"); n != 3 {
			t.Errorf("%s: %d events", filter, n)
		}
		w = a.do("POST", "/db/_changes?feed=longpoll&"+filter, "{}").want(200, "")
		if n := len(w.json()["results"].([]any)); n != 150 {
			t.Errorf("%s: %d rows in a longpoll", filter, n)
		}
	}
}

func TestFilterSeesTheRequest(t *testing.T) {
	a := functionsAPI(t, `{"filters":{"r":"function(doc, req){ if (doc._id == 'x') throw {error: 'seen', reason: [req.method, req.body, req.query, req.userCtx.name, req.headers['X-Mine'], req.form, req.cookie.c]}; }"}}`)
	a.do("PUT", "/db/x", `{}`).want(201, "")
	a.do("GET", "/db/_changes?filter=d/r&x=1", "", "X-Mine", "m", "Cookie", "c=d").want(500, `{"error":"seen","reason":["GET","undefined",{"filter":"d/r","x":"1"},"adm","m",{},"d"]}`)
	a.do("POST", "/db/_changes?filter=d/r", `{"a":[1]}`).want(500, `{"error":"seen","reason":["POST",{"a":[1]},{"filter":"d/r"},"adm",null,{},null]}`)
}

func TestFilterThatFails(t *testing.T) {
	a := functionsAPI(t, `{"filters":{"ref":"function(doc){ return doc.x.y; }","syntax":"function(","slow":"function(){ for(;;); }"}}`,
		config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "300"})
	if w := a.do("GET", "/db/_changes?filter=d/ref", "").want(500, "").json(); w["error"] != "TypeError" {
		t.Error(w)
	}
	if w := a.do("GET", "/db/_changes?filter=d/syntax", "").want(500, "").json(); w["error"] != "compilation_error" {
		t.Error(w)
	}
	a.do("GET", "/db/_changes?filter=d/slow", "").want(500, `{"error":"os_process_error","reason":"The function did not end in time."}`)
}

func TestUpdateFunctions(t *testing.T) {
	a := functionsAPI(t, `{"updates":{
		"local":"function(doc, req){ return [{_id: '_local/l', n: 1}, 'ok']; }",
		"head":"function(doc, req){ return [null, {code: 204, headers: {'X-A': 'b', 'Content-Length': '99', 'Set-Cookie': 'c=d'}, body: 'lost'}]; }",
		"code":"function(doc, req){ return [null, {code: 101}]; }"}}`)
	a.do("POST", "/db/_design/d/_update/local", "").want(201, "")
	a.do("GET", "/db/_local/l", "").want(200, `{"_id":"_local/l","_rev":"0-1","n":1}`)
	w := a.do("POST", "/db/_design/d/_update/head", "").want(204, "")
	if w.Header.Get("X-A") != "b" || w.Header.Get("Content-Length") != "" || w.Body != "" {
		t.Errorf("%v %q", w.Header, w.Body)
	}
	a.do("POST", "/db/_design/d/_update/code", "").want(500, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["only"]}}`).want(200, "")
	a.do("POST", "/db/_design/d/_update/local", "", "Authorization", "").want(401, "")
}

// TestPartitionFunctions calls functions through a partition: its documents are
// all that they show and write.
func TestPartitionFunctions(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_design/d", `{"updates":{"u":"function(doc, req){ return [{_id: req.query.id}, 'ok']; }"},
		"shows":{"s":"function(doc){ return doc ? doc._id : 'none'; }"}}`).want(201, "")
	a.do("POST", "/db/_partition/p/_design/d/_update/u?id=p:1", "").want(201, "")
	a.do("POST", "/db/_partition/p/_design/d/_update/u?id=q:1", "").want(403, "")
	for path, want := range map[string]string{"_partition/p/_design/d/_show/s/p:1": "p:1", "_partition/q/_design/d/_show/s/p:1": "none", "_design/d/_show/s/p:1": "p:1"} {
		if w := a.do("GET", "/db/"+path, "").want(200, ""); w.Body != want {
			t.Errorf("%s: %q, want %q", path, w.Body, want)
		}
	}
}

func TestShowETag(t *testing.T) {
	a := functionsAPI(t, `{"shows":{"s":"function(doc, req){ return req.query.q + (doc ? doc.n : ''); }"}}`)
	rev := a.do("PUT", "/db/x", `{"n":1}`).want(201, "").json()["rev"].(string)
	tag := a.do("GET", "/db/_design/d/_show/s/x?q=a", "").want(200, "").Header.Get("Etag")
	a.do("GET", "/db/_design/d/_show/s/x?q=a", "", "If-None-Match", tag).want(304, "")
	a.do("GET", "/db/_design/d/_show/s/x?q=b", "", "If-None-Match", tag).want(200, "")
	a.do("GET", "/db/_design/d/_show/s/x?q=a", "", "If-None-Match", tag, "Accept", "text/plain").want(200, "")
	a.do("PUT", "/db/x?rev="+rev, `{"n":2}`).want(201, "")
	a.do("GET", "/db/_design/d/_show/s/x?q=a", "", "If-None-Match", tag).want(200, "")
}

// TestListOfManyRows has a list function write more rows than it gets at once,
// with documents, and stop early.
func TestListOfManyRows(t *testing.T) {
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ emit(doc.n, null); }","reduce":"_count"}},"lists":{
		"all":"function(){ var row, n = 0, sum = 0; start({headers: {'Content-Type': 'text/plain'}}); while (row = getRow()) { send('.'); n++; sum += row.doc ? row.doc.n : row.key; } return n + ' ' + sum; }",
		"groups":"function(){ var row, n = 0; while (row = getRow()) n += row.value; return String(n); }",
		"two":"function(){ getRow(); return String(getRow().key); }"}}`)
	var docs []string
	for i := range 1200 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%04d","n":%d}`, i, i))
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	dots := strings.Repeat(".", 1200)
	for query, want := range map[string]string{
		"all/v?reduce=false":                   dots + "1200 719400",
		"all/v?reduce=false&include_docs=true": dots + "1200 719400",
		"all/v?reduce=false&include_docs=true&attachments=true&descending=true": dots + "1200 719400",
		"groups/v?group=true":                 "1200",
		"two/v?reduce=false":                  "1",
		"all/d/v?reduce=false&limit=2&skip=3": "..2 7",
	} {
		if w := a.do("GET", "/db/_design/d/_list/"+query, "").want(200, ""); w.Body != want {
			t.Errorf("%s: %.80q, want %.80q", query, w.Body, want)
		}
	}
	a.do("GET", "/db/_design/d/_list/all/v/x/y", "").want(404, `{"error":"list_error","reason":"Invalid path."}`)
	a.do("GET", "/db/_design/d/_list", "").want(404, `{"error":"list_error","reason":"Invalid path."}`)
	a.do("GET", "/db/_design/d/_list/two/none/v", "").want(404, `{"error":"not_found","reason":"missing"}`)
	a.do("GET", "/db/_design/d/_list/two/v?startkey=5&endkey=1", "").want(400, "")
}

func TestListThatAnswersWithAStatus(t *testing.T) {
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ emit(1); }"}},"lists":{"l":"function(){ start({code: 302, headers: {Location: '/'}}); }"}}`)
	if w := a.do("GET", "/db/_design/d/_list/l/v", "").want(302, ""); w.Header.Get("Location") != "/" {
		t.Error(w.Header)
	}
}

func TestRewrites(t *testing.T) {
	a := functionsAPI(t, `{"rewrites":[
		{"from":"loop","to":"_rewrite/loop"},
		{"from":"out","to":"../../../other"},
		{"from":"any/*","to":"../../*"},
		{"from":"fmt/:n","to":"_show/q","query":{"n":":n","k":[":n",1],"key":":n"},"formats":{"n":"int"}},
		{"from":"admin","to":"../../_security","method":"PUT"},
		{"from":"nothing/:id","to":"../../:other"}],
		"shows":{"q":"function(doc, req){ return {json: [req.path, req.query]}; }"}}`)
	a.do("PUT", "/db/x", `{}`).want(201, "")
	a.do("GET", "/db/_design/d/_rewrite/loop", "").want(400, `{"error":"bad_request","reason":"Exceeded rewrite recursion limit"}`)
	a.do("GET", "/db/_design/d/_rewrite/out", "").want(500, `{"error":"insecure_rewrite_rule","reason":"too many ../.. segments"}`)
	b := functionsAPI(t, `{"rewrites":[{"from":"any/*","to":"../../*"},{"from":"fmt/:n","to":"_show/q","query":{"n":":n","k":[":n",1],"key":":n"},"formats":{"n":"int"}},
		{"from":"admin","to":"../../_security","method":"PUT"},{"from":"nothing/:id","to":"../../:other"}],
		"shows":{"q":"function(doc, req){ return {json: [req.path, req.query]}; }"}}`)
	b.do("PUT", "/db/undefined", `{}`).want(201, "")
	b.do("PUT", "/db2", "").want(201, "")
	// What a client writes stays below the database.
	b.do("GET", "/db/_design/d/_rewrite/any/..", "").want(404, "")
	b.do("GET", "/db/_design/d/_rewrite/any/../db2", "").want(404, "")
	b.do("GET", "/db/_design/d/_rewrite/any/%2E%2E/db2", "").want(404, "")
	b.do("GET", "/db/_design/d/_rewrite/nothing/y", "").want(200, "")
	b.do("GET", "/db/_design/d/_rewrite/fmt/5?m=%26", "").want(200, `[["db","_design","d","_show","q"],{"key":"5","k":"51","n":"5","m":"&"}]`)
	// The caller needs the rights that the other request asks for.
	b.do("PUT", "/db/_security", `{}`).want(200, "")
	b.do("PUT", "/db/_design/d/_rewrite/admin", `{}`, "Authorization", "").want(401, "")
	b.do("PUT", "/db/_design/d/_rewrite/admin", `{}`).want(200, "")
	b.do("HEAD", "/db/_design/d/_rewrite/any/undefined", "").want(200, "")
	b.do("GET", "/db/_design/d/_rewrite/fmt/5?key=x", "").want(400, "")
}

func TestRewriteFunctions(t *testing.T) {
	a := functionsAPI(t, `{"rewrites":`+string(appendString(nil, `function(req){ switch (req.path[4]) {
		case 'loop': return '_rewrite/loop';
		case 'code': return {code: 199};
		case 'none': return {query: {}};
		case 'empty': return {code: 204};
		case 'echo': return {path: '_update/e', method: 'POST', body: req.body + '!', headers: {'X-Mine': 'h'}, query: {a: 1}};
		case 'query': return '_update/e?y=2';
		case 'same': return '_update/e'; } }`))+`,
		"updates":{"e":"function(doc, req){ return [null, {json: [req.method, req.body, req.query, req.headers['X-Mine'] || null]}]; }"}}`)
	a.do("GET", "/db/_design/d/_rewrite/loop", "").want(400, `{"error":"bad_request","reason":"Exceeded rewrite recursion limit"}`)
	a.do("GET", "/db/_design/d/_rewrite/code", "").want(500, `{"error":"rewrite_error","reason":"code must be an integer between 200 and 599"}`)
	a.do("GET", "/db/_design/d/_rewrite/none", "").want(500, `{"error":"rewrite_error","reason":"Rewrite result must produce a new path."}`)
	a.do("GET", "/db/_design/d/_rewrite/empty", "").want(http.StatusNoContent, "")
	a.do("PUT", "/db/_design/d/_rewrite/echo?x=1", `"in"`).want(200, `["POST","\"in\"!",{"a":"1"},"h"]`)
	a.do("PUT", "/db/_design/d/_rewrite/query?x=1", `"in"`).want(200, `["PUT","\"in\"",{"x":"1","y":"2"},null]`)
	a.do("PUT", "/db/_design/d/_rewrite/same?x=1", `"in"`).want(200, `["PUT","\"in\"",{"x":"1"},null]`)
}

// TestRenderIsSwitchedOff leaves update functions alone.
func TestRenderIsSwitchedOff(t *testing.T) {
	a := functionsAPI(t, `{"shows":{"s":"function(){ return 'x'; }"},"lists":{"l":"function(){}"},"views":{"v":{"map":"function(doc){}"}},"rewrites":[],
		"updates":{"u":"function(){ return [null, 'x']; }"}}`, config.Setting{Section: "sectional", Key: "render", Value: "false"})
	off := `{"error":"not_implemented","reason":"` + noRender + `"}`
	for _, path := range []string{"_show/s", "_show", "_list/l/v", "_list", "_rewrite/x", "_rewrite"} {
		a.do("GET", "/db/_design/d/"+path, "").want(501, off)
	}
	a.do("POST", "/db/_design/d/_update/u", "").want(200, "")
}

// TestFunctionsAreSandboxed: what functions and attachments give does not run as a
// page of the server, whatever the function says itself, unless a setting lets it.
func TestFunctionsAreSandboxed(t *testing.T) {
	const own = `{"headers":{"Content-Type":"text/html","Content-Security-Policy":"default-src *"},"body":"<script>1</script>"}`
	a := functionsAPI(t, `{"shows":{"s":"function(){ return '<script>1</script>'; }","own":"function(){ return `+strings.ReplaceAll(own, `"`, `'`)+`; }"},
		"updates":{"u":"function(){ return [null, '<script>1</script>']; }"},"views":{"v":{"map":"function(doc){ emit(1); }"}},
		"lists":{"l":"function(){ start({headers: {'Content-Type': 'text/html'}}); send('<script>1</script>'); }"},
		"rewrites":[{"from":"/r","to":"_show/s"}]}`)
	a.do("PUT", "/db/x/page.html", "<script>1</script>", "Content-Type", "text/html").want(201, "")
	pages := []leakProbe{{"GET", "/db/_design/d/_show/s", ""}, {"GET", "/db/_design/d/_show/s/x", ""}, {"POST", "/db/_design/d/_show/own", "{}"}, {"GET", "/db/_design/d/_list/l/v", ""},
		{"POST", "/db/_design/d/_update/u", "{}"}, {"PUT", "/db/_design/d/_update/u/x", "{}"}, {"GET", "/db/_design/d/_rewrite/r", ""}, {"HEAD", "/db/_design/d/_show/s", ""}, {"GET", "/db/x/page.html", ""}}
	for _, c := range []struct{ key, value, functions, attachments string }{
		{"showlist_enable", "true", "sandbox", "sandbox"},
		{"showlist_header_value", "sandbox allow-scripts", "sandbox allow-scripts", "sandbox"},
		{"attachments_header_value", "default-src 'none'", "sandbox allow-scripts", "default-src 'none'"},
		{"showlist_enable", "false", "", "default-src 'none'"},
		{"attachments_enable", "false", "", ""},
	} {
		_, err := a.config.Set(config.Setting{Section: "csp", Key: c.key, Value: c.value}, false)
		must(t, err)
		for _, p := range pages {
			want := c.functions
			if strings.HasSuffix(p.path, ".html") {
				want = c.attachments
			}
			if strings.HasSuffix(p.path, "/own") {
				want = strings.TrimPrefix(want+" | default-src *", " | ")
			}
			if got := strings.Join(a.do(p.method, p.path, p.body).Header.Values(policyHeader), " | "); got != want {
				t.Errorf("%s=%s: %s %s has %q, want %q", c.key, c.value, p.method, p.path, got, want)
			}
		}
	}
}
