package auth

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sectional/sectional/internal/config"
)

// askedUsers fails when it is asked for a long name.
type askedUsers struct{ t *testing.T }

func (u askedUsers) User(_ context.Context, _, name string) (*User, error) {
	if len(name) > maxName {
		u.t.Error("a long name was looked up")
	}
	return nil, nil
}

// TestLongNames returns names of 64 KB by all the ways by which a name can come in. Each is
// refused before it is looked up, remembered or logged.
func TestLongNames(t *testing.T) {
	w := newOpenWorld(t)
	w.set(t, config.Setting{Section: section, Key: "proxy_use_secret", Value: "false"})
	var out bytes.Buffer
	w.Authenticator = New(Options{Config: w.config, Users: askedUsers{t}, Log: slog.New(slog.NewTextHandler(&out, nil))})
	w.now = w.opts.Now()
	long := strings.Repeat("n", 64<<10)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": long, "exp": w.now.Unix() + 60}).SignedString([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	byHeader := func(r *Request) func() error {
		return func() error { _, err := w.Authenticate(t.Context(), r); return err }
	}
	byBody := func(kind, body string) func() error {
		return func() error {
			l, err := ParseLogin(kind, []byte(body))
			if err != nil {
				return err
			}
			_, err = w.LogIn(t.Context(), l, request())
			return err
		}
	}
	fixed := w.settings.Value()
	for way, try := range map[string]func() error{
		"basic":   byHeader(basic(long, "p")),
		"cookie":  byHeader(request("Cookie", cookieName+"="+fixed.newCookie(long, "salt", w.now))),
		"token":   byHeader(bearer(token)),
		"proxy":   byHeader(request("X-Auth-CouchDB-UserName", long)),
		"form":    byBody("application/x-www-form-urlencoded", url.Values{"name": {long}, "password": {"p"}}.Encode()),
		"JSON":    byBody("application/json", `{"name":"`+long+`","password":"p"}`),
		"without": func() error { _, err := w.Named(t.Context(), long); return err },
		"admin":   func() error { _, err := SetAdmin(w.config, long, "p"); return err },
	} {
		if got := refusal(try()); got != "400: The name of a user has 1024 bytes at most." {
			t.Errorf("%s: %.100q", way, got)
		}
	}
	long = long[:32<<10] // there is room for more in a user document, but not for twice that
	_, err = w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + long, Caller: admin(), Security: DefaultSecurity(""),
		Body: []byte(`{"name":"` + long + `","password":"p","roles":[],"type":"user"}`)})
	if got := refusal(err); got != "403: Usernames can have 1024 bytes at most." {
		t.Errorf("as a user document: %.100q", got)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were logged", out.Len())
	}
	for range 3 {
		if err := byHeader(basic(long[:maxName], "p"))(); errors.Is(err, nil) || strings.HasPrefix(refusal(err), "400") {
			t.Errorf("a name that is just short enough: %v", err)
		}
	}
}
