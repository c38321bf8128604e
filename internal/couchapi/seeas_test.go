package couchapi_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/auth"
)

// TestSeeAs: an administrator who asks as somebody else is answered what that user would be, may
// change nothing, and nobody but administrators may ask so.
func TestSeeAs(t *testing.T) {
	a := newTestAPI(t)
	a.users("ann", "mia")
	a.do("PUT", "/parts?partitioned=true", "").want(201, "")
	a.do("PUT", "/parts/_security", `{"members":{"names":["mia"]},"partitions":[`+rule("*", "{name}", "write")+`]}`).want(200, "")
	a.do("POST", "/parts/_bulk_docs", `{"docs":[{"_id":"ann:1"},{"_id":"bob:1"}]}`).want(201, "")
	ann := []string{auth.AsHeader, "ann"}

	if got := a.do("GET", "/_session", "", ann...).want(200, "").Body; !strings.Contains(got, `"userCtx":{"name":"ann","roles":[]}`) {
		t.Error(got)
	}
	a.do("GET", "/parts/ann:1", "", ann...).want(200, "")
	a.do("GET", "/parts/bob:1", "", ann...).want(403, "")
	a.do("GET", "/parts/bob:1", "", auth.AsHeader, "mia").want(200, "")
	a.do("GET", "/parts/_all_docs", "", ann...).want(403, "")
	a.do("POST", "/parts/_partition/ann/_find", `{"selector":{}}`, ann...).want(200, "")
	a.do("POST", "/parts/_partition/bob/_find", `{"selector":{}}`, ann...).want(403, "")
	a.do("GET", "/_all_dbs", "", ann...).want(401, "")

	onlyReads := `{"error":"forbidden","reason":"As another user one can only read."}`
	for _, write := range [][3]string{
		{"PUT", "/parts/ann:2", `{}`}, {"POST", "/parts", `{"_id":"ann:2"}`}, {"POST", "/parts/_bulk_docs", `{"docs":[]}`}, {"DELETE", "/parts/ann:1?rev=1-a", ""},
		{"PUT", "/parts/_local/x", `{}`}, {"PUT", "/parts/_security", `{}`}, {"DELETE", "/parts", ""}, {"PUT", "/new", ""}, {"POST", "/parts/_index", `{}`},
		{"POST", "/_replicate", `{}`}, {"POST", "/_session", `{"name":"ann","password":"pw"}`}, {"DELETE", "/_session", ""}, {"POST", "/parts/_compact", `{}`},
	} {
		a.do(write[0], write[1], write[2], ann...).want(403, onlyReads)
	}
	a.do("GET", "/parts/_partition/ann/_changes", "", auth.AsHeader, "mia", "Authorization", basic("ann", "pw")).want(403, `{"error":"forbidden","reason":"Only server administrators see what others see."}`)
	a.do("GET", "/_session", "", auth.AsHeader, "mia", "Authorization", "").want(403, "")
	a.do("GET", "/_session", "", auth.AsHeader, "nobody%20there").want(400, `{"error":"bad_request","reason":"There is no user \"nobody there\"."}`)
	a.do("GET", "/_session", "", auth.AsHeader, "%").want(400, "")
}

// TestFeedSeenAs: a feed that an administrator follows as somebody else goes on as long as both may.
func TestFeedSeenAs(t *testing.T) {
	a := newTestAPI(t)
	a.users("ann")
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["ann"]}}`).want(200, "")
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/db/_changes?feed=continuous", nil)
	must(t, err)
	r.SetBasicAuth("adm", "pass")
	r.Header.Set(auth.AsHeader, "ann")
	w, err := http.DefaultClient.Do(r)
	must(t, err)
	t.Cleanup(func() { w.Body.Close() })
	rows := bufio.NewScanner(w.Body)
	a.do("PUT", "/db/first", "{}").want(201, "")
	if !rows.Scan() || !strings.Contains(rows.Text(), `"first"`) {
		t.Fatalf("%d %q: %v", w.StatusCode, rows.Text(), rows.Err())
	}
	a.do("PUT", "/db/_security", `{"members":{"names":["mia"]}}`).want(200, "")
	a.do("PUT", "/db/second", "{}").want(201, "")
	for rows.Scan() {
		if strings.Contains(rows.Text(), `"second"`) {
			t.Error("the feed went on without a right to it")
		}
	}
}
