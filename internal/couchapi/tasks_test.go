package couchapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestActiveTasksShowBuilds asks for the builds while one stands still: its
// function hangs from the 1,000th document on, so that one page of two is done, which is
// large enough to be written at once.
func TestActiveTasksShowBuilds(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "os_process_timeout", Value: "600000"})
	a.do("PUT", "/db", "").want(201, "")
	var docs []string
	for i := range 1500 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%04d","n":%d}`, i, i))
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "")
	a.do("PUT", "/db/_design/slow", `{"views":{"v":{"map":"function (doc) { if (doc.n >= 1000) { for (;;) {} } emit(doc.n, 'x'.repeat(9000)); }"}}}`).want(201, "")
	var list []any
	for len(list) == 0 || !strings.Contains(fmt.Sprint(list), "changes_done:1000") {
		list, _ = fromJSON(t, a.do("GET", "/_active_tasks", "").want(200, "").Body).([]any)
	}
	if len(list) != 1 {
		t.Fatalf("the tasks are %v", list)
	}
	task, _ := list[0].(map[string]any)
	for name, want := range map[string]string{
		"type": "indexer", "database": "db", "design_document": "_design/slow", "changes_done": "1000", "total_changes": "1501", "progress": "66",
	} {
		if fmt.Sprint(task[name]) != want {
			t.Errorf("%s is %v, not %v", name, task[name], want)
		}
	}
	a.do("DELETE", "/db/_design/slow?rev="+a.do("GET", "/db/_design/slow", "").json()["_rev"].(string), "").want(200, "")
}
