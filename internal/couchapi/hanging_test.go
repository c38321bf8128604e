package couchapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/script"
)

// TestHangingViews asks for views whose functions hang, each in another way: they
// fail, which _info reports.
func TestHangingViews(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "300"})
	a.do("PUT", "/db", "").want(201, "")
	for n := range script.MaxStopped {
		a.do("PUT", fmt.Sprintf("/db/d%d", n), fmt.Sprintf(`{"n":%d}`, n)).want(201, "")
	}
	bodies := map[string]string{
		"loop": "for (;;);", "sort": "for (;;) new Array(1e6).fill(0).sort()", "pattern": `/^(a+)+\1$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab')`,
		"process": "eval('['.repeat(1e6))",
	}
	for name, body := range bodies {
		a.do("PUT", "/db/_design/"+name, viewDesign(map[string][2]string{"v": {"function(doc){ " + body + " }", ""}})).want(201, "")
	}
	for name := range bodies {
		first := a.do("GET", "/db/_design/"+name+"/_view/v", "")
		if first.Status != 500 || !strings.HasPrefix(first.Body, `{"error":"view_failed","reason":"The function had to be stopped for 5 documents and is not run any more.`) {
			t.Errorf("%s: %d %s", name, first.Status, first.Body)
		}
		a.do("GET", "/db/_design/"+name+"/_view/v?update=false", "").want(500, first.Body)
		info := a.do("GET", "/db/_design/"+name+"/_info", "").want(200, "").json()["view_index"].(map[string]any)
		if reason, _ := info["failed"].(string); reason == "" || !strings.Contains(first.Body, reason) {
			t.Errorf("%s: _info tells %v", name, info)
		}
	}
}

// TestDeepViews asks for views whose functions call themselves without end: those throw, and the
// other views of the design document are as they should be.
func TestDeepViews(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for n := range script.MaxStopped {
		a.do("PUT", fmt.Sprintf("/db/d%d", n), fmt.Sprintf(`{"n":%d}`, n)).want(201, "")
	}
	deep := viewDesign(map[string][2]string{"v": {"function f(doc){ return f(doc) }", ""}, "w": {"function(doc){ (function f(){ return 1 + f() })() }", ""}, "good": {"function(doc){ emit(doc.n) }", ""}})
	deep = strings.Replace(deep, "function f(doc)", "(function f(doc)", 1)
	deep = strings.Replace(deep, "return f(doc) }", "return f(doc) })", 1)
	a.do("PUT", "/db/_design/deep", deep).want(201, "")
	for name, want := range map[string]string{"v": "", "w": "", "good": "0=null 1=null 2=null 3=null 4=null"} {
		if got := a.do("GET", "/db/_design/deep/_view/"+name, "").rows(); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if info := a.do("GET", "/db/_design/deep/_info", "").want(200, "").json()["view_index"].(map[string]any); info["failed"] != nil {
		t.Errorf("what calls itself too often throws, as in CouchDB: %v", info)
	}
}

// TestHangingValidatorOfABatch has a validator that hangs for some documents of a
// request: the rest of the request is refused with the first of them, and the next request is not. A write of one document
// that hangs is refused in the same words.
func TestHangingValidatorOfABatch(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "1000"})
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/v", design("validate_doc_update", `function(n){ if (n.hang) for (;;); }`)).want(201, "")
	w := a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b","hang":true},{"_id":"c"},{"_id":"d","hang":true},{"_id":"e","hang":true}]}`).want(201, "")
	const refused = `"error":"os_process_error","reason":"The function did not end in time."`
	if strings.Count(w.Body, refused) != 4 || !strings.HasPrefix(w.Body, `[{"ok":true,"id":"a"`) {
		t.Error(w.Body)
	}
	a.do("PUT", "/db/c", `{}`).want(201, "")
	a.do("PUT", "/db/f", `{"hang":true}`).want(500, "{"+refused+"}")
	a.do("GET", "/db/f", "").want(404, "")
}

// TestHangingFunctionsHoldNobody has six databases whose validators and maps hang,
// called more often than there are processes: another database's writes are
// validated and its views built.
func TestHangingFunctionsHoldNobody(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "600000"})
	var hanging sync.WaitGroup
	for i := range 6 {
		db := fmt.Sprintf("/hangs%d", i)
		a.do("PUT", db, "").want(201, "")
		a.do("PUT", db+"/a", `{}`).want(201, "")
		a.do("PUT", db+"/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ for (;;); }", ""}}, `"validate_doc_update":"function(){ for (;;); }"`)).want(201, "")
		for k := range 4 {
			hanging.Go(func() {
				if w := a.do("PUT", fmt.Sprintf("%s/b%d", db, k), `{}`); w.Status < 500 {
					t.Errorf("a write that hangs: %d %s", w.Status, w.Body)
				}
			})
		}
	}
	a.do("PUT", "/good", "").want(201, "")
	a.do("PUT", "/good/_design/d", viewDesign(map[string][2]string{"v": {"function(doc){ emit(/x+/.test(doc._id.trim()), eval('1')) }", ""}},
		`"validate_doc_update":"function(n){ if (n.bad) throw {forbidden: 'no'} }"`)).want(201, "")
	for n := range 10 {
		a.do("PUT", fmt.Sprintf("/good/x%d", n), `{}`).want(201, "")
	}
	a.do("PUT", "/good/bad", `{"bad":true}`).want(403, "")
	if got := a.do("GET", "/good/_design/d/_view/v", "").rows(); got != strings.TrimSpace(strings.Repeat("true=1 ", 10)) {
		t.Error(got)
	}
	must(t, a.Scripts.Close()) // which ends what hangs
	hanging.Wait()
}
