package couchapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/geo/geojs"
	"github.com/sectional/sectional/internal/index/mapjs"
	textindex "github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/textjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/index/view/viewjs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/kv/pgkv/enginetest"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// testAPI is the face over a real store in memory, with the administrator
// adm:pass. It may be several servers over one engine, which requests are dealt out to: then
// the API and the store are those of the first.
type testAPI struct {
	*couchhttp.API
	servers []*couchhttp.API
	dealing struct {
		sync.Mutex
		kvtest.Rand
	}
	t       testing.TB
	options couchhttp.Options
	store   *store.Store
	config  *config.Config
	stop    func()       // ends feeds
	later   atomic.Int64 // how far the store's clock is ahead
	logged  *text        // by functions
}

// text is what was written so far.
type text struct {
	sync.Mutex
	b strings.Builder
}

func (w *text) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.b.Write(p)
}

func (w *text) String() string {
	w.Lock()
	defer w.Unlock()
	return w.b.String()
}

func newTestAPI(t testing.TB, settings ...config.Setting) *testAPI {
	t.Helper()
	return newTestAPIWith(t, store.Options{}, settings...)
}

// newTestAPIWith is newTestAPI with options of the store.
func newTestAPIWith(t testing.TB, o store.Options, settings ...config.Setting) *testAPI {
	t.Helper()
	if e := enginetest.Open(t); e != nil {
		return newTestAPIs(t, e, 1, o, settings...)
	}
	return newTestAPIOn(t, pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 24 << 20, MemTableBytes: 4 << 20}, o, settings...)
}

// newTestAPIOn is newTestAPIWith over an engine with options of its own.
func newTestAPIOn(t testing.TB, engine pebblekv.Options, o store.Options, settings ...config.Setting) *testAPI {
	t.Helper()
	e, err := pebblekv.Open(engine)
	must(t, err)
	return newTestAPIs(t, e, 1, o, settings...)
}

// newSeveral is newTestAPI with several servers over one engine: Pebble or the model, or what the environment names.
func newSeveral(t testing.TB, engine string, servers int, o store.Options, settings ...config.Setting) *testAPI {
	t.Helper()
	var e kv.Engine = kvtest.NewModel(kvtest.ModelOptions{})
	if engine == "pebble" {
		var err error
		e, err = pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 24 << 20, MemTableBytes: 4 << 20})
		must(t, err)
	}
	if shared := enginetest.Open(t); shared != nil {
		e = shared
	}
	return newTestAPIs(t, e, servers, o, settings...)
}

// newTestAPIs is newTestAPIOn with so many servers over an engine, which is closed with them.
// They have one configuration; all that a server remembers is its own.
func newTestAPIs(t testing.TB, e kv.Engine, servers int, o store.Options, settings ...config.Setting) *testAPI {
	t.Helper()
	settings = append([]config.Setting{
		{Section: "chttpd_auth", Key: "iterations", Value: "1"},
		{Section: "chttpd_auth", Key: "secret", Value: "tell nobody"},
	}, settings...)
	c, err := config.Open(config.Options{Overrides: settings, Local: filepath.Join(t.TempDir(), "local.ini")})
	must(t, err)
	_, err = auth.SetAdmin(c, "adm", "pass")
	must(t, err)
	logged := &text{}
	scripts, err := script.New(script.Options{Logger: slog.New(slog.NewTextHandler(logged, nil)), Limits: script.Limits{Time: c.Snapshot().Duration("couchdb", "os_process_timeout", time.Millisecond, 5*time.Second)}})
	must(t, err)
	a := &testAPI{t: t, config: c, logged: logged}
	a.dealing.Rand = kvtest.NewRand(1)
	done := make(chan struct{})
	a.stop = func() { close(done) }
	t.Cleanup(func() {
		must(t, scripts.Close())
		must(t, e.Close())
	})
	shared, under := kvtest.NewSharing(e, false), e
	for n := range servers {
		if servers > 1 {
			o.Holder, o.Lease = uint64(n+1), 30*time.Second
			under = shared.Engine()
		}
		a.serve(under, scripts, done, o)
	}
	return a
}

// serve adds a server.
func (a *testAPI) serve(e kv.Engine, scripts *script.Pool, done chan struct{}, o store.Options) {
	t, c := a.t, a.config
	users := &admission.Users{}
	var of atomic.Pointer[store.Store]
	now := func() time.Time { // the store's, as in a real server
		if s := of.Load(); s != nil {
			return s.Now()
		}
		return time.Now()
	}
	who := auth.New(auth.Options{Config: c, Users: users, Now: now})
	rules := admission.New(admission.Options{Auth: who, Functions: scripts, Cloudant: func() bool {
		limits, _ := c.Get("sectional", "limits")
		return limits == "cloudant"
	}, TenantDesigns: func() admission.Writers {
		who, _ := c.Get("sectional", "owner_design_docs")
		return admission.Writers(who)
	}, TenantDesignSize: func() int { return int(c.Snapshot().Int("sectional", "owner_max_design_size", 0)) }})
	runner := mapjs.New(scripts)
	views := view.New(viewjs.New(runner))
	texts := textindex.New(textindex.Options{Functions: textjs.New(runner), Analyze: func(definition []byte) (textindex.Analyzers, error) { return analyze.New(definition) },
		AnalyzeNouveau: func(definition []byte) (textindex.Analyzers, error) { return analyze.Nouveau(definition) }})
	indexes := index.New(index.Options{Kinds: []index.Kind{field.Kind{}, views, texts, texts.Nouveau(), geo.Fields{}, geo.New(geojs.New(runner))}})
	o.Admission, o.Indexer, o.Idle, o.Followers = rules, indexes, true, []store.Follower{subscribe.Rows{}}
	o.DesignLimits = func() store.DesignLimits {
		s := c.Snapshot()
		return store.DesignLimits{Documents: int(s.Int("sectional", "owner_max_design_docs", 0)), Indexes: int(s.Int("sectional", "owner_max_indexes", 0))}
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(a.later.Load())) }
	}
	s, err := store.Open(context.Background(), kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), o)
	must(t, err)
	of.Store(s)
	must(t, indexes.Start(context.Background(), s))
	users.Use(s)
	if s.Shared() {
		who.Share(s, s.Secret("attempts"))
	}
	told := subscribe.New(subscribe.Options{Store: s, Now: now, AllowPrivate: func() bool { return c.Snapshot().Bool("subscriptions", "allow_private", false) }})
	scheduler := schedule.New(schedule.Options{Store: s, Users: who, Config: c, Node: admin.OneNode, Now: now})
	options := couchhttp.Options{Store: s, Auth: who, Replicator: scheduler, Rules: rules, Scripts: scripts, Config: c, Indexes: indexes, Views: views, Texts: texts, Subscriptions: told, Version: "test", Done: done}
	api := New(options)
	must(t, api.MakeSystemDatabases(context.Background()))
	must(t, scheduler.Start(api))
	if a.servers = append(a.servers, api); len(a.servers) == 1 {
		a.API, a.store, a.options = api, s, options
	}
	t.Cleanup(func() {
		scheduler.Close()
		api.Wait()
		if held := api.HeldBytes(); held != 0 {
			t.Errorf("%d bytes of bodies are still charged at the end", held)
		}
		told.Close()
		users.Close()
		indexes.Close()
		if err := s.Check(context.Background()); err != nil {
			t.Errorf("the store is not sound at the end: %v", err)
		}
		must(t, s.Close())
	})
}

// ServeHTTP has one of the servers answer. What is recorded is held against docs/openapi.json, but where a test has put a
// table of its own in the place of ours.
func (a *testAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api := a.API
	if len(a.servers) > 1 {
		a.dealing.Lock()
		api = a.servers[a.dealing.IntN(len(a.servers))]
		a.dealing.Unlock()
	}
	recorder, recorded := w.(*httptest.ResponseRecorder)
	if _, measured := a.t.(*testing.B); !recorded || measured || !slices.Contains(a.servers, api) {
		api.ServeHTTP(w, r)
		return
	}
	watched(a.t, recorder, r, api)
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
