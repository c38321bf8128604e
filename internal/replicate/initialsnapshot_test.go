package replicate_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sectional/sectional/internal/replicate"
)

// TestFirstRun takes a snapshot the first time, with all figures, and goes on by
// the feed from a checkpoint like any other.
func TestFirstRun(t *testing.T) {
	w := newWorld(t)
	w.fill("a")
	w.OK("PUT", "/b/_design/v", `{"validate_doc_update":"function (doc) { if (doc._id === 'conflict') throw {forbidden: 'no'}; }"}`)
	var r record
	task := w.task(&r)
	task.SnapshotFrom = 10
	for i, c := range []struct{ checked, found, written, refused, documents int64 }{{18, 18, 16, 2, 17}, {1, 1, 1, 0, 0}} {
		s := w.run(task).Stats
		if s.RevisionsChecked != c.checked || s.MissingFound != c.found || s.DocsRead != c.found || s.DocsWritten != c.written ||
			s.DocWriteFailures != c.refused || s.Snapshot.Documents != c.documents {
			t.Errorf("%+v, want %+v", s, c)
		}
		if string(s.SourceSeq) != string(s.ThroughSeq) || string(s.CheckpointedSource) != string(s.ThroughSeq) {
			t.Errorf("sequences: %+v", s)
		}
		w.OK("PUT", fmt.Sprint("/a/new", i), "{}")
	}
	if got := r.summary(); len(r.failures) != 2 || !strings.Contains(got, "conflict 3-cc reading=false 0 forbidden: no") {
		t.Errorf("failures:\n%s", got)
	}
	for _, path := range []string{"/a/_local/test", "/b/_local/test"} {
		var c replicate.Checkpoint
		must(t, json.Unmarshal([]byte(w.OK("GET", path, "")), &c))
		if len(c.History) != 2 || c.History[1].DocsWritten != 16 || c.History[1].MissingFound != 18 {
			t.Errorf("%s: %+v", path, c)
		}
	}
	if list := w.OK("GET", "/b/_local_docs", ""); strings.Contains(list, ".snapshot") {
		t.Errorf("the mark stays: %s", list)
	}
}

// TestNoSnapshot goes by the protocol where a snapshot would bring too much, or a
// peer has none.
func TestNoSnapshot(t *testing.T) {
	w := newWorld(t)
	w.fill("a")
	w.OK("PUT", "/half", "")
	w.OK("POST", "/half/_bulk_docs", bulkOf(0, 12, 50))
	for name, choose := range map[string]func(*replicate.Task){
		"few documents":   func(t *replicate.Task) { t.SnapshotFrom = 0 },
		"ids":             func(t *replicate.Task) { t.DocIDs = []string{"gone"} },
		"a selector":      func(t *replicate.Task) { t.Selector = json.RawMessage(`{}`) },
		"a filter":        func(t *replicate.Task) { t.Filter = "_design" },
		"winners":         func(t *replicate.Task) { t.WinnersOnly = true },
		"no checkpoints":  func(t *replicate.Task) { t.NoCheckpoints = true },
		"a sequence":      func(t *replicate.Task) { t.SinceSeq = lastSeq(w, "a", 1) },
		"a full target":   func(t *replicate.Task) { t.Target = w.at("half") },
		"another source":  func(t *replicate.Task) { t.Source.Transport = unknown{t.Source.Transport, http.MethodHead} },
		"another target":  func(t *replicate.Task) { t.Target.Transport = unknown{t.Target.Transport, http.MethodHead} },
		"who may not":     func(t *replicate.Task) { t.Target.Transport = unknown{t.Target.Transport, http.MethodPost} },
		"who may not any": func(t *replicate.Task) { t.Source.Transport = unknown{t.Source.Transport, http.MethodGet} },
	} {
		t.Run(name, func(t *testing.T) {
			task := w.task(&record{})
			task.ID, task.CreateTarget, task.SnapshotFrom = strings.ReplaceAll(name, " ", "_"), true, 1
			task.Target = w.at("to_" + task.ID)
			choose(task)
			if s := w.run(task).Stats; s.Snapshot.Documents > 0 || s.RevisionsChecked == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// unknown answers requests for snapshots of one method as a CouchDB does.
type unknown struct {
	next   http.RoundTripper
	method string
}

func (u unknown) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == u.method && strings.HasSuffix(r.URL.Path, "/_snapshot") {
		return says(http.StatusNotFound)(u.next, r)
	}
	return u.next.RoundTrip(r)
}

// TestSnapshotsOfReaders carries over what the reader of a partition may see, into a
// database whose rules hold.
func TestSnapshotsOfReaders(t *testing.T) {
	w := newWorld(t)
	w.OK("PUT", "/p?partitioned=true", "")
	for i := range 20 {
		w.OK("PUT", fmt.Sprintf("/p/x:%d", i), `{}`)
		w.OK("PUT", fmt.Sprintf("/p/y:%d", i), `{"foreign":true}`)
	}
	w.OK("PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","password":"x","roles":[],"type":"user"}`)
	w.OK("PUT", "/p/_security", `{"members":{"roles":["nobody"]},"partitions":[{"who":{"names":["ann"]},"partition":"x","access":"read"}]}`)
	for name, want := range map[string]int64{"_partition": 20, "_owner": 0} { // which has no snapshots
		task := w.task(&record{})
		task.ID, task.Source, task.Target, task.SnapshotFrom = name, w.at("p/"+name+"/x"), w.at("to"+name), 1
		task.Source.User, task.Source.Password, task.CreateTarget = "ann", "x", true
		if s := w.run(task).Stats; s.Snapshot.Documents != want || s.DocsWritten != 20 {
			t.Errorf("%s: %+v", name, s)
		}
		if got := w.tree("to" + name); len(got) != 20 || strings.Contains(fmt.Sprint(got), "foreign") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestFaultOfTheTargetIsNoRefusal: an edit that the target can't take at the
// moment is carried again, and no bookmark passes it.
func TestFaultOfTheTargetIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fill("a")
		var r record
		task := w.task(&r)
		task.SnapshotFrom = 1
		faults := 0
		next := task.Target.Transport
		task.Target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/_snapshot") && faults < 3 {
				faults++
				return says(http.StatusServiceUnavailable)(next, r)
			}
			return next.RoundTrip(r)
		})
		if s := w.run(task).Stats; s.DocsWritten != 18 || len(r.failures) > 0 || faults != 3 {
			t.Errorf("%+v after %d faults\n%s", s, faults, r.summary())
		}
		w.same("a", "b")
	})
}

// TestPendingOfASnapshotThatGoesOn counts what runs before it carried as done.
func TestPendingOfASnapshotThatGoesOn(t *testing.T) {
	w := newWorld(t)
	w.fill("a")
	w.OK("POST", "/a/_bulk_docs", bulkOf(0, 1500, 1))
	task := w.task(&record{})
	task.SnapshotFrom, task.SnapshotBytes = 10, 1
	parts, next := 0, task.Source.Transport
	task.Source.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/_snapshot") {
			if parts++; parts == 2 {
				return says(http.StatusBadRequest)(next, r)
			}
		}
		return next.RoundTrip(r)
	})
	if _, err := task.Run(t.Context()); err == nil {
		t.Fatal("the second part was not refused")
	}
	s := w.run(task).Stats
	if s.Snapshot.Documents <= s.DocsRead || s.ChangesPending == nil || *s.ChangesPending != 0 {
		t.Errorf("%+v", s)
	}
	w.same("a", "b")
}
