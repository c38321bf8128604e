package couchapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestRequestTimeout has requests whose functions hang, and some that wait: the first are ended when their time is over and
// leave nothing, the others go on.
func TestRequestTimeout(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "600000"})
	a.fill("db")
	const hang = `"function(){ for (;;); }"`
	a.do("PUT", "/db/_design/d", `{"filters":{"f":`+hang+`},"updates":{"u":`+hang+`},"shows":{"s":`+hang+`},"lists":{"l":`+hang+`},"views":{"v":{"map":"function(d){ emit(1) }"}}}`).want(201, "")
	a.do("PUT", "/guarded", "").want(201, "")
	a.do("PUT", "/guarded/_design/v", `{"validate_doc_update":`+hang+`}`).want(201, "")
	a.do("GET", "/db/_design/d/_view/v", "").want(200, "")
	last := a.do("GET", "/db/_changes?limit=0&descending=true", "").json()["last_seq"].(string)
	a.set("sectional", "request_timeout", "1s")
	const timeout = `{"error":"timeout","reason":"The request could not be processed in a reasonable amount of time."}`
	requests := [][3]string{
		{"GET", "/db/_changes?filter=d/f", ""},
		{"POST", "/db/_design/d/_update/u", "{}"},
		{"GET", "/db/_design/d/_show/s", ""},
		{"GET", "/db/_design/d/_list/l/v", ""},
		{"PUT", "/guarded/a", "{}"},
		{"POST", "/guarded/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b"}]}`},
	}
	for _, q := range requests {
		if w := a.do(q[0], q[1], q[2]); w.Status != 500 || strings.TrimSpace(w.Body) != timeout {
			t.Errorf("%s %s: %d %s", q[0], q[1], w.Status, w.Body)
		}
	}
	a.do("GET", "/guarded/a", "").want(404, "")
	// What waits has until the end of what it waits for.
	if w := a.do("GET", "/db/_changes?feed=longpoll&timeout=2500&since="+last, ""); w.Status != 200 || !strings.Contains(w.Body, `"results":[`) {
		t.Errorf("a feed that waits: %d %s", w.Status, w.Body)
	}
	if text := a.do("GET", "/_node/_local/_prometheus", "").Body; !strings.Contains(text, fmt.Sprintf("sectional_requests_timed_out_total %d\n", len(requests))) {
		t.Error("they are not counted")
	}
}
