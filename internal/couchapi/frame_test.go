package couchapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

func TestTypedParameters(t *testing.T) {
	type form struct {
		flag  bool
		count int
	}
	table := params[form]{
		"flag":  boolParam(func(f *form) *bool { return &f.flag }),
		"count": countParam(func(f *form) *int { return &f.count }),
	}
	var f form
	if err := table.read(web.ParseQuery("flag=TRUE&count=7&other=x"), &f); err != nil || !f.flag || f.count != 7 {
		t.Errorf("got %+v %v", f, err)
	}
	for s, want := range map[string]string{
		"flag=1":           `Invalid boolean parameter: "1"`,
		"count=x&flag=1":   `Invalid value for integer: "x"`,
		"count=-1":         `Invalid value for positive integer: "-1"`,
		"count=1.5":        `Invalid value for integer: "1.5"`,
		"flag=&count=what": `Invalid boolean parameter: ""`,
	} {
		err := table.read(web.ParseQuery(s), &f)
		if status, word, reason := words(err); status != 400 || word != "query_parse_error" || reason != want {
			t.Errorf("%s: %d %s %q, want %q", s, status, word, reason, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		err          error
		status       int
		word, reason string
	}{
		{dberr.New(dberr.Invalid, "illegal_docid", "no"), 400, "illegal_docid", "no"},
		{dberr.New(dberr.Conflict, "", "no"), 409, "conflict", "no"},
		{dberr.New(dberr.Exists, "file_exists", "there"), 412, "file_exists", "there"},
		{dberr.Wrap("x", dberr.New(dberr.NotFound, "not_found", "missing")), 404, "not_found", "missing"},
		{dberr.New(dberr.NotFound, "gone", "Temporary views are not supported in CouchDB"), 410, "gone", "Temporary views are not supported in CouchDB"},
		{errors.New("disk on fire"), 500, "internal_server_error", "The server could not process the request."},
		{dberr.Wrap("x", errors.New("secret cause")), 500, "internal_server_error", "The server could not process the request."},
	} {
		if status, word, reason := words(c.err); status != c.status || word != c.word || reason != c.reason {
			t.Errorf("%v: %d %s %q", c.err, status, word, reason)
		}
	}
}

func TestErrorsSayWhenToAskAgain(t *testing.T) {
	busy := dberr.New(dberr.Unavailable, "", "busy")
	for want, err := range map[string]error{
		"": busy, "1": busy.After(time.Millisecond), "2": dberr.Wrap("x", busy.After(1001*time.Millisecond)), "300": replicationFailed(busy.After(5 * time.Minute)),
	} {
		w := probe(t, func(r *request) error { return err }, httptest.NewRequest("GET", "/probe", nil))
		if got := w.Header().Get("Retry-After"); got != want || w.Code != 503 {
			t.Errorf("%v: %d, %q, want %q", err, w.Code, got, want)
		}
	}
}

func TestEveryKindHasAStatus(t *testing.T) {
	for k := dberr.Internal; k <= dberr.UnknownOutcome; k++ {
		if w := wires[k]; w.status < 400 || w.word == "" {
			t.Errorf("kind %d has no status", k)
		}
	}
}

// splitPath splits the path of a request target.
func splitPath(target string) (p web.Path) {
	p.Split(target, web.PlusIsSpace)
	expandEndpoint(&p)
	return p
}

// probe answers a request by a handler of the test's own.
func probe(t *testing.T, run handler, r *http.Request, settings ...config.Setting) *httptest.ResponseRecorder {
	t.Helper()
	a := newTestAPI(t, settings...)
	a.API = newAPI(a.options, []route{{methods: "GET,PUT,POST", pattern: "/probe", run: run}})
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestStreamFailsWithALineAndACut(t *testing.T) {
	cut := false
	var w *httptest.ResponseRecorder
	r := httptest.NewRequest("GET", "/probe", nil)
	a := newTestAPI(t)
	a.API = newAPI(a.options, []route{{methods: "GET", pattern: "/probe", run: func(r *request) error {
		s := r.Stream(200, web.JSON)
		s.Buf = append(s.Buf, `{"rows":[`...)
		if err := s.Flush(); err != nil {
			return err
		}
		return dberr.New(dberr.Invalid, "bad_request", "late")
	}}})
	func() {
		defer func() { cut = recover() == http.ErrAbortHandler }()
		w = httptest.NewRecorder()
		a.ServeHTTP(w, r)
	}()
	if want := `{"rows":[` + "\n" + `{"error":"bad_request","reason":"late"}` + "\n"; !cut || w.Body.String() != want {
		t.Errorf("cut %v, body %q", cut, w.Body)
	}
}

func TestMethods(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, c := range []struct{ method, target, allow string }{
		{"POST", "/", "GET,HEAD"},
		{"PUT", "/_dbs_info", "GET,HEAD,POST"},
		{"POST", "/_uuids", "GET"},
		{"PUT", "/_session", "GET,HEAD,POST,DELETE"},
		{"PATCH", "/db", "DELETE,GET,HEAD,POST"},
		{"DELETE", "/db/_security", "PUT,GET"},
		{"GET", "/db/_compact", "POST"},
	} {
		got := a.do(c.method, c.target, "").want(405, `{"error":"method_not_allowed","reason":"Only `+c.allow+` allowed"}`)
		if got.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: Allow %q", c.method, c.target, got.Header.Get("Allow"))
		}
	}
	a.do("POST", "/db", "{}", "X-HTTP-Method-Override", "DELETE").want(200, `{"ok":true}`)
	a.do("GET", "/db", "", "X-HTTP-Method-Override", "PUT").want(404, "")
}

func TestBrowsersAreSentToTheLogin(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	got := a.do("GET", "/db", "", "Authorization", "", "Accept", "text/html")
	want := "http://example.com/_utils/session.html?return=%2Fdb&reason=You%20are%20not%20authorized%20to%20access%20this%20db."
	if got.Status != 302 || got.Header.Get("Location") != want {
		t.Errorf("%d %q", got.Status, got.Header.Get("Location"))
	}
	a.do("GET", "/db", "", "Authorization", "", "Accept", "application/json").want(401, "")
}

func TestCallerWithinTheProcess(t *testing.T) {
	a := newTestAPI(t)
	r := httptest.NewRequest("GET", "/_all_dbs", nil)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r.WithContext(context.Background()))
	if w.Code != 401 {
		t.Errorf("without a caller in the context: %d", w.Code)
	}
}

func TestPreferMinimal(t *testing.T) {
	a := newTestAPI(t)
	got := a.do("GET", "/", "", "Prefer", "return=minimal").want(200, "")
	for name := range got.Header {
		if !slices.Contains([]string{"Cache-Control", "Content-Length", "Content-Type", "Server", "Vary"}, name) {
			t.Errorf("%s is sent", name)
		}
	}
}
