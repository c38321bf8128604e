package auth

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestPurposesHaveKeysOfTheirOwn: no signature that the server makes for one purpose is of
// use for another, whatever salt a user has.
func TestPurposesHaveKeysOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	s := w.settings.Value()
	keys := map[string][]byte{"proxy tokens": s.proxyKey, "session cookies": s.cookieKey}
	for one, key := range keys {
		for other, same := range keys {
			if one != other && strings.TrimRight(string(key), "\x00") == strings.TrimRight(string(same), "\x00") {
				t.Errorf("%s and %s have one key", one, other)
			}
		}
		// What a proxy is told for a name must be no key either.
		for _, d := range digests {
			for purpose := range keys {
				if slices.Equal(d.sign(s.proxyKey, purpose), key) {
					t.Errorf("the key of %s is the token of a user called %q", one, purpose)
				}
			}
		}
	}
	for _, d := range digests {
		w.set(t, config.Setting{Section: section, Key: "hash_algorithms", Value: d.name})
		s := w.settings.Value()
		made := map[string]string{}
		for _, salt := range []string{"\x00", "\x00\x00", "s", "s\x00", testSalt, "eve:", strings.Repeat("\x00", 200)} {
			raw, err := base64.RawURLEncoding.DecodeString(s.newCookie("eve", salt, w.now))
			if err != nil {
				t.Fatal(err)
			}
			name, signature := string(raw[:len(raw)-d.size-1]), raw[len(raw)-d.size:]
			for _, user := range []string{name, "eve", salt, salt + name, name + salt} {
				if s.signedName(user, hex.EncodeToString(signature)) {
					t.Errorf("%s: the cookie of a user with the salt %q is the token of %q", d.name, salt, user)
				}
			}
			if other, again := made[string(signature)]; again {
				t.Errorf("%s: users with the salts %q and %q have one cookie", d.name, salt, other)
			}
			made[string(signature)] = salt
		}
	}
}

// TestSignUpMakesNoAdministrator takes the steps of somebody without an account: a user
// document with a salt of his own, a login, and the session's signature as a proxy's.
func TestSignUpMakesNoAdministrator(t *testing.T) {
	w := newWorld(t, config.Setting{Section: "chttpd", Key: "authentication_handlers",
		Value: "{chttpd_auth, proxy_authentication_handler}, {chttpd_auth, default_authentication_handler}"})
	body, err := w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + "eve", Caller: &Caller{}, Security: DefaultSecurity(""),
		Body: json.RawMessage(`{"name":"eve","type":"user","roles":[],"password":"pw","preserve_salt":true,"salt":"\u0000"}`)})
	if err != nil {
		t.Fatal(err)
	}
	w.users["eve"] = string(body)
	session, err := w.LogIn(t.Context(), Login{Name: "eve", Password: "pw"}, request())
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCookie(cookieOf(session.SetCookie))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.who(t, request("X-Auth-CouchDB-UserName", c.signed, "X-Auth-CouchDB-Roles", AdminRole, "X-Auth-CouchDB-Token", hex.EncodeToString([]byte(c.signature)))); got != "" {
		t.Errorf("whoever signs up becomes %q", got)
	}
}
