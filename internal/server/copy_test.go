package server

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/progress"
)

// copied copies, and returns what it said.
func copied(t *testing.T, from string, r CopyRequest) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Copy(t.Context(), CopyOptions{From: from, CopyRequest: r, Out: &out, Err: &out, Progress: progress.New(io.Discard, time.Time{})})
	return out.String(), err
}

// TestCopyBetweenEngines brings data from a directory to PostgreSQL and back to another
// directory: documents, sequences, indexes and settings are what they were.
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
		_, body := r.send("POST", "/db/_find", `{"selector":{"n":{"$gt":1}},"fields":["_id","_rev"]}`)
		return append(all, body)
	}
	want := looks(r)
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

	said, err := copied(t, one, CopyRequest{To: url, DryRun: true})
	if err != nil || !strings.Contains(said, "takes everything") {
		t.Fatalf("%v %s", err, said)
	}
	said, err = copied(t, one, CopyRequest{To: url})
	if err != nil || !strings.Contains(said, "read back and compared") {
		t.Fatalf("%v %s", err, said)
	}
	if said, err = copied(t, one, CopyRequest{To: url}); err != nil || !strings.Contains(said, "copied before") {
		t.Errorf("again: %v %s", err, said)
	}
	if err := Run(t.Context(), Options{Data: one, User: "adm", Password: "pass", Out: io.Discard, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "has moved to") {
		t.Errorf("what has moved was opened: %v", err)
	}
	r = start(t, Options{Data: t.TempDir(), Store: pg, User: "adm", Password: "pass"})
	same(r)
	if _, body := r.send("GET", "/_node/_local/_config/sectional/max_connections", ""); strings.Contains(body, "77") {
		t.Error("a setting of the other machine came along")
	}
	if said, err = copied(t, url, CopyRequest{To: two}); err != nil { // from under a server
		t.Fatalf("%v %s", err, said)
	}
	if status, body := r.send("PUT", "/late", ""); status != 503 || !strings.Contains(body, "has moved to "+two) {
		t.Errorf("a server takes writes on what has moved: %d %s", status, body)
	}
	if status, body := r.send("GET", "/_up", ""); status != 503 || !strings.Contains(body, "moved") {
		t.Errorf("_up: %d %s", status, body)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, Options{Data: two, User: "adm", Password: "pass"})
	same(r)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Check(context.Background(), two, EngineOptions{}, &out, progress.New(io.Discard, time.Time{})); err != nil {
		t.Errorf("Check: %v", err)
	}
	if left, err := os.Stat(filepath.Join(two, localConfig)); err != nil || left.Mode().Perm() != privateFile {
		t.Errorf("%v %v", left, err)
	}
}
