package couchapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/web"
)

func TestErrorsSayWhenToAskAgain(t *testing.T) {
	busy := dberr.New(dberr.Unavailable, "", "busy")
	for want, err := range map[string]error{
		"": busy, "1": busy.After(time.Millisecond), "2": dberr.Wrap("x", busy.After(1001*time.Millisecond)), "300": couchapi.ReplicationFailed(busy.After(5 * time.Minute)),
	} {
		w := probe(t, func(r *couchhttp.Request) error { return err }, httptest.NewRequest("GET", "/probe", nil))
		if got := w.Header().Get("Retry-After"); got != want || w.Code != 503 {
			t.Errorf("%v: %d, %q, want %q", err, w.Code, got, want)
		}
	}
}

// splitPath splits the path of a request target.
func splitPath(target string) (p web.Path) {
	p.Split(target, web.PlusIsSpace)
	couchhttp.ExpandEndpoint(&p)
	return p
}

// probe answers a request by a handler of the test's own.
func probe(t *testing.T, run couchhttp.Handler, r *http.Request, settings ...config.Setting) *httptest.ResponseRecorder {
	t.Helper()
	a := newTestAPI(t, settings...)
	a.probing = true
	a.API = couchhttp.New(a.Options, []couchhttp.Route{{Methods: "GET,PUT,POST", Pattern: "/probe", Run: run}})
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestStreamFailsWithALineAndACut(t *testing.T) {
	cut := false
	var w *httptest.ResponseRecorder
	r := httptest.NewRequest("GET", "/probe", nil)
	a := newTestAPI(t)
	a.probing = true
	a.API = couchhttp.New(a.Options, []couchhttp.Route{{Methods: "GET", Pattern: "/probe", Run: func(r *couchhttp.Request) error {
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
