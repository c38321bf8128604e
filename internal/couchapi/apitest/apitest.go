// Package apitest owns the server that tests outside of couchapi talk to: the
// HTTP surface over a real store, on the model engine in memory, with the
// administrator adm:pass. At the end of the test the store is checked.
//
// It must not know what is tested. Begin reading at New.
package apitest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/geo/geojs"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/textjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/index/view/viewjs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// Main is the TestMain of packages that use New: it lets the test binary be a
// child that runs design functions.
func Main(m *testing.M) {
	script.ServeIfChild()
	os.Exit(m.Run())
}

// Server is a server without a listener.
type Server struct {
	*couchhttp.API
	Store  *store.Store
	Config *config.Config
	Rules  *admission.Rules
	t      testing.TB
	later  *atomic.Int64
}

// New makes a server with the given settings. It ends with the test.
func New(t testing.TB, settings ...config.Setting) *Server {
	t.Helper()
	return On(t, kvtest.NewModel(kvtest.ModelOptions{}), settings...)
}

// On is New over another engine, which is closed with the server.
func On(t testing.TB, e kv.Engine, settings ...config.Setting) *Server {
	t.Helper()
	return on(t, e, index.Options{}, settings...)
}

// on is On with options of the indexes.
func on(t testing.TB, e kv.Engine, o index.Options, settings ...config.Setting) *Server {
	t.Helper()
	settings = append([]config.Setting{
		{Section: "chttpd_auth", Key: "iterations", Value: "1"},
		{Section: "chttpd_auth", Key: "secret", Value: "tell nobody"},
	}, settings...)
	c, err := config.Open(config.Options{Overrides: settings, Local: filepath.Join(t.TempDir(), "local.ini")})
	must(t, err)
	_, err = auth.SetAdmin(c, "adm", "pass")
	must(t, err)
	users := &admission.Users{}
	who := auth.New(auth.Options{Config: c, Users: users})
	scripts, err := script.New(script.Options{Limits: script.Limits{Time: 5 * time.Second}})
	must(t, err)
	rules := admission.New(admission.Options{Auth: who, Functions: scripts, Cloudant: func() bool { return false }})
	runner := mapjs.New(scripts)
	views := view.New(viewjs.New(runner))
	texts := text.New(text.Options{Functions: textjs.New(runner), Analyze: func(definition []byte) (text.Analyzers, error) { return analyze.New(definition) },
		AnalyzeNouveau: func(definition []byte) (text.Analyzers, error) { return analyze.Nouveau(definition) }})
	o.Kinds = []index.Kind{field.Kind{}, views, texts, texts.Nouveau(), geo.Fields{}, geo.New(geojs.New(runner)), secondary.Kind{}}
	indexes := index.New(o)
	later := &atomic.Int64{}
	clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	s, err := store.Open(context.Background(), e, store.Options{Admission: rules, Indexer: indexes, Followers: []store.Follower{subscribe.Rows{}}, Clock: clock, Idle: true})
	must(t, err)
	must(t, indexes.Start(context.Background(), s))
	users.Use(s)
	told := subscribe.New(subscribe.Options{Store: s, Idle: true})
	done := make(chan struct{})
	a := couchapi.New(couchhttp.Options{Store: s, Auth: who, Rules: rules, Scripts: scripts, Config: c, Indexes: indexes, Views: views, Texts: texts, Subscriptions: told, Version: "test", Done: done})
	must(t, a.MakeSystemDatabases(context.Background()))
	t.Cleanup(func() {
		close(done)
		a.Wait()
		told.Close()
		users.Close()
		indexes.Close()
		if err := s.Check(context.Background()); err != nil {
			t.Errorf("the store is not sound at the end: %v", err)
		}
		must(t, s.Close())
		must(t, scripts.Close())
		must(t, e.Close())
	})
	return &Server{API: a, Store: s, Config: c, Rules: rules, t: t, later: later}
}

// Later moves the store's clock ahead. Nothing expires by it before somebody
// calls Store.Sweep.
func (s *Server) Later(d time.Duration) { s.later.Add(int64(d)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Do sends a request as the administrator and returns the answer. A body is JSON
// unless header, names and values in turn, says otherwise.
func (s *Server) Do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	var from io.Reader = http.NoBody
	if body != "" {
		from = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, from)
	r.SetBasicAuth("adm", "pass")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// OK is Do for requests that have to succeed; it returns the body.
func (s *Server) OK(method, target, body string, header ...string) string {
	s.t.Helper()
	w := s.Do(method, target, body, header...)
	if w.Code < 200 || w.Code > 299 {
		s.t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
	return w.Body.String()
}
