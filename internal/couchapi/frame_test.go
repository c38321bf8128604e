package couchapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// splitPath splits the path of a request target.
func splitPath(target string) (p path) {
	p.split(target, plusIsSpace)
	return p
}

func TestSplitPath(t *testing.T) {
	for target, want := range map[string][]string{
		"/":                             nil,
		"":                              nil,
		"/db":                           {"db"},
		"/db/":                          {"db"},
		"//db///doc//":                  {"db", "doc"},
		"/db%2Fname/doc":                {"db/name", "doc"},
		"/db/_design/x":                 {"db", "_design", "x"},
		"/db/_design%2Fx":               {"db", "_design/x"},
		"/db/doc/a/b%20c":               {"db", "doc", "a", "b c"},
		"/db/one+two":                   {"db", "one two"},
		"/db/one%2Btwo":                 {"db", "one+two"},
		"/db/%FF":                       {"db", "\xff"},
		"/db/100%":                      {"db", "100%"},
		"/db/%zz%4":                     {"db", "%zz%4"},
		"/%C3%A4":                       {"ä"},
		"/a" + strings.Repeat("/b", 20): append(append([]string{"a"}, strings.Split(strings.Repeat("b", 14), "")...), "b/b/b/b/b/b"),
	} {
		p := splitPath(target)
		if diff := cmp.Diff(want, append([]string(nil), p.parts[:p.n]...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", target, diff)
		}
	}
}

func TestTargetOfAbsoluteForm(t *testing.T) {
	r := httptest.NewRequest("GET", "http://host/db%2Fname?q=1", nil)
	if path, query := targetOf(r); path != "/db%2Fname" || query != "q=1" {
		t.Errorf("got %q %q", path, query)
	}
}

func TestQuotedPathComesBack(t *testing.T) {
	for _, s := range []string{"plain", "a b", "a/b", "ä", "100%", "\x00\xff", "p:x", "$()"} {
		quoted := string(appendQuotedPath(nil, s))
		if got := unquote(quoted, plusIsSpace); got != s || strings.ContainsAny(quoted, "/ %%%"[:2]) {
			t.Errorf("%q became %q and then %q", s, quoted, got)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for s, want := range map[string]query{
		"":                 nil,
		"a=1":              {{"a", "1"}},
		"a=1&b=2;c=3":      {{"a", "1"}, {"b", "2"}, {"c", "3"}},
		"a":                {{"a", ""}},
		"a=":               {{"a", ""}},
		"a=b=c":            {{"a", "b=c"}},
		"&&a=1&":           {{"a", "1"}},
		"k=%22x+y%22":      {{"k", `"x y"`}},
		"k=%7B%22a%22%3A1": {{"k", `{"a":1`}},
		"a=1&a=2":          {{"a", "1"}, {"a", "2"}},
	} {
		if diff := cmp.Diff(want, parseQuery(s), cmp.AllowUnexported(pair{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	}
}

func FuzzSplitPath(f *testing.F) {
	f.Add("/db/doc/a%2Fb")
	f.Add("//%")
	f.Fuzz(func(t *testing.T, target string) {
		p := splitPath(target)
		if p.n > maxParts {
			t.Fatalf("%d parts", p.n)
		}
		var quoted []byte
		for _, part := range p.parts[:p.n] {
			quoted = appendQuotedPath(append(quoted, '/'), part)
		}
		again := splitPath(string(quoted))
		// The last of very many segments may hold slashes that stay escaped.
		if diff := cmp.Diff(p.parts[:p.n], again.parts[:again.n]); diff != "" {
			t.Fatalf("%q does not come back (-want +got):\n%s", target, diff)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add("a=1&b=%22x%22;c")
	f.Fuzz(func(t *testing.T, s string) {
		q := parseQuery(s)
		if len(q) > 1+strings.Count(s, "&")+strings.Count(s, ";") {
			t.Fatalf("%q gave %d parameters", s, len(q))
		}
		for _, p := range q {
			if v, ok := q.get(p.name); !ok || q.is(p.name) != (v == "true") {
				t.Fatalf("%q: parameter %q is not found again", s, p.name)
			}
		}
	})
}

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
	if err := table.read(parseQuery("flag=TRUE&count=7&other=x"), &f); err != nil || !f.flag || f.count != 7 {
		t.Errorf("got %+v %v", f, err)
	}
	for s, want := range map[string]string{
		"flag=1":           `Invalid boolean parameter: "1"`,
		"count=x&flag=1":   `Invalid value for integer: "x"`,
		"count=-1":         `Invalid value for positive integer: "-1"`,
		"count=1.5":        `Invalid value for integer: "1.5"`,
		"flag=&count=what": `Invalid boolean parameter: ""`,
	} {
		err := table.read(parseQuery(s), &f)
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
		{errTempView, 410, "gone", "Temporary views are not supported in CouchDB"},
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

// probe answers a request by a handler of the test's own.
func probe(t *testing.T, run handler, r *http.Request, settings ...config.Setting) *httptest.ResponseRecorder {
	t.Helper()
	a := newTestAPI(t, settings...)
	a.routes = buildRoutes([]route{{methods: "GET,PUT,POST", pattern: "/probe", run: run}})
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestBodyLimits(t *testing.T) {
	limit := config.Setting{Section: "chttpd", Key: "max_http_request_size", Value: "10"}
	read := func(r *request) error {
		b, err := r.body()
		if err != nil {
			return err
		}
		return r.bytes(200, "text/plain", b)
	}
	for _, c := range []struct {
		body   io.Reader
		header string
		status int
		want   string
	}{
		{strings.NewReader("0123456789"), "", 200, "0123456789"},
		{strings.NewReader("0123456789x"), "", 413, ""},
		{io.MultiReader(strings.NewReader("0123456789x")), "", 413, ""}, // without a length
		{zipped("0123456789"), "gzip", 413, ""},                         // its packed form is longer
		{strings.NewReader("no gzip"), "gzip", 400, ""},
		{strings.NewReader("x"), "br", 415, ""},
	} {
		r := httptest.NewRequest("PUT", "/probe", c.body)
		r.Header.Set("Content-Encoding", c.header)
		w := probe(t, read, r, limit)
		if w.Code != c.status || c.want != "" && w.Body.String() != c.want {
			t.Errorf("%q: %d %s, want %d", c.header, w.Code, w.Body, c.status)
		}
	}
	// What is small when packed may be large when unpacked.
	bomb := httptest.NewRequest("PUT", "/probe", zipped(strings.Repeat("0", 1<<20)))
	bomb.Header.Set("Content-Encoding", "gzip")
	limit.Value = "100000"
	if w := probe(t, read, bomb, limit); w.Code != 413 {
		t.Errorf("unpacked beyond the limit: %d", w.Code)
	}
	ok := httptest.NewRequest("PUT", "/probe", zipped("0123456789"))
	ok.Header.Set("Content-Encoding", "gzip")
	if w := probe(t, read, ok); w.Code != 200 || w.Body.String() != "0123456789" {
		t.Errorf("gzip: %d %s", w.Code, w.Body)
	}
}

func zipped(s string) io.Reader {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return &b
}

func TestStreamFailsCleanlyBeforeItBegan(t *testing.T) {
	w := probe(t, func(r *request) error {
		s := r.stream(200, jsonContent)
		s.Buf = append(s.Buf, `{"rows":[`...)
		return dberr.New(dberr.Invalid, "bad_request", "late")
	}, httptest.NewRequest("GET", "/probe", nil))
	if w.Code != 400 || w.Body.String() != `{"error":"bad_request","reason":"late"}`+"\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

func TestStreamFailsWithALineAndACut(t *testing.T) {
	cut := false
	var w *httptest.ResponseRecorder
	r := httptest.NewRequest("GET", "/probe", nil)
	a := newTestAPI(t)
	a.routes = buildRoutes([]route{{methods: "GET", pattern: "/probe", run: func(r *request) error {
		s := r.stream(200, jsonContent)
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

func TestStreamOfManyRows(t *testing.T) {
	const rows = 10000
	w := probe(t, func(r *request) error {
		s := r.stream(200, jsonContent)
		for range rows {
			s.Buf = append(s.Buf, "0123456789\n"...)
			if err := s.Spill(); err != nil {
				return err
			}
		}
		return s.End()
	}, httptest.NewRequest("GET", "/probe", nil))
	if w.Body.String() != strings.Repeat("0123456789\n", rows) {
		t.Errorf("%d bytes", w.Body.Len())
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
		if !minimal[name] {
			t.Errorf("%s is sent", name)
		}
	}
}
