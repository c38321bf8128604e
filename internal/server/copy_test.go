package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/progress"
)

// copied copies, and returns what was printed.
func copied(t *testing.T, from, to string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Copy(t.Context(), CopyOptions{From: from, To: to, Out: &out, Err: &out, Progress: progress.New(io.Discard, time.Time{})})
	return out.String(), err
}

// checkAll checks all data.
func checkAll(t *testing.T, data string, e EngineOptions) {
	t.Helper()
	var out bytes.Buffer
	if err := Check(context.Background(), data, e, &out, progress.New(io.Discard, time.Time{})); err != nil {
		t.Errorf("Check: %v", err)
	}
}

// member returns a member of an answer.
func member(t *testing.T, body, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return fmt.Sprint(all[name])
}

// TestCopyBetweenEngines brings data from a directory to PostgreSQL and back to another
// directory: documents, sequences, indexes, settings and the server's UUID are what they were. A copy is
// refused while a server runs on its source, and into a target that has data.
func TestCopyBetweenEngines(t *testing.T) {
	pg := ownDatabase(t)
	url := pg.Postgres
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "two")

	r := start(t, Options{Data: one, User: "adm", Password: "pass"})
	for _, q := range [][3]string{
		{"PUT", "/db?partitioned=true", ""},
		{"POST", "/db/_index", `{"index":{"fields":["n"]},"partitioned":false,"name":"n"}`},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:1","n":1},{"_id":"p:2","n":2},{"_id":"q:1","n":3}]}`},
		{"PUT", "/_node/_local/_config/couchdb/max_document_size", `"1000"`},
		{"PUT", "/_node/_local/_config/chttpd/changes_timeout", `"1234"`},
		{"PUT", "/_node/_local/_config/sectional/max_connections", `"77"`},
		{"PUT", "/_node/_local/_config/admins/eva", `"secret"`},
	} {
		if status, body := r.send(q[0], q[1], q[2]); status >= 300 {
			t.Fatalf("%v: %d %s", q, status, body)
		}
	}
	looks := func(r *running) (all []string) {
		for _, path := range []string{"/db/_changes?include_docs=true", "/db/_all_docs?include_docs=true", "/db/_partition/p", "/_node/_local/_config/couchdb/max_document_size",
			"/_node/_local/_config/chttpd/changes_timeout", "/_node/_local/_config/admins", "/db/_index"} {
			_, body := r.send("GET", path, "")
			all = append(all, path+" "+body)
		}
		_, body := r.send("GET", "/", "")
		all = append(all, member(t, body, "uuid"))
		_, body = r.send("POST", "/db/_find", `{"selector":{"n":{"$gt":1}},"fields":["_id","_rev"]}`)
		return append(all, body)
	}
	want := looks(r)
	if _, err := copied(t, one, url); err == nil || !strings.Contains(err.Error(), one) {
		t.Errorf("from under a server: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	same := func(r *running) {
		t.Helper()
		for i, got := range looks(r) {
			if got != want[i] {
				t.Errorf("there is\n%s\nand was\n%s", got, want[i])
			}
		}
	}
	if said, err := copied(t, one, url); err != nil || !strings.Contains(said, "read back and compared") {
		t.Fatalf("%v %s", err, said)
	}
	if said, err := copied(t, one, url); err == nil || !strings.Contains(err.Error(), "has this data already") {
		t.Errorf("again: %v %s", err, said)
	}
	r = start(t, Options{Data: t.TempDir(), Store: pg, User: "adm", Password: "pass"})
	same(r)
	if _, body := r.send("GET", "/_node/_local/_config/sectional/max_connections", ""); strings.Contains(body, "77") {
		t.Error("a setting of the other machine came along")
	}
	if said, err := copied(t, url, two); err == nil || !strings.Contains(err.Error(), "runs on the source") {
		t.Errorf("from under a server: %v %s", err, said)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if said, err := copied(t, url, two); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	r = start(t, Options{Data: two, User: "adm", Password: "pass"})
	same(r)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	checkAll(t, two, EngineOptions{})
	if left, err := os.Stat(filepath.Join(two, localConfig)); err != nil || left.Mode().Perm() != privateFile {
		t.Errorf("%v %v", left, err)
	}
	other := stopped(t, Options{})
	if _, err := copied(t, other, two); err == nil || !strings.Contains(err.Error(), "data at the target already") {
		t.Errorf("over other data: %v", err)
	}
}

// TestInterruptedCopyIsRefused ends a copy in the middle: no server and no check takes the part for the whole, and the
// same copy goes on.
func TestInterruptedCopyIsRefused(t *testing.T) {
	one, two := stopped(t, Options{}), filepath.Join(t.TempDir(), "two")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := CopyOptions{From: one, To: two, Out: io.Discard, Err: io.Discard, Progress: progress.New(stopper(stop), time.Time{})}
	if err := Copy(ctx, o); err == nil || !strings.Contains(err.Error(), "it goes on") {
		t.Fatalf("the copy was not interrupted: %v", err)
	}
	if err := Run(t.Context(), Options{Data: two, User: "adm", Password: "pass", Out: io.Discard, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "sectional copy") {
		t.Errorf("a server started on a part: %v", err)
	}
	if err := Check(t.Context(), two, EngineOptions{}, io.Discard, progress.New(io.Discard, time.Time{})); err == nil {
		t.Error("a part was checked")
	}
	if _, err := copied(t, two, filepath.Join(t.TempDir(), "three")); err == nil || !strings.Contains(err.Error(), "a part of the data") {
		t.Errorf("a part was copied: %v", err)
	}
	if _, err := copied(t, stopped(t, Options{}), two); err == nil || !strings.Contains(err.Error(), "a copy of other data") {
		t.Errorf("another copy went on: %v", err)
	}
	if _, err := copied(t, one, two); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Data: two, User: "adm", Password: "pass"})
	if status, body := r.send("GET", "/db/x", ""); status != 200 {
		t.Error(status, body)
	}
}

// stopper is a terminal at whose first line a copy is told to end.
type stopper context.CancelFunc

func (s stopper) Write(p []byte) (int, error) {
	s()
	return len(p), nil
}
