package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/store"
)

const rdb = "_replicator"

func replication(source string, more ...string) string {
	return `{"source":"http://` + source + `","target":"here"` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// TestOneOffDocument runs a document to its end, which the document then shows.
func TestOneOffDocument(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put(rdb, "d", replication("u:SECRET@h/a"))
		w.start()
		if got := w.doc(rdb, "d"); got != "running 0 null" {
			t.Errorf("while it runs: %s", got)
		}
		w.running("h/a").Report(replicate.Stats{DocsRead: 3})
		if got := w.doc(rdb, "d"); !strings.HasPrefix(got, `running 0 {"revisions_checked":0,"missing_revisions_found":0,"docs_read":3,`) {
			t.Errorf("with figures: %s", got)
		}
		w.finish("h/a", nil)
		_, body := w.get(rdb, "d")
		for _, want := range []string{`"source":"http://u:SECRET@h/a"`, `"_replication_state":"completed"`, `"_replication_state_time":"2000-01-01T00:00:00Z"`,
			`"docs_written":7`, `"start_time":"2000-01-01T00:00:00Z"`} {
			if !strings.Contains(body, want) {
				t.Errorf("no %s in %s", want, body)
			}
		}
		if strings.Contains(body, "source_seq\":\"7") {
			t.Errorf("what is only told while it runs: %s", body)
		}
		if got := w.doc(rdb, "d"); !strings.HasPrefix(got, "completed 0 {") || strings.Contains(got, "start_time") {
			t.Errorf("at the end: %s", got)
		}
		if jobs := w.jobs(); len(jobs) != 0 {
			t.Errorf("a job is left: %v", jobs)
		}
		w.restart()
		if n := w.begun("h/a"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		// A document that loses its state is run again.
		w.put(rdb, "d", replication("h/a"))
		if n := w.begun("h/a"); n != 2 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// TestDocumentsChange: jobs follow what their documents say.
func TestDocumentsChange(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		first := w.running("h/a")
		if first == nil {
			t.Fatal("a new document starts nothing")
		}
		w.put(rdb, "d", replication("h/a", `"continuous":true`, `"remark":1`))
		if w.running("h/a") != first || w.begun("h/a") != 1 {
			t.Error("a remark begins the replication anew")
		}
		w.put(rdb, "d", replication("u:new@h/a", `"continuous":true`))
		if again := w.running("h/a"); again == nil || again == first || again.Source.Password != "new" {
			t.Error("a new password is not used")
		}
		w.put(rdb, "d", replication("h/b", `"continuous":true`))
		if w.running("h/a") != nil || w.running("h/b") == nil {
			t.Error("another source is not used")
		}
		w.put(rdb, "d", "")
		if w.running("h/b") != nil || len(w.jobs()) != 0 {
			t.Error("a deleted document's job goes on")
		}
		if got := w.doc(rdb, "d"); !strings.Contains(got, "not_found") {
			t.Errorf("the row of a deleted document: %s", got)
		}
	})
}

// TestReplicatorDatabasesComeAndGo: also those with a path are followed, and what
// a dropped one asked for ends.
func TestReplicatorDatabasesComeAndGo(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put("old/_replicator", "d", replication("h/old", `"continuous":true`))
		w.put("ordinary", "d", replication("h/ordinary"))
		w.start()
		w.put("new/_replicator", "d", replication("h/new", `"continuous":true`))
		for source, want := range map[string]bool{"h/old": true, "h/new": true, "h/ordinary": false} {
			if (w.running(source) != nil) != want {
				t.Errorf("%s runs: %v", source, !want)
			}
		}
		must(t, w.store.Drop(context.Background(), "new/_replicator"))
		if w.running("h/new") != nil {
			t.Error("a replication of a dropped database goes on")
		}
		w.put("new/_replicator", "d", replication("h/newer", `"continuous":true`))
		if w.running("h/newer") == nil {
			t.Error("a database made anew is not followed")
		}
		must(t, w.store.Drop(context.Background(), "old/_replicator"))
		w.put("old/_replicator", "e", replication("h/old", `"continuous":true`))
		if w.begun("h/old") != 2 {
			t.Error("the same replication in a new database does not run")
		}
	})
}

// TestCrashing: what fails is tried again, later each time, and is well again when
// it has run for a while.
func TestCrashing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put(rdb, "d", replication("h/a"))
		w.start()
		wait := 30 * time.Second // the random number is in the middle
		for n := 1; n <= 6; n++ {
			w.finish("h/a", errPeer)
			if got, want := w.doc(rdb, "d"), fmt.Sprintf(`crashing %d {"error":"the peer is down"}`, n); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			time.Sleep(wait - time.Second)
			if w.running("h/a") != nil {
				t.Fatalf("after %d crashes it waited for less than %s", n, wait)
			}
			time.Sleep(time.Second)
			if w.running("h/a") == nil {
				t.Fatalf("after %d crashes it does not run after %s", n, wait)
			}
			wait *= 2
		}
		if got := w.doc(rdb, "d"); !strings.HasPrefix(got, "running 6 ") {
			t.Errorf("while it runs again: %s", got)
		}
		time.Sleep(3 * time.Minute)
		w.finish("h/a", errPeer)
		if got := w.doc(rdb, "d"); !strings.HasPrefix(got, "crashing 0 ") {
			t.Errorf("after it had been well: %s", got)
		}
		time.Sleep(time.Minute)
		w.finish("h/a", nil)
		if got := w.doc(rdb, "d"); !strings.HasPrefix(got, "completed 0 ") {
			t.Errorf("in the end: %s", got)
		}
	})
}

func TestHistoryTellsOfTheJob(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put(rdb, "d", replication("u:SECRET@h/a", `"continuous":true`, `"create_target":true`, `"source_proxy":"http://p:SECRET@proxy"`))
		w.start()
		time.Sleep(10 * time.Second)
		w.finish("h/a", fmt.Errorf("no way"))
		row := w.jobs()[0]
		text, err := json.Marshal(row)
		must(t, err)
		want := `{"database":"_replicator","id":"` + row.ID + `","pid":null,"source":"http://h/a/","target":"here","user":"adm","doc_id":"d","info":null,` +
			`"history":[{"timestamp":"2000-01-01T00:00:10Z","type":"crashed","reason":"no way"},{"timestamp":"2000-01-01T00:00:00Z","type":"started"},` +
			`{"timestamp":"2000-01-01T00:00:00Z","type":"added"}],"node":"n","start_time":"2000-01-01T00:00:00Z"}`
		if string(text) != want || !strings.HasSuffix(row.ID, "+continuous+create_target") {
			t.Errorf("%s\nwant %s", text, want)
		}
		doc, err := w.Doc(context.Background(), w.database(rdb), "d")
		must(t, err)
		text, err = json.Marshal(doc)
		must(t, err)
		want = `{"database":"_replicator","doc_id":"d","id":"` + row.ID + `","node":"n","source":"http://h/a/","target":"here","state":"crashing","info":{"error":"no way"},` +
			`"error_count":1,"last_updated":"2000-01-01T00:00:10Z","start_time":"2000-01-01T00:00:00Z","source_proxy":"http://proxy","target_proxy":null}`
		if string(text) != want {
			t.Errorf("%s\nwant %s", text, want)
		}
	})
}

// TestDuplicates: of two documents that ask for the same, the second one fails for
// good; one that a request began already waits for it to end.
func TestDuplicates(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start()
		w.put(rdb, "a", replication("h/a"))
		id := w.jobs()[0].ID
		w.put("x/_replicator", "b", replication("u@h/a"))
		w.put("x/_replicator", "c", replication("h/a"))
		want := `failed 1 {"error":"Replication ` + "`" + id + "` specified by document `c` already started, triggered by document `a` from db `_replicator`" + `"}`
		if got := w.doc("x/_replicator", "c"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if _, body := w.get("x/_replicator", "c"); !strings.Contains(body, `"_replication_state":"failed"`) || !strings.Contains(body, `"_replication_state_reason":"Replication `) {
			t.Errorf("the document says %s", body)
		}
		if got := w.doc("x/_replicator", "b"); !strings.HasPrefix(got, "running") {
			t.Errorf("another user's: %s", got)
		}
		done := make(chan error, 1)
		go func() {
			_, err := w.Replicate(context.Background(), w.users["adm"], []byte(replication("h/t")))
			done <- err
		}()
		w.running("h/t")
		w.put(rdb, "t", replication("h/t"))
		if got := w.doc(rdb, "t"); !strings.HasPrefix(got, "error 1 ") || !strings.Contains(got, "already running as a transient replication, started via `_replicate` API endpoint") {
			t.Errorf("beside a transient one: %s", got)
		}
		w.finish("h/t", nil)
		must(t, <-done)
		time.Sleep(2 * time.Minute)
		if got := w.doc(rdb, "t"); !strings.HasPrefix(got, "running") {
			t.Errorf("after it: %s", got)
		}
	})
}

// TestBadDocuments: what came in by another way than the entry point, or under other
// settings, and can't be done is written into the document.
func TestBadDocuments(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put(rdb, "d", replication("h/a"))
		_, err := w.config.Set(config.Setting{Section: "replicator", Key: "valid_endpoint_protocols", Value: "https"}, false)
		must(t, err)
		w.start()
		if got := w.doc(rdb, "d"); got != `failed 1 {"error":"endpoint has an invalid url"}` {
			t.Errorf("%s", got)
		}
		if _, body := w.get(rdb, "d"); !strings.Contains(body, `"_replication_state_reason":"endpoint has an invalid url"`) {
			t.Errorf("the document says %s", body)
		}
	})
}

// TestTurnsPass: with more continuous jobs than may run all of them run in turn,
// and a job that is stopped ends before another one takes its place.
func TestTurnsPass(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for i := range 30 {
			w.put(rdb, fmt.Sprintf("d%02d", i), replication(fmt.Sprintf("h/%02d", i), `"continuous":true`))
		}
		w.start()
		for range 40 {
			synctest.Wait()
			w.runs.Lock()
			if n := len(w.runs.open); n != 5 {
				t.Fatalf("%d run", n)
			}
			w.runs.Unlock()
			time.Sleep(10 * time.Second)
		}
		for i := range 30 {
			if n := w.begun(fmt.Sprintf("h/%02d", i)); n < 2 || n > 8 {
				t.Errorf("%d had %d turns", i, n)
			}
		}
		rows, err := w.Docs(context.Background(), w.database(rdb), DocsQuery{Limit: -1, States: []string{"running"}})
		must(t, err)
		if len(rows.Docs) != 5 || rows.Total != 30 {
			t.Errorf("%d of %d documents are told to run", len(rows.Docs), rows.Total)
		}
	}, config.Setting{Section: "replicator", Key: "max_jobs", Value: "5"}, config.Setting{Section: "replicator", Key: "max_churn", Value: "3"},
		config.Setting{Section: "replicator", Key: "interval", Value: "10000"})
}

// TestRestartGoesOn: what was under way runs again, under the same id.
func TestRestartGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for i := range 250 { // more than one page
			w.put(rdb, fmt.Sprintf("d%03d", i), replication(fmt.Sprintf("h/%03d", i), `"continuous":true`))
		}
		w.start()
		before := w.jobs()
		w.restart()
		after := w.jobs()
		if len(before) != 250 || len(after) != 250 {
			t.Fatalf("%d jobs before, %d after", len(before), len(after))
		}
		for i := range before {
			if before[i].ID != after[i].ID || after[i].PID == nil {
				t.Errorf("%v became %v", before[i], after[i])
			}
		}
	})
}

func TestPurgedDocumentsGo(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		w.put(rdb, "e", replication("h/e", `"continuous":true`))
		w.start()
		rev, _ := w.get(rdb, "d")
		_, err := w.database(rdb).Purge(context.Background(), []store.Purging{{ID: "d", Revs: append(revs(), rev)}})
		must(t, err)
		time.Sleep(61 * time.Second)
		if w.running("h/a") != nil || w.running("h/e") == nil {
			t.Error("a purged document's job runs, or another one's does not")
		}
	})
}

// TestRows: documents in the order of their ids, as many as asked for.
func TestRows(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put(rdb, "_design/x", `{}`)
		for i := range 1100 {
			w.put(rdb, fmt.Sprintf("d%04d", i), `{"source":"http://u:SECRET@h/a","target":"b","_replication_state":"completed","_replication_state_time":"T"}`)
		}
		w.put(rdb, "x", replication("h/x", `"continuous":true`))
		w.start()
		for name, c := range map[string]struct {
			q           DocsQuery
			first, last string
			n, offset   int
		}{
			"all":       {DocsQuery{Limit: -1}, "d0000", "x", 1101, 0},
			"a few":     {DocsQuery{Limit: 3, Skip: 600}, "d0600", "d0602", 3, 600},
			"backwards": {DocsQuery{Limit: 2, Descending: true}, "x", "d1099", 2, 0},
			"running":   {DocsQuery{Limit: -1, States: []string{"running"}}, "x", "x", 1, 0},
			"none":      {DocsQuery{Limit: 0}, "", "", 0, 0},
			"beyond":    {DocsQuery{Limit: -1, Skip: 5000}, "", "", 0, 1101},
		} {
			rows, err := w.Docs(context.Background(), w.database(rdb), c.q)
			must(t, err)
			first, last := "", ""
			if n := len(rows.Docs); n > 0 {
				first, last = rows.Docs[0].DocID, rows.Docs[n-1].DocID
			}
			if len(rows.Docs) != c.n || rows.Total != 1101 || rows.Offset != c.offset || first != c.first || last != c.last {
				t.Errorf("%s: %d rows of %d from %d, %s to %s", name, len(rows.Docs), rows.Total, rows.Offset, first, last)
			}
			if text, _ := json.Marshal(rows); strings.Contains(string(text), "SECRET") {
				t.Errorf("%s shows a password", name)
			}
		}
	})
}
