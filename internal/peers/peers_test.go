package peers

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// member is a server of a store that answers with who asked what.
type member struct {
	*Peers
	*httptest.Server
	store  *store.Store
	behave http.HandlerFunc // nil: tells
	got    []*http.Request  // as they came
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// join adds a server to those of an engine.
func join(t *testing.T, e kv.Engine, name string, holder uint64, now func() time.Time) *member {
	t.Helper()
	s, err := store.Open(t.Context(), e, store.Options{Idle: true, Clock: now, Server: store.Server{Name: name}, Holder: holder, Lease: time.Minute})
	must(t, err)
	m := &member{Peers: New(s), store: s}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, h *http.Request) {
		m.got = append(m.got, h.Clone(t.Context()))
		if m.behave != nil {
			m.behave(w, h)
			return
		}
		m.tell(w, m.Enter(h))
	}))
	must(t, s.ReachedAt(t.Context(), m.URL))
	t.Cleanup(func() {
		m.Server.Close()
		m.Peers.Close()
		must(t, s.Close())
	})
	return m
}

// tell answers with the caller, the method, the target and the body, or with why it is refused.
func (m *member) tell(w http.ResponseWriter, h *http.Request) {
	body, err := io.ReadAll(h.Body)
	if refused := Refused(h.Context()); refused != nil {
		err = refused
	}
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		body = []byte(err.Error())
	} else if c := auth.CallerOf(h.Context()); c != nil {
		body = []byte(c.Name + " " + strings.Join(c.Roles, ",") + " " + h.Method + " " + h.URL.RequestURI() + " " + string(body))
	}
	_, _ = w.Write(body) // the one who asks sees what is missing
}

// pair is two servers of one store.
func pair(t *testing.T, now func() time.Time) (one, two *member) {
	t.Helper()
	shared := kvtest.NewSharing(kvtest.NewModel(kvtest.ModelOptions{}), false)
	return join(t, shared.Engine(), "one@here", 1, now), join(t, shared.Engine(), "two@here", 2, now)
}

func asked(target, body string) Request {
	return Request{Method: "PUT", Target: target, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), Caller: &auth.Caller{Name: "eva", Roles: []string{auth.AdminRole}}}
}

// TestAsk has one server ask another in somebody's name.
func TestAsk(t *testing.T) {
	one, two := pair(t, nil)
	a, err := one.Ask(t.Context(), "two@here", asked("/_node/two%40here/_config/a/b?raw=true", `"x"`))
	must(t, err)
	if got := string(a.Body); a.Status != 200 || got != `eva _admin PUT /_node/two%40here/_config/a/b?raw=true "x"` {
		t.Errorf("%d %s", a.Status, got)
	}
	if h := two.got[0].Header; h.Get("Content-Type") != "application/json" || h.Get("Authorization") != "" || h.Get("Cookie") != "" {
		t.Errorf("sent with %v", h)
	}
}

// TestNobodyToAsk: no name leads anywhere but that of a server that lives, and what that
// answers is bounded and leads nowhere else.
func TestNobodyToAsk(t *testing.T) {
	now := time.Now()
	one, two := pair(t, func() time.Time { return now })
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for _, name := range []string{"", "three@here", "127.0.0.1:1", "http://127.0.0.1:1", two.URL, "two@here@" + two.Listener.Addr().String(), "two@here/..", "\x00"} {
		if _, err := one.Ask(t.Context(), name, asked("/", "")); !dberr.Is(err, dberr.NotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	refused := func(what, reason string) {
		t.Helper()
		_, err := one.Ask(t.Context(), "two@here", asked("/_node/x", ""))
		if !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", what, err)
		}
	}
	two.behave = func(w http.ResponseWriter, h *http.Request) {
		http.Redirect(w, h, elsewhere.URL, http.StatusTemporaryRedirect)
	}
	refused("a redirect", "redirect")
	two.behave = func(w http.ResponseWriter, _ *http.Request) {
		for range maxAnswer/(1<<20) + 1 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}
	refused("a huge answer", "too much")
	two.behave = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("half"))
	}
	refused("half an answer", "did not end")
	two.behave = nil
	for _, address := range []string{"", "file:///etc/passwd", "gopher://h/", "http://", "http://user:pass@127.0.0.1", "http://127.0.0.1/path", "http://127.0.0.1?q", "127.0.0.1:5984", ":"} {
		must(t, two.store.ReachedAt(t.Context(), address))
		refused(address, "address")
	}
	must(t, two.store.ReachedAt(t.Context(), two.URL))
	if _, err := one.Ask(t.Context(), "two@here", Request{Method: "GET", Target: "@elsewhere/", Caller: &auth.Caller{}}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("a target that leads to another host: %v", err)
	}
	two.Server.Close()
	refused("nobody listens", "can't be reached")
	now = now.Add(time.Minute)
	refused("no sign of life", "is down")
}

// TestForged: nobody is let in by what no server of the store has made, for this very request,
// a moment ago, and for the first time.
func TestForged(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	one, two := pair(t, clock)
	third := join(t, kvtest.NewSharing(kvtest.NewModel(kvtest.ModelOptions{}), false).Engine(), "two@here", 2, clock) // of another store
	const target = "/_node/two%40here/_system"
	ask := func(m *member) string { // a token as it goes over the line
		_, err := one.Ask(t.Context(), "two@here", asked(target, "body"))
		must(t, err)
		return m.got[len(m.got)-1].Header.Get(Header)
	}
	// send sends a request as anybody may, and reports whether it was let in.
	send := func(m *member, sealed, method, target, body string) bool {
		h, err := http.NewRequest(method, m.URL+target, strings.NewReader(body))
		must(t, err)
		h.Header.Set(Header, sealed)
		w, err := http.DefaultClient.Do(h)
		must(t, err)
		must(t, w.Body.Close())
		return w.StatusCode == 200
	}
	// fresh is a token that was not used yet.
	fresh := func() string {
		two.behave = func(http.ResponseWriter, *http.Request) {}
		defer func() { two.behave = nil }()
		return ask(two)
	}
	sealed := fresh()
	if !send(two, sealed, "PUT", target, "body") {
		t.Fatal("a token is not taken")
	}
	if send(two, sealed, "PUT", target, "body") {
		t.Error("a token is taken twice")
	}
	for what, sent := range map[string]bool{
		"another method":     send(two, fresh(), "GET", target, "body"),
		"another target":     send(two, fresh(), "PUT", target+"?x", "body"),
		"another body":       send(two, fresh(), "PUT", target, "bodx"),
		"a longer body":      send(two, fresh(), "PUT", target, "body more"),
		"no body":            send(two, fresh(), "PUT", target, ""),
		"another server":     send(one, fresh(), "PUT", target, "body"),
		"another store":      send(third, fresh(), "PUT", target, "body"),
		"nothing":            send(two, "", "PUT", target, "body"),
		"noise":              send(two, "a.b", "PUT", target, "body"),
		"no code":            send(two, strings.Split(fresh(), ".")[0]+".", "PUT", target, "body"),
		"too long a token":   send(two, strings.Repeat("a", maxToken+1), "PUT", target, "body"),
		"a key of no secret": send(two, forge(t, nil, two), "PUT", target, "body"),
	} {
		if sent {
			t.Errorf("%s is let in", what)
		}
	}
	late := fresh()
	now = now.Add(tokenLife + time.Second)
	must(t, two.store.ReachedAt(t.Context(), two.URL)) // a sign of life
	if send(two, late, "PUT", target, "body") {
		t.Error("a token is taken too late")
	}
	early := forgeAt(t, two.key, two, now.Add(time.Hour))
	if send(two, early, "PUT", target, "body") {
		t.Error("a token that lives for an hour is taken")
	}
	if !send(two, fresh(), "PUT", target, "body") || len(two.used.until) != 1 {
		t.Errorf("%d tokens are remembered", len(two.used.until))
	}
	if h := httptest.NewRequest("GET", "/", nil); (*Peers)(nil).Enter(h) != h || Entered(h.Context()) || two.Enter(h) != h {
		t.Error("a request of anybody is changed")
	}
}

// forge makes a token by a key.
func forge(t *testing.T, key []byte, to *member) string {
	return forgeAt(t, key, to, to.now().Add(time.Second))
}

func forgeAt(t *testing.T, key []byte, to *member, expires time.Time) string {
	x := token{To: "two@here", Holder: 2, Method: "PUT", Target: "/_node/two%40here/_system", Name: "eve", Roles: []string{auth.AdminRole}, Expires: expires.UnixMilli()}
	sealed, err := x.seal(key)
	must(t, err)
	return sealed
}

// FuzzOpen: no header but one that was sealed is opened, and none ends the server.
func FuzzOpen(f *testing.F) {
	key := bytes.Repeat([]byte("k"), 32)
	x := token{To: "a"}
	sealed, err := x.seal(key)
	must(f, err)
	f.Add(sealed)
	f.Add("e30.")
	f.Fuzz(func(t *testing.T, s string) {
		// Each process of the fuzzer seals one of its own.
		if got, err := open(key, s); err == nil && (got.To != x.To || got.Name != "") {
			t.Errorf("%q is opened as %+v", s, got)
		}
	})
}
