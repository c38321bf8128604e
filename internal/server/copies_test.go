package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/store"
)

// manage runs ManageCopies with an answer to what it asks, and returns what it told and asked.
func manage(t *testing.T, o CopiesOptions, answer string) (out, asked string, err error) {
	t.Helper()
	var said, question bytes.Buffer
	o.In, o.Out, o.Err = strings.NewReader(answer), &said, &question
	err = ManageCopies(t.Context(), o)
	return said.String(), question.String(), err
}

// TestTakenBack moves a database and then everything, loses the targets, and takes both back.
func TestTakenBack(t *testing.T) {
	pg, one := ownDatabase(t), t.TempDir()
	r := start(t, Options{Data: one, User: "adm", Password: "pass"})
	r.send("PUT", "/db", "")
	r.send("PUT", "/db/x", "{}")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := copied(t, one, CopyRequest{To: pg.Postgres, Databases: []string{"db"}}); err != nil {
		t.Fatal(err)
	}
	if out, _, err := manage(t, CopiesOptions{Place: one}, ""); err != nil || !strings.Contains(out, "The database db has moved to the PostgreSQL server.") {
		t.Errorf("%s %v", out, err)
	}
	back := CopiesOptions{Place: one, Databases: []string{"db"}, TakeBack: true}
	if _, asked, err := manage(t, back, "yes\n"); !errors.Is(err, errUnconfirmed) || !strings.Contains(asked, "WARNING") {
		t.Errorf("%s %v", asked, err)
	}
	if out, _, err := manage(t, back, "db\n"); err != nil || !strings.Contains(out, "is here again") {
		t.Errorf("%s %v", out, err)
	}
	checkAll(t, one, EngineOptions{})

	two := t.TempDir() + "/two"
	if _, err := copied(t, pg.Postgres, CopyRequest{To: two}); err != nil {
		t.Fatal(err)
	}
	all := CopiesOptions{Place: pg.Postgres, TakeBack: true, Yes: true}
	if out, _, err := manage(t, all, ""); err != nil || !strings.Contains(out, "Everything is here again") {
		t.Errorf("%s %v", out, err)
	}
	if _, _, err := manage(t, all, ""); err == nil {
		t.Error("it was taken back twice")
	}
	if _, _, err := manage(t, CopiesOptions{Place: two, Abandon: true}, ""); err == nil {
		t.Error("a whole store was removed")
	}
	r = start(t, Options{Data: t.TempDir(), Store: pg, User: "adm", Password: "pass"})
	if status, body := r.send("PUT", "/db/y", "{}"); status != 201 {
		t.Errorf("%d %s", status, body)
	}
}

// shows asks until an answer has a text.
func (r *running) shows(path, text string) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		_, body := r.send("GET", path, "")
		if strings.Contains(body, text) {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("no %s in %s", text, body)
		}
	}
}

// TestCopiesHoldTheirWork copies subscriptions and replication documents: where the source goes on they wait at the copy, of one
// database and of everything, until somebody writes them again; after a move they go on.
func TestCopiesHoldTheirWork(t *testing.T) {
	heard := make(chan string, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if body, _ := io.ReadAll(q.Body); q.URL.Path == "/hook" {
			heard <- string(body)
			return
		}
		w.WriteHeader(http.StatusNotFound) // what replicates from here crashes
	}))
	defer receiver.Close()
	hear := func(t *testing.T, id string) {
		t.Helper()
		for timeout := time.After(time.Minute); ; {
			select {
			case text := <-heard:
				if strings.Contains(text, `"`+id+`"`) {
					return
				}
			case <-timeout:
				t.Fatalf("nobody is told of %s", id)
			}
		}
	}
	serve := func(t *testing.T, dir string) *running {
		t.Helper()
		return start(t, Options{Data: dir, User: "adm", Password: "pass", Config: configured(t, "[subscriptions]\nallow_private = true\n")})
	}
	subscription := fmt.Sprintf(`{"url":"%s/hook","secret":"0123456789abcdef","since":"0"}`, receiver.URL)
	replication := fmt.Sprintf(`"source":"%s/far","target":"db","continuous":true}`, receiver.URL)
	one := t.TempDir()
	r := serve(t, one)
	r.send("PUT", "/_replicator", "")
	for _, q := range [][3]string{
		{"PUT", "/db", ""}, {"PUT", "/db/early", "{}"}, {"PUT", "/db/_subscriptions/s", subscription}, {"PUT", "/_replicator/r", "{" + replication},
	} {
		if status, body := r.send(q[0], q[1], q[2]); status >= 300 {
			t.Fatalf("%v: %d %s", q, status, body)
		}
	}
	hear(t, "early")
	r.shows("/_scheduler/docs/_replicator/r", `"crashing"`)
	for what, databases := range map[string][]string{"everything": nil, "databases": {"_replicator", "db"}} {
		t.Run(what, func(t *testing.T) {
			two := t.TempDir() + "/two"
			if _, err := copied(t, one, CopyRequest{To: two, Keep: true, Databases: databases}); err != nil {
				t.Fatal(err)
			}
			c := serve(t, two)
			c.shows("/db/_subscriptions/s", `"status":"disabled","reason":"This is a copy`)
			c.shows("/_scheduler/docs/_replicator/r", "The document came with a copy")
			_, body := c.send("GET", "/_replicator/r", "")
			if strings.Contains(body, "_replication_state") {
				t.Errorf("the document was changed: %s", body)
			}
			c.send("PUT", "/db/late:"+what, "{}")
			c.send("PUT", "/db/_subscriptions/s", subscription)
			hear(t, "late:"+what)
			c.send("PUT", "/_replicator/r", fmt.Sprintf(`{"_rev":%q,`, member(t, body, "_rev"))+replication)
			c.shows("/_scheduler/docs/_replicator/r", `"crashing"`)
		})
	}
	r.send("PUT", "/db/on", "{}")
	hear(t, "on")
	three := t.TempDir() + "/three"
	if _, err := copied(t, one, CopyRequest{To: three, Databases: []string{"db"}}); err != nil {
		t.Fatal(err)
	}
	m := serve(t, three)
	m.send("PUT", "/db/moved", "{}")
	hear(t, "moved")
}

// TestPartsAreMentioned copies a database to where a copy of another one was interrupted, and does what it says of that.
func TestPartsAreMentioned(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()+"/two"
	r := start(t, Options{Data: one, User: "adm", Password: "pass"})
	r.send("PUT", "/db", "")
	r.send("PUT", "/other", "")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	func() {
		from, err := openPlace(t.Context(), one, true, true)
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := openPlace(t.Context(), two, false, false)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		c, err := store.PrepareCopy(t.Context(), from, to, "other")
		if err == nil {
			err = c.Begin(t.Context(), to, kvcopy.Settled)
		}
		if err != nil {
			t.Fatal(err)
		}
	}()
	command := "sectional copies --abandon --database 'other' '" + two + "'"
	if out, err := copied(t, one, CopyRequest{To: two, Databases: []string{"db"}, Keep: true, DryRun: true}); err != nil || strings.Count(out, command) != 1 {
		t.Errorf("%s %v", out, err)
	}
	if out, err := copied(t, one, CopyRequest{To: two, Databases: []string{"db"}}); err != nil || strings.Count(out, command) != 1 {
		t.Errorf("%s %v", out, err)
	}
	if out, _, err := manage(t, CopiesOptions{Place: two, Databases: []string{"other"}, Abandon: true}, ""); err != nil || !strings.Contains(out, "removed") {
		t.Errorf("%s %v", out, err)
	}
	if out, err := copied(t, one, CopyRequest{To: two, Databases: []string{"other"}}); err != nil || strings.Contains(out, "--abandon") {
		t.Errorf("%s %v", out, err)
	}
}

// TestCopiesForgetPushes: of a copy whose source goes on the checkpoints of who pushed to the source are gone, which say
// what that has got since; those of who pulls, and what else lies there, are as they were.
func TestCopiesForgetPushes(t *testing.T) {
	one := t.TempDir()
	r := start(t, Options{Data: one, User: "adm", Password: "pass"})
	r.send("PUT", "/db", "")
	r.send("PUT", "/db/x", "{}")
	_, changes := r.send("GET", "/db/_changes", "")
	seq := member(t, changes, "last_seq")
	locals := map[string]string{
		"pouch-push": `{"version":1,"replicator":"pouchdb","session_id":"s","last_seq":7,"history":[{"session_id":"s","last_seq":7}]}`,
		"couch-push": `{"replication_id_version":4,"session_id":"s","source_last_seq":"7-g1AAAACTeJzLYWBgYMpgTmHgz8tPSTV0MDQy1zMAQsMckEQiQ1L9____szKYExlzgQLsRkYmKZaGRtiUYzUmUQ==","history":[{"session_id":"s"}]}`,
		"pouch-pull": `{"version":1,"replicator":"pouchdb","session_id":"s","last_seq":"` + seq + `","history":[{"session_id":"s","last_seq":"` + seq + `"}]}`,
		"couch-pull": `{"replication_id_version":4,"session_id":"s","source_last_seq":"` + seq + `","history":[{"session_id":"s"}]}`,
		"other":      `{"session_id":"mine","note":"of an application"}`,
		"large":      `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, // lies in pieces
	}
	for id, body := range locals {
		if status, answer := r.send("PUT", "/db/_local/"+id, body); status != 201 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	for _, databases := range [][]string{{"db"}, nil} {
		two := t.TempDir() + "/two"
		if _, err := copied(t, one, CopyRequest{To: two, Databases: databases, Keep: true}); err != nil {
			t.Fatal(err)
		}
		c := start(t, Options{Data: two, User: "adm", Password: "pass"})
		for id := range locals {
			want := 200
			if strings.HasSuffix(id, "push") {
				want = 404
			}
			if status, body := c.send("GET", "/db/_local/"+id, ""); status != want {
				t.Errorf("%v: %s is %d %s", databases, id, status, body)
			}
			if status, _ := r.send("GET", "/db/_local/"+id, ""); status != 200 {
				t.Errorf("%s is gone at the source", id)
			}
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	}
}
