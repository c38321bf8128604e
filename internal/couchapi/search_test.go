package couchapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestAnalyzeIsBounded: a text whose terms would take much memory is refused.
func TestAnalyzeIsBounded(t *testing.T) {
	a := newTestAPI(t)
	a.do("POST", "/_search_analyze", `{"analyzer":"whitespace","text":"`+strings.Repeat("a ", 1<<19)+`a"}`).want(413, `{"error":"too_large","reason":"text parameter must not have more than 1048576 bytes"}`)
	a.do("POST", "/_search_analyze", `{"analyzer":"whitespace","text":"`+strings.Repeat("a", 1<<18)+`"}`).want(200, "")
}

// TestSearchPages walks through the pages of a search by their bookmarks, while
// documents are written: each that was there at the beginning is there once.
func TestSearchPages(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", `{"indexes":{"i":{"analyzer":"keyword","index":"function(doc){ index('default', 'x'); index('n', doc.n, {store: true}); }"}}}`).want(201, "")
	var docs []string
	for i := range 60 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, i/2))
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	added := 0
	for _, sort := range []string{`"-n"`, `"n"`, `["-<score>"]`, `["n","-<score>"]`} {
		seen, bookmark := map[string]bool{}, ""
		for page := 0; ; page++ {
			answer := a.do("GET", "/db/_design/d/_search/i?q=x&limit=7&include_docs=true&sort="+url.QueryEscape(sort)+"&bookmark="+bookmark, "").want(200, "").json()
			rows := answer["rows"].([]any)
			for _, row := range rows {
				id := row.(map[string]any)["id"].(string)
				if seen[id] {
					t.Errorf("%s: %s is there twice", sort, id)
				}
				seen[id] = true
				if doc := row.(map[string]any)["doc"].(map[string]any); doc["_id"] != id {
					t.Errorf("%s: %s has the document %v", sort, id, doc["_id"])
				}
			}
			bookmark = answer["bookmark"].(string)
			if len(rows) < 7 {
				break
			}
			if !strings.Contains(sort, "score") { // which is another when there are more documents
				a.do("PUT", fmt.Sprintf("/db/between%d", added), `{"n":14.5}`).want(201, "")
				added++
			}
		}
		for i := range 60 {
			if id := fmt.Sprintf("%02d", i); !seen[id] {
				t.Errorf("%s: %s is missing", sort, id)
			}
		}
		if len(seen) > 60+added {
			t.Errorf("%s: %d rows, %d documents were added", sort, len(seen), added)
		}
	}
}

// TestSearchRights: who may not read a database, or only one of its partitions, finds
// nothing in the others.
func TestSearchRights(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	a.do("PUT", "/db/_design/p", `{"indexes":{"i":{"index":"function(doc){ index('default', doc.text); }"}}}`).want(201, "")
	a.do("PUT", "/db/_design/g", `{"options":{"partitioned":false},"indexes":{"i":{"index":"function(doc){ index('default', doc.text); }"}}}`).want(201, "")
	a.do("PUT", "/db/alice:1", `{"text":"secret"}`).want(201, "")
	a.do("PUT", "/db/bob:1", `{"text":"secret secret"}`).want(201, "")
	a.do("GET", "/db/_design/g/_search/i?q=secret", "", "Authorization", "").want(401, "")
	for _, path := range []string{"/db/_partition/alice/_design/p", "/db/_owner/alice/_design/p"} {
		before := a.do("GET", path+"/_search/i?q=secret", "").want(200, "").Body
		if !strings.Contains(before, `"total_rows":1`) || strings.Contains(before, "bob") {
			t.Errorf("%s: %s", path, before)
		}
		// Scores tell nothing of other partitions.
		a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"carol:`+strings.ReplaceAll(path, "/", "")+`","text":"secret of others"}]}`).want(201, "")
		if after := a.do("GET", path+"/_search/i?q=secret", "").want(200, "").Body; after != before {
			t.Errorf("%s: before %s, after %s", path, before, after)
		}
	}
}

// TestSearchOfOnePartition: whom a rule lets into a partition finds what is in it, and
// nothing else.
func TestSearchOfOnePartition(t *testing.T) {
	w := newOpaqueWorld(t)
	w.do("PUT", "/parts/_design/s", `{"indexes":{"i":{"index":"function(doc){ index('n', doc.n, {facet: true}); }"}}}`).want(201, "")
	w.do("PUT", "/parts/_design/g", `{"options":{"partitioned":false},"indexes":{"i":{"index":"function(doc){ index('n', doc.n); }"}}}`).want(201, "")
	for _, path := range []string{"/parts/_partition/alice/_design/s/_search/i?q=*:*", "/parts/_owner/alice/_design/s/_search/i?q=*:*"} {
		if got := w.as(readsOne, "GET", path+"&include_docs=true", "").want(200, "").Body; !strings.Contains(got, `"total_rows":1`) || strings.Contains(got, "bob") {
			t.Errorf("%s: %s", path, got)
		}
	}
	for _, path := range []string{"/parts/_partition/bob/_design/s/_search/i?q=*:*", "/parts/_owner/bob/_design/s/_search/i?q=*:*", "/parts/_design/s/_search/i?q=*:*&partition=bob",
		"/parts/_design/g/_search/i?q=*:*", "/parts/_design/s/_search_info/i", "/parts/_partition/alice/_design/s/_search_info/i"} {
		if got := w.as(readsOne, "GET", path, ""); got.Status != 403 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

// TestStaleSearch: stale=ok answers from what the index has, and a row whose document has
// gone since says so.
func TestStaleSearch(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", `{"autoupdate":false,"indexes":{"i":{"analyzer":"keyword","index":"function(doc){ index('default', 'x'); }"}}}`).want(201, "")
	rev := a.do("PUT", "/db/a", `{}`).want(201, "").json()["rev"].(string)
	const path = "/db/_design/d/_search/i?q=x"
	total := func(more string, want int) string {
		t.Helper()
		got := a.do("GET", path+more, "").want(200, "")
		if fmt.Sprint(got.json()["total_rows"]) != fmt.Sprint(want) {
			t.Errorf("%s: %s, want %v rows", more, got.Body, want)
		}
		return got.Body
	}
	total("&stale=ok", 0)
	total("", 1)
	a.do("PUT", "/db/b", `{}`).want(201, "")
	total("&stale=ok", 1)
	total("", 2)
	a.do("DELETE", "/db/a?rev="+rev, "").want(200, "")
	if body := total("&stale=ok&include_docs=true", 2); !strings.Contains(body, `"fields":{},"error":"not_found"}`) {
		t.Errorf("a document that has gone: %s", body)
	}
	total("", 1)
	if head := a.do("HEAD", path, "").want(200, ""); head.Body != "" {
		t.Errorf("HEAD has a body: %s", head.Body)
	}
}
