package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
)

// small is an API of the tests' own: all requests go to one path, and a header names the action. Whoever sends a key is known by it;
// errors have a form of their own.
type small struct {
	*Shared
	frame    *Frame
	settings Settings
	class    *Class
	actions  map[string]action
	stale    error // withholds each answer but those to errors that no other may have caused; nil: none is
	begun    int   // how often requests have taken the steps
}

// action is a row of the API.
type action struct {
	Action
	secret bool // for those who are known
	run    func(*Request) error
}

// smallCall is a request to it.
type smallCall struct {
	Request
	api    *small
	action *action
}

// newSmall makes the API with one action more, "Do".
func newSmall(s *Shared, do func(*Request) error) *small {
	a := &small{Shared: s, settings: Settings{MaxBody: Limit{1 << 20, "max_body"}, MaxMemory: Limit{1 << 20, "max_memory"}, BodyTimeout: time.Minute, Server: []string{"small"}}}
	a.class = s.Metrics.Class("small", false)
	what := Action{Class: a.class, Body: BodyCost{Max: 1 << 20, Weight: 1}}
	a.actions = map[string]action{"Do": {what, false, do}, "Secret": {what, true, do}}
	a.frame = NewFrame(s, Options{Settings: func() *Settings { return &a.settings }, IDHeader: "X-Small-Id", Unrouted: a.class})
	return a
}

func (a *small) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r := &smallCall{api: a}
	a.frame.Serve(&r.Request, r, w, h)
}

func (r *smallCall) Route() {
	if found, ok := r.api.actions[r.Header("X-Action")]; ok && len(r.Path.Parts()) == 0 {
		r.action, r.Action = &found, found.Action
	}
}

func (r *smallCall) Authenticate() error {
	r.api.begun++
	key := r.Header("X-Key")
	if key == "wrong" {
		return dberr.New(dberr.Unauthorized, "", "nobody's key")
	}
	r.SetCaller(&auth.Caller{Name: key})
	return nil
}

func (r *smallCall) Admit() error {
	switch {
	case r.action == nil:
		return dberr.New(dberr.NotFound, "", "no such action")
	case r.action.secret && r.Caller.Anonymous():
		return dberr.New(dberr.Forbidden, "", "for those who are known")
	}
	return nil
}

func (r *smallCall) Run() error { return r.action.run(&r.Request) }

func (r *smallCall) Complete(int) {
	if r.api.stale != nil {
		r.Withhold(r.api.stale)
	}
	r.Set("X-Small", "yes")
}

func (r *smallCall) ShouldRetry(error) bool { return r.api.stale != nil }

func (r *smallCall) Render(err error) Failure {
	f := Failure{Status: 500, Type: "text/x-small", Body: []byte("!internal\n")}
	var e *dberr.Error
	if errors.As(err, &e) {
		f.Status = map[dberr.Kind]int{dberr.Invalid: 400, dberr.Unauthorized: 401, dberr.Forbidden: 403, dberr.NotFound: 404,
			dberr.TooLarge: 413, dberr.Unsupported: 415, dberr.Unavailable: 503, dberr.Internal: 500, dberr.Timeout: 500, dberr.UnknownOutcome: 500}[e.Kind]
		f.Body = []byte("!" + e.Reason + "\n")
	}
	return f
}

// ask sends a request to the action of a name. header holds names and values in turn.
func (a *small) ask(name string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/", body)
	r.Header.Set("X-Action", name)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// echo answers with the body.
func echo(r *Request) error {
	b, err := r.Body(nil)
	if err != nil {
		return err
	}
	return r.Bytes(200, "text/plain", b)
}

// stuck is a body that nobody may read.
type stuck struct{ t *testing.T }

func (s stuck) Read([]byte) (int, error) {
	s.t.Error("the body is read before the caller is admitted")
	return 0, io.EOF
}

func TestSteps(t *testing.T) {
	a := newSmall(NewShared(nil, nil, nil), echo)
	for _, c := range []struct {
		action, key string
		body        io.Reader
		status      int
		want        string
	}{
		{"Do", "", strings.NewReader("hello"), 200, "hello"},
		{"Secret", "ann", strings.NewReader("hello"), 200, "hello"},
		{"Secret", "", stuck{t}, 403, "!for those who are known\n"},
		{"Do", "wrong", stuck{t}, 401, "!nobody's key\n"},
		{"None", "", stuck{t}, 404, "!no such action\n"},
		{"None", "wrong", stuck{t}, 401, "!nobody's key\n"},
	} {
		w := a.ask(c.action, c.body, "X-Key", c.key)
		if w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("%s as %q: %d %q, want %d %q", c.action, c.key, w.Code, w.Body, c.status, c.want)
		}
		if h := w.Header(); h.Get("Server") != "small" || h.Get("X-Small") != "yes" || len(h.Get("X-Small-Id")) != 10 {
			t.Errorf("%s as %q: %v", c.action, c.key, h)
		}
	}
	if w := a.ask("Do", nil, "X-Small-Id", "mine"); w.Header().Get("X-Small-Id") != "mine" {
		t.Error("a request loses its id")
	}
	if w := a.ask("Do", nil, "X-Small-Id", "not\"mine"); len(w.Header().Get("X-Small-Id")) != 10 {
		t.Error("any text is taken for an id")
	}
}

// TestAPIsShare has two APIs in one server: the memory of one's bodies is lacking to the other, and all are counted.
func TestAPIsShare(t *testing.T) {
	s := NewShared(nil, nil, nil)
	hold, done := make(chan struct{}), make(chan struct{})
	one := newSmall(s, func(r *Request) error {
		if err := r.Hold(500 << 10); err != nil {
			return err
		}
		hold <- struct{}{}
		<-hold
		return r.Bytes(200, "text/plain", nil)
	})
	two := newSmall(s, func(r *Request) error {
		if err := r.Hold(500 << 10); err != nil {
			return err
		}
		return r.Bytes(200, "text/plain", nil)
	})
	go func() {
		one.ask("Do", nil, "X-Key", "ann")
		close(done)
	}()
	<-hold
	if w := two.ask("Do", nil, "X-Key", "ann"); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("beside a full budget: %d %v", w.Code, w.Header())
	}
	hold <- struct{}{}
	<-done
	if w := two.ask("Do", nil, "X-Key", "ann"); w.Code != 200 || s.ChargedBytes() != 0 {
		t.Errorf("after it: %d, %d bytes are held", w.Code, s.ChargedBytes())
	}
	if w := two.ask("Do", nil); w.Code != 413 {
		t.Errorf("who is not known has half of that: %d", w.Code)
	}
	if s.Metrics.ByStatus(200) != 2 || s.Metrics.ByStatus(503) != 1 || s.Metrics.ByMethod()["POST"] != 4 {
		t.Errorf("counted are %d, %d and %v", s.Metrics.ByStatus(200), s.Metrics.ByStatus(503), s.Metrics.ByMethod())
	}
}

// TestWithheld has what each request was let in by change again and again: in the end it is told so, in an answer that
// has nothing of those which were withheld.
func TestWithheld(t *testing.T) {
	a := newSmall(NewShared(nil, nil, nil), nil)
	a.stale = dberr.New(dberr.Unavailable, "", "it has changed")
	for name, run := range map[string]func(*Request) error{
		"an answer": func(r *Request) error {
			r.Set("Content-Encoding", "gzip")
			return r.Bytes(200, "text/plain", []byte("secret"))
		},
		"an error": func(r *Request) error { return dberr.New(dberr.Forbidden, "", "secret") },
		"a stream": func(r *Request) error {
			s := r.Stream(200, "text/plain")
			s.Buf = append(s.Buf, "secret"...)
			return s.End()
		},
		"a feed": func(r *Request) error {
			s := r.Stream(200, "text/plain")
			s.Buf = append(s.Buf, "secret"...)
			return s.Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			a.begun, a.actions["Do"] = 0, action{Action: Action{Class: a.class}, run: run}
			var w *httptest.ResponseRecorder
			synctest.Test(t, func(*testing.T) { w = a.ask("Do", nil) })
			if w.Code != 503 || w.Body.String() != "!it has changed\n" || w.Header().Get("Content-Encoding") != "" || w.Header().Get("X-Small") != "yes" {
				t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
			}
			if a.begun != maxRetries+1 {
				t.Errorf("it began %d times", a.begun)
			}
		})
	}
}

func TestMetricsAsText(t *testing.T) {
	s := NewShared(nil, nil, nil)
	a := newSmall(s, echo)
	s.Metrics.Gauges(nil)
	s.Metrics.Gauges(func() []Gauge {
		return []Gauge{{Name: "some_total", Help: "Some.", Counter: true, Value: 7}, {Name: "labelled", Help: "One of a few.", Label: "pool", Of: "store", Value: 2}, {Name: "labelled", Help: "One of a few.", Label: "pool", Of: "index", Value: 3}}
	})
	a.ask("Do", nil)
	var b strings.Builder
	if err := s.Metrics.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`sectional_http_requests_total{class="small",status="200"} 1`, `sectional_http_request_seconds_count{class="small"} 1`, "sectional_some_total 7", `sectional_labelled{pool="index"} 3`, `sectional_labelled{pool="store"} 2`, "go_goroutines"} {
		if !strings.Contains(b.String(), want+"\n") && !strings.Contains(b.String(), "\n"+want+" ") {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestLog(t *testing.T) {
	var b bytes.Buffer
	s := NewShared(slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), nil, nil)
	a := newSmall(s, func(r *Request) error { return dberr.Wrap("op", errors.New("disk on fire")) })
	a.ask("Secret", nil, "X-Key", "ann")
	var failed, served struct {
		Message string `json:"msg"`
		Level   string
		Status  int
		User    string
		Peer    string
		Cause   string
	}
	d := json.NewDecoder(&b)
	if err := errors.Join(d.Decode(&failed), d.Decode(&served)); err != nil {
		t.Fatal(err)
	}
	if failed.Message != "request failed" || failed.Level != "ERROR" || failed.Status != 500 || !strings.Contains(failed.Cause, "disk on fire") {
		t.Errorf("the failure is logged as %+v", failed)
	}
	if served.Message != "request" || served.Status != 500 || served.User != "ann" || served.Peer != "192.0.2.1" {
		t.Errorf("the request is logged as %+v", served)
	}
}

func TestBodyLimits(t *testing.T) {
	a := newSmall(NewShared(nil, nil, nil), echo)
	a.settings.MaxBody.Bytes = 10
	for _, c := range []struct {
		body   io.Reader
		header string
		status int
		want   string
	}{
		{strings.NewReader("0123456789"), "", 200, "0123456789"},
		{strings.NewReader("0123456789x"), "", 413, "!the request entity is too large (the limit is 10 bytes: max_body)\n"},
		{io.MultiReader(strings.NewReader("0123456789x")), "", 413, ""}, // without a length
		{zipped("0123456789"), "gzip", 413, ""},                         // its packed form is longer
		{strings.NewReader("no gzip"), "gzip", 400, ""},
		{strings.NewReader("x"), "br", 415, ""},
	} {
		w := a.ask("Do", c.body, "Content-Encoding", c.header)
		if w.Code != c.status || c.want != "" && w.Body.String() != c.want {
			t.Errorf("%q: %d %s, want %d", c.header, w.Code, w.Body, c.status)
		}
	}
	// What is small when packed may be large when unpacked.
	a.settings.MaxBody.Bytes = 100000
	if w := a.ask("Do", zipped(strings.Repeat("0", 1<<20)), "Content-Encoding", "gzip"); w.Code != 413 {
		t.Errorf("unpacked beyond the limit: %d", w.Code)
	}
	if w := a.ask("Do", zipped("0123456789"), "Content-Encoding", "gzip"); w.Code != 200 || w.Body.String() != "0123456789" {
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
