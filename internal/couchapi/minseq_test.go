package couchapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// lastSeqOf returns the last sequence of an endpoint, as clients see it.
func (a *testAPI) lastSeqOf(path string) string {
	a.t.Helper()
	return a.do("GET", path+"/_changes?since=now", "").want(200, "").json()["last_seq"].(string)
}

// TestWritesTellTheirSequence sends every kind of write and holds the header,
// and the member that ?seq=true asks for, against the feed.
func TestWritesTellTheirSequence(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "p:a")
	a.do("PUT", "/db/_design/d", `{"updates":{"u":"function(doc, req) { return [{_id: 'p:made'}, 'ok'] }"},"options":{"partitioned":false}}`).want(201, "")
	rev := func(id string) string {
		return "?rev=" + a.do("GET", "/db/"+id, "").want(200, "").json()["_rev"].(string)
	}
	for _, w := range []struct {
		method, path, body string
		header             []string
	}{
		{"PUT", "/db/p:b", `{}`, nil},
		{"PUT", "/db/p:c?batch=ok", `{}`, nil},
		{"POST", "/db", `{"_id":"p:d"}`, nil},
		{"PATCH", "/db/p:b", `{"n":1}`, nil},
		{"COPY", "/db/p:b", "", []string{"Destination", "q:copy"}},
		{"PUT", "/db/p:e/file", "text", []string{"Content-Type", "text/plain"}},
		{"DELETE", "/db/p:e/file$", "", nil},
		{"DELETE", "/db/p:d$", "", nil},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:f"},{"_id":"p:a"},{"_id":"p:g"}]}`, nil},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:h"},{"_id":"p:i"}],"atomic":true}`, nil},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:j","_rev":"2-b"}],"new_edits":false}`, nil},
		{"PUT", "/db/p:k?new_edits=false", `{"_rev":"1-a"}`, nil},
		{"POST", "/db/_index", `{"index":{"fields":["n"]}}`, nil},
		{"POST", "/db/_design/d/_update/u", "", nil},
	} {
		if path, ok := strings.CutSuffix(w.path, "$"); ok {
			id, _, _ := strings.Cut(strings.TrimPrefix(path, "/db/"), "/")
			w.path = path + rev(id)
		}
		got := a.do(w.method, w.path, w.body, w.header...)
		if got.Status >= 300 {
			t.Fatalf("%s %s: %d %s", w.method, w.path, got.Status, got.Body)
		}
		if want := a.lastSeqOf("/db"); got.Header.Get(couchhttp.SeqHeader) != want {
			t.Errorf("%s %s: the header is %q, the feed ends at %q", w.method, w.path, got.Header.Get(couchhttp.SeqHeader), want)
		}
		if strings.Contains(got.Body, `"seq"`) {
			t.Errorf("%s %s: a sequence that nobody asked for: %s", w.method, w.path, got.Body)
		}
	}
	known := a.do("PUT", "/db/p:k?new_edits=false&seq=true", `{"_rev":"1-a"}`).want(201, "")
	if q := known.Header.Get(couchhttp.SeqHeader); q == "" || q == a.lastSeqOf("/db") || known.json()["seq"] != q {
		t.Errorf("a revision that was there already: %q, %s", q, known.Body)
	}
}

func TestSequencesInBodies(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "p:a")
	for _, target := range []string{"/db/p:b?seq=true", "/db/p:c?batch=ok&seq=true"} {
		if got := a.do("PUT", target, `{}`); got.json()["seq"] != a.lastSeqOf("/db") {
			t.Errorf("PUT %s: %s", target, got.Body)
		}
	}
	rows := a.do("POST", "/db/_bulk_docs?seq=true", `{"docs":[{"_id":"p:z"},{"_id":"p:a"},{"_id":"p:y"}]}`).want(201, "").list()
	// Documents of a request are applied in the order of their ids.
	if rows[0]["seq"] != a.lastSeqOf("/db") || rows[1]["seq"] != nil || rows[2]["seq"] == nil || rows[2]["seq"] == rows[0]["seq"] {
		t.Errorf("rows of _bulk_docs: %v", rows)
	}
	for _, w := range [][3]string{
		{"PUT", "/db/p:b?seq=true", `{}`},
		{"PUT", "/db/_local/x?seq=true", `{}`},
		{"POST", "/db/_bulk_docs?seq=true", `{"docs":[{"_id":"p:new"},{"_id":"p:a"}],"atomic":true}`},
		{"GET", "/db/p:b?seq=true", ""},
	} {
		if got := a.do(w[0], w[1], w[2]); got.Header.Get(couchhttp.SeqHeader) != "" || strings.Contains(got.Body, `"seq"`) {
			t.Errorf("%s %s tells a sequence: %v %s", w[0], w[1], got.Header, got.Body)
		}
	}
}

// TestMinSeq asks every kind of reader for a sequence that is there, that never
// comes, and that can't be one.
func TestMinSeq(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "min_seq_wait", Value: "1ms"})
	a.fill("db", "p:a", "q:a")
	a.do("PUT", "/other?partitioned=true", "")
	foreign := a.do("PUT", "/other/p:a", `{}`).Header.Get(couchhttp.SeqHeader)
	a.do("PUT", "/db/p:a/file?rev="+a.do("GET", "/db/p:a", "").json()["_rev"].(string), "text").want(201, "")
	a.do("PUT", "/db/_design/d", `{"views":{"v":{"map":"function(doc) { emit(1) }"}},"options":{"partitioned":true}}`).want(201, "")
	seen := a.do("PUT", "/db/q:b", `{}`).Header.Get(couchhttp.SeqHeader)
	later := a.nextSeq("db")
	for _, read := range [][3]string{
		{"GET", "/db", ""}, {"GET", "/db/p:a", ""}, {"GET", "/db/p:a/file", ""}, {"GET", "/db/_all_docs", ""}, {"GET", "/db/_changes", ""},
		{"POST", "/db/_find", `{"selector":{}}`}, {"POST", "/db/_bulk_get", `{"docs":[{"id":"p:a"}]}`}, {"POST", "/db/_revs_diff", `{"p:a":["1-a"]}`},
		{"GET", "/db/_partition/p", ""}, {"GET", "/db/_partition/p/_all_docs", ""}, {"GET", "/db/_partition/p/_changes", ""},
		{"GET", "/db/_partition/p/_design/d/_view/v", ""}, {"POST", "/db/_partition/none/_find", `{"selector":{}}`},
	} {
		for q, want := range map[string]int{seen: 200, "0": 200, later: 503, foreign: 400, "": 400, "now": 400, "5": 400, "5-x": 400} {
			got := a.do(read[0], read[1]+"?min_seq="+q, read[2])
			if got.Status != want {
				t.Errorf("%s %s?min_seq=%s: %d %s", read[0], read[1], q, got.Status, got.Body)
			}
			if want == 503 {
				got.want(503, `{"error":"min_seq_not_seen","reason":"The sequence in `+"`min_seq`"+` has not been seen here yet."}`)
				if got.Header.Get("Retry-After") != "1" {
					t.Errorf("headers: %v", got.Header)
				}
			}
		}
	}
	a.do("GET", "/db/p:a?min_seq="+later, "", "Authorization", "").want(401, "")
}

// nextSeq returns the sequence that the next write to a database will have.
func (a *testAPI) nextSeq(name string) string {
	db, err := a.Store.Database(context.Background(), name)
	must(a.t, err)
	totals, err := db.Whole().Totals(context.Background())
	must(a.t, err)
	return db.Whole().FormatSeq(totals.Seq + 1)
}

// TestMinSeqWaits reads ahead of the writer: the answer has what was written.
func TestMinSeqWaits(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "min_seq_wait", Value: "3600"})
	a.fill("db", "p:a")
	for _, path := range []string{"/db/q:1", "/db/q:2", "/db/q:3"} {
		answers := make(chan answer)
		next := a.nextSeq("db")
		for _, endpoint := range []string{path + "?", "/db/_partition/q/_all_docs?"} {
			go func() { answers <- a.do("GET", endpoint+"min_seq="+next, "") }()
		}
		a.do("PUT", path, `{}`).want(201, "")
		for range 2 {
			if got := <-answers; got.Status != 200 || !strings.Contains(got.Body, strings.TrimPrefix(path, "/db/")) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}
	}
}

// TestMinSeqEnds ends requests that wait: the client goes, the database is
// dropped, the server stops.
func TestMinSeqEnds(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "min_seq_wait", Value: "3600"})
	a.fill("db", "p:a")
	next := a.nextSeq("db")
	gone, leave := context.WithCancel(context.Background())
	done := make(chan bool)
	go func() {
		h := httptest.NewRequest("GET", "/db?min_seq="+next, nil).WithContext(gone)
		h.SetBasicAuth("adm", "pass")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, h)
		done <- w.Code != 200
	}()
	leave()
	if !<-done {
		t.Error("answered what nobody waits for")
	}
	answers := make(chan answer)
	go func() { answers <- a.do("GET", "/db?min_seq="+next, "") }()
	a.do("DELETE", "/db", "").want(200, "")
	(<-answers).want(404, "")
	a.fill("db2", "p:a")
	next = a.nextSeq("db2")
	go func() { answers <- a.do("GET", "/db2?min_seq="+next, "") }()
	a.EndFeeds()
	(<-answers).want(503, "")
}
