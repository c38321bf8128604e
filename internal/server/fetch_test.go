package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	secure := httptest.NewTLSServer(mux)
	defer secure.Close()
	plain := httptest.NewServer(mux)
	defer plain.Close()
	mux.HandleFunc("/text", func(w http.ResponseWriter, q *http.Request) { _, _ = io.WriteString(w, "for "+q.Header.Get("Accept")) })
	mux.HandleFunc("/full", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", fetchBytes))
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", fetchBytes+1))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	})
	for path, target := range map[string]string{
		"/to-secure": secure.URL + "/text", "/to-plain": plain.URL + "/text", "/loop": "/loop",
		"/away": "http://id.example.com/keys", "/file": "file:///etc/hostname",
	} {
		mux.Handle(path, http.RedirectHandler(target, http.StatusFound))
	}
	// The certificate of the test's server is trusted by its own transport only.
	f := newFetcher(secure.Client().Transport)
	for _, c := range []struct{ from, want, err string }{
		{secure.URL + "/text", "for application/json", ""},
		{plain.URL + "/text", "for application/json", ""},
		{plain.URL + "/to-secure", "for application/json", ""},
		{plain.URL + "/to-plain", "for application/json", ""},
		{secure.URL + "/to-secure", "for application/json", ""},
		{secure.URL + "/to-plain", "", "can't be trusted"},
		{plain.URL + "/away", "", "can't be trusted"},
		{plain.URL + "/file", "", "can't be trusted"},
		{plain.URL + "/loop", "", "too many redirections"},
		{plain.URL + "/none", "", "404 Not Found"},
		{plain.URL + "/full", strings.Repeat("x", fetchBytes), ""},
		{plain.URL + "/long", "", "more than 1048576 bytes"},
		{plain.URL + "/cut", "", "unexpected EOF"},
		{":", "", "missing protocol scheme"},
	} {
		text, err := f.Fetch(t.Context(), c.from)
		if string(text) != c.want || fmt.Sprint(err) != "<nil>" && (c.err == "" || !strings.Contains(err.Error(), c.err)) || err == nil && c.err != "" {
			t.Errorf("%s: %.60s, %v", c.from, text, err)
		}
	}
	if _, err := newFetcher(nil).Fetch(t.Context(), secure.URL+"/text"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, q *http.Request) { cancel(); <-q.Context().Done() })
	if _, err := f.Fetch(ctx, plain.URL+"/slow"); err == nil {
		t.Error("it does not end with its context")
	}
}

// TestTokensOfIssuers takes tokens of a provider, whose keys it finds by its description.
func TestTokensOfIssuers(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	provider := httptest.NewServer(mux)
	defer provider.Close()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, provider.URL, provider.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		x, y := base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:])
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"k","x":%q,"y":%q}]}`, x, y)
	})
	token := func(audience string) string {
		text := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
			"iss": provider.URL, "aud": audience, "sub": "pat", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"staff", "_admin"},
		})
		text.Header["kid"] = "k"
		signed, err := text.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	r := start(t, Options{Data: t.TempDir(), Config: configured(t, "[chttpd]\nauthentication_handlers = {chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}\n"+
		"[jwt_issuers]\nhouse = "+provider.URL+"\nhouse.audience = sectional\nhouse.roles = groups\n")})
	for audience, want := range map[string]string{
		"sectional": `"userCtx":{"name":"pat","roles":["staff"]}`,
		"another":   `Invalid aud claim`,
	} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", r.base+"/_session", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+token(audience))
		w, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(w.Body)
		if err != nil || w.Body.Close() != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %v", audience, text, err)
		}
	}
}
