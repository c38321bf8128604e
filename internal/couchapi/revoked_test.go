package couchapi_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// requestsOfRevoked are requests whose rights are looked at by their first read or commit, or before it. %d is another
// number each time.
var requestsOfRevoked = []string{
	"GET /db/doc", "GET /db/none", "GET /db/_all_docs", "GET /db/_all_docs?limit=0", "GET /db/_changes", "GET /db/_changes?limit=0", "GET /db/_changes?feed=longpoll", "HEAD /db/_changes",
	"GET /db/_changes?filter=_view&view=v/v", "GET /db/_design/v/_view/v", "GET /db/_design/v/_view/v?limit=0", "GET /db/_design/v/_view/r", "GET /db/_design/none/_view/v",
	"GET /db/_all_docs?limit=x",
	"PUT /db/new%d {}", `PUT /db/doc {"is":"another"}`, `PUT /db/doc {"_rev":"1-x"}`, `PUT /db/doc {`, "PUT /db/_local/l%d {}", "PUT /db/_design/d%d {}", "PUT /db/_bad {}",
	`PUT /db/att%d {"_attachments":{"a":{"content_type":"text/plain","data":"aGkgYWxs"}}}`,
	`PUT /db/big%d {"_attachments":{"a":{"content_type":"text/plain","data":"LARGE"}}}`,
	"POST /db {}", `POST /db {"_id":"_local/p%d"}`,
	`POST /db/_bulk_docs {"docs":[{"_id":"b%d"},{"_id":"_local/b"},{"_id":"doc"}]}`,
	`POST /db/_bulk_docs {"docs":[{"_id":"_local/c%d"},{"_id":"_local/d"}]}`,
	`POST /db/_bulk_docs {"docs":[{"_id":"doc"}]}`, `POST /db/_bulk_docs {"docs":[]}`, `POST /db/_bulk_docs {"docs":[{"_id":"_local/x","_attachments":7}]}`,
	`POST /db/_bulk_docs {"docs":[{"_id":"r%d","_rev":"1-aa"}],"new_edits":false}`,
	`POST /db/_bulk_docs {"docs":[{"_id":"a%d"},{"_id":"doc"}],"atomic":true}`,
	`POST /db/_bulk_docs {"docs":[MANY]}`,
	"DELETE /db/doc?rev=1-x", "DELETE /db/none",
	`POST /db/_bulk_get {"docs":[{"id":"doc"}]}`, `POST /db/_bulk_get {"docs":[]}`, `POST /db/_revs_diff {"doc":["1-x"]}`, `POST /db/_revs_diff {}`, `POST /db/_missing_revs {"doc":["1-x"]}`,
	`POST /db/_all_docs {"keys":["doc"]}`, `POST /db/_all_docs {"keys":[]}`, `POST /db/_find {"selector":{}}`, `POST /db/_find {"selector":{},"limit":0}`, `POST /db/_find {"selector":{"n":1}}`,
	`POST /db/_changes?filter=_doc_ids {"doc_ids":["doc"]}`, `POST /db/_changes?filter=_doc_ids {"doc_ids":[]}`, `POST /db/_changes?filter=_selector {"selector":{"n":1}}`,
	`POST /db/_design/v/_view/v {"keys":[1]}`, `POST /db/_design/v/_view/v {"keys":[]}`,
}

// revocations take the right to the database from ann.
var revocations = map[string]struct {
	change []string
	status int
}{
	"security":         {[]string{`PUT /db/_security {"members":{"names":["eve"]}}`}, 403},
	"role":             {[]string{"EDIT " + annsTarget + ` {"roles":[]}`}, 403},
	"password":         {[]string{"EDIT " + annsTarget + ` {"password":"two"}`}, 401},
	"user deleted":     {[]string{"DELETE " + annsTarget}, 401},
	"database dropped": {[]string{"DELETE /db"}, 404},
	"database remade":  {[]string{"DELETE /db", "PUT /db", `PUT /db/_security {"members":{"names":["eve"]}}`}, 403},
}

// TestRevokedOverServers has one server told that somebody has no right any more, and another, which let her in before,
// asked right after: nothing is answered to her, and nothing of hers is stored.
func TestRevokedOverServers(t *testing.T) {
	for name, revoked := range revocations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newSeveral(t, "model", 2)
			for n, ask := range requestsOfRevoked {
				// Each has a database and a user of its own.
				own := strings.NewReplacer("/db", fmt.Sprint("/db", n), "ann", fmt.Sprint("ann", n)).Replace
				refusedAfter(t, a.on(0), a.on(1), ask, revoked.change, revoked.status, own)
			}
		})
	}
}

func refusedAfter(t *testing.T, told, asked *testAPI, ask string, change []string, status int, own func(string) string) {
	t.Helper()
	for _, r := range []string{"PUT " + annsTarget + " " + annsDocument, "PUT /db", `PUT /db/doc {"n":1}`, "PUT /db/_security " + crewSecurity,
		`PUT /db/_design/v {"views":{"v":{"map":"function(d){emit(1)}"},"r":{"map":"function(d){emit(1)}","reduce":"_count"}}}`} {
		told.must(own(r))
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf(`{"_id":"m%%d-%d","pad":"%s"}`, i, strings.Repeat("x", 2000)))
	}
	ask = strings.NewReplacer("MANY", strings.Join(many, ","), "LARGE", strings.Repeat("aGkgYWxs", 20000)).Replace(ask)
	asks := func(n int) answer {
		method, target, body := taken(strings.ReplaceAll(ask, "%d", fmt.Sprint(n)))
		return asked.do(method, own(target), body, "Authorization", basicOf(own("ann:one")), "Content-Type", "application/json")
	}
	for n := range 2 { // the second time from memory
		if got := asks(n); got.Status == 401 || got.Status == 403 && !strings.Contains(ask, "_design/d") {
			t.Fatalf("%.80s: %d %s", ask, got.Status, got.Body)
		}
	}
	for _, r := range change {
		told.must(own(r))
	}
	before := everything(told, own("/db"))
	if got := asks(3); got.Status != status {
		t.Errorf("%.80s: %d %s", ask, got.Status, got.Body)
	}
	if after := everything(told, own("/db")); after != before {
		t.Errorf("%.80s stored\n%s, before it was\n%s", ask, after, before)
	}
}

// everything is what the database has.
func everything(a *testAPI, db string) string {
	return a.do("GET", db+"/_all_docs", "").Body + a.do("GET", db+"/_local_docs", "").Body + a.do("GET", db+"/_changes", "").Body
}

// untaken is a body that notes whether anybody reads it.
type untaken struct{ taken int64 }

func (b *untaken) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	b.taken += int64(len(p))
	return len(p), nil
}

// TestBodiesOfRevoked: a body that is large, or may be, is taken from nobody who has no right to send it, also where the server remembers
// otherwise.
func TestBodiesOfRevoked(t *testing.T) {
	for _, ask := range []string{"PUT /db/doc", "POST /db", "POST /db/_bulk_docs", "POST /db/_bulk_get", "POST /db/_find", "POST /db/_all_docs", "POST /db/_changes", "POST /db/_design/v/_view/v"} {
		for _, from := range []struct {
			user     string
			length   int64
			encoding string
			status   int
		}{{"", 8 << 30, "", 401}, {"", 100, "", 401}, {"ann:two", 8 << 30, "", 401}, {"ann:two", 100, "", 401},
			{"ann:one", 8 << 30, "", 403}, {"ann:one", 2 << 20, "", 403}, {"ann:one", -1, "", 403}, {"ann:one", 1000, "gzip", 403}} {
			a := newSeveral(t, "model", 2)
			told, asked := a.on(0), a.on(1)
			for _, r := range []string{"PUT " + annsTarget + " " + annsDocument, "PUT /db", "PUT /db/_security " + crewSecurity} {
				told.must(r)
			}
			for range 2 {
				asked.do("GET", "/db/_all_docs", "", "Authorization", basicOf("ann:one")).want(200, "")
			}
			told.must(`PUT /db/_security {"members":{"names":["eve"]}}`)
			method, target, _ := taken(ask)
			body := &untaken{}
			r := httptest.NewRequest(method, target, io.NopCloser(body))
			r.ContentLength = from.length
			r.Header.Set("Content-Type", "application/json")
			if from.encoding != "" {
				r.Header.Set("Content-Encoding", from.encoding)
			}
			if from.user != "" {
				r.Header.Set("Authorization", basicOf(from.user))
			}
			w := httptest.NewRecorder()
			asked.ServeHTTP(w, r)
			if w.Code != from.status || body.taken > 0 {
				t.Errorf("%s, %d bytes %s from %q: %d, and %d bytes were taken", ask, from.length, from.encoding, from.user, w.Code, body.taken)
			}
		}
	}
}
