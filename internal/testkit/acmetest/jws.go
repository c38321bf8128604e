package acmetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
)

// problem is a document of an error (6.7).
type problem struct {
	Type     string `json:"type"`
	Detail   string `json:"detail"`
	Status   int    `json:"status"`
	Instance string `json:"instance,omitempty"`
}

func refused(kind, detail string) *problem {
	status := http.StatusForbidden
	if kind == "malformed" || kind == "badNonce" || kind == "badCSR" || kind == "accountDoesNotExist" {
		status = http.StatusBadRequest
	}
	return &problem{Type: "urn:ietf:params:acme:error:" + kind, Detail: detail, Status: status}
}

// request is one whose signature was found to be right.
type request struct {
	w       http.ResponseWriter
	q       *http.Request
	payload []byte // empty: it only asks (POST-as-GET)
	key     *ecdsa.PublicKey
	jwk     jwk      // the same, of newAccount
	account *account // nil for newAccount alone
}

// read reads the payload as JSON.
func (r *request) read(into any) *problem {
	if err := json.Unmarshal(r.payload, into); err != nil {
		return refused("malformed", err.Error())
	}
	return nil
}

// signed has requests checked (6.2 to 6.5) and run, one at a time.
func (c *CA) signed(run func(*request) *problem) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		r, p := c.verify(w, q)
		if p == nil {
			p = run(r)
		}
		if p != nil {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(p.Status)
			_ = json.NewEncoder(w).Encode(p) // the client is gone
		}
	}
}

// jws is what is sent, each part in base64.
type jws struct{ Protected, Payload, Signature string }

// bound reports whether the request's key is signed by that of an account besides (7.3.4).
func (c *CA) bound(r *request, sent jws) bool {
	var head struct{ Alg, URL, Kid string }
	var key jwk
	protected, bad := decode(sent.Protected)
	payload, worse := decode(sent.Payload)
	signature, worst := decode(sent.Signature)
	if bad || worse || worst || json.Unmarshal(protected, &head) != nil || json.Unmarshal(payload, &key) != nil {
		return false
	}
	mac := hmac.New(sha256.New, c.faults.Bound)
	mac.Write([]byte(sent.Protected + "." + sent.Payload))
	return head.Alg == "HS256" && head.Kid == "bound" && head.URL == c.http.URL+r.q.URL.Path && key == r.jwk && hmac.Equal(mac.Sum(nil), signature)
}

type jwk struct {
	Crv string `json:"crv"`
	Kty string `json:"kty"`
	X   string `json:"x"`
	Y   string `json:"y"`
}

func (c *CA) verify(w http.ResponseWriter, q *http.Request) (*request, *problem) {
	var sent jws
	var head struct {
		Alg, Nonce, URL, Kid string
		JWK                  *jwk
	}
	text, err := io.ReadAll(io.LimitReader(q.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(text, &sent)
	}
	protected, bad := decode(sent.Protected)
	payload, worse := decode(sent.Payload)
	signature, worst := decode(sent.Signature)
	switch {
	case q.Header.Get("Content-Type") != "application/jose+json":
		return nil, refused("malformed", "the body is not said to be JOSE")
	case err != nil || bad || worse || worst || json.Unmarshal(protected, &head) != nil || head.Alg != "ES256" || len(signature) != 64:
		return nil, refused("malformed", "the body is no JWS by ES256")
	case head.URL != c.http.URL+q.URL.Path:
		return nil, refused("unauthorized", "signed for "+head.URL)
	case !c.nonces[head.Nonce]:
		return nil, refused("badNonce", "the nonce was used, or never given")
	}
	delete(c.nonces, head.Nonce)
	r := &request{w: w, q: q, payload: payload}
	if p := c.signer(r, head.Kid, head.JWK); p != nil {
		return nil, p
	}
	digest := sha256.Sum256([]byte(sent.Protected + "." + sent.Payload))
	if !ecdsa.Verify(r.key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return nil, refused("malformed", "the signature is wrong")
	}
	return r, nil
}

// signer finds out whose key it is: a new one only where accounts are made.
func (c *CA) signer(r *request, kid string, key *jwk) *problem {
	fresh := r.q.URL.Path == "/account"
	if fresh != (kid == "") || fresh != (key != nil) {
		return refused("malformed", "jwk is for new accounts, kid for others")
	}
	if fresh {
		x, bad := decode(key.X)
		y, worse := decode(key.Y)
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if bad || worse || err != nil || key.Crv != "P-256" || key.Kty != "EC" {
			return refused("badPublicKey", "no key of P-256")
		}
		r.key, r.jwk = public, *key
		return nil
	}
	for n, a := range c.accounts {
		if kid == c.at("account", n) {
			r.account, r.key = a, a.key
			return nil
		}
	}
	return refused("accountDoesNotExist", "no such account")
}

// decode reads base64 for URLs without padding; bad: it is not.
func decode(text string) (b []byte, bad bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return b, err != nil || strings.ContainsAny(text, "\r\n")
}

// authorizationOf is what proves that whoever has the account's key knows of a token (8.1).
func authorizationOf(token string, key *ecdsa.PublicKey) string {
	encode := base64.RawURLEncoding.EncodeToString
	point, err := key.Bytes()
	if err != nil {
		return "" // no answer is that
	}
	thumb := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + encode(point[1:33]) + `","y":"` + encode(point[33:]) + `"}`))
	return token + "." + encode(thumb[:])
}
