package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sectional/sectional/internal/config"
)

// TestGrantEnds asks grants again after each of the things by which they end, and
// after others by which they do not.
func TestGrantEnds(t *testing.T) {
	handlers := func(list string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			w.set(t, config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: list})
		}
	}
	later := func(d time.Duration) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.now = w.now.Add(d) }
	}
	for _, c := range []struct {
		what string
		kind Handler
		do   func(*testing.T, *world)
		want string // the roles then, or the refusal
	}{
		{"nothing", BasicHandler, later(0), "clerk night shift"},
		{"a day", BasicHandler, later(24 * time.Hour), "clerk night shift"},
		{"other roles", BasicHandler, func(t *testing.T, w *world) {
			w.users["jan"] = strings.Replace(w.users["jan"], `["clerk","night shift"]`, `["boss"]`, 1)
		}, "boss"},
		{"another password", BasicHandler, func(t *testing.T, w *world) {
			w.addUser(t, "jan", `{"name":"jan","type":"user","roles":[],"password":"other"}`)
		}, "gone"},
		{"a second factor", BasicHandler, func(t *testing.T, w *world) {
			w.users["jan"] = strings.Replace(w.users["jan"], `{`, `{"totp":{"key":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"},`, 1)
		}, "gone"},
		{"no user", BasicHandler, func(t *testing.T, w *world) { delete(w.users, "jan") }, "gone"},
		{"no handler", BasicHandler, handlers("{chttpd_auth, cookie_authentication_handler}"), "gone"},
		{"another order of handlers", BasicHandler, handlers("{chttpd_auth, default_authentication_handler}, {chttpd_auth, cookie_authentication_handler}"), "clerk night shift"},
		{"a minute", CookieHandler, later(time.Minute), "clerk night shift"},
		{"the session's end", CookieHandler, later(10 * time.Minute), "gone"},
		{"another password", CookieHandler, func(t *testing.T, w *world) { w.addUser(t, "jan", janDoc) }, "gone"},
		{"a minute", JWTHandler, later(time.Minute), "clerk"},
		{"the token's end", JWTHandler, later(time.Hour), "gone"},
		{"other keys", JWTHandler, func(t *testing.T, w *world) {
			w.set(t, config.Setting{Section: "jwt_keys", Key: "hmac:_default", Value: "b3RoZXI="})
		}, "gone"},
		{"an hour", "", later(time.Hour), ""},
	} {
		t.Run(string(c.kind)+" "+c.what, func(t *testing.T) {
			w := newWorld(t, config.Setting{Section: "jwt_keys", Key: "hmac:_default", Value: "c2VjcmV0"},
				config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}"})
			w.addUser(t, "jan", janDoc)
			r := requestOf(t, w, c.kind)
			id, err := w.Authenticate(t.Context(), r)
			if err != nil || id.Caller.Handler != c.kind {
				t.Fatalf("%+v, %v", id, err)
			}
			g, err := w.Grant(t.Context(), r, &id.Caller)
			if err != nil {
				t.Fatal(err)
			}
			c.do(t, w)
			got := "gone"
			if now, err := g.Check(t.Context()); err == nil {
				got = strings.Join(now.Roles, " ")
			}
			if got != c.want {
				t.Errorf("after %s: %q, want %q", c.what, got, c.want)
			}
		})
	}
}

// requestOf makes a request of jan's with credentials for a handler, "" for none.
func requestOf(t *testing.T, w *world, kind Handler) *Request {
	t.Helper()
	switch kind {
	case BasicHandler:
		return basic("jan", "pw-jan")
	case CookieHandler:
		s, err := w.LogIn(t.Context(), Login{Name: "jan", Password: "pw-jan"}, request())
		if err != nil {
			t.Fatal(err)
		}
		value, _, _ := strings.Cut(s.SetCookie, ";")
		return request("Cookie", value)
	case JWTHandler:
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "jan", "exp": w.now.Unix() + 600, "_couchdb.roles": []string{"clerk"}}).SignedString([]byte("secret"))
		if err != nil {
			t.Fatal(err)
		}
		return bearer(text)
	}
	return request()
}
