package couchapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// refusing is a validator that refuses what is bad, deletions, and an
// attachment of a name.
const refusing = `function(n, o) {
	var files = n._attachments || {};
	if (n.bad || n._deleted || files.evil || o && o._attachments && !files.good) throw {forbidden: 'no'};
}`

func design(member, code string) string {
	return `{"` + member + `":` + string(couchhttp.AppendString(nil, code)) + `}`
}

// TestEveryEndpointIsValidated tries to write what the validator refuses in every
// way there is.
func TestEveryEndpointIsValidated(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	source := a.do("PUT", "/db/source", `{"bad":true}`).want(201, "").json()["rev"].(string)
	a.do("PUT", "/db/good", `{"_attachments":{"good":{"data":"AAAA"}}}`).want(201, "")
	rev, _ := a.do("GET", "/db/good", "").want(200, "").json()["_rev"].(string)
	a.do("PUT", "/db/_design/v", design("validate_doc_update", refusing)).want(201, "")
	a.do("PUT", "/db/_design/u", `{"updates":{"u":"function(doc){ return [{_id: 'up', bad: true}, 'x']; }"},
		"rewrites":[{"from":"/x","to":"../../rewritten"}]}`).want(201, "")
	const replica = `"_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	related := "--b\r\nContent-Type: application/json\r\n\r\n" +
		`{"_attachments":{"evil":{"follows":true,"content_type":"text/plain","length":2}}}` + "\r\n--b\r\n\r\nhi\r\n--b--"
	form := "--b\r\nContent-Disposition: form-data; name=\"_rev\"\r\n\r\n" + rev +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"evil\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--b--"
	for name, answer := range map[string]answer{
		"PUT":               a.do("PUT", "/db/new", `{"bad":true}`),
		"POST":              a.do("POST", "/db", `{"bad":true}`),
		"PATCH":             a.do("PATCH", "/db/good", `{"bad":true}`, "Content-Type", "application/merge-patch+json"),
		"COPY":              a.do("COPY", "/db/source", "", "Destination", "copied"),
		"DELETE":            a.do("DELETE", "/db/good?rev="+rev, ""),
		"PUT attachment":    a.do("PUT", "/db/good/evil?rev="+rev, "hi", "Content-Type", "text/plain"),
		"DELETE attachment": a.do("DELETE", "/db/good/good?rev="+rev, ""),
		"new attachment":    a.do("PUT", "/db/other/evil", "hi", "Content-Type", "text/plain"),
		"replicated":        a.do("PUT", "/db/replica?new_edits=false", `{`+replica+`,"bad":true}`),
		"update":            a.do("POST", "/db/_design/u/_update/u", ""),
		"rewrite":           a.do("PUT", "/db/_design/u/_rewrite/x", `{"bad":true}`),
		"related":           a.do("PUT", "/db/related", related, "Content-Type", `multipart/related; boundary="b"`),
		"form":              a.do("POST", "/db/good", form, "Content-Type", `multipart/form-data; boundary=b`, "Referer", "http://example.com/"),
		"over a bad one":    a.do("PUT", "/db/source?rev="+source, `{"bad":2}`),
	} {
		if answer.Status != http.StatusForbidden || !strings.Contains(answer.Body, `"reason":"no"`) {
			t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
		}
	}
	for name, body := range map[string]string{
		"bulk":       `{"docs":[{"_id":"b1","bad":true}]}`,
		"replicated": `{"new_edits":false,"docs":[{"_id":"b2",` + replica + `,"bad":true}]}`,
		"atomic":     `{"atomic":true,"docs":[{"_id":"b3"},{"_id":"b4","bad":true}]}`,
	} {
		if w := a.do("POST", "/db/_bulk_docs", body); !strings.Contains(w.Body, `"error":"forbidden","reason":"no"`) {
			t.Errorf("%s: %d %s", name, w.Status, w.Body)
		}
	}
	a.do("GET", "/db/_all_docs?startkey=%22a%22&endkey=%22z%22", "").want(200,
		`{"total_rows":4,"offset":2,"rows":[{"id":"good","key":"good","value":{"rev":"`+rev+`"}},{"id":"source","key":"source","value":{"rev":"`+source+`"}}]}`)
}

// TestValidatorIsAskedOncePerDocument has a validator that lets a document be
// changed only from what it is: two edits of it in one request meet it in turn.
func TestValidatorIsAskedOncePerDocument(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/v", design("validate_doc_update",
		`function(n, o){ if (n.n !== (o ? o.n + 1 : 0)) throw {forbidden: 'old is ' + (o ? o.n : 'none')}; }`)).want(201, "")
	a.do("PUT", "/db/x", `{"n":1}`).want(403, `{"error":"forbidden","reason":"old is none"}`)
	rev := a.do("PUT", "/db/x", `{"n":0}`).want(201, "").json()["rev"].(string)
	a.do("PUT", "/db/x?rev="+rev, `{"n":2}`).want(403, `{"error":"forbidden","reason":"old is 0"}`)
	w := a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"x","_rev":"`+rev+`","n":1},{"_id":"x","_rev":"`+rev+`","n":1},{"_id":"y","n":3}]}`).want(201, "")
	for _, part := range []string{`{"ok":true,"id":"x"`, `{"id":"x","error":"conflict"`, `{"id":"y","error":"forbidden","reason":"old is none"}`} {
		if !strings.Contains(w.Body, part) {
			t.Errorf("no %s in %s", part, w.Body)
		}
	}
}

// TestSlowValidator has a validator that never ends for some documents: writers of others do not wait.
func TestSlowValidator(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "600000"})
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/v", design("validate_doc_update", `function(n){ if (n.slow) for (;;); }`)).want(201, "")
	a.do("PUT", "/db/warm", `{}`).want(201, "")
	var slow [3]answer
	var wait sync.WaitGroup
	var ended atomic.Int32
	for i := range slow {
		wait.Go(func() {
			slow[i] = a.do("PUT", fmt.Sprintf("/db/slow%d", i), `{"slow":true}`)
			ended.Add(1)
		})
	}
	for i := range 5 {
		a.do("PUT", fmt.Sprintf("/db/quick%d", i), `{}`).want(201, "")
	}
	if ended.Load() > 0 {
		t.Error("the other writes waited for slow ones")
	}
	must(t, a.Scripts.Close()) // which ends what is slow
	wait.Wait()
	for _, w := range slow {
		if w.Status < 500 {
			t.Errorf("a write that does not end: %d %s", w.Status, w.Body)
		}
	}
	a.do("GET", "/db/slow0", "").want(404, "")
}

func TestUncompiledFunctions(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	w := a.do("PUT", "/db/_design/x", `{"views":{"v":{"map":"no function"}}}`).want(400, "").json()
	if reason := w["reason"].(string); w["error"] != "compilation_error" || !strings.HasPrefix(reason, "Compilation of the map function in the 'v' view failed: ") {
		t.Error(w)
	}
	w = a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"_design/y","views":{"v":{"map":"function(doc){}","reduce":"function("}}},{"_id":"z"}]}`).want(201, "").list()[0]
	if w["error"] != "compilation_error" {
		t.Error(w)
	}
	a.do("GET", "/db/z", "").want(200, "")
	a.do("PUT", "/db/_design/lisp", `{"language":"lisp","views":{"v":{"map":"(lambda (doc))"}}}`).want(201, "")
	a.do("PUT", "/db/_design/f", `{"filters":{"f":"not a function"}}`).want(201, "")
}

func TestCloudantDesignDocuments(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "limits", Value: "cloudant"})
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	for member, body := range map[string]string{
		"filters":             `{"filters":{}}`,
		"validate_doc_update": `{"validate_doc_update":"function(){}"}`,
		"updates":             `{"updates":{}}`,
		"lists":               `{"options":{"partitioned":true},"lists":{}}`,
		"shows":               `{"shows":{}}`,
		"rewrites":            `{"rewrites":[]}`,
		"st_indexes":          `{"st_indexes":{}}`,
		"reduce":              `{"views":{"v":{"map":"function(doc){}","reduce":"function(){}"}}}`,
	} {
		a.do("PUT", "/db/_design/x", body).want(400, `{"error":"invalid_design_doc","reason":"`+"`"+member+"`"+` cannot be used in a partitioned design doc"}`)
		a.do("PUT", "/db/_design/global-"+member, `{"options":{"partitioned":false},`+strings.TrimPrefix(strings.ReplaceAll(body, `"options":{"partitioned":true},`, ""), "{")).want(201, "")
	}
	views := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"v%d":{"map":"function(doc){}","reduce":"_count"}`, i))
		}
		return `{"views":{` + strings.Join(list, ",") + `}}`
	}
	a.do("PUT", "/db/_design/eight", views(8)).want(201, "")
	tooMany := `{"error":"invalid_design_doc","reason":"A database can have 10 partitioned indexes at most."}`
	a.do("PUT", "/db/_design/three", views(3)).want(400, tooMany)
	a.do("PUT", "/db/_design/two", views(2)).want(201, "")
	a.do("PUT", "/db/_design/one", views(1)).want(400, tooMany)
	a.do("PUT", "/db/_design/global", `{"options":{"partitioned":false},`+views(1)[1:]).want(201, "")
}

// TestPartitionedIndexesAreCounted lets many write design documents at the same
// time: together they get as many indexes as one alone.
func TestPartitionedIndexesAreCounted(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "limits", Value: "cloudant"})
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	var wait sync.WaitGroup
	var written atomic.Int32
	for i := range 24 {
		wait.Go(func() {
			if a.do("PUT", fmt.Sprintf("/db/_design/d%d", i), `{"views":{"v":{"map":"function(doc){}"}}}`).Status == http.StatusCreated {
				written.Add(1)
			}
		})
	}
	wait.Wait()
	if written.Load() != 10 {
		t.Errorf("%d indexes", written.Load())
	}
}

// TestReplicaThatIsThereAlready brings a revision again that a later validator
// would refuse: nothing is written, and nobody is asked.
func TestReplicaThatIsThereAlready(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	const body = `{"new_edits":false,"docs":[{"_id":"x","_rev":"2-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","_revisions":{"start":2,"ids":["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]},"bad":true}]}`
	a.do("POST", "/db/_bulk_docs", body).want(201, `[]`)
	a.do("PUT", "/db/_design/v", design("validate_doc_update", `function(n){ if (n.bad) throw {forbidden: {why: [n._revisions.start]}}; }`)).want(201, "")
	a.do("POST", "/db/_bulk_docs", body).want(201, `[]`)
	a.do("POST", "/db/_bulk_docs", strings.Replace(body, `"_id":"x"`, `"_id":"y"`, 1)).want(201,
		`[{"id":"y","rev":"2-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","error":"forbidden","reason":{"why":[2]}}]`)
}

// TestUsersAreValidated has a validator in _users, which sees a document as it
// will be stored.
func TestUsersAreValidated(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/_users/_design/v", design("validate_doc_update",
		`function(n, o, u){ if (n.password || !n.derived_key) throw {forbidden: 'the password'}; if (n.name == 'eve') throw {unauthorized: u.db}; }`)).want(201, "")
	a.do("PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","type":"user","roles":[],"password":"x"}`).want(201, "")
	a.do("PUT", "/_users/org.couchdb.user:eve", `{"name":"eve","type":"user","roles":[],"password":"x"}`).want(401, `{"error":"unauthorized","reason":"_users"}`)
}

// TestDesignDocumentsBesideTheirDocuments writes a validator and documents in
// one request, as a restored backup does: the function holds from then on.
func TestDesignDocumentsBesideTheirDocuments(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	w := a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"A"},{"_id":"_design/v","validate_doc_update":"function(){ throw {forbidden: 'no'}; }"},{"_id":"b"}]}`).want(201, "")
	for _, result := range w.list() {
		if result["ok"] != true {
			t.Error(result)
		}
	}
	a.do("PUT", "/db/c", `{}`).want(403, "")
}
