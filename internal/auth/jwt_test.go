package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sectional/sectional/internal/config"
)

// jwtWorld accepts tokens of an HMAC secret, an RSA key and EC keys.
type jwtWorld struct {
	*world
	rsa    *rsa.PrivateKey
	ec     map[string]*ecdsa.PrivateKey
	rsaPEM string
}

func newJWTWorld(t *testing.T) *jwtWorld {
	t.Helper()
	w := &jwtWorld{world: newWorld(t, config.Setting{Section: "chttpd", Key: "authentication_handlers",
		Value: "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}"})}
	w.set(t, config.Setting{Section: "jwt_keys", Key: "hmac:_default", Value: "aGVsbG8="})
	w.set(t, config.Setting{Section: "jwt_keys", Key: "hmac:bad", Value: "!"})
	var err error
	if w.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	w.rsaPEM = pemOf(t, &w.rsa.PublicKey)
	w.set(t, config.Setting{Section: "jwt_keys", Key: "rsa:r1", Value: w.rsaPEM})
	w.set(t, config.Setting{Section: "jwt_keys", Key: "ec:r1", Value: w.rsaPEM})
	w.ec = map[string]*ecdsa.PrivateKey{}
	for alg, curve := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		if w.ec[alg], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
		w.set(t, config.Setting{Section: "jwt_keys", Key: "ec:" + alg, Value: pemOf(t, &w.ec[alg].PublicKey)})
	}
	return w
}

// newOpenWorld has all handlers on and one HMAC key.
func newOpenWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, config.Setting{Section: "chttpd", Key: "authentication_handlers",
		Value: "{x, jwt_authentication_handler}, {x, proxy_authentication_handler}, " +
			"{x, cookie_authentication_handler}, {x, default_authentication_handler}"},
		config.Setting{Section: "jwt_keys", Key: "hmac:_default", Value: "aGVsbG8="})
}

// pemOf returns a public key as it is written in the configuration.
func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), "\n", `\n`)
}

func (w *jwtWorld) sign(t *testing.T, alg, kid string, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(alg), claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w *jwtWorld) claims(more ...any) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "jan", "exp": w.now.Add(time.Minute).Unix(), "_couchdb.roles": []string{"a", "b"}}
	for i := 0; i < len(more); i += 2 {
		if c[more[i].(string)] = more[i+1]; more[i+1] == nil {
			delete(c, more[i].(string))
		}
	}
	return c
}

func bearer(token string) *Request { return request("Authorization", "Bearer "+token) }

func TestTokenAlgorithms(t *testing.T) {
	w := newJWTWorld(t)
	for _, c := range []struct {
		alg, kid string
		key      any
	}{
		{"HS256", "", []byte("hello")}, {"HS384", "", []byte("hello")}, {"HS512", "_default", []byte("hello")},
		{"RS256", "r1", w.rsa}, {"RS384", "r1", w.rsa}, {"RS512", "r1", w.rsa},
		{"ES256", "ES256", w.ec["ES256"]}, {"ES384", "ES384", w.ec["ES384"]}, {"ES512", "ES512", w.ec["ES512"]},
	} {
		if got := w.who(t, bearer(w.sign(t, c.alg, c.kid, c.key, w.claims()))); got != "jwt jan a,b" {
			t.Errorf("%s: %q", c.alg, got)
		}
	}
}

func TestTokenConfusion(t *testing.T) {
	w := newJWTWorld(t)
	public := []byte(strings.ReplaceAll(w.rsaPEM, `\n`, "\n"))
	none := w.sign(t, "none", "", jwt.UnsafeAllowNoneSignatureType, w.claims())
	good := w.sign(t, "HS256", "", []byte("hello"), w.claims())
	const badSignature = "400: Bad signature in authentication token"
	for _, c := range []struct{ name, token, want string }{
		{"none", none, "400: Invalid alg header parameter"},
		{"the public key as a secret", w.sign(t, "HS256", "r1", public, w.claims()), "400: Unknown kid"},
		{"the public key as a secret, default kid", w.sign(t, "HS256", "", public, w.claims()), badSignature},
		{"RSA-PSS with an RSA key", w.sign(t, "PS256", "r1", w.rsa, w.claims()), "400: Invalid alg header parameter"},
		{"EC with the name of an RSA key", w.sign(t, "ES256", "r1", w.ec["ES256"], w.claims()), "400: not an EC public key"},
		{"EC of another curve", w.sign(t, "ES256", "ES384", w.ec["ES256"], w.claims()), badSignature},
		{"wrong secret", w.sign(t, "HS256", "", []byte("hell"), w.claims()), badSignature},
		{"unusable key", w.sign(t, "HS256", "bad", []byte("hello"), w.claims()), "400: Not a valid key"},
		{"changed claims", strings.Split(good, ".")[0] + "." + b64(`{"sub":"adm","exp":9999999999}`) + "." + strings.Split(good, ".")[2], badSignature},
		{"no signature", good[:strings.LastIndex(good, ".")+1], badSignature},
		{"member named twice", b64(`{"alg":"HS256","alg":"none"}`) + ".e30.", "400: Malformed token"},
		{"kid is a number", b64(`{"alg":"HS256","kid":5}`) + "." + b64(`{}`) + ".", "400: Unknown kid"},
	} {
		if got := w.who(t, bearer(c.token)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	w.set(t, config.Setting{Section: "jwt_auth", Key: "algorithms", Value: "RS256, ES256"})
	if got := w.who(t, bearer(good)); got != "400: Invalid alg header parameter" {
		t.Errorf("an algorithm that is not in the list: %q", got)
	}
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func TestTokenForm(t *testing.T) {
	w := newJWTWorld(t)
	for token, want := range map[string]string{
		"abc":                                    "400: Malformed token",
		"a.b":                                    "400: Malformed token",
		"a.b.c.d":                                "400: Malformed token",
		"?.e30.":                                 "400: Malformed token",
		b64(`[]`) + ".e30.":                      "400: Malformed token",
		b64(`{}`) + ".e30.":                      "400: Missing alg header parameter",
		b64(`{"alg":5}`) + "." + b64(`{}`) + ".": "400: Invalid alg header parameter",
	} {
		if got := w.who(t, bearer(token)); got != want {
			t.Errorf("%q: %q, want %q", token, got, want)
		}
	}
	if got := w.who(t, request()); got != "" {
		t.Errorf("without a token: %q", got)
	}
}

func TestTokenClaims(t *testing.T) {
	w := newJWTWorld(t)
	now := w.now.Unix()
	check := func(name, want string, more ...any) {
		t.Helper()
		if got := w.who(t, bearer(w.sign(t, "HS256", "", []byte("hello"), w.claims(more...)))); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	check("expired", "401: exp not in future", "exp", now)
	check("exp is text", "400: Invalid exp claim", "exp", "9999999999")
	check("exp missing", "400: Missing exp claim", "exp", nil)
	check("nbf later", "401: nbf not in past", "nbf", now+1)
	check("nbf now", "jwt jan a,b", "nbf", now)
	check("iat is text", "400: Invalid iat claim", "iat", "x")
	check("no sub", "401: Token missing sub claim.", "sub", nil)
	check("sub is a number", "400: Malformed token", "sub", 5)
	check("sub is empty", "400: Malformed token", "sub", "")
	check("roles as text", "jwt jan x,y", "_couchdb.roles", "x, y")
	check("no roles", "jwt jan", "_couchdb.roles", nil)
	check("roles of numbers", "400: Malformed token", "_couchdb.roles", []int{1})
	check("roles are an object", "400: Malformed token", "_couchdb.roles", map[string]int{})
	check("administrator", "jwt jan _admin", "_couchdb.roles", []string{"_admin"})

	w.set(t, config.Setting{Section: "jwt_auth", Key: "required_claims", Value: `exp, {iss, "me"}, {aud, "db"}, typ`})
	check("no iss", "400: Missing iss claim", "aud", "db")
	check("other iss", "400: Invalid iss claim", "iss", "you", "aud", "db")
	check("other aud", "400: Invalid aud claim", "iss", "me", "aud", []string{"x"})
	check("all", "jwt jan a,b", "iss", "me", "aud", []string{"x", "db"})

	w.set(t, config.Setting{Section: "jwt_auth", Key: "required_claims", Value: "kid"})
	check("no kid", "400: Missing kid claim")
	w.set(t, config.Setting{Section: "jwt_auth", Key: "required_claims", Value: "{iss me}"})
	check("broken setting", "500: JWT is not configured correctly")

	w.set(t, config.Setting{Section: "jwt_auth", Key: "required_claims", Value: ""})
	check("exp is not required", "jwt jan a,b", "exp", nil)
	check("but counts if it is there", "401: exp not in future", "exp", 1)
	w.set(t, config.Setting{Section: "jwt_auth", Key: "roles_claim_path", Value: `realm\.x.roles`})
	check("path", "jwt jan deep", "realm.x", map[string]any{"roles": []string{"deep"}})
	check("path through what is not an object", "404: json_mismatch", "realm.x", 5)
	check("path that leads nowhere", "404: missing json key: realm.x")
	check("path that ends early", "404: missing json key: roles", "realm.x", map[string]any{"other": 1})
	for _, path := range []string{`<<realm\.x.roles`, `realm\.x.roles>>`, "123456", "realm..roles", ".", "realm."} {
		w.set(t, config.Setting{Section: "jwt_auth", Key: "roles_claim_path", Value: path})
		if got := w.who(t, bearer(w.sign(t, "HS256", "", []byte("hello"), w.claims("realm.x", map[string]any{"roles": []string{"deep"}})))); !strings.HasPrefix(got, "404: missing json key: ") {
			t.Errorf("path %s: %q", path, got)
		}
	}
}

// TestCurveOfTheAlgorithm: a key on another curve than the algorithm's verifies
// nothing, also where the signature is as long as it should be.
func TestCurveOfTheAlgorithm(t *testing.T) {
	w := newJWTWorld(t)
	for _, c := range []struct{ alg, key string }{{"ES384", "ES256"}, {"ES512", "ES256"}, {"ES256", "ES384"}, {"ES512", "ES384"}} {
		text := w.sign(t, "HS256", c.key, []byte("x"), w.claims())
		header, _ := json.Marshal(map[string]string{"alg": c.alg, "typ": "JWT", "kid": c.key})
		signed := base64.RawURLEncoding.EncodeToString(header) + "." + strings.Split(text, ".")[1]
		h := jwt.GetSigningMethod(c.alg).(*jwt.SigningMethodECDSA)
		sum := h.Hash.New()
		sum.Write([]byte(signed))
		r, s, err := ecdsa.Sign(rand.Reader, w.ec[c.key], sum.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		size := max(h.KeySize, (w.ec[c.key].Curve.Params().BitSize+7)/8)
		signature := append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
		got := w.who(t, bearer(signed+"."+base64.RawURLEncoding.EncodeToString(signature)))
		if got != "400: Bad signature in authentication token" {
			t.Errorf("%s with a key for %s: %q", c.alg, c.key, got)
		}
	}
}

func TestTokenClaimsStayWithTheCaller(t *testing.T) {
	w := newJWTWorld(t)
	id, err := w.Authenticate(t.Context(), bearer(w.sign(t, "HS256", "", []byte("hello"), w.claims("owner", "p1"))))
	if err != nil || id.Caller.Claims["owner"] != "p1" {
		t.Errorf("got %v, %v", id.Caller.Claims, err)
	}
}

// The example of RFC 7515, appendix A.1: its signature holds, and it has no sub.
func TestTokenOfTheStandard(t *testing.T) {
	w := newJWTWorld(t)
	w.now = time.Unix(1300819379, 0)
	w.set(t, config.Setting{Section: "jwt_keys", Key: "hmac:_default",
		Value: "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ+EstJQLr/T+1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow=="})
	const token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9" +
		".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ" +
		".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	if got := w.who(t, bearer(token)); got != "401: Token missing sub claim." {
		t.Errorf("got %q", got)
	}
}

// TestTokenCrit: a token that must be understood in ways that are not is refused.
func TestTokenCrit(t *testing.T) {
	w := newJWTWorld(t)
	for _, crit := range []any{[]string{"exp"}, []string{"http://example.com/policy"}, []string{}, nil, "b64"} {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, w.claims())
		token.Header["crit"] = crit
		text, err := token.SignedString([]byte("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.who(t, bearer(text)); got != "400: Unknown crit header parameter" {
			t.Errorf("crit %v: %q", crit, got)
		}
	}
}
