package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/partitionkey"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is a server with an old database, one for the new, and what passes between them and a migration.
type world struct {
	t        *testing.T
	a, b     *apitest.Server
	mu       sync.Mutex
	requests int
	before   func(n int, q *http.Request) (*http.Response, error) // nil, nil: the request goes on
	out      lines
	rejected []string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, a: apitest.New(t), b: apitest.New(t)}
	w.a.OK("PUT", "/old", "")
	return w
}

// lines is what was told, by several goroutines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(q *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests++
	n := w.requests
	w.mu.Unlock()
	if w.before != nil {
		if a, err := w.before(n, q); a != nil || err != nil {
			if q.Body != nil {
				_ = q.Body.Close()
			}
			return a, err
		}
	}
	server := w.a
	if q.URL.Host == "b" {
		server = w.b
	}
	return (&replicate.Local{Handler: server}).RoundTrip(q)
}

func (w *world) client(address string) *couchclient.Client {
	c, err := couchclient.New(address, couchclient.Options{Account: couchclient.Account{User: "adm", Password: "pass"}, Transport: w,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// migration makes a task by a template.
func (w *world) migration(by string) *Migration {
	t, err := partitionkey.Parse(by)
	if err != nil {
		w.t.Fatal(err)
	}
	w.rejected = nil
	return &Migration{Source: w.client("http://a/old"), Target: w.client("http://b/new"), Mapping: Mapping{By: t}, Out: &w.out,
		Rejected: func(r Rejection) { w.rejected = append(w.rejected, fmt.Sprintf("%s: %s: %s", r.ID, r.Code, r.Reason)) }}
}

// run runs a migration that has to succeed.
func (w *world) run(m *Migration) Outcome {
	w.t.Helper()
	o, err := m.Run(w.t.Context())
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.out.String())
	}
	return o
}

// leaves are the leaves of all documents of a database, with histories, bodies and attachments, by their ids.
func leaves(t *testing.T, s *apitest.Server, path string) map[string][]map[string]any {
	t.Helper()
	var feed struct {
		Results []struct{ ID string }
	}
	decode(t, s.OK("GET", path+"/_changes", ""), &feed)
	all := map[string][]map[string]any{}
	for _, row := range feed.Results {
		var list []struct{ OK map[string]any }
		decode(t, s.OK("GET", path+"/"+couchclient.Escape(row.ID)+"?open_revs=all&revs=true&attachments=true", "", "Accept", "application/json"), &list)
		for _, l := range list {
			all[row.ID] = append(all[row.ID], l.OK)
		}
	}
	return all
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// live reports whether a document has a leaf that is not deleted.
func live(leaves []map[string]any) bool {
	for _, l := range leaves {
		if l["_deleted"] != true {
			return true
		}
	}
	return false
}

// same returns how the target differs from what the mapping makes of the source; "" if it does not. A document whose
// every leaf is deleted may be missing, if no member says where it belongs.
func (w *world) same(m *Mapping) string {
	w.t.Helper()
	old, now := leaves(w.t, w.a, "/old"), leaves(w.t, w.b, "/new")
	want := map[string][]map[string]any{}
	for id, list := range old {
		if strings.HasPrefix(id, "_design/") {
			continue
		}
		to := ""
		if live(list) {
			body := w.a.OK("GET", "/old/"+couchclient.Escape(id), "")
			p, why := m.partition(id, []byte(body))
			if why != "" { // what the target had of it stays
				if to = m.tombstone(id, now); to != "" {
					delete(now, to)
				}
				continue
			}
			to = m.newID(id, p)
		} else if to = m.tombstone(id, now); to == "" || !live(now[to]) && m.copies(id, now) > 1 {
			continue
		}
		for _, l := range list {
			l["_id"] = to
		}
		want[to] = list
	}
	for id := range now {
		if strings.HasPrefix(id, "_design/") {
			delete(now, id)
		}
		if want[id] == nil && !live(now[id]) { // a deletion may be told where the document was before, too
			delete(now, id)
		}
	}
	return cmp.Diff(want, now)
}

// tombstone returns the id of the target that a document has which says no longer where it belongs: of several the one
// that is live, beside which a deletion may be told where it was before.
func (m *Mapping) tombstone(old string, now map[string][]map[string]any) (found string) {
	for id, list := range now {
		if m.oldID(id) == old && (found == "" || live(list)) {
			found = id
		}
	}
	return found
}

// copies counts the documents of the target that a document may be.
func (m *Mapping) copies(old string, now map[string][]map[string]any) (n int) {
	for id := range now {
		if m.oldID(id) == old {
			n++
		}
	}
	return n
}

// put writes a document and returns its revision.
func (w *world) put(id, body string) string {
	w.t.Helper()
	path := "/old/" + couchclient.Escape(id)
	head := []string{}
	if tag := w.a.Do("HEAD", path, "").Header().Get("Etag"); tag != "" {
		head = []string{"If-Match", strings.Trim(tag, `"`)}
	}
	var answer struct{ Rev string }
	decode(w.t, w.a.OK("PUT", path, body, head...), &answer)
	return answer.Rev
}
