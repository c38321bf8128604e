package couchapi_test

import (
	"strings"
	"testing"
)

// TestJavaScriptByAnyName has all that a design document may hold in JavaScript, under each name of the language.
func TestJavaScriptByAnyName(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/a", `{"n":1,"at":{"type":"Point","coordinates":[1,2]}}`).want(201, "")
	const members = `"views":{"v":{"map":"function(doc){ if (doc.n) emit(doc.n) }"}},"shows":{"s":"function(){ return 'shown' }"},
		"lists":{"l":"function(){ return 'listed' }"},"updates":{"u":"function(){ return [null, 'updated'] }"},"filters":{"f":"function(doc){ return doc.n > 0 }"},
		"rewrites":"function(){ return '_show/s' }","indexes":{"i":{"index":"function(doc){ if (doc.n) index('default', 'word') }"}},
		"nouveau":{"i":{"index":"function(doc){ if (doc.n) index('text', 'default', 'word') }"}},"st_indexes":{"g":{"index":"function(doc){ if (doc.at) st_index(doc.at) }"}},
		"validate_doc_update":"function(doc){ if (doc.bad) throw {forbidden: 'no'} }"`
	for name, language := range map[string]string{"none": "", "js": `"language":"javascript",`, "quick": `"language":"javascript_quickjs",`,
		"spider": `"language":"javascript_spidermonkey",`, "escaped": `"language":"java\u0073cript_quickjs",`} {
		d := "/db/_design/" + name
		rev := a.do("PUT", d, "{"+language+members+"}").want(201, "").json()["rev"].(string)
		for _, c := range []struct{ method, target, want string }{
			{"GET", d + "/_view/v", `"id":"a","key":1`},
			{"GET", d + "/_show/s", "shown"},
			{"GET", d + "/_list/l/v", "listed"},
			{"POST", d + "/_update/u", "updated"},
			{"GET", d + "/_rewrite/x", "shown"},
			{"GET", "/db/_changes?filter=" + name + "/f", `"id":"a"`},
			{"GET", "/db/_changes?filter=_view&view=" + name + "/v", `"id":"a"`},
			{"GET", d + "/_search/i?q=word", `"total_rows":1`},
			{"GET", d + "/_nouveau/i?q=word", `"total_hits":1`},
			{"GET", d + "/_geo/g?bbox=0,0,3,3", `"id":"a"`},
		} {
			if w := a.do(c.method, c.target, ""); w.Status != 200 || !strings.Contains(w.Body, c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.target, w.Status, w.Body)
			}
		}
		a.do("PUT", "/db/bad", `{"bad":true}`).want(403, `{"error":"forbidden","reason":"no"}`)
		if got := a.do("PUT", "/db/_design/broken", "{"+language+`"views":{"v":{"map":"no function"}}}`).want(400, "").json()["error"]; got != "compilation_error" {
			t.Errorf("%s: a map function that does not compile: %v", name, got)
		}
		a.do("DELETE", d+"?rev="+rev, "").want(200, "")
	}
}

// TestValidatorsInOtherLanguages holds that a validation function that nothing can run is not stored: nobody could write any more.
func TestValidatorsInOtherLanguages(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, language := range []string{"cobol", "query", "JavaScript", "", "erlang"} {
		design := `"language":"` + language + `","validate_doc_update":"STOP RUN."`
		refusal := `{"error":"invalid_design_doc","reason":"` + "`validate_doc_update` can't be run: the language `" + language + "` is not known" + `"}`
		a.do("PUT", "/db/_design/v", `{`+design+`}`).want(400, refusal)
		for _, bulk := range []string{`{"docs":[{"_id":"_design/v",` + design + `}]}`, `{"new_edits":false,"docs":[{"_id":"_design/v","_rev":"1-abc",` + design + `}]}`} {
			if w := a.do("POST", "/db/_bulk_docs", bulk); !strings.Contains(w.Body, "invalid_design_doc") {
				t.Errorf("%s: %s", bulk, w.Body)
			}
		}
		a.do("GET", "/db/_design/v", "").want(404, "")
		a.do("PUT", "/db/_design/other", `{"language":"`+language+`"}`).want(201, "")
		rev := a.do("GET", "/db/_design/other", "").json()["_rev"].(string)
		a.do("DELETE", "/db/_design/other?rev="+rev, "").want(200, "")
	}
	a.do("PUT", "/db/x", `{}`).want(201, "")
}
