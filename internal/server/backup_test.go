package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/transfer"
)

// live is a server over a directory, in this process.
type live struct {
	t    *testing.T
	base string
	stop func()
}

func runOn(t *testing.T, data string) *live {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Data: data, Listen: "127.0.0.1:0", User: "adm", Password: "pass", Version: "test", Out: io.Discard, Log: io.Discard, Embedded: true,
			Ready: func(a Addresses) { ready <- a }})
	}()
	r := &live{t: t}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(r.stop)
	select {
	case a := <-ready:
		r.base = "http://" + a.HTTP
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return r
}

// ask sends a request, which has to be answered with a status.
func (r *live) ask(status int, method, path, body string) []byte {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.SetBasicAuth("adm", "pass")
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		r.t.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
	}
	return text
}

// documents are those of a database, or of what is below it, with their bodies but for the revisions.
func (r *live) documents(path string) map[string]string {
	r.t.Helper()
	var rows struct {
		Rows []struct {
			ID  string
			Doc map[string]any
		}
	}
	if err := json.Unmarshal(r.ask(200, "GET", path+"/_all_docs?include_docs=true", ""), &rows); err != nil {
		r.t.Fatal(err)
	}
	found := map[string]string{}
	for _, row := range rows.Rows {
		found[row.ID] = fmt.Sprint(row.Doc["n"])
	}
	return found
}

// history writes to a server at random, and knows what there is to be.
type history struct {
	*live
	r    *rand.Rand
	docs map[string]string
	revs map[string]string
}

func (h *history) writes(n int) {
	h.t.Helper()
	for range n {
		id := fmt.Sprintf("p%d:%d", h.r.IntN(3), h.r.IntN(12))
		value := fmt.Sprint(h.r.IntN(1e6))
		switch rev, there := h.revs[id]; {
		case there && h.r.IntN(3) == 0:
			h.ask(200, "DELETE", "/db/"+id+"?rev="+rev, "")
			delete(h.docs, id)
			delete(h.revs, id)
		default:
			body := `{"n":"` + value + `"}`
			if there {
				body = `{"n":"` + value + `","_rev":"` + rev + `"}`
			}
			var said struct{ Rev string }
			if err := json.Unmarshal(h.ask(201, "PUT", "/db/"+id, body), &said); err != nil {
				h.t.Fatal(err)
			}
			h.docs[id], h.revs[id] = value, said.Rev
		}
	}
}

// TestRestoreToEachMoment: whole backups and increments are made of a server that runs, in the middle of a random history,
// and at times of one that is stopped. Of each moment everything, the database alone and one partition are restored, and
// are what there was.
func TestRestoreToEachMoment(t *testing.T) {
	for seed := range uint64(1) {
		dir := t.TempDir()
		data, backups := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
		h := &history{live: runOn(t, data), r: rand.New(rand.NewPCG(seed, 86)), docs: map[string]string{}, revs: map[string]string{}}
		h.ask(201, "PUT", "/db?partitioned=true", "")
		var moments []time.Time
		var model []map[string]string
		for i := range 4 {
			h.writes(5 + h.r.IntN(30))
			if i == 2 {
				h.stop()
			}
			var out bytes.Buffer
			if err := Backup(t.Context(), BackupOptions{Data: data, Backups: backups, Increment: i > 0 && i < 3, JSON: true, Version: "test", Out: &out}); err != nil {
				t.Fatal(seed, i, err)
			}
			var said struct{ Made time.Time }
			if err := json.Unmarshal(out.Bytes(), &said); err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
			moments, model = append(moments, said.Made), append(model, maps.Clone(h.docs))
			if i == 2 {
				h.live = runOn(t, data)
			}
		}
		h.stop()
		for i, at := range moments {
			restoredTo(t, backups, at, model[i])
		}
	}
}

// TestRestoreAside: with a database its `_security` and local documents come back, with a partition those of its endpoint.
// Checkpoints, which tell of sequences that the target does not have, do not, and what the target has of its own stays.
func TestRestoreAside(t *testing.T) {
	dir := t.TempDir()
	data, backups := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
	r := runOn(t, data)
	r.ask(201, "PUT", "/db?partitioned=true", "")
	r.ask(201, "PUT", "/db/p:1", `{"n":1}`)
	r.ask(200, "PUT", "/db/_security", `{"members":{"names":["eva"]},"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`)
	for i := range 250 { // more than a page of them
		r.ask(201, "PUT", fmt.Sprintf("/db/_local/own%03d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	r.ask(201, "PUT", "/db/_local/mark", `{"session_id":"a","source_last_seq":"5-x","history":[]}`)
	r.ask(201, "PUT", "/db/_partition/p/_local/place", `{"n":"p"}`)
	o := BackupOptions{Data: data, Backups: backups, NoVerify: true, Version: "test", Out: io.Discard}
	if err := Backup(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	restore := func(to, partition string) string {
		var out bytes.Buffer
		o.Out = &out
		side := transfer.Side{URL: r.base + to, User: "adm", Password: "pass"}
		if err := RestorePart(t.Context(), PartOptions{BackupOptions: o, Database: "db", Partition: partition, To: side}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	absent := PartOptions{BackupOptions: o, Database: "absent", To: transfer.Side{URL: r.base + "/x", User: "adm", Password: "pass"}}
	if err := RestorePart(t.Context(), absent); err == nil || !strings.HasSuffix(err.Error(), " has no database absent") {
		t.Errorf("a database that the backup lacks: %v", err)
	}
	if said := restore("/again", ""); !strings.Contains(said, ": 1 documents, 250 local documents.") {
		t.Errorf("it says %s", said)
	}
	if got, want := string(r.ask(200, "GET", "/again/_security", "")), string(r.ask(200, "GET", "/db/_security", "")); got != want {
		t.Errorf("_security is %s, want %s", got, want)
	}
	if got := string(r.ask(200, "GET", "/again/_local/own249", "")); !strings.Contains(got, `"n":249`) {
		t.Errorf("the last local document is %s", got)
	}
	r.ask(404, "GET", "/again/_local/mark", "")
	r.ask(404, "GET", "/again/_local/place", "")

	// What is there stays.
	r.ask(201, "PUT", "/own?partitioned=true", "")
	r.ask(200, "PUT", "/own/_security", `{"members":{"names":["luc"]}}`)
	r.ask(201, "PUT", "/own/_local/own000", `{"n":"mine"}`)
	if said := restore("/own", ""); !strings.Contains(said, "249 local documents; _security stays as it was there.") {
		t.Errorf("it says %s", said)
	}
	if got := string(r.ask(200, "GET", "/own/_security", "")); !strings.Contains(got, "luc") {
		t.Errorf("_security is %s", got)
	}
	if got := string(r.ask(200, "GET", "/own/_local/own000", "")); !strings.Contains(got, "mine") {
		t.Errorf("a local document that was there is %s", got)
	}

	r.ask(201, "PUT", "/part?partitioned=true", "")
	restore("/part/_partition/p", "p")
	if got := string(r.ask(200, "GET", "/part/_partition/p/_local/place", "")); !strings.Contains(got, `"n":"p"`) {
		t.Errorf("the partition's local document is %s", got)
	}
	if got := string(r.ask(200, "GET", "/part/_security", "")); strings.Contains(got, "eva") {
		t.Errorf("with a partition came %s", got)
	}

	// The users' database has a _security that nobody may change, and the same everywhere.
	r.ask(201, "PUT", "/_users/org.couchdb.user:eva", `{"_id":"org.couchdb.user:eva","name":"eva","type":"user","roles":[],"password":"later"}`)
	o.Out = io.Discard
	if err := Backup(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o.Out = &out
	users := PartOptions{BackupOptions: o, Database: "_users", To: transfer.Side{URL: r.base + "/_users", User: "adm", Password: "pass"}}
	if err := RestorePart(t.Context(), users); err != nil || !strings.HasSuffix(out.String(), ": 0 documents.\n") {
		t.Errorf("of users: %v, %s", err, &out)
	}
	r.stop()
}

// restoredTo restores what there was at a moment.
func restoredTo(t *testing.T, backups string, at time.Time, want map[string]string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	o := BackupOptions{Data: data, Backups: backups, At: at, NoVerify: true, Version: "test", Out: io.Discard}
	if err := Restore(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	r := runOn(t, data)
	if got := r.documents("/db"); !maps.Equal(got, want) {
		t.Errorf("at %s there is %v, want %v", at, got, want)
	}
	side := func(path string) transfer.Side {
		return transfer.Side{URL: r.base + path, User: "adm", Password: "pass"}
	}
	if err := RestorePart(t.Context(), PartOptions{BackupOptions: o, Database: "db", To: side("/again")}); err != nil {
		t.Fatal(err)
	}
	if got := r.documents("/again"); !maps.Equal(got, want) {
		t.Errorf("of the database at %s there is %v, want %v", at, got, want)
	}
	r.ask(201, "PUT", "/part?partitioned=true", "")
	if err := RestorePart(t.Context(), PartOptions{BackupOptions: o, Database: "db", Partition: "p1", To: side("/part/_partition/p1")}); err != nil {
		t.Fatal(err)
	}
	part := maps.Clone(want)
	maps.DeleteFunc(part, func(id, _ string) bool { return !strings.HasPrefix(id, "p1:") })
	if got := r.documents("/part"); !maps.Equal(got, part) {
		t.Errorf("of the partition at %s there is %v, want %v", at, got, part)
	}
	r.stop()
}
