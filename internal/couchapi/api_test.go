package couchapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// testAPI is the face over a real store in memory, with the administrator
// adm:pass.
type testAPI struct {
	*couchhttp.API
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

// sequential skips a long test where the race detector wants short ones: one caller asks after the other, and there is
// nothing that it could find.
func sequential(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one caller asks after the other")
	}
}

func newTestAPI(t testing.TB, settings ...config.Setting) *testAPI {
	t.Helper()
	return newTestAPIWith(t, store.Options{}, settings...)
}

// newTestAPIWith is newTestAPI with options of the store.
func newTestAPIWith(t testing.TB, o store.Options, settings ...config.Setting) *testAPI {
	t.Helper()
	return newTestAPIOn(t, pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 24 << 20, MemTableBytes: 4 << 20}, o, settings...)
}

// newTestAPIOn is newTestAPIWith over an engine with options of its own.
func newTestAPIOn(t testing.TB, engine pebblekv.Options, o store.Options, settings ...config.Setting) *testAPI {
	t.Helper()
	settings = append([]config.Setting{
		{Section: "chttpd_auth", Key: "iterations", Value: "1"},
		{Section: "chttpd_auth", Key: "secret", Value: "tell nobody"},
	}, settings...)
	c, err := config.Open(config.Options{Overrides: settings, Local: filepath.Join(t.TempDir(), "local.ini")})
	must(t, err)
	_, err = auth.SetAdmin(c, "adm", "pass")
	must(t, err)
	e, err := pebblekv.Open(engine)
	must(t, err)
	users := &admission.Users{}
	who := auth.New(auth.Options{Config: c, Users: users})
	logged := &text{}
	scripts, err := script.New(script.Options{Logger: slog.New(slog.NewTextHandler(logged, nil)), Limits: script.Limits{Time: c.Snapshot().Duration("couchdb", "os_process_timeout", time.Millisecond, 5*time.Second)}})
	must(t, err)
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
	a := &testAPI{t: t, config: c, logged: logged}
	o.Admission, o.Indexer, o.Idle, o.Followers = rules, indexes, true, []store.Follower{subscribe.Rows{}}
	o.DesignLimits = func() store.DesignLimits {
		s := c.Snapshot()
		return store.DesignLimits{Documents: int(s.Int("sectional", "owner_max_design_docs", 0)), Indexes: int(s.Int("sectional", "owner_max_indexes", 0))}
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(a.later.Load())) }
	}
	s, err := store.Open(context.Background(), e, o)
	must(t, err)
	must(t, indexes.Start(context.Background(), s))
	users.Use(s)
	told := subscribe.New(subscribe.Options{Store: s, AllowPrivate: func() bool { return c.Snapshot().Bool("subscriptions", "allow_private", false) }})
	done := make(chan struct{})
	a.store, a.stop = s, func() { close(done) }
	scheduler := schedule.New(schedule.Options{Store: s, Users: who, Config: c, Node: admin.NodeName})
	a.options = couchhttp.Options{Store: s, Auth: who, Replicator: scheduler, Rules: rules, Scripts: scripts, Config: c, Indexes: indexes, Views: views, Texts: texts, Subscriptions: told, Version: "test", Done: done}
	a.API = New(a.options)
	must(t, a.MakeSystemDatabases(context.Background()))
	must(t, scheduler.Start(a.API))
	t.Cleanup(func() {
		scheduler.Close()
		a.Wait()
		if held := a.HeldBytes(); held != 0 {
			t.Errorf("%d bytes of bodies are still charged at the end", held)
		}
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
	return a
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
