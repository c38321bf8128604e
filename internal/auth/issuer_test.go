package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sectional/sectional/internal/config"
)

const testIssuer = "https://id.example.com/realm"

// provider is an issuer under the test's hand, as Fetcher sees it.
type provider struct {
	state struct {
		sync.Mutex
		documents map[string]string
		asked     []string
		down      bool
	}
}

// Fetch implements Fetcher.
func (p *provider) Fetch(_ context.Context, url string) ([]byte, error) {
	p.state.Lock()
	defer p.state.Unlock()
	p.state.asked = append(p.state.asked, url)
	text, ok := p.state.documents[url]
	if !ok || p.state.down {
		return nil, errors.New("no answer")
	}
	return []byte(text), nil
}

// takeAsked returns how often it was asked since the last time.
func (p *provider) takeAsked() int {
	p.state.Lock()
	defer p.state.Unlock()
	n := len(p.state.asked)
	p.state.asked = nil
	return n
}

// publish makes keys the issuer's.
func (p *provider) publish(keys ...map[string]any) {
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	p.state.Lock()
	defer p.state.Unlock()
	p.state.documents = map[string]string{
		testIssuer + "/.well-known/openid-configuration": `{"issuer":"` + testIssuer + `","jwks_uri":"` + testIssuer + `/keys"}`,
		testIssuer + "/keys":                             string(text),
	}
}

func (p *provider) setDown(down bool) {
	p.state.Lock()
	defer p.state.Unlock()
	p.state.down = down
}

func big64(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }

func rsaJWK(kid string, k *rsa.PublicKey) map[string]any {
	return map[string]any{"kty": "RSA", "kid": kid, "use": "sig", "n": big64(k.N), "e": big64(big.NewInt(int64(k.E)))}
}

func ecJWK(kid string, k *ecdsa.PublicKey) map[string]any {
	point, err := k.Bytes()
	if err != nil {
		panic(err)
	}
	half := len(point) / 2
	x, y := base64.RawURLEncoding.EncodeToString(point[1:half+1]), base64.RawURLEncoding.EncodeToString(point[half+1:])
	return map[string]any{"kty": "EC", "kid": kid, "crv": k.Curve.Params().Name, "x": x, "y": y}
}

// issuerWorld accepts tokens of a provider.
type issuerWorld struct {
	*jwtWorld
	provider *provider
}

func newIssuerWorld(t *testing.T, more ...string) *issuerWorld {
	t.Helper()
	w := &issuerWorld{newJWTWorld(t), &provider{}}
	w.Authenticator = New(Options{Config: w.config, Users: w.users, Now: func() time.Time { return w.now }, Fetcher: w.provider})
	t.Cleanup(w.Close)
	w.issuers(t, append([]string{"main", testIssuer, "main.audience", "db, other"}, more...)...)
	w.provider.publish(rsaJWK("r1", &w.rsa.PublicKey), ecJWK("e1", &w.ec["ES256"].PublicKey))
	return w
}

// issuers sets keys and values of [jwt_issuers].
func (w *issuerWorld) issuers(t *testing.T, settings ...string) {
	t.Helper()
	for i := 0; i < len(settings); i += 2 {
		w.set(t, config.Setting{Section: "jwt_issuers", Key: settings[i], Value: settings[i+1]})
	}
}

// token signs claims as the issuer's.
func (w *issuerWorld) token(t *testing.T, alg, kid string, key any, more ...any) string {
	t.Helper()
	return w.sign(t, alg, kid, key, w.claims(append([]any{"iss", testIssuer, "aud", "db"}, more...)...))
}

func (w *issuerWorld) check(t *testing.T, name, token, want string) {
	t.Helper()
	if got := w.who(t, bearer(token)); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func TestIssuerTokens(t *testing.T) {
	w := newIssuerWorld(t)
	w.check(t, "RSA", w.token(t, "RS256", "r1", w.rsa), "jwt jan a,b")
	w.check(t, "RSA with another hash", w.token(t, "RS512", "r1", w.rsa), "jwt jan a,b")
	w.check(t, "EC", w.token(t, "ES256", "e1", w.ec["ES256"]), "jwt jan a,b")
	w.check(t, "no kid, one key that fits", w.token(t, "RS256", "", w.rsa), "jwt jan a,b")
	w.check(t, "audience in a list", w.token(t, "RS256", "r1", w.rsa, "aud", []string{"x", "other"}), "jwt jan a,b")
	w.check(t, "other audience", w.token(t, "RS256", "r1", w.rsa, "aud", "x"), "400: Invalid aud claim")
	w.check(t, "audience that begins alike", w.token(t, "RS256", "r1", w.rsa, "aud", "db2"), "400: Invalid aud claim")
	w.check(t, "no audience", w.token(t, "RS256", "r1", w.rsa, "aud", nil), "400: Missing aud claim")
	w.check(t, "no end", w.token(t, "RS256", "r1", w.rsa, "exp", nil), "400: Missing exp claim")
	w.check(t, "over", w.token(t, "RS256", "r1", w.rsa, "exp", w.now.Unix()), "401: exp not in future")
	w.check(t, "other issuer, unknown key", w.token(t, "RS256", "e9", w.rsa, "iss", testIssuer+"/"), "400: Invalid iss claim")
	w.check(t, "administrator", w.token(t, "RS256", "r1", w.rsa, "_couchdb.roles", []string{"_admin", "c", "_metrics", "c"}), "jwt jan c")
	if n := w.provider.takeAsked(); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}
	// The configured keys are for tokens of others.
	w.check(t, "configured key", w.sign(t, "RS256", "r1", w.rsa, w.claims("iss", "somebody")), "jwt jan a,b")
}

func TestIssuerConfusion(t *testing.T) {
	w := newIssuerWorld(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public := []byte(strings.ReplaceAll(w.rsaPEM, `\n`, "\n"))
	w.check(t, "HMAC with the public key", w.token(t, "HS256", "r1", public), "400: Invalid alg header parameter")
	w.check(t, "HMAC with the configured secret", w.token(t, "HS256", "", []byte("hello")), "400: Invalid alg header parameter")
	w.check(t, "none", w.token(t, "none", "r1", jwt.UnsafeAllowNoneSignatureType), "400: Invalid alg header parameter")
	w.check(t, "another key by a known name", w.token(t, "RS256", "r1", other), "400: Bad signature in authentication token")
	w.check(t, "EC by the name of an RSA key", w.token(t, "ES256", "r1", w.ec["ES256"]), "400: Unknown kid")
	w.check(t, "EC of another curve", w.token(t, "ES384", "e1", w.ec["ES384"]), "400: Unknown kid")
	w.check(t, "a key that is only configured", w.token(t, "ES256", "ES256", w.ec["ES256"]), "400: Unknown kid")

	// What is not a key for signatures is passed over, and so are weak keys.
	small := map[string]any{"kty": "RSA", "kid": "small", "n": big64(new(big.Int).Rsh(w.rsa.N, 1200)), "e": "AQAB"}
	even := rsaJWK("even", &w.rsa.PublicKey)
	even["e"] = "AQAA"
	crypt := rsaJWK("crypt", &w.rsa.PublicKey)
	crypt["use"] = "enc"
	wraps := rsaJWK("wraps", &w.rsa.PublicKey)
	wraps["key_ops"] = []string{"wrapKey"}
	only := rsaJWK("only", &w.rsa.PublicKey)
	only["alg"] = "RS512"
	astray := ecJWK("astray", &w.ec["ES256"].PublicKey)
	astray["y"] = astray["x"]
	shared := map[string]any{"kty": "oct", "kid": "shared", "k": "aGVsbG8"}
	w.now = w.now.Add(time.Minute)
	w.provider.publish(small, even, crypt, wraps, only, astray, shared, map[string]any{"kty": 5})
	for _, kid := range []string{"small", "even", "crypt", "wraps", "only"} {
		w.check(t, kid, w.token(t, "RS256", kid, w.rsa, "exp", w.now.Unix()+60), "400: Unknown kid")
	}
	w.check(t, "only", w.token(t, "RS512", "only", w.rsa, "exp", w.now.Unix()+60), "jwt jan a,b")
	w.check(t, "astray", w.token(t, "ES256", "astray", w.ec["ES256"], "exp", w.now.Unix()+60), "400: Unknown kid")
}

// TestIssuerRotates lets the issuer change its keys: the new one is fetched when
// the first token names it, and nobody can make the server ask at each request.
func TestIssuerRotates(t *testing.T) {
	w := newIssuerWorld(t)
	next, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old := func() string { return w.token(t, "RS256", "r1", w.rsa, "exp", w.now.Unix()+60) }
	fresh := func() string { return w.token(t, "ES384", "e2", next, "exp", w.now.Unix()+60) }
	w.check(t, "before", old(), "jwt jan a,b")
	w.check(t, "a key that is not there", fresh(), "400: Unknown kid")
	w.provider.publish(ecJWK("e2", &next.PublicKey))
	w.check(t, "asked a moment ago", fresh(), "400: Unknown kid")
	if n := w.provider.takeAsked(); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}
	w.now = w.now.Add(30 * time.Second)
	w.check(t, "later", fresh(), "jwt jan a,b")
	w.check(t, "the old key is gone", old(), "400: Unknown kid")
	if n := w.provider.takeAsked(); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}

	// By age: the keys are fetched beside the request, which goes by the old ones.
	w.provider.publish(rsaJWK("r1", &w.rsa.PublicKey))
	w.now = w.now.Add(time.Hour)
	w.check(t, "old keys", fresh(), "jwt jan a,b")
	w.keyring.running.Wait()
	w.check(t, "new keys", old(), "jwt jan a,b")
	w.check(t, "withdrawn", fresh(), "400: Unknown kid")
}

// TestIssuerDown lets the issuer go away: its keys go on for the time that is
// set, and no longer.
func TestIssuerDown(t *testing.T) {
	const away = "503: The keys of the token's issuer can't be fetched at present."
	w := newIssuerWorld(t)
	token := func() string { return w.token(t, "RS256", "r1", w.rsa, "exp", w.now.Unix()+60) }
	w.provider.setDown(true)
	w.check(t, "never there", token(), away)
	w.check(t, "not asked again at once", token(), away)
	if n := w.provider.takeAsked(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	w.now = w.now.Add(time.Minute)
	w.provider.setDown(false)
	w.check(t, "there", token(), "jwt jan a,b")
	w.provider.setDown(true)
	for range 23 {
		w.now = w.now.Add(time.Hour)
		w.check(t, "down", token(), "jwt jan a,b")
		w.keyring.running.Wait()
	}
	w.check(t, "another key while it is down", w.token(t, "ES256", "x", w.ec["ES256"], "exp", w.now.Unix()+60), "400: Unknown kid")
	w.now = w.now.Add(time.Hour)
	w.check(t, "too long", token(), away)
	w.now = w.now.Add(time.Minute)
	w.provider.setDown(false)
	w.check(t, "back", token(), "jwt jan a,b")

	// A description that is another issuer's, or leads to where others can read, is as good as none.
	for name, about := range map[string]string{
		"other": `{"issuer":"https://evil.example.com","jwks_uri":"` + testIssuer + `/keys"}`,
		"plain": `{"issuer":"` + testIssuer + `","jwks_uri":"http://id.example.com/realm/keys"}`,
		"none":  `<html>`,
	} {
		w := newIssuerWorld(t)
		w.provider.state.documents[testIssuer+"/.well-known/openid-configuration"] = about
		w.check(t, name, w.token(t, "RS256", "r1", w.rsa), away)
	}
}

func TestIssuerClaims(t *testing.T) {
	w := newIssuerWorld(t, "main.name", "preferred_username", "main.roles", "access.roles", "main.role_map", "boss:_admin, clerk : staff, clark:staff")
	w.check(t, "mapped", w.token(t, "RS256", "r1", w.rsa, "preferred_username", "pat", "access", map[string]any{"roles": []string{"boss", "clerk", "clark", "other", "_admin"}}),
		"jwt pat _admin,staff")
	w.check(t, "no name", w.token(t, "RS256", "r1", w.rsa), "401: Token missing preferred_username claim.")
	w.check(t, "name is not a text", w.token(t, "RS256", "r1", w.rsa, "preferred_username", 5), "400: Malformed token")
	w.check(t, "roles of numbers", w.token(t, "RS256", "r1", w.rsa, "preferred_username", "pat", "access", map[string]any{"roles": []int{5}}), "400: Malformed token")

	w = newIssuerWorld(t, "main.jwks", "https://keys.example.com/all")
	w.provider.state.documents = map[string]string{"https://keys.example.com/all": w.provider.state.documents[testIssuer+"/keys"]}
	w.check(t, "keys by their address", w.token(t, "RS256", "r1", w.rsa), "jwt jan a,b")
	if n := w.provider.takeAsked(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
}

func TestIssuerSettings(t *testing.T) {
	const broken = "500: JWT is not configured correctly"
	for name, settings := range map[string][]string{
		"no audience":        {"main.audience", ""},
		"misspelled":         {"main.audeince", "db"},
		"role without a map": {"main.role_map", "boss"},
		"role to nothing":    {"main.role_map", "boss:"},
		"keys over http":     {"main.jwks", "http://id.example.com/keys"},
		"the same twice":     {"again", testIssuer, "again.audience", "db"},
	} {
		w := newIssuerWorld(t, settings...)
		w.check(t, name, w.token(t, "RS256", "r1", w.rsa), broken)
		if n := w.provider.takeAsked(); n != 0 {
			t.Errorf("%s: the provider was asked", name)
		}
	}
	w := newIssuerWorld(t, "empty", "", "empty.jwks", "x")
	w.check(t, "a token of nobody", w.sign(t, "RS256", "r1", w.rsa, w.claims()), "jwt jan a,b")
	for address, want := range map[string]bool{
		"https://a.example.com": true, "https://a.example.com:8443/x": true, "http://localhost:1/x": true, "http://127.0.0.1:1": true, "http://[::1]/": true,
		"http://a.example.com": false, "http://localhost.example.com": false, "ftp://localhost": false, "a.example.com": false, "": false,
		"https://": false, "https://u:p@a.example.com": false, "file:///etc/passwd": false,
	} {
		if Fetchable(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}
