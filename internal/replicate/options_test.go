package replicate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate"
)

// TestChoices replicates what the options choose.
func TestChoices(t *testing.T) {
	w := newWorld(t)
	w.OK("POST", "/a/_bulk_docs", `{"docs":[{"_id":"d1","kind":"odd"},{"_id":"d2","kind":"even"},{"_id":"d3","kind":"odd"}]}`)
	w.OK("PUT", "/a/_design/f", `{"filters":{"kind":"function(doc,req){return doc.kind==req.query.kind}"}}`)
	w.OK("POST", "/a/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"x","_rev":"2-aa","kind":"none"},{"_id":"x","_rev":"2-bb","kind":"none"}]}`)
	for i, c := range []struct {
		name   string
		choose func(*replicate.Task)
		want   string
	}{
		{"doc_ids", func(t *replicate.Task) { t.DocIDs = []string{"d1", "d3", "absent"} }, "d1 d3"},
		{"no doc_ids", func(t *replicate.Task) { t.DocIDs = []string{} }, ""},
		{"selector", func(t *replicate.Task) { t.Selector = json.RawMessage(`{"kind":"even"}`) }, "d2"},
		{"filter", func(t *replicate.Task) { t.Filter, t.FilterParams = "f/kind", url.Values{"kind": {"odd"}} }, "d1 d3"},
		{"winners", func(t *replicate.Task) { t.WinnersOnly, t.DocIDs = true, []string{"x"} }, "x"},
		{"since", func(t *replicate.Task) { t.SinceSeq = lastSeq(w, "a", 4) }, "x"},
		{"alone", func(t *replicate.Task) { t.NoBulkGet = true }, "_design/f d1 d2 d3 x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r record
			task := w.task(&r)
			target := fmt.Sprint("to", i)
			task.ID, task.CreateTarget, task.Target = target, true, w.at(target)
			c.choose(task)
			for range 2 {
				w.run(task)
			}
			tree := w.tree(target)
			ids := []string{}
			for id := range tree {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			if got := strings.Join(ids, " "); got != c.want || len(r.failures) > 0 {
				t.Errorf("got %q, want %q; failures:\n%s", got, c.want, r.summary())
			}
			if tree["x"] != nil && !task.WinnersOnly && !strings.Contains(fmt.Sprint(tree["x"]), "2-aa") {
				t.Errorf("a conflict stayed behind: %v", tree["x"])
			}
			if tree["x"] != nil && task.WinnersOnly && strings.Contains(fmt.Sprint(tree["x"]), "2-aa") {
				t.Errorf("a conflict came along: %v", tree["x"])
			}
		})
	}
}

// lastSeq returns the sequence of the n-th row of a feed.
func lastSeq(w *world, path string, n int) string {
	var feed struct {
		LastSeq string `json:"last_seq"`
	}
	must(w.t, json.Unmarshal([]byte(w.OK("GET", fmt.Sprintf("/%s/_changes?limit=%d", path, n), "")), &feed))
	return feed.LastSeq
}

// TestAnswers compares what _replicate answers with what CouchDB 3.5.2 does.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	session := []string{"bulk_get_attempts", "bulk_get_docs", "doc_write_failures", "docs_read", "docs_written", "end_last_seq", "end_time",
		"missing_checked", "missing_found", "recorded_seq", "session_id", "start_last_seq", "start_time"}
	for _, c := range []struct {
		name   string
		choose func(*replicate.Task)
		docs   string
		want   []string
	}{
		{"an empty database", func(t *replicate.Task) {}, ``, []string{"no_changes", "ok"}},
		{"the first time", func(t *replicate.Task) {}, `{"docs":[{"_id":"d"}]}`, []string{"history", "ok", "replication_id_version", "session_id", "source_last_seq"}},
		{"again", func(t *replicate.Task) {}, ``, []string{"history", "no_changes", "ok", "replication_id_version", "session_id", "source_last_seq"}},
		{"doc_ids", func(t *replicate.Task) { t.ID, t.DocIDs = "ids", []string{"d"} }, ``, []string{"doc_write_failures", "docs_read", "docs_written", "end_time",
			"history", "ok", "replication_id_version", "session_id", "source_last_seq", "start_time"}},
		{"without checkpoints", func(t *replicate.Task) { t.NoCheckpoints = true }, ``, []string{"ok", "use_checkpoints"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.docs != "" {
				w.OK("POST", "/a/_bulk_docs", c.docs)
			}
			task := w.task(&record{})
			c.choose(task)
			raw, err := w.run(task).AppendJSON(nil)
			must(t, err)
			var answer map[string]json.RawMessage
			must(t, json.Unmarshal(raw, &answer))
			if diff := cmp.Diff(c.want, keys(answer)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			var history []map[string]json.RawMessage
			if answer["history"] != nil {
				must(t, json.Unmarshal(answer["history"], &history))
				if diff := cmp.Diff(session, keys(history[0])); diff != "" {
					t.Errorf("members of the history (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func keys(m map[string]json.RawMessage) []string {
	list := []string{}
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// TestEndpoints checks what is said to be wrong with an endpoint.
func TestEndpoints(t *testing.T) {
	w := newWorld(t)
	w.OK("PUT", "/closed", "")
	w.OK("PUT", "/closed/_security", `{"members":{"names":["nobody"]}}`)
	for name, c := range map[string]struct {
		choose func(*replicate.Task)
		kind   dberr.Kind
		want   string
	}{
		"no source":      {func(t *replicate.Task) { t.Source = w.at("none") }, dberr.NotFound, "db_not_found: could not open http://sectional.test/none/"},
		"no target":      {func(t *replicate.Task) { t.Target = w.at("none/") }, dberr.NotFound, "db_not_found: could not open http://sectional.test/none/"},
		"no credentials": {func(t *replicate.Task) { t.Source = w.at("closed"); t.Source.User = "" }, dberr.Unauthorized, "unauthorized: unauthorized to access or create database http://sectional.test/closed/"},
		"may not create": {func(t *replicate.Task) { t.Target = w.at("new"); t.Target.User, t.CreateTarget = "", true }, dberr.Unauthorized, "unauthorized: unauthorized to access or create database http://sectional.test/new/"},
	} {
		t.Run(name, func(t *testing.T) {
			task := w.task(&record{})
			c.choose(task)
			_, err := task.Run(context.Background())
			if !dberr.Is(err, c.kind) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	task := w.task(&record{})
	task.Target, task.CreateTarget, task.CreateParams = w.at("parted"), true, url.Values{"partitioned": {"true"}}
	w.run(task)
	w.run(task) // that it is there is fine
	if info := w.OK("GET", "/parted", ""); !strings.Contains(info, `"partitioned":true`) {
		t.Errorf("made %s", info)
	}
	task.Filter = "no/such"
	_, err := task.Run(context.Background())
	var peer *replicate.PeerError
	if !errors.As(err, &peer) || peer.Status != 404 || peer.Code != "not_found" {
		t.Errorf("a filter that is missing: %v", err)
	}
}

// TestReadOnlySource has a source that takes no checkpoint: the target's counts.
func TestReadOnlySource(t *testing.T) {
	w := newWorld(t)
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, 3, 10))
	next := w.at("a").Transport
	task := w.task(&record{})
	var asked []string
	task.Source.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.Method+" "+r.URL.Path+"?since="+r.URL.Query().Get("since"))
		if r.Method == "PUT" {
			return says(403)(nil, r)
		}
		return next.RoundTrip(r)
	})
	w.run(task)
	w.same("a", "b")
	if !strings.Contains(w.OK("GET", "/b/_local/test", ""), `"source_read_only":true`) {
		t.Errorf("got %s", w.OK("GET", "/b/_local/test", ""))
	}
	w.OK("PUT", "/a/more", "{}")
	asked = nil
	if result := w.run(task); result.Stats.RevisionsChecked != 1 {
		t.Errorf("checked %d revisions: %v", result.Stats.RevisionsChecked, asked)
	}
}

// TestMadeAnew drops the target and makes it again while a run goes on: the run
// stops, since what it wrote before is gone, and leaves no checkpoint there.
func TestMadeAnew(t *testing.T) {
	for _, database := range []string{"a", "b"} {
		t.Run(database, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.OK("POST", "/a/_bulk_docs", bulkOf(0, 3, 10))
				task := w.task(&record{})
				next := task.Target.Transport
				task.Target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, "_ensure_full_commit") {
						time.Sleep(time.Second) // in the test's own time
						w.OK("DELETE", "/"+database, "")
						w.OK("PUT", "/"+database, "")
					}
					return next.RoundTrip(r)
				})
				_, err := task.Run(context.Background())
				if !dberr.Is(err, dberr.Conflict) {
					t.Errorf("got %v", err)
				}
				for _, path := range []string{"/a/_local/test", "/b/_local/test"} {
					if answer := w.Do("GET", path, ""); answer.Code != 404 {
						t.Errorf("%s: %s", path, answer.Body)
					}
				}
			})
		})
	}
}

// TestContinuous follows a feed until it is told to end, and resumes.
func TestContinuous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		var r record
		task := w.task(&r)
		task.Continuous = true
		ended := make(chan error)
		go func() {
			_, err := task.Run(ctx)
			ended <- err
		}()
		for i := range 5 {
			w.OK("PUT", fmt.Sprintf("/a/doc%d", i), "{}")
			synctest.Wait()
			w.same("a", "b")
			time.Sleep(70 * time.Second) // in the test's own time: a checkpoint and heartbeats
		}
		w.OK("PUT", "/a/last", "{}")
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		last := r.stats[len(r.stats)-1]
		if last.DocsWritten != 6 || last.ChangesPending == nil || *last.ChangesPending != 0 || string(last.CheckpointedSource) != string(last.ThroughSeq) {
			t.Errorf("figures at the end: %+v", last)
		}
		task.Continuous = false
		if result := w.run(task); result.Stats.RevisionsChecked != 0 || !result.NoChanges {
			t.Errorf("the next run: %+v", result)
		}
	})
}

// TestRetryAfterIsHeeded measures, in the test's own time, how long a busy peer
// is left alone.
func TestRetryAfterIsHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.OK("PUT", "/a/doc", "{}")
		task := w.task(&record{})
		next := task.Target.Transport
		var busyUntil time.Time
		var early int
		task.Target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "_revs_diff") && busyUntil.IsZero() {
				busyUntil = time.Now().Add(100 * time.Second)
				return says(429, "Retry-After", "100")(nil, r)
			}
			if time.Now().Before(busyUntil) {
				early++
			}
			return next.RoundTrip(r)
		})
		w.run(task)
		if early > 0 || busyUntil.IsZero() || time.Since(busyUntil) < 0 {
			t.Errorf("the peer was asked %d times too early", early)
		}
	})
}
