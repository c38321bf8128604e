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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/admin"
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
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/kv/pgkv/enginetest"
	"github.com/sectional/sectional/internal/replicate/schedule"
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
	all    []*Server // over its engine, itself among them; requests are dealt out to them
	deal   kvtest.Rand
	dealt  *sync.Mutex // guards deal
}

// New makes a server with the given settings. It ends with the test.
func New(t testing.TB, settings ...config.Setting) *Server {
	t.Helper()
	if e := enginetest.Open(t); e != nil {
		return On(t, e, settings...)
	}
	return On(t, kvtest.NewModel(kvtest.ModelOptions{}), settings...)
}

// On is New over another engine, which is closed with the server.
func On(t testing.TB, e kv.Engine, settings ...config.Setting) *Server {
	t.Helper()
	return on(t, e, index.Options{}, store.Options{}, settings...)
}

// Idle is On without work in the background, whose round trips would count among those of requests.
func Idle(t testing.TB, e kv.Engine) *Server {
	t.Helper()
	return on(t, e, index.Options{Idle: true}, store.Options{})
}

// Several is On with so many servers over the engine, each with its own memory and workers, and one
// configuration: Do, OK and ServeHTTP have any of them answer.
func Several(t testing.TB, e kv.Engine, servers int, settings ...config.Setting) *Server {
	t.Helper()
	t.Cleanup(func() { must(t, e.Close()) })
	shared, c := kvtest.NewSharing(e, false), configured(t, settings)
	all := make([]*Server, servers)
	for i := range all {
		all[i] = configuredOn(t, shared.Engine(), c, index.Options{}, store.Options{Holder: uint64(i + 1), Lease: time.Minute, Doubt: kvtest.Doubt(uint64(i + 1))})
	}
	all[0].all, all[0].deal, all[0].dealt = all, kvtest.NewRand(1), &sync.Mutex{}
	return all[0]
}

// Deal returns the number of one of the servers, and the server.
func (s *Server) Deal() (int, *Server) {
	if len(s.all) == 0 {
		return 0, s
	}
	s.dealt.Lock()
	defer s.dealt.Unlock()
	i := s.deal.IntN(len(s.all))
	return i, s.all[i]
}

// All returns the servers over the engine.
func (s *Server) All() []*Server {
	if len(s.all) == 0 {
		return []*Server{s}
	}
	return s.all
}

// ServeHTTP has one of the servers answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, to := s.Deal()
	to.API.ServeHTTP(w, r)
}

// on is On with options of the indexes and of the store.
func on(t testing.TB, e kv.Engine, o index.Options, so store.Options, settings ...config.Setting) *Server {
	t.Helper()
	return configuredOn(t, e, configured(t, settings), o, so)
}

// configured is the configuration with the given settings, and the administrator adm:pass.
func configured(t testing.TB, settings []config.Setting) *config.Config {
	t.Helper()
	settings = append([]config.Setting{
		{Section: "chttpd_auth", Key: "iterations", Value: "1"},
		{Section: "chttpd_auth", Key: "secret", Value: "tell nobody"},
	}, settings...)
	c, err := config.Open(config.Options{Overrides: settings, Local: filepath.Join(t.TempDir(), "local.ini")})
	must(t, err)
	_, err = auth.SetAdmin(c, "adm", "pass")
	must(t, err)
	return c
}

// configuredOn is on with a configuration.
func configuredOn(t testing.TB, e kv.Engine, c *config.Config, o index.Options, so store.Options) *Server {
	t.Helper()
	users := &admission.Users{}
	who := auth.New(auth.Options{Config: c, Users: users})
	scripts, err := script.New(script.Options{Limits: script.Limits{Time: 5 * time.Second}})
	must(t, err)
	rules := admission.New(admission.Options{Auth: who, Functions: scripts, Cloudant: func() bool { return false },
		TenantDesigns: func() admission.Writers {
			return admission.Writers(c.Snapshot().String("sectional", "owner_design_docs", "views"))
		}})
	runner := mapjs.New(scripts)
	views := view.New(viewjs.New(runner))
	texts := text.New(text.Options{Functions: textjs.New(runner), Analyze: func(definition []byte) (text.Analyzers, error) { return analyze.New(definition) },
		AnalyzeNouveau: func(definition []byte) (text.Analyzers, error) { return analyze.Nouveau(definition) }})
	o.Kinds = []index.Kind{field.Kind{}, views, texts, texts.Nouveau(), geo.Fields{}, geo.New(geojs.New(runner)), secondary.Kind{}}
	indexes := index.New(o)
	later := &atomic.Int64{}
	clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	so.Admission, so.Indexer, so.Followers, so.Clock, so.Idle = rules, indexes, []store.Follower{subscribe.Rows{}}, clock, true
	s, err := store.Open(context.Background(), kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), so)
	must(t, err)
	must(t, indexes.Start(context.Background(), s))
	users.Use(s)
	if s.Shared() {
		who.Share(s, s.Secret("attempts"))
	}
	told := subscribe.New(subscribe.Options{Store: s, Idle: true})
	done := make(chan struct{})
	replications := schedule.New(schedule.Options{Store: s, Users: who, Config: c, Node: admin.OneNode})
	a := couchapi.New(couchhttp.Options{Store: s, Auth: who, Replicator: replications, Rules: rules, Scripts: scripts, Config: c, Indexes: indexes, Views: views, Texts: texts, Subscriptions: told, Version: "test", Done: done})
	must(t, a.MakeSystemDatabases(context.Background()))
	if !so.Idle || !o.Idle {
		must(t, replications.Start(a))
	}
	t.Cleanup(func() {
		close(done)
		replications.Close()
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
func (s *Server) Later(d time.Duration) {
	for _, one := range s.All() {
		one.later.Add(int64(d))
	}
}

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
