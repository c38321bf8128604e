package couchapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestPartitionsDoNotWaitForOthers asks for a partition's view while the index can't be built, since the function
// hangs for documents of another partition: the answers are those of an index that is built. What is
// written in between is in them.
func TestPartitionsDoNotWaitForOthers(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "600000"})
	for _, db := range []string{"hangs", "good"} {
		a.do("PUT", "/"+db+"?partitioned=true", "").want(201, "")
		var docs []string
		for n := range 60 {
			docs = append(docs, fmt.Sprintf(`{"_id":"%c:%d","n":%d,"v":%g}`, 'a'+n%2, n, n%7, float64(n)/10))
		}
		docs = append(docs, fmt.Sprintf(`{"_id":"z:1","hang":%t}`, db == "hangs"))
		a.do("POST", "/"+db+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
		emits := "function(doc){ if (doc.hang) for (;;); emit(doc.n, doc.v); if (doc.n == 3) emit([doc.n, doc._id], {_id: 'a:2'}) }"
		a.do("PUT", "/"+db+"/_design/d", viewDesign(map[string][2]string{
			"plain": {emits, ""}, "stats": {"function(doc){ if (doc.hang) for (;;); emit([doc.n, doc.v], doc.v) }", "_stats"},
			"custom": {"function(doc){ if (doc.hang) for (;;); emit(doc.n, doc.v) }", "function(k, v, again){ return again ? v.reduce(function(a, b){ return a + b }) : v.length }"},
		})).want(201, "")
	}
	same := func(path string) {
		t.Helper()
		want, got := a.do("GET", "/good"+path, ""), a.do("GET", "/hangs"+path, "")
		if want.Status != got.Status || want.Body != got.Body {
			t.Errorf("%s: %d %s\nwhat is built gives %d %s", path, got.Status, got.Body, want.Status, want.Body)
		}
		if want.Status == 200 && got.Header.Get("Etag") != "" {
			t.Errorf("%s has an ETag, which would stay when the partition changes", path)
		}
	}
	for _, p := range []string{"a", "b", "none"} {
		view := "/_partition/" + p + "/_design/d/_view/"
		for _, query := range []string{"", "descending=true", "limit=3&skip=2", "skip=100", "key=3", "keys=[5,1,99]", "startkey=2&endkey=4", "startkey=2&endkey=4&inclusive_end=false",
			"include_docs=true&limit=4", "startkey=3&startkey_docid=a:10", "sorted=false", "limit=0", "startkey=9&endkey=1", "update_seq=false"} {
			same(view + "plain?" + query)
		}
		for _, query := range []string{"", "group=true", "group_level=1", "group_level=1&descending=true", "group=true&limit=2&skip=1", "reduce=false", "startkey=[2]&endkey=[4,{}]", "keys=" + url.QueryEscape("[[1,0.1]]") + "&group=true"} {
			same(view + "stats?" + query)
		}
		for _, query := range []string{"", "group=true", "reduce=false&limit=2", "key=3"} {
			same(view + "custom?" + query)
		}
	}
	same("/_partition/a/_design/d/_view/plain?group=true") // a 400
	for _, db := range []string{"good", "hangs"} {
		a.do("PUT", "/"+db+"/a:new", `{"n":3,"v":1}`).want(201, "")
		a.do("DELETE", "/"+db+"/a:2?rev="+a.do("GET", "/"+db+"/a:2", "").json()["_rev"].(string), "").want(200, "")
	}
	same("/_partition/a/_design/d/_view/plain?include_docs=true")
	if w := a.do("GET", "/hangs/_partition/z/_design/d/_view/plain?update=false", ""); w.Status != 200 {
		t.Errorf("without update: %d %s", w.Status, w.Body)
	}
	a.do("DELETE", "/hangs/_partition/b", "").want(202, "")
	if got := a.do("GET", "/hangs/_partition/b/_design/d/_view/plain", "").rows(); got != "" {
		t.Errorf("a partition that is being dropped: %s", got)
	}
}
