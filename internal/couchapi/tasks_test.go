package couchapi_test

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/testkit/testrun"
	"github.com/sectional/sectional/internal/web"
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

// TestSizesCompare shows that the sizes of a database are such as tools compare: the
// file is there from the beginning and larger than what is live in it.
func TestSizesCompare(t *testing.T) {
	testrun.Sequential(t)
	a := newDB(t, "")
	check := func(when string) {
		t.Helper()
		sizes := a.do("GET", "/db", "").want(200, "").json()["sizes"].(map[string]any)
		file, active := number(t, sizes["file"]), number(t, sizes["active"])
		if file <= 0 || active >= file || active > number(t, sizes["external"]) {
			t.Errorf("%s: %v", when, sizes)
		}
	}
	check("empty")
	line := strings.Repeat("the same again ", 1000)
	for i := range 200 {
		a.do("PUT", fmt.Sprintf("/db/%d", i), `{"text":"`+line+`"}`).want(201, "")
	}
	check("written")
	a.do("POST", "/db/_compact", "").want(202, "")
	a.API.Wait()
	check("compacted")
}

func number(t *testing.T, v any) int64 {
	t.Helper()
	n, err := v.(json.Number).Int64()
	must(t, err)
	return n
}

// TestViewCompaction shows that views give back what deleted documents took.
func TestViewCompaction(t *testing.T) {
	testrun.Sequential(t)
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ for (var i = 0; i < 20; i++) emit([doc.text, i], doc.text); }"}}}`)
	size := func(compact bool) (file, active int64) {
		t.Helper()
		a.do("GET", "/db/_design/d/_view/v?limit=0", "").want(200, "")
		if compact {
			a.do("POST", "/db/_compact/d", "").want(202, "")
			a.API.Wait()
		}
		info := a.do("GET", "/db/_design/d/_info", "").want(200, "").json()["view_index"].(map[string]any)
		if info["compact_running"] != false {
			t.Error("the compaction is said to run")
		}
		sizes := info["sizes"].(map[string]any)
		return number(t, sizes["file"]), number(t, sizes["active"])
	}
	var docs, gone []string
	for i := range 500 {
		text := strings.ReplaceAll(fmt.Sprintf("%x", md5.Sum([]byte{byte(i), byte(i >> 8)})), "0", "x")
		docs = append(docs, fmt.Sprintf(`{"_id":"%d","text":"%s"}`, i, text))
	}
	for i, row := range a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).want(201, "").list() {
		gone = append(gone, fmt.Sprintf(`{"_id":"%d","_rev":"%s","_deleted":true}`, i, row["rev"]))
	}
	young, _ := size(false)
	before, live := size(true)
	if before > young { // equal if the engine wrote its tables meanwhile
		t.Errorf("%d bytes before the first compaction, %d after", young, before)
	}
	if live <= 0 || live >= before {
		t.Errorf("%d of %d bytes are live", live, before)
	}
	a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(gone, ",")+`]}`).want(201, "")
	if after, _ := size(true); after*2 > before {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	a.do("POST", "/db/_compact/none", "").want(404, `{"error":"not_found","reason":"missing"}`)
}

// TestLazyUpdateBeginsAtOnce shows that the index is brought up to date when a query
// that does not wait for it is answered.
func TestLazyUpdateBeginsAtOnce(t *testing.T) {
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ emit(doc.n); }"}}}`)
	for i, query := range []string{"update=lazy", "stale=update_after"} {
		a.do("GET", "/db/_design/d/_view/v", "").want(200, "")
		a.do("PUT", fmt.Sprintf("/db/%d", i), `{}`).want(201, "")
		a.do("GET", "/db/_design/d/_view/v?"+query, "").want(200, "")
		a.API.Wait()
		info := a.do("GET", "/db/_design/d/_info", "").want(200, "").json()["view_index"].(map[string]any)
		if left := info["updates_pending"].(map[string]any)["total"]; fmt.Sprint(left) != "0" || info["updater_running"] != false {
			t.Errorf("%s: %v", query, info)
		}
		rows := a.do("GET", "/db/_design/d/_view/v?update=false", "").want(200, "").json()["rows"].([]any)
		if len(rows) != i+1 {
			t.Errorf("%s: %d rows", query, len(rows))
		}
	}
}

// TestTasksOfOtherServers has one server at work, which the other tells of with the first one's name, until it is done.
func TestTasksOfOtherServers(t *testing.T) {
	a := newSeveral(t, "model", 2)
	at, asked := a.on(0), a.on(1)
	ctx, stop := context.WithCancel(t.Context())
	var telling sync.WaitGroup
	telling.Go(func() { admin.PublishTasks(ctx, at.API) })
	defer telling.Wait()
	defer stop()
	done := make(chan struct{})
	at.API.Tasks.Start(web.Job{Kind: "database_compaction", Database: "db"}, "", func(context.Context) error {
		<-done
		return nil
	})
	asked.eventually("/_active_tasks", `"type":"database_compaction"`)
	if body := at.do("GET", "/_active_tasks", "").Body; strings.Count(body, "database_compaction") != 1 {
		t.Errorf("its own server tells of %s", body)
	}
	close(done)
	asked.eventually("/_active_tasks", "[]")
}
