package couchapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// newDB makes a database "db" with the query given.
func newDB(t testing.TB, query string, settings ...config.Setting) *testAPI {
	t.Helper()
	a := newTestAPI(t, settings...)
	a.do("PUT", "/db"+query, "").want(201, "")
	return a
}

// put writes a document and returns its revision.
func (a *testAPI) put(target, body string) string {
	a.t.Helper()
	w := a.do("PUT", target, body)
	if w.Status != 201 && w.Status != 200 {
		a.t.Fatalf("PUT %s: %d %s", target, w.Status, w.Body)
	}
	return w.json()["rev"].(string)
}

func TestPatch(t *testing.T) {
	a := newDB(t, "")
	first := a.put("/db/d", `{"z":1.50,"gone":true,"deep":{"a":1,"b":2},"_attachments":{"x":{"data":"YQ=="}}}`)
	w := a.do("PATCH", "/db/d", `{"gone":null,"deep":{"b":null,"c":3},"new":[1]}`, "Content-Type", "application/merge-patch+json")
	w.want(201, "")
	rev := w.json()["rev"].(string)
	if got := w.Header.Get("Etag"); got != `"`+rev+`"` {
		t.Errorf("ETag %s of revision %s", got, rev)
	}
	got := a.do("GET", "/db/d", "").Body
	if want := `"z":1.50,"deep":{"a":1,"c":3},"new":[1],"_attachments":{"x":`; !strings.Contains(got, want) {
		t.Errorf("patched document %s, want in it %s", got, want)
	}
	a.do("PATCH", "/db/d?rev="+first, `{"n":1}`).want(409, `{"error":"conflict","reason":"Document update conflict."}`)
	a.do("PATCH", "/db/d", `{"n":1}`, "If-Match", first).want(409, "")
	a.do("PATCH", "/db/d", `{"n":1,"_rev":"`+first+`"}`).want(409, "")
	a.do("PATCH", "/db/d", `{"n":1,"_rev":"`+rev+`"}`).want(201, "")
	a.do("PATCH", "/db/d", `{"_deleted":true}`).want(400, `{"error":"doc_validation","reason":"A patch can't change the member _deleted"}`)
	a.do("PATCH", "/db/d", `{"_id":"e"}`).want(400, `{"error":"bad_request","reason":"The patch is of another document"}`)
	a.do("PATCH", "/db/d", `[]`).want(400, `{"error":"bad_request","reason":"Document must be a JSON object"}`)
	a.do("PATCH", "/db/d", `x`, "Content-Type", "text/plain").want(415, `{"error":"bad_content_type","reason":"Content-Type must be application/merge-patch+json"}`)
	a.do("PATCH", "/db/none", `{}`).want(404, `{"error":"not_found","reason":"missing"}`)
	a.do("PATCH", "/db/none?rev="+first, `{}`).want(404, "")
	a.do("PATCH", "/db/_local/x", `{}`).want(405, `{"error":"method_not_allowed","reason":"Only DELETE,GET,HEAD,POST,PUT,COPY allowed"}`)
	a.do("PATCH", "/db/_design/v", `{}`).want(404, "")
}

// TestPatchesMeet shows that patches without a revision do not lose each other.
func TestPatchesMeet(t *testing.T) {
	a := newDB(t, "")
	a.put("/db/d", `{}`)
	const clients, each = 8, 10
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for n := range each {
				if w := a.do("PATCH", "/db/d", fmt.Sprintf(`{"c%d":{"n%d":1}}`, c, n)); w.Status != 201 {
					t.Errorf("client %d: %d %s", c, w.Status, w.Body)
				}
			}
		})
	}
	wg.Wait()
	if got := strings.Count(a.do("GET", "/db/d", "").Body, `":1`); got != clients*each {
		t.Errorf("%d of %d patches are there", got, clients*each)
	}
}

func TestAtomicBatch(t *testing.T) {
	for _, kind := range []string{"", "?partitioned=true"} {
		t.Run("kind"+kind, func(t *testing.T) {
			a := newDB(t, kind)
			rev := a.put("/db/p:old", `{"n":1}`)
			a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"p:1"},{"_id":"p:old","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},{"_id":"p:2"}]}`).
				want(409, `{"error":"conflict","reason":"The batch was refused, nothing is stored.","results":[{"id":"p:1"},
					{"id":"p:old","error":"conflict","reason":"Document update conflict."},{"id":"p:2"}]}`)
			a.do("GET", "/db/p:1", "").want(404, "")
			w := a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"p:1"},{"_id":"p:old","_rev":"`+rev+`","n":2},{"_id":"p:3","_deleted":true}]}`)
			if w.want(201, ""); strings.Count(w.Body, `"ok":true`) != 3 {
				t.Errorf("results %s", w.Body)
			}
			if got := a.do("GET", "/db/p:old", "").json()["n"]; got != json.Number("2") {
				t.Errorf("n = %v after the batch", got)
			}
			a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"p:9"},{"_id":"p:9","n":2}]}`).want(409, "")
			a.do("GET", "/db/p:9", "").want(404, "")
			a.do("POST", "/db/_bulk_docs", `{"atomic":true,"new_edits":false,"docs":[{"_id":"p:9","_rev":"1-a"}]}`).
				want(400, `{"error":"bad_request","reason":"`+"`atomic` can't be used with `new_edits`: false."+`"}`)
			a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"p:9"},{"_id":"_local/x"}]}`).
				want(400, `{"error":"bad_request","reason":"Local documents can't be part of an atomic batch."}`)
			two := a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"p:9"},{"_id":"q:9"}]}`)
			if kind == "" {
				two.want(201, "")
				return
			}
			two.want(400, `{"error":"bad_request","reason":"All documents of an atomic batch must be in one partition."}`)
			a.do("GET", "/db/p:9", "").want(404, "")
		})
	}
}

// TestLocalDocuments shows that the last writer wins, and the numbered
// difference that a revision no local document has is the client's fault.
func TestLocalDocuments(t *testing.T) {
	a := newDB(t, "")
	a.do("PUT", "/db/_local/a", `{"_rev":"0-5","n":1}`).want(201, `{"ok":true,"id":"_local/a","rev":"0-6"}`)
	a.do("PUT", "/db/_local/a", `{"n":2}`).want(201, `{"ok":true,"id":"_local/a","rev":"0-1"}`)
	a.do("PUT", "/db/_local%2Fa", `{"_rev":"0-1","n":3}`).want(201, `{"ok":true,"id":"_local/a","rev":"0-2"}`)
	for _, rev := range []string{"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "0-abc", "0--1", "x"} {
		a.do("PUT", "/db/_local/a", `{"_rev":"`+rev+`"}`).want(400, `{"error":"bad_request","reason":"Invalid rev format"}`)
	}
	a.do("GET", "/db/_local/a?revs=true", "").want(200, `{"_id":"_local/a","_rev":"0-2","n":3,"_revisions":{"start":0,"ids":["2"]}}`)
	a.do("GET", "/db/_local/a", "", "If-None-Match", `"0-2"`).want(304, "")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"_local/b"},{"_id":"_local/a","_deleted":true},{"_id":"_local/none","_deleted":true}]}`).
		want(201, `[{"ok":true,"id":"_local/b","rev":"0-1"},{"ok":true,"id":"_local/a","rev":"0-0"},{"id":"_local/none","error":"not_found","reason":"missing"}]`)
	a.do("GET", "/db/_local/a", "").want(404, "")
	a.do("DELETE", "/db/_local/b?rev=0-99", "").want(200, `{"ok":true,"id":"_local/b","rev":"0-0"}`)
	a.do("DELETE", "/db/_local/b", "").want(404, "")
	a.do("PUT", "/db/_local", `{}`).want(400, `{"error":"bad_request","reason":"Invalid _local document id."}`)
	a.do("GET", "/db/_local/b/x", "").want(400, `{"error":"bad_request","reason":"_local documents do not accept attachments."}`)
}

// TestLocalRevisions writes local documents as they are read with revs=true.
func TestLocalRevisions(t *testing.T) {
	a := newDB(t, "")
	a.do("PUT", "/db/_local/a", `{"_revisions":{"start":0,"ids":["3"]},"n":1}`).want(201, `{"ok":true,"id":"_local/a","rev":"0-4"}`)
	read := a.do("GET", "/db/_local/a?revs=true", "").want(200, `{"_id":"_local/a","_rev":"0-4","n":1,"_revisions":{"start":0,"ids":["4"]}}`).Body
	a.do("PUT", "/db/_local/a", read).want(201, `{"ok":true,"id":"_local/a","rev":"0-5"}`)
	a.do("POST", "/db", read).want(201, `{"ok":true,"id":"_local/a","rev":"0-5"}`)
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+read+`]}`).want(201, `[{"ok":true,"id":"_local/a","rev":"0-5"}]`)
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+read+`]}`).want(201, `[]`)
	for _, revisions := range []string{`{"start":0,"ids":["a"]}`, `{"start":0,"ids":["2","1"]}`, `{"start":1,"ids":["1"]}`, `{"start":0,"ids":[""]}`} {
		a.do("PUT", "/db/_local/a", `{"_revisions":`+revisions+`}`).want(400, `{"error":"bad_request","reason":"Invalid rev format"}`)
	}
	a.do("PUT", "/db/d", `{"_revisions":{"start":0,"ids":["1"]}}`).want(409, "")
	a.do("PUT", "/db/d?new_edits=false", `{"_revisions":{"start":0,"ids":["1"]}}`).want(400, "")
	a.do("POST", "/db", `{"_id":"_local/a","_deleted":true}`).want(201, `{"ok":true,"id":"_local/a","rev":"0-0"}`)
}

// TestPostOfADeletion has CouchDB's 201 for a deletion that is posted, and 200
// for one that is put.
func TestPostOfADeletion(t *testing.T) {
	a := newDB(t, "")
	for _, path := range []string{"/db", "/db?batch=none"} {
		rev := a.do("PUT", "/db/d", `{}`).want(201, "").json()["rev"].(string)
		a.do("POST", path, `{"_id":"d","_rev":"`+rev+`","_deleted":true}`).want(201, "")
		a.do("GET", "/db/d", "").want(404, `{"error":"not_found","reason":"deleted"}`)
	}
	rev := a.do("PUT", "/db/d", `{}`).want(201, "").json()["rev"].(string)
	a.do("PUT", "/db/d", `{"_rev":"`+rev+`","_deleted":true}`).want(200, "")
}

// TestAllOrNothing shows CouchDB's refusal of what version 1 had: nothing is
// stored.
func TestAllOrNothing(t *testing.T) {
	a := newDB(t, "")
	a.do("POST", "/db/_bulk_docs", `{"all_or_nothing":true,"docs":[{"_id":"a"},{"_id":"_local/l"},{"_id":"b","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`).
		want(417, `[{"id":"a","error":"not_implemented","reason":"all_or_nothing is not supported"},{"id":"_local/l","error":"not_implemented","reason":"all_or_nothing is not supported"},`+
			`{"id":"b","rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","error":"not_implemented","reason":"all_or_nothing is not supported"}]`)
	a.do("POST", "/db/_bulk_docs", `{"all_or_nothing":true,"docs":[]}`).want(201, `[]`)
	if docs := a.do("GET", "/db", "").json()["doc_count"]; fmt.Sprint(docs) != "0" {
		t.Errorf("%v documents", docs)
	}
	a.do("GET", "/db/_local/l", "").want(404, "")
	for _, off := range []string{"false", `"true"`, "1"} {
		a.do("POST", "/db/_bulk_docs", `{"docs":[],"all_or_nothing":`+off+`}`).want(201, `[]`)
	}
	a.do("POST", "/db/_bulk_docs", `{"all_or_nothing":true,"new_edits":false,"docs":[]}`).want(201, `[]`)
}

// TestLowerRevsLimit shows that a lower limit cuts histories at once, and a
// higher one shows again what is still stored.
func TestLowerRevsLimit(t *testing.T) {
	a := newDB(t, "")
	rev := ""
	for range 40 {
		rev = a.put("/db/d"+rev, `{}`)
		rev = "?rev=" + rev
	}
	histories := func(want int) {
		t.Helper()
		ids := a.do("GET", "/db/d?revs=true", "").want(200, "").json()["_revisions"].(map[string]any)["ids"].([]any)
		info := a.do("GET", "/db/d?revs_info=true", "").want(200, "").json()["_revs_info"].([]any)
		opened := a.do("GET", "/db/d?open_revs=all&revs=true", "", "Accept", "application/json").want(200, "").Body
		got := a.do("POST", "/db/_bulk_get?revs=true", `{"docs":[{"id":"d"}]}`).want(200, "").Body
		if len(ids) != want || len(info) != want || !strings.Contains(opened, fmt.Sprintf(`"ids":[%s]`, elements(ids))) || !strings.Contains(got, fmt.Sprintf(`"ids":[%s]`, elements(ids))) {
			t.Errorf("%d and %d revisions, want %d; %s %s", len(ids), len(info), want, opened, got)
		}
	}
	histories(40)
	a.do("PUT", "/db/_revs_limit", "5").want(200, "")
	histories(5)
	a.do("PUT", "/db/_revs_limit", "39").want(200, "")
	histories(39)
	a.do("PUT", "/db/_revs_limit", "3").want(200, "")
	a.put("/db/d"+rev, `{}`)
	a.do("PUT", "/db/_revs_limit", "39").want(200, "")
	histories(3) // the edit has cut what is stored
}

func elements(list []any) string {
	b, _ := json.Marshal(list)
	return string(b[1 : len(b)-1])
}

// TestReasonsTellWhere shows which document of a batch is meant, where a text stops
// being JSON, and which limit was met; and that passwords are not shown.
func TestReasonsTellWhere(t *testing.T) {
	a := newDB(t, "", config.Setting{Section: "couchdb", Key: "max_document_size", Value: "100"}, config.Setting{Section: "chttpd", Key: "max_http_request_size", Value: "1000"})
	a.do("PUT", "/p?partitioned=true", "").want(201, "")
	const broken = "invalid UTF-8 JSON ("
	for _, c := range []struct {
		method, path, body string
		status             int
		reason             string
	}{
		{"POST", "/db/_bulk_docs", `{"docs":[{},{"_id":"_x"}]}`, 400, `Only reserved document ids may start with underscore. (docs[1], _id "_x")`},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"x","_foo":1}]}`, 400, `Bad special document member: _foo (docs[0], _id "x")`},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"x","_attachments":{"a":{"data":"#"}}}]}`, 400, `Invalid attachment data for a (docs[0], _id "x")`},
		{"POST", "/db/_bulk_docs", `{"docs":[{},{"_id":7}]}`, 400, `Document id must be a string (docs[1], _id 7)`},
		{"POST", "/db/_bulk_docs", `{"docs":[{},[1]]}`, 400, `Document must be a JSON object (docs[1])`},
		{"POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"x"}]}`, 400, "When `new_edits: false`, the document needs `_rev` or `_revisions` specified (docs[0], _id \"x\")"},
		{"POST", "/p/_bulk_docs", `{"docs":[{"_id":"a:b"},{"_id":"none"}]}`, 400, `Doc id must be of form partition:id (docs[1], _id "none")`},
		{"POST", "/db/_bulk_docs", "{\"docs\":[{},\n{\"a\": bad}]}", 400, broken + "line 2, column 7, byte 20: bad}]})"},
		{"PUT", "/db/x", `{"a":}`, 400, broken + `line 1, column 6, byte 6: })`},
		{"PUT", "/db/x", ``, 400, broken + `line 1, column 1, byte 1: the text ends there)`},
		{"POST", "/db", `{"a"`, 400, broken + `line 1, column 5, byte 5: the text ends there)`},
		{"PATCH", "/db/x", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"PUT", "/db/_local/x", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"PUT", "/db/_security", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"PUT", "/db/_revs_limit", `1x`, 400, broken + `line 1, column 2, byte 2: x)`},
		{"POST", "/db/_find", `{"selector":{},}`, 400, broken + `line 1, column 16, byte 16: })`},
		{"POST", "/db/_index", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"POST", "/db/_changes", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"POST", "/db/_all_docs", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"POST", "/db/_bulk_get", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"POST", "/db/_revs_diff", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"POST", "/db/_purge", `{a}`, 400, broken + `line 1, column 2, byte 2: a})`},
		{"POST", "/_session", `{"name":"a","password":secret}`, 400, broken + `line 1, column 24, byte 24)`},
		{"PUT", "/_users/org.couchdb.user:u", `{"password":secret}`, 400, broken + `line 1, column 13, byte 13)`},
		{"PUT", "/_node/_local/_config/admins/u", `secret`, 400, broken + `line 1, column 1, byte 1)`},
		{"GET", "/db/_all_docs?startkey=abc", "", 400, broken + "parameter startkey: abc)"},
		{"GET", "/db/_all_docs?limit=2&keys=[abc]", "", 400, broken + "parameter keys: [abc])"},
		{"GET", "/db/x?open_revs=%5B", "", 400, broken + "parameter open_revs: [)"},
		{"POST", "/db/_all_docs?key=%7B", "{}", 400, broken + "parameter key: {)"},
		{"PUT", "/db/x", `{"a":"` + strings.Repeat("a", 100) + `"}`, 413, "x (the limit is 100 bytes: [couchdb] max_document_size)"},
		{"PUT", "/db/x", `{"a":"` + strings.Repeat("a", 1000) + `"}`, 413, "the request entity is too large (the limit is 1000 bytes: [chttpd] max_http_request_size)"},
		{"GET", "/p/_partition/a/_temp_view", "", 410, "Temporary views are not supported in CouchDB"},
		{"POST", "/p/_owner/a/_temp_view", "{}", 410, "Temporary views are not supported in CouchDB"},
	} {
		if w := a.do(c.method, c.path, c.body).want(c.status, "").json(); w["reason"] != c.reason {
			t.Errorf("%s %s %.60s\n got %s\nwant %s", c.method, c.path, c.body, w["reason"], c.reason)
		}
	}
	a.do("PUT", "/db/x", "--B\r\n\r\n{\r\n--B--", "Content-Type", "multipart/related; boundary=B").want(400, `{"error":"bad_request","reason":"invalid UTF-8 JSON (line 1, column 2, byte 2: the text ends there)"}`)
	if docs := a.do("GET", "/db", "").json()["doc_count"]; fmt.Sprint(docs) != "0" {
		t.Errorf("%v documents are stored", docs)
	}
}

// TestBulkDocsOverNothing is the numbered difference that a revision of a
// document that is not there is a conflict in a batch too.
func TestBulkDocsOverNothing(t *testing.T) {
	a := newDB(t, "")
	a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"ghost","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`).
		want(201, `[{"id":"ghost","error":"conflict","reason":"Document update conflict."}]`)
	a.do("GET", "/db/ghost", "").want(404, "")
}

func TestBatchOKIsDurable(t *testing.T) {
	a := newDB(t, "")
	a.do("PUT", "/db/d?batch=ok", `{"n":1}`).want(202, `{"ok":true,"id":"d"}`)
	a.do("GET", "/db/d", "").want(200, "")
	a.do("PUT", "/db/d?batch=ok", `{"n":2}`).want(409, "")
}

func TestDocumentLimits(t *testing.T) {
	a := newDB(t, "", config.Setting{Section: "couchdb", Key: "max_document_size", Value: "20"},
		config.Setting{Section: "couchdb", Key: "max_document_id_length", Value: "5"},
		config.Setting{Section: "couchdb", Key: "max_bulk_docs_count", Value: "2"},
		config.Setting{Section: "couchdb", Key: "max_bulk_get_count", Value: "1"})
	big := `{"text":"0123456789012345"}`
	a.do("PUT", "/db/big", big).want(413, `{"error":"document_too_large","reason":"big (the limit is 20 bytes: [couchdb] max_document_size)"}`)
	a.do("POST", "/db", `{"_id":"big","text":"0123456789012345"}`).want(413, `{"error":"document_too_large","reason":"big (the limit is 20 bytes: [couchdb] max_document_size)"}`)
	a.do("PUT", "/db/longer", `{}`).want(400, `{"error":"illegal_docid","reason":"Document id is too long"}`)
	a.do("POST", "/db/_bulk_docs", `{"docs":[{},{},{}]}`).want(413, `{"error":"max_bulk_docs_count_exceeded","reason":"2 (the limit: [couchdb] max_bulk_docs_count)"}`)
	a.do("POST", "/db/_bulk_get", `{"docs":[{"id":"a"},{"id":"b"}]}`).want(413, `{"error":"max_bulk_get_count_exceeded","reason":"1 (the limit: [couchdb] max_bulk_get_count)"}`)
	a.do("PUT", "/db/d", `{"n":1}`).want(201, "")
	a.do("PATCH", "/db/d", big).want(413, `{"error":"document_too_large","reason":"d (the limit is 20 bytes: [couchdb] max_document_size)"}`)
}

func TestPurgeLimits(t *testing.T) {
	a := newDB(t, "", config.Setting{Section: "purge", Key: "max_document_id_number", Value: "1"},
		config.Setting{Section: "purge", Key: "max_revisions_number", Value: "1"})
	a.do("POST", "/db/_purge", `{"a":[],"b":[]}`).want(400, `{"error":"bad_request","reason":"Exceeded maximum number of documents."}`)
	a.do("POST", "/db/_purge", `{"a":["1-a","1-b"]}`).want(400, `{"error":"bad_request","reason":"Exceeded maximum number of revisions."}`)
}

// TestDuplicateMembers is the numbered difference that nobody has to guess
// which of two members counts.
func TestDuplicateMembers(t *testing.T) {
	a := newDB(t, "")
	for _, body := range []string{`{"a":1,"b":2,"a":3}`, `{"x":{"y":1,"y":2}}`, `{"_id":"d","_id":"e"}`} {
		if w := a.do("PUT", "/db/d", body).want(400, ""); !strings.Contains(w.Body, "uplicate") {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	a.do("GET", "/db/d", "").want(404, "")
}

// TestNumbersKeepTheirDigits is the numbered difference that numbers come back
// as they were sent.
func TestNumbersKeepTheirDigits(t *testing.T) {
	a := newDB(t, "")
	const body = `{"a":1.0,"b":1e3,"c":2.50,"d":1E-7,"e":100000000000000000000.0,"f":-0,"g":-0.0,"h":1e-400,"i":3.14159265358979323846}`
	a.put("/db/n", body)
	if got := a.do("GET", "/db/n", "").Body; !strings.HasSuffix(got, body[1:]+"\n") {
		t.Errorf("came back as %s", got)
	}
	a.do("PUT", "/db/m", `{"a":1e400}`).want(400, "")
}

func TestCopyAcrossPartitions(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	big := strings.Repeat("0123456789abcdef", 8<<10)
	a.do("PUT", "/db/p:d/big", big, "Content-Type", "image/png").want(201, "")
	a.do("COPY", "/db/p:d", "", "Destination", "q:d").want(201, "")
	a.do("COPY", "/db/p:d", "", "Destination", "p:e").want(201, "")
	a.do("COPY", "/db/p:d", "", "Destination", "http://host/db/p:f").want(400, `{"error":"bad_request","reason":"Destination URL must be relative."}`)
	rev := a.do("GET", "/db/p:d", "").json()["_rev"].(string)
	a.do("DELETE", "/db/p:d?rev="+rev, "").want(200, "")
	for _, id := range []string{"q:d", "p:e"} {
		if got := a.do("GET", "/db/"+id+"/big", "").want(200, "").Body; got != big {
			t.Errorf("%s has %d other bytes", id, len(got))
		}
	}
}

func TestFormUpload(t *testing.T) {
	a := newDB(t, "")
	rev := a.put("/db/d", `{"n":1,"_attachments":{"old":{"data":"YQ=="}}}`)
	part := "--F\r\nContent-Disposition: form-data; name="
	form := func(rev string) string {
		return part + "\"_rev\"\r\n\r\n" + rev + "\r\n" + part + "\"_attachments\"; filename=\"up.txt\"\r\nContent-Type: text/plain\r\n\r\nuploaded\r\n--F--\r\n"
	}
	send := func(body string, header ...string) answer {
		return a.do("POST", "/db/d", body, append([]string{"Content-Type", "multipart/form-data; boundary=F"}, header...)...)
	}
	send(form(rev)).want(400, `{"error":"bad_request","reason":"Referer header required."}`)
	send(form(rev), "Referer", "http://elsewhere/x").want(400, `{"error":"bad_request","reason":"Referer host must match."}`)
	w := send(form(rev), "Referer", "http://example.com/form")
	w.want(201, "")
	if got := a.do("GET", "/db/d/up.txt", "").want(200, "").Body; got != "uploaded" {
		t.Errorf("uploaded %q", got)
	}
	doc := a.do("GET", "/db/d", "").json()
	if atts := doc["_attachments"].(map[string]any); len(atts) != 2 || doc["n"] != json.Number("1") {
		t.Errorf("document after the upload: %v", doc)
	}
	send(form("1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "Referer", "http://example.com/form").want(404, "")
	send(part+"\"_doc\"\r\n\r\n{\"_rev\":\""+w.json()["rev"].(string)+"\",\"n\":2}\r\n--F--", "Referer", "http://example.com/form").want(201, "")
	if got := a.do("GET", "/db/d", "").json(); got["n"] != json.Number("2") || got["_attachments"] != nil {
		t.Errorf("document after _doc: %v", got)
	}
	a.do("POST", "/db/d", "x", "Content-Type", "text/plain", "Referer", "http://example.com/form").
		want(415, `{"error":"bad_content_type","reason":"Content-Type must be multipart/form-data"}`)
}

// TestManyDiffs has more rows than one page of _revs_diff.
func TestManyDiffs(t *testing.T) {
	a := newDB(t, "")
	var b strings.Builder
	b.WriteByte('{')
	for n := range 1501 {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"doc%05d":["1-%032x"]`, n, n)
	}
	b.WriteByte('}')
	for path, count := range map[string]func(map[string]any) int{
		"/db/_revs_diff":    func(m map[string]any) int { return len(m) },
		"/db/_missing_revs": func(m map[string]any) int { return len(m["missing_revs"].(map[string]any)) },
	} {
		if got := count(a.do("POST", path, b.String()).want(200, "").json()); got != 1501 {
			t.Errorf("%s: %d rows, want %d", path, got, 1501)
		}
	}
}

// TestControlCharacters is the numbered difference in how they are escaped.
func TestControlCharacters(t *testing.T) {
	a := newDB(t, "")
	a.put("/db/c", `{"a":"\u0000\u001F\u007f\u00E9\/","b":"\b\f\n\r\t"}`)
	if got, want := a.do("GET", "/db/c", "").Body, `"a":"\u0000\u001f`+"\x7f"+`é/","b":"\b\f\n\r\t"}`+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("came back as %s, want at the end %s", got, want)
	}
}

// TestJSONBodyLimit announces a body that would not fit into memory.
func TestJSONBodyLimit(t *testing.T) {
	a := newDB(t, "")
	for method, target := range map[string]string{"PUT": "/db/d", "POST": "/db/_bulk_docs"} {
		r := httptest.NewRequest(method, target, strings.NewReader("{}"))
		r.SetBasicAuth("adm", "pass")
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = 256<<20 + 1
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		answer{t, w.Code, w.Header(), w.Body.String()}.want(413, `{"error":"too_large","reason":"the request entity is too large (the limit is 268435456 bytes for what this path takes)"}`)
	}
}

// TestMaxConflicts shows what a replicator sees of a document with too many
// conflicts: a row that says so, at each request again, and nothing else.
func TestMaxConflicts(t *testing.T) { // difference 280
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "max_conflicts", Value: "2"})
	a.do("PUT", "/db", "").want(201, "")
	bulk := func(revs ...string) answer {
		var docs []string
		for _, rev := range revs {
			docs = append(docs, fmt.Sprintf(`{"_id":"d","_rev":%q}`, rev))
		}
		return a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`,{"_id":"other","_rev":"1-o"}]}`)
	}
	refused := `[{"id":"d","rev":"1-d","error":"too_many_conflicts","reason":"The document has 2 conflicts already, which is the most that it may have ([sectional] max_conflicts)."}]`
	bulk("1-a", "1-b", "1-c", "1-d").want(201, refused)
	bulk("1-a", "1-d").want(201, refused)
	a.do("GET", "/db/other", "").want(200, "")
	a.do("PUT", "/db/d?new_edits=false", `{"_rev":"1-e"}`).want(413, `{"error":"too_many_conflicts","reason":"The document has 2 conflicts already, which is the most that it may have ([sectional] max_conflicts)."}`)
	a.do("POST", "/db/_revs_diff", `{"d":["1-a","1-d"]}`).want(200, `{"d":{"missing":["1-d"]}}`)
	a.do("PUT", "/db/d?rev=1-a", `{"resolved":true}`).want(201, "")
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"d","_deleted":true,"_revisions":{"start":2,"ids":["f","b"]}}]}`).want(201, `[]`)
	bulk("1-d").want(201, refused)
	a.do("POST", "/db/_purge", `{"d":["2-f"]}`).want(201, "")
	bulk("1-d").want(201, "[]")
}

// TestBulkDocsRefusesOneByOne sends documents that are too large, each in a way of
// its own, beside others: they alone are refused. What is malformed still refuses
// the request, and nothing of it is stored.
func TestBulkDocsRefusesOneByOne(t *testing.T) { // difference 281
	a := newDB(t, "", config.Setting{Section: "couchdb", Key: "max_document_size", Value: "20"},
		config.Setting{Section: "couchdb", Key: "max_attachment_size", Value: "3"})
	for _, c := range []struct{ name, doc, row string }{
		{"document", `{"_id":"bad","text":"0123456789012345"}`, `{"id":"bad","error":"document_too_large","reason":"bad (the limit is 20 bytes: [couchdb] max_document_size)"}`},
		{"document, id last", `{"text":"0123456789012345","_id":"bad"}`, `{"id":"bad","error":"document_too_large","reason":"bad (the limit is 20 bytes: [couchdb] max_document_size)"}`},
		{"attachment", `{"_attachments":{"a":{"data":"YWJjZGVm"}},"_id":"bad"}`, `{"id":"bad","error":"attachment_too_large","reason":"a (the limit is 3 bytes: [couchdb] max_attachment_size)"}`},
		{"local document", `{"_id":"_local/bad","text":"0123456789012345"}`, `{"id":"_local/bad","error":"document_too_large","reason":"_local/bad (the limit is 20 bytes: [couchdb] max_document_size)"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a `+c.name+`"},`+c.doc+`,{"_id":"z `+c.name+`"}]}`)
			w.want(201, "")
			var rows []json.RawMessage
			if err := json.Unmarshal([]byte(w.Body), &rows); err != nil || len(rows) != 3 || string(rows[1]) != c.row {
				t.Fatalf("%s, %v", w.Body, err)
			}
			for _, id := range []string{"a%20", "z%20"} {
				a.do("GET", "/db/"+id+strings.ReplaceAll(c.name, " ", "%20"), "").want(200, "")
			}
			a.do("GET", "/db/bad", "").want(404, "")
			w = a.do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"whole"},`+c.doc+`]}`)
			if a.do("GET", "/db/whole", "").want(404, ""); !strings.Contains(w.Body, c.row) && !strings.Contains(w.Body, "Local documents") {
				t.Errorf("an atomic batch: %s", w.Body)
			}
		})
	}
	a.do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"bad","_rev":"3-c","text":"0123456789012345"},{"_id":"r","_rev":"1-a"}]}`).
		want(201, `[{"id":"bad","rev":"3-c","error":"document_too_large","reason":"bad (the limit is 20 bytes: [couchdb] max_document_size)"}]`)
	for _, bad := range []string{`{"_id":5}`, `{"_id":"_x"}`, `{"_id":"x","_rev":5}`, `{"_id":"x","_unknown":1}`, `5`, `{"_id":"x","n":}`, `{"_id":"x","_attachments":{"no":{"stub":true}}}`} {
		w := a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"never"},{"_id":"bad","text":"0123456789012345"},`+bad+`]}`)
		if w.Status != 400 && w.Status != 412 {
			t.Errorf("%s: %d %s", bad, w.Status, w.Body)
		}
		a.do("GET", "/db/never", "").want(404, "")
	}
}
