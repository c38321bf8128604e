package replicate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a server whose databases are replicated.
type world struct {
	*apitest.Server
	t testing.TB
}

// newWorld makes a server with the databases a and b.
func newWorld(t testing.TB) *world {
	w := &world{apitest.New(t), t}
	w.OK("PUT", "/a", "")
	w.OK("PUT", "/b", "")
	return w
}

// at is a database of the server as an endpoint.
func (w *world) at(path string) replicate.Address {
	return replicate.Address{URL: "http://sectional.test/" + path, User: "adm", Password: "pass", Transport: &replicate.Local{Handler: w}}
}

// record keeps what a task reports.
type record struct {
	sync.Mutex
	stats    []replicate.Stats
	failures []replicate.Failure
}

// summary returns the failures as lines, without times.
func (r *record) summary() string {
	var b strings.Builder
	for _, f := range r.failures {
		fmt.Fprintf(&b, "%s %s reading=%v %d %s: %s\n", f.ID, f.Rev, f.Reading, f.Status, f.Code, f.Reason)
	}
	return b.String()
}

// task makes a task from a to b that reports to r.
func (w *world) task(r *record) *replicate.Task {
	return &replicate.Task{ID: "test", Source: w.at("a"), Target: w.at("b"),
		Report: func(s replicate.Stats) { r.stats = append(r.stats, s) },
		Failed: func(f replicate.Failure) { r.failures = append(r.failures, f) }}
}

// run runs a task that has to succeed.
func (w *world) run(task *replicate.Task) *replicate.Result {
	w.t.Helper()
	result, err := task.Run(context.Background())
	if err != nil {
		w.t.Fatalf("the replication failed: %v", err)
	}
	return result
}

// tree is all leaves of all documents of a database, with their histories,
// attachments and bodies.
func (w *world) tree(path string) map[string]any {
	w.t.Helper()
	var feed struct {
		Results []struct {
			ID      string
			Changes []struct{ Rev string }
		}
	}
	must(w.t, json.Unmarshal([]byte(w.OK("GET", "/"+path+"/_changes?style=all_docs", "")), &feed))
	all := map[string]any{}
	for _, row := range feed.Results {
		id := strings.ReplaceAll(url.PathEscape(row.ID), "+", "%2B")
		id = strings.Replace(id, "_design%2F", "_design/", 1)
		answer := w.OK("GET", "/"+path+"/"+id+"?open_revs=all&revs=true&attachments=true", "", "Accept", "application/json")
		var leaves any
		must(w.t, json.Unmarshal([]byte(answer), &leaves))
		winner := w.Do("GET", "/"+path+"/"+id, "")
		all[row.ID] = []any{leaves, winner.Header().Get("Etag")}
	}
	return all
}

// same fails the test unless two databases hold the same.
func (w *world) same(a, b string) {
	w.t.Helper()
	if diff := cmp.Diff(w.tree(a), w.tree(b)); diff != "" {
		w.t.Fatalf("%s and %s differ (-%s +%s):\n%s", a, b, a, b, diff)
	}
}
