package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

const (
	testSecret = "92de07df7e7a3fe14808cef90a7cc0d9"
	testSalt   = "3b5a1b0e0ea14b2ea1a3f2c8c8cf0a11"
)

// world is an Authenticator with the things around it under the test's hand.
type world struct {
	*Authenticator
	config *config.Config
	users  userMap
	now    time.Time
}

// userMap holds the bodies of user documents by name.
type userMap map[string]string

func (u userMap) User(_ context.Context, _, name string) (*User, error) {
	body, ok := u[name]
	if !ok {
		return nil, nil
	}
	return ParseUser([]byte(body))
}

// newWorld makes a world with the given settings over cheap hashing.
func newWorld(t testing.TB, settings ...config.Setting) *world {
	t.Helper()
	c, err := config.Open(config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{config: c, users: userMap{}, now: time.Unix(0x67748580, 0)}
	w.set(t, config.Setting{Section: section, Key: "iterations", Value: "2"})
	w.set(t, config.Setting{Section: section, Key: "secret", Value: testSecret})
	for _, s := range settings {
		w.set(t, s)
	}
	w.Authenticator = New(Options{Config: c, Users: w.users, Now: func() time.Time { return w.now }})
	return w
}

func (w *world) set(t testing.TB, s config.Setting) {
	t.Helper()
	if _, err := w.config.Set(s, false); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
}

// addUser writes a user document through the rules, as an administrator.
func (w *world) addUser(t *testing.T, name, body string) {
	t.Helper()
	stored, err := w.BeforeUserWrite(t.Context(), UserWrite{
		ID: UserPrefix + name, Body: []byte(body), Caller: admin(), Security: DefaultSecurity(""),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.users[name] = string(stored)
}

func (w *world) addAdmin(t *testing.T, name, password string) {
	t.Helper()
	if _, err := SetAdmin(w.config, name, password); err != nil {
		t.Fatal(err)
	}
}

func admin() *Caller { return &Caller{Name: "adm", Roles: []string{AdminRole}, Handler: BasicHandler} }

// request makes a request with the given headers, name and value in turn.
func request(headers ...string) *Request {
	return &Request{Method: "GET", Path: "/", Peer: "10.0.0.1", Header: func(name string) string {
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == name {
				return headers[i+1]
			}
		}
		return ""
	}}
}

func basic(name, password string) *Request {
	return request("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
}

// refusal returns "kind: reason" of an error, "" for none.
func refusal(err error) string {
	var e *dberr.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &e):
		return "foreign: " + err.Error()
	}
	return map[dberr.Kind]string{
		dberr.Invalid: "400", dberr.Unauthorized: "401", dberr.Forbidden: "403", dberr.NotFound: "404",
		dberr.Unsupported: "415", dberr.Internal: "500", dberr.Unavailable: "503", dberr.TooLarge: "413",
	}[e.Kind] + ": " + e.Reason
}

// forget forgets which passwords were right.
func (w *world) forget() {
	w.passwords.known, w.passwords.familiar = memory{half: 100}, memory{half: 100}
}
