package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/progress"
)

// writers write to a database until they are stopped, and know what was acknowledged.
type writers struct {
	stop context.CancelFunc
	done sync.WaitGroup
	mu   sync.Mutex
	seen map[string]string // revisions by ids
	last string            // what the first answer that was not 201 said
}

func writeTo(t *testing.T, r *running, db string) *writers {
	ctx, stop := context.WithCancel(t.Context())
	w := &writers{stop: stop, seen: map[string]string{}}
	for n := range 3 {
		w.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("p%d:%05d", n, i)
				status, body := r.send("PUT", "/"+db+"/"+id, fmt.Sprintf(`{"n":%d}`, i))
				var answer struct{ Rev string }
				_ = json.Unmarshal([]byte(body), &answer)
				w.mu.Lock()
				if status != 201 {
					w.last = fmt.Sprint(status, " ", body)
					w.mu.Unlock()
					return
				}
				w.seen[id] = answer.Rev
				w.mu.Unlock()
			}
		})
	}
	return w
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// sum checks a database.
func checkAll(t *testing.T, data string, e EngineOptions) {
	t.Helper()
	var out bytes.Buffer
	if err := Check(context.Background(), data, e, &out, progress.New(io.Discard, time.Time{})); err != nil {
		t.Errorf("Check: %v", err)
	}
}

// get asks for a member of an answer.
func member(t *testing.T, body, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return fmt.Sprint(all[name])
}

// TestMoveWhileServing moves a database out of a running server while clients write, into
// a store that has others; what was acknowledged is there, sequences and indexes go on,
// and the source says where it is.
func TestMoveWhileServing(t *testing.T) {
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "two")
	other := start(t, Options{Data: two, User: "adm", Password: "pass"})
	other.send("PUT", "/there", "")
	other.send("PUT", "/there/x", "{}")
	if err := other.stop(); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Data: one, User: "adm", Password: "pass"})
	for _, q := range [][3]string{
		{"PUT", "/stays", ""}, {"PUT", "/db?partitioned=true", ""}, {"PUT", "/kept", ""}, {"PUT", "/there", ""},
		{"POST", "/db/_index", `{"index":{"fields":["n"]},"partitioned":false,"name":"n"}`},
		{"PUT", "/db/_local/l", `{"checkpoint":1}`}, {"PUT", "/db/_security", `{"members":{"roles":["r"]}}`},
		{"PUT", "/db/p:f", `{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}`},
		{"PUT", "/db/p:gone", `{}`}, {"PUT", "/kept/a", `{}`},
	} {
		if status, body := r.send(q[0], q[1], q[2]); status >= 300 {
			t.Fatalf("%v: %d %s", q, status, body)
		}
	}
	_, body := r.send("GET", "/db/p:gone", "")
	r.send("DELETE", "/db/p:gone?rev="+member(t, body, "_rev"), "")
	w := writeTo(t, r, "db")
	for w.count() < 200 && w.last == "" {
		r.send("GET", "/db", "")
	}
	_, body = r.send("GET", "/db/_changes?limit=100", "")
	since := member(t, body, "last_seq")

	if _, err := copied(t, one, CopyRequest{To: two, Databases: []string{"there"}}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("copied over another: %v", err)
	}
	if _, err := copied(t, one, CopyRequest{To: two}); err == nil || !strings.Contains(err.Error(), "single databases into any") {
		t.Errorf("copied everything over data: %v", err)
	}
	if _, err := copied(t, one, CopyRequest{To: two, Databases: []string{"none"}}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("copied what is not there: %v", err)
	}
	said, err := copied(t, one, CopyRequest{To: two, Databases: []string{"kept"}, Keep: true})
	if err != nil || !strings.Contains(said, "1 documents") {
		t.Errorf("%v %s", err, said)
	}
	if said, err = copied(t, one, CopyRequest{To: two, Databases: []string{"db"}}); err != nil || !strings.Contains(said, "read back and compared") {
		t.Fatalf("%v %s", err, said)
	}
	w.done.Wait() // until each was refused
	if status, body, _ := r.ask("GET", "/db/x", "", "", "", nil); status != 503 || strings.Contains(body, two) {
		t.Errorf("anybody is told where the database is: %d %s", status, body)
	}
	w.stop()
	if !strings.Contains(w.last, "503") || !strings.Contains(w.last, "has moved to "+two) {
		t.Errorf("writers were told %s", w.last)
	}
	for _, q := range [][2]string{{"GET", "/db"}, {"GET", "/db/_changes"}, {"PUT", "/db"}, {"GET", "/db/p:f"}} {
		if status, body := r.send(q[0], q[1], ""); status != 503 || !strings.Contains(body, "moved") {
			t.Errorf("%v: %d %s", q, status, body)
		}
	}
	if status, body := r.send("PUT", "/stays/x", "{}"); status != 201 {
		t.Errorf("another database: %d %s", status, body)
	}
	_, body = r.send("GET", "/kept/_changes", "")
	fork := member(t, body, "last_seq")
	r.send("PUT", "/kept/b", "{}")
	_, body = r.send("GET", "/kept/_changes", "")
	beyond := member(t, body, "last_seq")
	if said, err = copied(t, one, CopyRequest{To: two, Databases: []string{"db"}}); err != nil || !strings.Contains(said, "copied before") {
		t.Errorf("again: %v %s", err, said)
	}
	if status, body := r.send("DELETE", "/db", ""); status != 200 {
		t.Errorf("what has moved can't be deleted: %d %s", status, body)
	}
	if status, _ := r.send("GET", "/db", ""); status != 404 {
		t.Errorf("deleted: %d", status)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	checkAll(t, one, EngineOptions{})
	checkAll(t, two, EngineOptions{})

	other = start(t, Options{Data: two, User: "adm", Password: "pass"})
	for id, rev := range w.seen {
		if _, body := other.send("GET", "/db/"+id, ""); member(t, body, "_rev") != rev {
			t.Fatalf("%s was acknowledged as %s and is %s", id, rev, body)
		}
	}
	_, body = other.send("GET", "/db/_changes?since="+since, "")
	if got := len(w.seen) + 3 - 100; strings.Count(body, `"seq"`) < got-1 || strings.Count(body, `"seq"`) > got+3 {
		t.Errorf("since the move there are %d changes, not about %d", strings.Count(body, `"seq"`), got)
	}
	for path, want := range map[string]string{"/db/p:f/a": "hello", "/db/_local/l": `"checkpoint":1`, "/db/_security": `"r"`, "/there/x": `"_id"`, "/db/_index": `"n"`} {
		if _, body := other.send("GET", path, ""); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if status, body := other.send("POST", "/db/_find", `{"selector":{"n":{"$gt":3}},"limit":1}`); status != 200 {
		t.Errorf("_find: %d %s", status, body)
	}
	other.send("PUT", "/kept/c", "{}")
	for _, since := range []string{fork, beyond} {
		if _, body = other.send("GET", "/kept/_changes?since="+since, ""); strings.Count(body, `"id"`) != 1 || !strings.Contains(body, `"c"`) {
			t.Errorf("since the fork there is %s", body)
		}
	}
	if err := other.stop(); err != nil {
		t.Fatal(err)
	}
	// And back again, to where it was.
	if said, err = copied(t, two, CopyRequest{To: one, Databases: []string{"db"}}); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	checkAll(t, one, EngineOptions{})
	r = start(t, Options{Data: one, User: "adm", Password: "pass"})
	if _, body = r.send("GET", "/db/_changes?since="+since, ""); strings.Count(body, `"seq"`) < len(w.seen)-100 {
		t.Errorf("back there are %d changes", strings.Count(body, `"seq"`))
	}
}

// TestMoveEverythingWhileServing moves a whole store to PostgreSQL while clients write; the
// old server then takes nothing more, and does not start again.
func TestMoveEverythingWhileServing(t *testing.T) {
	pg := ownDatabase(t)
	one := t.TempDir()
	r := start(t, Options{Data: one, User: "adm", Password: "pass"})
	r.send("PUT", "/db", "")
	r.send("PUT", "/_node/_local/_config/couchdb/max_document_size", `"123456"`)
	w := writeTo(t, r, "db")
	for w.count() < 200 {
		r.send("GET", "/db", "")
	}
	tasks := make(chan bool)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		found := false
		for !found && ctx.Err() == nil {
			_, body := r.send("GET", "/_active_tasks", "")
			found = strings.Contains(body, `"type":"copy"`) && strings.Contains(body, `"step":"`) && strings.Contains(body, `"progress":`)
		}
		tasks <- found
	}()
	said, err := copied(t, one, CopyRequest{To: pg.Postgres})
	if err != nil {
		t.Fatalf("%v %s", err, said)
	}
	stop()
	if !<-tasks {
		t.Error("no task was seen")
	}
	w.done.Wait()
	if !strings.Contains(w.last, "503") || !strings.Contains(w.last, "has moved to") {
		t.Errorf("writers were told %s", w.last)
	}
	if status, body := r.send("GET", "/_up", ""); status != 503 || !strings.Contains(body, "moved") {
		t.Errorf("_up: %d %s", status, body)
	}
	_, welcome := r.send("GET", "/", "")
	_, changes := r.send("GET", "/db/_changes", "")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), Options{Data: one, User: "adm", Password: "pass", Out: io.Discard, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "has moved to") {
		t.Errorf("what has moved was opened: %v", err)
	}
	r = start(t, Options{Data: t.TempDir(), Store: pg, User: "adm", Password: "pass"})
	for id, rev := range w.seen {
		if _, body := r.send("GET", "/db/"+id, ""); member(t, body, "_rev") != rev {
			t.Fatalf("%s was acknowledged as %s and is %s", id, rev, body)
		}
	}
	if _, body := r.send("GET", "/db/_changes", ""); body != changes {
		t.Error("the feed is another")
	}
	if _, body := r.send("GET", "/", ""); member(t, body, "uuid") != member(t, welcome, "uuid") {
		t.Errorf("%s was %s", body, welcome)
	}
	if _, body := r.send("GET", "/_node/_local/_config/couchdb/max_document_size", ""); !strings.Contains(body, "123456") {
		t.Error(body)
	}
}
