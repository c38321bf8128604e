package couchapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/legacy"
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
		config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "1000"})
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

// TestListOfAllDocs has a list function write the list of all documents, in
// pages, and of a partition; and not for those who may not list them.
func TestListOfAllDocs(t *testing.T) {
	const design = `{"options":{"partitioned":false},"lists":{"l":"function(head, req){ var row, ids = []; while (row = getRow()) ids.push(row.id || row.key + '?'); return toJSON([head, ids.length, ids.slice(0, 3), req.path.length]); }",
		"docs":"function(){ var row; while (row = getRow()) if (row.doc && row.doc.n) send(row.doc.n + ' '); }"}}`
	a := functionsAPI(t, design, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	var docs []string
	for i := range 1200 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%04d","n":%d}`, i, i))
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	a.do("PUT", "/db/_design/none", `{}`).want(201, "")
	for query, want := range map[string]string{
		"l/_all_docs": `[{"total_rows":1202,"offset":0},1202,["0000","0001","0002"],6]`,
		"l/_all_docs?startkey=%220700%22&skip=1100":                                        `[{"total_rows":1202,"offset":1202},0,[],6]`,
		"l/_all_docs?skip=700&limit=2":                                                     `[{"total_rows":1202,"offset":700},2,["0700","0701"],6]`,
		"l/_all_docs?keys=%5B%220003%22,%22x%22%5D":                                        `[{"total_rows":1202,"offset":null},2,["0003","x?"],6]`,
		"l/none/_all_docs?endkey=%220001%22":                                               `[{"total_rows":1202,"offset":0},2,["0000","0001"],7]`,
		"docs/_all_docs?include_docs=true&limit=4":                                         "1 2 3 ",
		"docs/_all_docs?include_docs=true&attachments=true&descending=true&skip=2&limit=2": "1199 1198 ",
	} {
		a.do("GET", "/db/_design/d/_list/"+query, "").wantText(200, want)
		a.do("OPTIONS", "/db/_design/d/_list/"+query, "").wantText(200, want)
	}
	a.do("POST", "/db/_design/d/_list/l/_all_docs", `{"keys":["0003"]}`).wantText(200, `[{"total_rows":1202,"offset":null},1,["0003"],6]`)
	a.do("GET", "/db/_design/d/_list/l/_all_docs?limit=-1", "").want(400, "")
	a.do("GET", "/db/_design/d/_list/l/missing/_all_docs", "").want(404, `{"error":"not_found","reason":"missing"}`)
	a.do("PUT", "/p?partitioned=true", "").want(201, "")
	a.do("PUT", "/p/_design/d", design).want(201, "")
	a.do("PUT", "/p/a:1", `{}`).want(201, "")
	a.do("PUT", "/p/b:1", `{}`).want(201, "")
	a.do("GET", "/p/_partition/b/_design/d/_list/l/_all_docs", "").wantText(200, `[{"total_rows":1,"offset":0},1,["b:1"],8]`)
	for _, db := range []string{"_users", "_replicator"} {
		a.do("PUT", "/"+db+"/_security", `{}`).want(200, "")
		a.do("PUT", "/"+db+"/_design/d", design).want(201, "")
		if w := a.do("GET", "/"+db+"/_design/d/_list/l/_all_docs", "", "Authorization", ""); w.Status != 401 {
			t.Errorf("%s: %d %s", db, w.Status, w.Body)
		}
		a.do("GET", "/"+db+"/_design/d/_list/l/_all_docs", "").want(200, "")
	}
}

// TestListETag shows that the answer to a list has an ETag that depends on the
// rows, the function and the request.
func TestListETag(t *testing.T) {
	const design = `"views":{"v":{"map":"function(doc){ emit(doc.n); }"}},"lists":{"l":"function(head, req){ start({headers: {Vary: 'X-Other'}}); return toJSON(head) + req.query.q; }"}}`
	a := functionsAPI(t, "{"+design)
	read := func(path, tag string, status int) string {
		t.Helper()
		w := a.do("GET", "/db/_design/d/_list/l/"+path, "", "If-None-Match", tag).want(status, "")
		if w.Header.Get("Vary") != "Accept" {
			t.Errorf("%s: %v", path, w.Header)
		}
		return w.Header.Get("Etag")
	}
	tag := read("v?q=1", "", 200)
	if got := read("v?q=1", tag, 304); got != tag {
		t.Errorf("304 has the ETag %s, want %s", got, tag)
	}
	read("v?q=2", tag, 200)
	a.do("PUT", "/db/x", `{"n":1}`).want(201, "")
	next := read("v?q=1", tag, 200)
	a.do("PUT", "/db/_design/d?rev="+a.do("GET", "/db/_design/d", "").json()["_rev"].(string), `{"x":1,`+design).want(201, "")
	read("v?q=1", next, 200)
	if w := a.do("GET", "/db/_design/d/_list/l/_all_docs", "").want(200, ""); w.Header.Get("Etag") != "" {
		t.Error(w.Header)
	}
}

// TestLogNamesDatabaseAndDesign shows that what functions log comes with the names
// of their database and design document, of whatever kind they are.
func TestLogNamesDatabaseAndDesign(t *testing.T) {
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ log('map'); emit(1, 1); }","reduce":"function(){ log('reduce'); return 1; }"}},
		"shows":{"f":"function(){ log('show'); }"},"lists":{"f":"function(){ log('list'); }"},"updates":{"f":"function(){ log('update'); return [null, '']; }"},
		"filters":{"f":"function(){ log('filter'); return true; }"},"validate_doc_update":"function(){ log('validation'); }","rewrites":"function(){ log('rewrite'); return '_show/f'; }"}`)
	a.do("PUT", "/db/x", `{}`).want(201, "")
	for _, path := range []string{"_view/v", "_show/f", "_list/f/v", "_rewrite/x"} {
		a.do("GET", "/db/_design/d/"+path, "").want(200, "")
	}
	a.do("POST", "/db/_design/d/_update/f", "").want(200, "")
	a.do("GET", "/db/_changes?filter=d/f", "").want(200, "")
	logged := a.Logged.String()
	for _, kind := range []string{"map", "reduce", "show", "list", "update", "filter", "validation", "rewrite"} {
		if line := `database=db design=_design/d text=` + kind + "\n"; !strings.Contains(logged, line) {
			t.Errorf("there is no line %q:\n%s", line, logged)
		}
	}
}

// TestShowHeaders shows what a show can't change, and what 304 says.
func TestShowHeaders(t *testing.T) {
	a := functionsAPI(t, `{"shows":{"s":"function(doc, req){ return {headers: {Etag: 'skipped', Vary: 'X-Y', 'X-Mine': 'yes'}, body: 'b'}; }",
		"list":"function(doc, req){ start({code: 202, headers: {'X-Mine': 'yes'}}); send('Hey'); }","fail":"function(doc){ return doc._id; }"}}`)
	for _, method := range []string{"GET", "OPTIONS", "POST", "PUT"} {
		w := a.do(method, "/db/_design/d/_show/s", "").want(200, "")
		tag := w.Header.Get("Etag")
		if tag == "" || tag == "skipped" || strings.Join(w.Header.Values("Vary"), " ") != "Accept" || w.Header.Get("X-Mine") != "yes" || w.Body != "b" {
			t.Errorf("%s: %v %s", method, w.Header, w.Body)
		}
		w = a.do(method, "/db/_design/d/_show/s", "", "If-None-Match", tag).want(304, "")
		if w.Header.Get("Etag") != tag || w.Header.Get("Vary") != "Accept" || w.Header.Get("Cache-Control") != "must-revalidate" || w.Header.Get("Server") == "" {
			t.Errorf("%s: 304 has %v", method, w.Header)
		}
	}
	if w := a.do("GET", "/db/_design/d/_show/list/none", ""); w.Status != 202 || w.Body != "Hey" || w.Header.Get("X-Mine") != "yes" {
		t.Errorf("%d %s %v", w.Status, w.Body, w.Header)
	}
	a.do("GET", "/db/_design/d/_show/fail/none", "").want(404, `{"error":"not_found","reason":"document not found"}`)
	a.do("GET", "/db/_design/d/_show/fail", "").want(500, "")
	a.do("PUT", "/db/none", `{}`).want(201, "")
	a.do("GET", "/db/_design/d/_show/fail/none", "").wantText(200, "none")
}

// TestNotModifiedHasItsHeaders shows that a 304 says what the 200 would have
// said, of what caches go by.
func TestNotModifiedHasItsHeaders(t *testing.T) {
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ emit(doc.n); }"}},"shows":{"s":"function(){ return 's' }"},"lists":{"l":"function(){ return 'l' }"}}`)
	rev := a.do("PUT", "/db/x", `{}`).want(201, "").json()["rev"].(string)
	a.do("PUT", "/db/x/a?rev="+rev, "text", "Content-Type", "text/plain").want(201, "")
	a.do("PUT", "/db/_local/x", `{}`).want(201, "")
	for _, path := range []string{"/db/x", "/db/x?revs=true", "/db/x/a", "/db/_local/x", "/db/_design/d", "/db/_design/d/_view/v", "/db/_design/d/_show/s", "/db/_design/d/_list/l/v"} {
		for _, method := range []string{"GET", "HEAD"} {
			full := a.do(method, path, "").want(200, "")
			tag := full.Header.Get("Etag")
			w := a.do(method, path, "", "If-None-Match", tag)
			if w.Status != 304 || tag == "" || w.Body != "" {
				t.Errorf("%s %s: %d %q", method, path, w.Status, w.Body)
			}
			for _, name := range []string{"Etag", "Cache-Control", "Vary", "Server"} {
				if got, want := w.Header.Get(name), full.Header.Get(name); got != want {
					t.Errorf("%s %s: %s is %q, want %q", method, path, name, got, want)
				}
			}
		}
	}
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
	a := functionsAPI(t, `{"rewrites":`+string(couchhttp.AppendString(nil, `function(req){ switch (req.path[4]) {
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
	off := `{"error":"not_implemented","reason":"` + legacy.NoRender + `"}`
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
		_, err := a.Config.Set(config.Setting{Section: "csp", Key: c.key, Value: c.value}, false)
		must(t, err)
		for _, p := range pages {
			want := c.functions
			if strings.HasSuffix(p.path, ".html") {
				want = c.attachments
			}
			if strings.HasSuffix(p.path, "/own") {
				want = strings.TrimPrefix(want+" | default-src *", " | ")
			}
			if got := strings.Join(a.do(p.method, p.path, p.body).Header.Values(couchhttp.PolicyHeader), " | "); got != want {
				t.Errorf("%s=%s: %s %s has %q, want %q", c.key, c.value, p.method, p.path, got, want)
			}
		}
	}
}
