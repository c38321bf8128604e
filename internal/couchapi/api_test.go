package couchapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/enginetest"
)

// testAPI is a server of apitest over Pebble in memory, or several over one engine, which requests are dealt out to.
type testAPI struct {
	*apitest.Server
	t       testing.TB
	probing bool // by a table of the test's own
}

func newTestAPI(t testing.TB, settings ...config.Setting) *testAPI {
	t.Helper()
	return newTestAPIWith(t, apitest.Options{Settings: settings})
}

// newTestAPIWith is newTestAPI with options.
func newTestAPIWith(t testing.TB, o apitest.Options) *testAPI {
	t.Helper()
	if o.Engine == nil {
		if o.Engine = enginetest.Open(t); o.Engine == nil {
			o.Engine = newPebble(t)
		}
	}
	return &testAPI{Server: apitest.With(t, o), t: t}
}

// newPebble is an engine in memory.
func newPebble(t testing.TB) kv.Engine {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 24 << 20, MemTableBytes: 4 << 20})
	must(t, err)
	return e
}

// newSeveral is newTestAPI with several servers over one engine, the model or "pebble", or what the environment names.
func newSeveral(t testing.TB, engine string, servers int, settings ...config.Setting) *testAPI {
	t.Helper()
	o := apitest.Options{Servers: servers, Settings: settings}
	if o.Engine = enginetest.Open(t); o.Engine == nil && engine == "pebble" {
		o.Engine = newPebble(t)
	}
	return &testAPI{Server: apitest.With(t, o), t: t}
}

// ServeHTTP has one of the servers answer. What is recorded is held against docs/openapi.json, but where a test has put a
// table of its own in the place of ours.
func (a *testAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, s := a.Deal()
	recorder, recorded := w.(*httptest.ResponseRecorder)
	if _, measured := a.t.(*testing.B); !recorded || measured || a.probing {
		s.API.ServeHTTP(w, r)
		return
	}
	watched(a.t, recorder, r, s.API)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer is what came back.
type answer struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   string
}

// do sends a request as the administrator. header holds names and values in
// turn; an Authorization header of "" sends none. A body gets the content type
// of JSON unless header has one.
func (a *testAPI) do(method, target, body string, header ...string) answer {
	a.t.Helper()
	var from io.Reader = http.NoBody
	if body != "" {
		from = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, from)
	r.SetBasicAuth("adm", "pass")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if r.Header.Del(header[i]); header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return answer{a.t, w.Code, w.Result().Header, w.Body.String()}
}

// want checks status and JSON body; "" does not look at the body.
func (w answer) want(status int, body string) answer {
	w.t.Helper()
	if w.Status != status {
		w.t.Fatalf("status %d, want %d: %s", w.Status, status, w.Body)
	}
	if body == "" {
		return w
	}
	if diff := cmp.Diff(fromJSON(w.t, body), fromJSON(w.t, w.Body)); diff != "" {
		w.t.Fatalf("body (-want +got):\n%s", diff)
	}
	return w
}

// wantText checks status and the body's bytes.
func (w answer) wantText(status int, body string) answer {
	w.t.Helper()
	if w.Status != status || w.Body != body {
		w.t.Fatalf("status %d, want %d: %.300s, want %s", w.Status, status, w.Body, body)
	}
	return w
}

// json returns the body.
func (w answer) json() map[string]any {
	w.t.Helper()
	m, ok := fromJSON(w.t, w.Body).(map[string]any)
	if !ok {
		w.t.Fatalf("no object: %s", w.Body)
	}
	return m
}

// list returns the body's objects.
func (w answer) list() (list []map[string]any) {
	w.t.Helper()
	elements, ok := fromJSON(w.t, w.Body).([]any)
	if !ok {
		w.t.Fatalf("no array: %s", w.Body)
	}
	for _, e := range elements {
		list = append(list, e.(map[string]any))
	}
	return list
}

func fromJSON(t testing.TB, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("no JSON: %q", s)
	}
	return v
}
