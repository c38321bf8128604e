package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// token is a bearer token taken apart; nothing in it is to be believed before
// verify.
type token struct {
	header    map[string]any
	payload   map[string]any
	signed    string
	signature []byte
}

// algorithms are the signature methods, each with the prefix of the keys in
// [jwt_keys] that may verify it. Since a key is found by that prefix and has the
// Go type of its kind, a public RSA key can never be taken for the secret of
// an HMAC; "none" is not in the list.
var algorithms = map[string]struct {
	method jwt.SigningMethod
	kind   string
}{
	"HS256": {jwt.SigningMethodHS256, "hmac"},
	"HS384": {jwt.SigningMethodHS384, "hmac"},
	"HS512": {jwt.SigningMethodHS512, "hmac"},
	"RS256": {jwt.SigningMethodRS256, "rsa"},
	"RS384": {jwt.SigningMethodRS384, "rsa"},
	"RS512": {jwt.SigningMethodRS512, "rsa"},
	"ES256": {jwt.SigningMethodES256, "ec"},
	"ES384": {jwt.SigningMethodES384, "ec"},
	"ES512": {jwt.SigningMethodES512, "ec"},
}

var errMalformedToken = badRequest("Malformed token")

func parseToken(text string) (*token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errMalformedToken
	}
	t := &token{signed: parts[0] + "." + parts[1]}
	var err error
	if t.header, err = decodePart(parts[0]); err != nil {
		return nil, err
	}
	if t.payload, err = decodePart(parts[1]); err != nil {
		return nil, err
	}
	if t.signature, err = base64.RawURLEncoding.DecodeString(parts[2]); err != nil {
		return nil, errMalformedToken
	}
	return t, nil
}

func decodePart(part string) (map[string]any, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
	if err != nil {
		return nil, errMalformedToken
	}
	// A member named twice could mean one thing to the issuer and another here.
	if _, ok := parseObject(raw); !ok {
		return nil, errMalformedToken
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, errMalformedToken
	}
	return m, nil
}

// byToken authenticates by a bearer token; nil if there is none.
func (a *Authenticator) byToken(ctx context.Context, s *settings, r *Request) (*Caller, error) {
	scheme, text, _ := strings.Cut(r.header("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, nil
	}
	if s.jwt.broken != nil {
		return nil, s.jwt.broken
	}
	t, err := parseToken(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	from, _ := t.payload["iss"].(string)
	i := s.jwt.issuers[from]
	if err := t.verify(ctx, &s.jwt, i, a.keyring); err != nil {
		return nil, err
	}
	if err := t.checkClaims(&s.jwt, a.opts.Now()); err != nil {
		return nil, err
	}
	if i == nil {
		return t.caller(&s.jwt)
	}
	if err := i.checkClaims(t); err != nil {
		return nil, err
	}
	return i.caller(&s.jwt, t)
}

// verify checks the signature: by the keys of the issuer that the token names
// if that is configured, and by no others then; else by configured keys.
func (t *token) verify(ctx context.Context, s *jwtSettings, i *issuer, ring *keyring) error {
	alg, has := t.header["alg"]
	if !has {
		return badRequest("Missing alg header parameter")
	}
	name, _ := alg.(string)
	algorithm, known := algorithms[name]
	if !known || len(s.algorithms) > 0 && !slices.Contains(s.algorithms, name) {
		return badRequest("Invalid alg header parameter")
	}
	if err := s.checkHeader(t.header); err != nil {
		return err
	}
	key, err := t.key(ctx, s, i, ring, name)
	if err != nil {
		return err
	}
	if !onCurve(algorithm.method, key) || algorithm.method.Verify(t.signed, t.signature, key) != nil {
		return badRequest("Bad signature in authentication token")
	}
	return nil
}

// onCurve reports whether a key is on the curve that belongs to the algorithm, if that
// has one (RFC 7518, section 3.4). The library only counts the signature's bytes.
func onCurve(method jwt.SigningMethod, key any) bool {
	m, isEC := method.(*jwt.SigningMethodECDSA)
	k, hasCurve := key.(*ecdsa.PublicKey)
	return !isEC || hasCurve && k.Curve.Params().BitSize == m.CurveBits
}

// key finds the key that verifies the token.
func (t *token) key(ctx context.Context, s *jwtSettings, i *issuer, ring *keyring, alg string) (any, error) {
	kind, kid := algorithms[alg].kind, t.header["kid"]
	switch {
	case i == nil:
		key, err := s.key(kind, kid)
		if _, has := t.payload["iss"]; err != nil && has && len(s.issuers) > 0 {
			err = badRequest("Invalid iss claim") // it names none that we know
		}
		return key, err
	case i.broken:
		return nil, errMisconfigured
	case kind == "hmac":
		return nil, badRequest("Invalid alg header parameter")
	}
	return ring.key(ctx, s.fetched, i, alg, kid)
}

// checkClaims checks what is required; exp and nbf wherever they are given.
func (t *token) checkClaims(s *jwtSettings, now time.Time) error {
	for _, c := range s.required {
		if c.ofHeader() {
			continue
		}
		value, has := t.payload[c.name]
		if !has {
			return badRequest("Missing " + c.name + " claim")
		}
		if !c.accepts(value) {
			return badRequest("Invalid " + c.name + " claim")
		}
	}
	if exp, has, err := t.seconds("exp"); err != nil || has && exp <= float64(now.Unix()) {
		return cmpError(err, "exp not in future")
	}
	if nbf, has, err := t.seconds("nbf"); err != nil || has && nbf > float64(now.Unix()) {
		return cmpError(err, "nbf not in past")
	}
	if _, _, err := t.seconds("iat"); err != nil {
		return err
	}
	return nil
}

// cmpError returns err, or a refusal where there is none.
func cmpError(err error, reason string) error {
	if err != nil {
		return err
	}
	return unauthorized(reason)
}

// seconds returns a claim that is a time.
func (t *token) seconds(claim string) (at float64, has bool, err error) {
	value, has := t.payload[claim]
	if !has {
		return 0, false, nil
	}
	n, isNumber := value.(json.Number)
	if isNumber {
		at, err = n.Float64()
	}
	if !isNumber || err != nil {
		return 0, true, badRequest("Invalid " + claim + " claim")
	}
	return at, true, nil
}

func (t *token) caller(s *jwtSettings) (*Caller, error) {
	sub, has := t.payload["sub"]
	if !has {
		return nil, unauthorized("Token missing sub claim.")
	}
	roles, err := s.roles(t.payload)
	if err != nil {
		return nil, err
	}
	return t.named(sub, roles)
}

// named returns the caller of a name and roles that the token claims.
func (t *token) named(name, roles any) (*Caller, error) {
	text, isText := name.(string)
	list, ok := rolesOf(roles)
	if !isText || text == "" || !ok {
		return nil, errMalformedToken
	}
	return &Caller{Name: text, Roles: list, Handler: JWTHandler, Claims: t.payload}, nil
}

// rolesOf reads the claim with the roles: a list of strings, or one string with
// commas.
func rolesOf(claim any) (roles []string, ok bool) {
	roles = []string{}
	switch claim := claim.(type) {
	case nil:
	case string:
		for role := range strings.SplitSeq(claim, ",") {
			if role = strings.TrimSpace(role); role != "" {
				roles = append(roles, role)
			}
		}
	case []any:
		for _, r := range claim {
			role, isText := r.(string)
			if !isText {
				return nil, false
			}
			roles = append(roles, role)
		}
	default:
		return nil, false
	}
	return roles, true
}
