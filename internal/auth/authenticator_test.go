package auth

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

const janDoc = `{"name":"jan","type":"user","roles":["clerk","night shift"],"password":"pw-jan"}`

// who returns "handler name roles" of the caller, or the refusal.
func (w *world) who(t *testing.T, r *Request) string {
	t.Helper()
	id, err := w.Authenticate(t.Context(), r)
	if err != nil {
		return refusal(err)
	}
	return strings.TrimSpace(string(id.Caller.Handler) + " " + id.Caller.Name + " " + strings.Join(id.Caller.Roles, ","))
}

func TestBasic(t *testing.T) {
	w := newWorld(t)
	w.addAdmin(t, "adm", "pass")
	w.addUser(t, "jan", janDoc)
	w.addUser(t, "mail@example.org", `{"name":"mail@example.org","type":"user","roles":[],"password":"pä:ß"}`)
	w.addUser(t, "nopw", `{"name":"nopw","type":"user","roles":[]}`)
	const wrong = "401: Name or password is incorrect."
	for _, c := range []struct {
		name string
		r    *Request
		want string
	}{
		{"nobody", request(), ""},
		{"administrator", basic("adm", "pass"), "default adm _admin"},
		{"user", basic("jan", "pw-jan"), "default jan clerk,night shift"},
		{"again, from memory", basic("jan", "pw-jan"), "default jan clerk,night shift"},
		{"colon in the password", basic("mail@example.org", "pä:ß"), "default mail@example.org"},
		{"wrong password", basic("jan", "wrong"), wrong},
		{"empty password", basic("jan", ""), wrong},
		{"unknown user", basic("ghost", "x"), wrong},
		{"user without a password", basic("nopw", ""), wrong},
		{"no name", basic("", ""), wrong},
		{"logged out browser", basic("_", "_"), ""},
		{"no base64", request("Authorization", "Basic ???"), "400: Authorization header has invalid base64 value"},
		{"no colon", request("Authorization", "Basic YWJj"), ""},
		{"other scheme", request("Authorization", "Bearer abc"), ""},
		{"scheme alone", request("Authorization", "Basic"), ""},
		{"case of the scheme", request("Authorization", "basic amFuOnB3LWphbg=="), "default jan clerk,night shift"},
	} {
		if got := w.who(t, c.r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestUserDocumentAddsRolesToAdministrator(t *testing.T) {
	w := newWorld(t)
	w.addAdmin(t, "jan", "pass")
	w.addUser(t, "jan", janDoc)
	if got := w.who(t, basic("jan", "pass")); got != "default jan _admin,clerk,night shift" {
		t.Errorf("got %q", got)
	}
	if got := w.who(t, basic("jan", "pw-jan")); got != "401: Name or password is incorrect." {
		t.Errorf("the document's password gives %q", got)
	}
}

func TestFailingUserLookupIsNoRefusal(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("disk")
	w.opts.Users = usersFunc(func(context.Context, string, string) (*User, error) { return nil, broken })
	if _, err := w.Authenticate(t.Context(), basic("jan", "x")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type usersFunc func(context.Context, string, string) (*User, error)

func (f usersFunc) User(ctx context.Context, db, name string) (*User, error) { return f(ctx, db, name) }

// The vectors were computed by another program.
func TestCookieVectors(t *testing.T) {
	w := newWorld(t)
	w.users["jan"] = `{"name":"jan","roles":["x"],"salt":"` + testSalt + `"}`
	const sha256 = "amFuOjY3NzQ4NTgwOkCNCFW9Lvzf07FMDYVSie_lW-6hFYQwtemy4XzTOhYa"
	const sha = "amFuOjY3NzQ4NTgwOkMi9qYLHHQxrLF2p9vZcb5AS4jU"
	if got := w.settings.Value().newCookie("jan", testSalt, w.now); got != sha256 {
		t.Errorf("the cookie is %s", got)
	}
	for _, value := range []string{sha256, sha, sha256 + "=="} {
		if got := w.who(t, request("Cookie", "a=b; AuthSession="+value+"; c")); got != "cookie jan x" {
			t.Errorf("%s: %q", value, got)
		}
	}
	w.set(t, config.Setting{Section: section, Key: "hash_algorithms", Value: "sha256"})
	if got := w.who(t, request("Cookie", "AuthSession="+sha)); got != "" {
		t.Errorf("SHA-1 is still accepted: %q", got)
	}
}

func TestCookies(t *testing.T) {
	w := newWorld(t)
	w.addAdmin(t, "adm", "pass")
	w.addUser(t, "jan", janDoc)
	s := w.settings.Value()
	user, err := w.user(t.Context(), s, "jan")
	if err != nil {
		t.Fatal(err)
	}
	salt := user.Verifier.Salt
	good := s.newCookie("jan", salt, w.now)
	for _, c := range []struct {
		name, value, want string
	}{
		{"good", good, "cookie jan clerk,night shift"},
		{"empty", "", ""},
		{"garbage", "garbage", "400: Malformed AuthSession cookie. Please clear your cookies."},
		{"not base64", "???", "400: Malformed AuthSession cookie. Please clear your cookies."},
		{"of another salt", s.newCookie("jan", salt+"x", w.now), ""},
		{"of an unknown user", s.newCookie("ghost", "", w.now), ""},
		{"old", s.newCookie("jan", salt, w.now.Add(-600*time.Second)), ""},
		{"nearly old", s.newCookie("jan", salt, w.now.Add(-599*time.Second)), "cookie jan clerk,night shift"},
		{"time is not a number", "amFuOnh4OmFiYw", ""},
	} {
		if got := w.who(t, request("Cookie", "AuthSession="+c.value)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	w.addUser(t, "jan", janDoc) // the same password once more: a new salt
	if got := w.who(t, request("Cookie", "AuthSession="+good)); got != "" {
		t.Errorf("a session survives the change of the password: %q", got)
	}
	w.set(t, config.Setting{Section: section, Key: "secret", Value: ""})
	if got := w.who(t, request("Cookie", "AuthSession="+good)); got != "" {
		t.Errorf("a session lives without a secret: %q", got)
	}
}

func TestCookieRenewal(t *testing.T) {
	w := newWorld(t)
	w.addAdmin(t, "adm", "pass")
	session, err := w.LogIn(t.Context(), Login{Name: "adm", Password: "pass"}, request())
	if err != nil {
		t.Fatal(err)
	}
	want := "; Version=1; Expires=Wed, 01 Jan 2025 00:10:00 GMT; Max-Age=600; Path=/; HttpOnly; SameSite=Lax"
	value, rest, _ := strings.Cut(session.SetCookie, ";")
	if diff := cmp.Diff(want, ";"+rest); diff != "" {
		t.Error(diff)
	}
	for after, renewed := range map[time.Duration]bool{
		0: false, 59 * time.Second: false, 60 * time.Second: false, 61 * time.Second: true, 599 * time.Second: true,
	} {
		w.now = time.Unix(0x67748580, 0).Add(after)
		id, err := w.Authenticate(t.Context(), request("Cookie", value))
		if err != nil || id.Caller.Name != "adm" || (id.SetCookie != "") != renewed {
			t.Errorf("after %v: %+v, %v", after, id, err)
		}
	}
}

func TestCookieAttributes(t *testing.T) {
	w := newWorld(t, config.Setting{Section: section, Key: "allow_persistent_cookies", Value: "false"},
		config.Setting{Section: section, Key: "cookie_domain", Value: "example.com"},
		config.Setting{Section: section, Key: "same_site", Value: "strict"})
	r := request()
	r.Secure = true
	const want = "AuthSession=; Version=1; Secure; Domain=example.com; Path=/; HttpOnly; SameSite=Strict"
	if got := w.ClearCookie(r); got != want {
		t.Errorf("got %s", got)
	}
}

func TestSameSite(t *testing.T) {
	for value, want := range map[string]string{"none": "; SameSite=None", "LAX": "; SameSite=Lax", "Strict": "; SameSite=Strict", "lacks": "; SameSite=Lax", "": ""} {
		w := newWorld(t, config.Setting{Section: section, Key: "same_site", Value: value})
		if _, got, _ := strings.Cut(w.ClearCookie(request()), "; HttpOnly"); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestProxy(t *testing.T) {
	w := newWorld(t, config.Setting{Section: "chttpd", Key: "authentication_handlers",
		Value: "{chttpd_auth, proxy_authentication_handler}, {chttpd_auth, default_authentication_handler}"})
	const sha256 = "d13fdf913451b339ecbcace3de5c6d6016e53aa8f84daa7f3e97f4a15edc8663"
	const sha = "15c4158cdb2e1c9b2cc157a1a37a6747df8de85f"
	proxied := func(name, token string) *Request {
		return request("X-Auth-CouchDB-UserName", name, "X-Auth-CouchDB-Roles", "a, b,,c", "X-Auth-CouchDB-Token", token)
	}
	for _, c := range []struct{ name, token, want string }{
		{"jan", sha256, "proxy jan a,b,c"}, {"jan", sha, "proxy jan a,b,c"}, {"jan", "", ""}, {"jan", sha256[1:], ""},
		{"eve", sha256, ""}, {"", sha256, ""},
	} {
		if got := w.who(t, proxied(c.name, c.token)); got != c.want {
			t.Errorf("%v: %q", c, got)
		}
	}
	w.set(t, config.Setting{Section: section, Key: "secret", Value: ""})
	if got := w.who(t, proxied("jan", "")); got != "" {
		t.Errorf("without a secret anybody is %q", got)
	}
	w.set(t, config.Setting{Section: section, Key: "proxy_use_secret", Value: "false"})
	if got := w.who(t, proxied("jan", "")); got != "proxy jan a,b,c" {
		t.Errorf("unsigned: %q", got)
	}
	w.set(t, config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{chttpd_auth, default_authentication_handler}"})
	if got := w.who(t, proxied("jan", "")); got != "" {
		t.Errorf("with the handler off: %q", got)
	}
}

func TestRequireValidUser(t *testing.T) {
	w := newWorld(t, config.Setting{Section: "chttpd", Key: "require_valid_user", Value: "true"})
	w.addAdmin(t, "adm", "pass")
	at := func(method, path string) *Request { return &Request{Method: method, Path: path} }
	const refused = "401: Authentication required."
	for _, c := range []struct {
		r    *Request
		want string
	}{
		{at("GET", "/"), refused}, {at("GET", "/_session"), refused}, {at("POST", "/_session"), ""},
		{at("GET", "/_up"), refused}, {basic("adm", "pass"), "default adm _admin"},
	} {
		if got := w.who(t, c.r); got != c.want {
			t.Errorf("%s %s: %q", c.r.Method, c.r.Path, got)
		}
	}
	w.set(t, config.Setting{Section: "chttpd", Key: "require_valid_user_except_for_up", Value: "true"})
	if got := w.who(t, at("GET", "/_up")); got != "" {
		t.Errorf("/_up: %q", got)
	}
	w.set(t, config.Setting{Section: "chttpd", Key: "require_valid_user", Value: "false"})
	if got := w.who(t, at("GET", "/")); got != refused {
		t.Errorf("with require_valid_user_except_for_up alone: %q", got)
	}
}

func TestLockout(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", janDoc)
	const wrong = "401: Name or password is incorrect."
	const locked = "403: Account is temporarily locked due to multiple authentication failures. Try again in "
	fail := func(times int) {
		t.Helper()
		for i := range times {
			if got := w.who(t, basic("jan", "wrong")); got != wrong {
				t.Fatalf("failure %d: %q", i+1, got)
			}
		}
	}
	right := func(want string) {
		t.Helper()
		w.forget()
		if got := w.who(t, basic("jan", "pw-jan")); got != want && (want != locked || !strings.HasPrefix(got, locked)) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	fail(4)
	right("default jan clerk,night shift")
	fail(1)
	right(locked)
	elsewhere := basic("jan", "pw-jan")
	elsewhere.Peer = "10.0.0.2"
	if got := w.who(t, elsewhere); got != "default jan clerk,night shift" {
		t.Errorf("from another address: %q", got)
	}
	w.forget()
	if _, err := w.LogIn(t.Context(), Login{Name: "jan", Password: "pw-jan"}, basic("", "")); !strings.HasPrefix(refusal(err), locked) {
		t.Errorf("login: %v", err)
	}
	w.now = w.now.Add(299 * time.Second)
	right(locked)
	w.now = w.now.Add(time.Second)
	right("default jan clerk,night shift")

	fail(5)
	right(locked)
	w.addUser(t, "jan", janDoc)
	right("default jan clerk,night shift")

	w.set(t, config.Setting{Section: "chttpd_auth_lockout", Key: "mode", Value: "warn"})
	fail(7)
	right("default jan clerk,night shift")
	w.set(t, config.Setting{Section: "chttpd_auth_lockout", Key: "mode", Value: "off"})
	fail(7)
	right("default jan clerk,night shift")
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	w.now = time.Unix(59, 0)
	w.addUser(t, "jan", `{"name":"jan","type":"user","roles":[],"password":"pw",
		"totp":{"key":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ","length":8}}`)
	const wrong = "401: Name or password is incorrect."
	if got := w.who(t, basic("jan", "pw")); got != wrong {
		t.Errorf("Basic does without: %q", got)
	}
	for token, want := range map[string]string{"94287082": "", "": wrong, "94287083": wrong} {
		if _, err := w.LogIn(t.Context(), Login{Name: "jan", Password: "pw", Token: token}, &Request{}); refusal(err) != want {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

func TestParseLogin(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		want       Login
		refusal    string
	}{
		{"application/json", `{"name":"jo","password":"pw"}`, Login{Name: "jo", Password: "pw"}, ""},
		{"application/json; charset=utf-8", `{"username":"jo"}`, Login{Name: "jo"}, ""},
		{"application/json", `{"name":"jo","username":"jo","token":"1"}`, Login{Name: "jo", Token: "1"}, ""},
		{"application/json", `{"name":"jo","username":"eve"}`, Login{}, "400: request body contains different usernames"},
		{"application/json", `{"password":"x"}`, Login{}, "400: request body must contain a username"},
		{"application/json", `{}`, Login{}, "400: request body must contain a username"},
		{"application/json", `{broken`, Login{}, "400: invalid UTF-8 JSON"},
		{"application/json", "{\"name\":\"\xff\"}", Login{}, "400: invalid UTF-8 JSON"},
		{"application/json", `[]`, Login{}, "400: Request body must be a JSON object"},
		{"application/json", `{"name":5}`, Login{}, "400: `name` must be a string"},
		{"application/x-www-form-urlencoded", "name=fo&password=pw%20fo%2B%26%3D%C3%BC", Login{Name: "fo", Password: "pw fo+&=ü"}, ""},
		{"application/x-www-form-urlencoded", "name=%zz", Login{}, "400: The form is not encoded correctly."},
		{"text/plain", "name=x", Login{},
			"415: Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'"},
	} {
		got, err := ParseLogin(c.kind, []byte(c.body))
		if got != c.want || refusal(err) != c.refusal {
			t.Errorf("%s %s: %v, %v", c.kind, c.body, got, err)
		}
	}
}

func TestSessionView(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		caller Caller
		want   string
	}{
		{Caller{}, `{"ok":true,"userCtx":{"name":null,"roles":[]},"info":{"authentication_handlers":["cookie","default"]}}`},
		{Caller{Name: "jan", Roles: []string{"a"}, Handler: BasicHandler},
			`{"ok":true,"userCtx":{"name":"jan","roles":["a"]},"info":{"authentication_handlers":["cookie","default"],"authenticated":"default"}}`},
	} {
		view, err := w.Session(&c.caller, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(view)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v", got, err)
		}
	}
	if _, err := w.Session(&Caller{}, true); refusal(err) != "401: Please login." {
		t.Errorf("basic=true: %v", err)
	}
	if got := string((&Caller{Name: "jan"}).UserContext("db")); got != `{"db":"db","name":"jan","roles":[]}` {
		t.Errorf("userCtx is %s", got)
	}
}

func TestChallenge(t *testing.T) {
	w := newWorld(t)
	browser := Refused{Path: "/db?a=1", Reason: "no.", AcceptsHTML: true}
	for _, c := range []struct {
		r    Refused
		want Challenge
	}{
		{browser, Challenge{Location: "/_utils/session.html?return=%2Fdb%3Fa%3D1&reason=no."}},
		{Refused{AcceptsHTML: true, AcceptsJSON: true}, Challenge{}},
		{Refused{}, Challenge{}},
		{Refused{Wanted: "Cookie"}, Challenge{WWWAuthenticate: "Cookie"}},
	} {
		if got := w.Challenge(c.r); got != c.want {
			t.Errorf("%+v: %+v", c.r, got)
		}
	}
	w.set(t, config.Setting{Section: "chttpd", Key: "require_valid_user", Value: "true"})
	if got := w.Challenge(browser); got.WWWAuthenticate != `Basic realm="server"` {
		t.Errorf("got %+v", got)
	}
	w.set(t, config.Setting{Section: "chttpd", Key: "WWW-Authenticate", Value: `Basic realm="x"`})
	if got := w.Challenge(browser); got.WWWAuthenticate != `Basic realm="x"` {
		t.Errorf("got %+v", got)
	}
}

func TestEnsureSecret(t *testing.T) {
	w := newWorld(t, config.Setting{Section: section, Key: "secret", Value: ""})
	if err := EnsureSecret(w.config); err != nil {
		t.Fatal(err)
	}
	first, _ := w.config.Get(section, "secret")
	if err := EnsureSecret(w.config); err != nil {
		t.Fatal(err)
	}
	if again, _ := w.config.Get(section, "secret"); len(first) != 32 || again != first {
		t.Errorf("secrets %q and %q", first, again)
	}
}

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		c              *Caller
		admin, metrics string
	}{
		{admin(), "", ""},
		{&Caller{Name: "m", Roles: []string{MetricsRole}}, "401: You are not a server admin.", ""},
		{&Caller{}, "401: You are not a server admin.", "401: You are not a server admin or read-only metrics user"},
	} {
		if got := refusal(RequireServerAdmin(c.c)); got != c.admin {
			t.Errorf("%v: %s", c.c, got)
		}
		if got := refusal(RequireMetrics(c.c)); got != c.metrics {
			t.Errorf("%v: %s", c.c, got)
		}
	}
}

// TestNoHandlers: a list of handlers that names none leaves nobody out who could
// log in by default.
func TestNoHandlers(t *testing.T) {
	for _, list := range []string{"", "nonsense", "{chttpd_auth, no_such_handler}"} {
		w := newWorld(t, config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: list})
		w.addAdmin(t, "adm", "pass")
		if got := w.who(t, basic("adm", "pass")); got != "default adm _admin" {
			t.Errorf("%q: %s", list, got)
		}
	}
}
