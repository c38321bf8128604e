package couchapi_test

import (
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestAtomicAcrossPartitions stores documents of several partitions, and a design document, all or none.
func TestAtomicAcrossPartitions(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	rev := a.put("/db/p:old", `{"n":1}`)
	a.do("POST", "/db/_bulk_docs", `{"atomic":"database","docs":[{"_id":"q:1"},{"_id":"p:old"},{"_id":"_design/d","views":{}}]}`).
		want(409, `{"error":"conflict","reason":"The batch was refused, nothing is stored.","results":[{"id":"q:1"},
			{"id":"p:old","error":"conflict","reason":"Document update conflict."},{"id":"_design/d"}]}`)
	a.do("GET", "/db/q:1", "").want(404, "")
	w := a.do("POST", "/db/_bulk_docs", `{"atomic":"database","docs":[{"_id":"q:1"},{"_id":"p:old","_rev":"`+rev+`","n":2},{"_id":"_design/d","views":{}}]}`)
	if w.want(201, ""); strings.Count(w.Body, `"ok":true`) != 3 {
		t.Errorf("results %s", w.Body)
	}
	a.do("GET", "/db/_partition/q", "").want(200, "")
	for _, body := range []string{`{"atomic":"database","new_edits":false,"docs":[{"_id":"p:9","_rev":"1-a"}]}`, `{"atomic":"all","docs":[]}`, `{"atomic":"database","docs":[{"_id":"x"}]}`} {
		a.do("POST", "/db/_bulk_docs", body).want(400, "")
	}
	a.do("POST", "/db/_bulk_docs", `{"atomic":"database","docs":[]}`).want(201, `[]`)
}

// TestAtomicRights has somebody try who may write one partition alone.
func TestAtomicRights(t *testing.T) {
	a := newDB(t, "?partitioned=true")
	alice := a.user("alice")
	a.do("PUT", "/db/_security", `{"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`).want(200, "")
	both := `{"atomic":"database","docs":[{"_id":"alice:1"},{"_id":"bob:1"}]}`
	a.do("POST", "/db/_bulk_docs", both, "Authorization", alice).want(403, "")
	a.do("POST", "/db/_partition/alice/_bulk_docs", both, "Authorization", alice).
		want(409, `{"error":"conflict","reason":"The batch was refused, nothing is stored.","results":[{"id":"alice:1"},
			{"id":"bob:1","error":"forbidden","reason":"The document 'bob:1' is not in this partition."}]}`)
	a.do("GET", "/db/alice:1", "").want(404, "")
	a.do("POST", "/db/_partition/alice/_bulk_docs", `{"atomic":"database","docs":[{"_id":"alice:1"},{"_id":"alice:2"}]}`, "Authorization", alice).want(201, "")
	a.do("POST", "/db/_owner/alice/_bulk_docs", `{"atomic":"database","docs":[{"_id":"3"},{"_id":"bob:1"}]}`, "Authorization", alice).want(201, "")
	a.do("GET", "/db/alice:bob:1", "").want(200, "")
	a.do("GET", "/db/bob:1", "").want(404, "")
}

// TestAtomicTooLarge names every document of a batch of which one is too large.
func TestAtomicTooLarge(t *testing.T) {
	a := newDB(t, "?partitioned=true", config.Setting{Section: "couchdb", Key: "max_document_size", Value: "100"})
	for _, how := range []string{`true`, `"database"`} {
		a.do("POST", "/db/_bulk_docs", `{"atomic":`+how+`,"docs":[{"_id":"p:1"},{"_id":"p:2","text":"`+strings.Repeat("x", 100)+`"},{"_id":"p:3"}]}`).
			want(409, `{"error":"conflict","reason":"The batch was refused, nothing is stored.","results":[{"id":"p:1"},
				{"id":"p:2","error":"document_too_large","reason":"p:2 (the limit is 100 bytes: [couchdb] max_document_size)"},{"id":"p:3"}]}`)
	}
}
