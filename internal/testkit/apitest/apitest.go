// Package apitest owns the server that tests outside of couchapi talk to: the
// HTTP surface over a real store, on the model engine in memory, with the
// administrator adm:pass. At the end of the test the store is checked.
//
// It must not know what is tested. Begin reading at New.
package apitest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/assembly"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/enginetest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// Main is the TestMain of packages that use New: it lets the test binary be a
// child that runs design functions.
func Main(m *testing.M) {
	script.ServeIfChild()
	os.Exit(m.Run())
}

// Server is a server without a listener, or several over one engine: then its members are those of the first.
type Server struct {
	*assembly.Server
	Logged *Log // what was logged, by functions among others
	t      testing.TB
	later  *atomic.Int64
	all    []*Server // over its engine, itself among them; requests are dealt out to them
	deal   kvtest.Rand
	dealt  *sync.Mutex // guards deal
}

// Log is what was logged so far. It may be read while it is written.
type Log struct {
	sync.Mutex
	b strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(p)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}

// Options say what differs from a server of New; the zero value is one of these.
type Options struct {
	Engine   kv.Engine // closed with the server; nil: what the environment names, or the model
	Servers  int       // so many over the engine, each with its own memory and workers; 0 or 1: one, which has it for itself
	Idle     bool      // without work in the background, whose round trips would count among those of requests
	Begin    time.Time // the store's clock stands still at this time, but for Later; zero: the machine's goes on
	Store    store.Options
	Settings []config.Setting
	// DynamoDBOpen treats every request of the DynamoDB API as an administrator's.
	DynamoDBOpen bool
}

// New makes a server with the given settings. It ends with the test.
func New(t testing.TB, settings ...config.Setting) *Server {
	t.Helper()
	return With(t, Options{Settings: settings})
}

// On is New over another engine, which is closed with the server.
func On(t testing.TB, e kv.Engine, settings ...config.Setting) *Server {
	t.Helper()
	return With(t, Options{Engine: e, Settings: settings})
}

// With makes a server, or several: Do, OK and ServeHTTP have any of them answer.
func With(t testing.TB, o Options) *Server {
	t.Helper()
	e := o.Engine
	if e == nil {
		if e = enginetest.Open(t); e == nil {
			e = kvtest.NewModel(kvtest.ModelOptions{})
		}
	}
	t.Cleanup(func() { must(t, e.Close()) })
	c := Configured(t, o.Settings...)
	if o.Servers <= 1 {
		return Add(t, e, c, o)
	}
	shared, all := kvtest.NewSharing(e, false), make([]*Server, o.Servers)
	for i := range all {
		one := o
		one.Store.Holder, one.Store.Lease = uint64(i+1), time.Minute
		if o.Store.AssumeStale == nil {
			one.Store.AssumeStale = kvtest.RandomStale(uint64(i + 1))
		}
		all[i] = Add(t, shared.Engine(), c, one)
	}
	return Together(all...)
}

// Together returns the first of servers over one engine, which deals requests out to all of them.
func Together(all ...*Server) *Server {
	all[0].all, all[0].deal, all[0].dealt = all, kvtest.NewRand(1), &sync.Mutex{}
	return all[0]
}

// SingleServer returns the server without the others over its engine.
func (s *Server) SingleServer() *Server {
	return &Server{Server: s.Server, Logged: s.Logged, t: s.t, later: s.later}
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

// Configured is the configuration with the given settings, and the administrator adm:pass.
func Configured(t testing.TB, settings ...config.Setting) *config.Config {
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

// Add makes one server over an engine, which others may have too, with the store's options. It ends with the test; the engine
// does not.
func Add(t testing.TB, e kv.Engine, c *config.Config, o Options) *Server {
	t.Helper()
	s := &Server{Logged: &Log{}, t: t, later: &atomic.Int64{}}
	o.Store.Idle = true
	if o.Store.Clock == nil {
		o.Store.Clock = func() time.Time {
			now := o.Begin
			if now.IsZero() {
				now = time.Now()
			}
			return now.Add(time.Duration(s.later.Load()))
		}
	}
	var err error
	s.Server, err = assembly.Open(context.Background(), kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), assembly.Options{
		Config: c, Version: "test", Log: slog.New(slog.NewTextHandler(s.Logged, nil)), Store: o.Store, Idle: o.Idle, DynamoDBOpen: o.DynamoDBOpen,
	})
	must(t, err)
	if !o.Idle {
		must(t, s.Start())
	}
	t.Cleanup(func() {
		s.Stop()
		if held := s.API.ChargedBytes(); held != 0 {
			t.Errorf("%d bytes of bodies are still charged at the end", held)
		}
		if err := s.Store.Check(context.Background()); err != nil {
			t.Errorf("the store is not sound at the end: %v", err)
		}
		must(t, s.Server.Close())
	})
	return s
}

// Later moves the store's clock ahead. Nothing expires by it before Store.Sweep is called.
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
