package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

// publishedKey is a key of an issuer.
type publishedKey struct {
	id  string
	alg string // the one algorithm it is for; "": any of its kind
	key any    // *rsa.PublicKey or *ecdsa.PublicKey
}

// jwk is a key as issuers publish it (RFC 7517 and 7518).
type jwk struct {
	Kty string   `json:"kty"`
	Kid string   `json:"kid"`
	Use string   `json:"use"`
	Ops []string `json:"key_ops"`
	Alg string   `json:"alg"`
	N   string   `json:"n"`
	E   string   `json:"e"`
	Crv string   `json:"crv"`
	X   string   `json:"x"`
	Y   string   `json:"y"`
}

var errNoKeySet = errors.New("auth: not a set of keys")

// parseKeySet reads the public keys of a set that verify signatures. Keys of
// other kinds and for other uses are passed over: issuers publish them beside.
func parseKeySet(text []byte) ([]publishedKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil || set.Keys == nil {
		return nil, errNoKeySet
	}
	var keys []publishedKey
	for _, raw := range set.Keys {
		var k jwk
		if json.Unmarshal(raw, &k) != nil || k.Use != "" && k.Use != "sig" || k.Ops != nil && !slices.Contains(k.Ops, "verify") {
			continue
		}
		if key := k.public(); key != nil {
			keys = append(keys, publishedKey{id: k.Kid, alg: k.Alg, key: key})
		}
	}
	return keys, nil
}

// public returns the key, nil if it is none that can be used. A shared secret never
// is: what is published is no secret.
func (k *jwk) public() any {
	switch k.Kty {
	case "RSA":
		n, e := unsigned(k.N), unsigned(k.E)
		if n == nil || e == nil || n.BitLen() < 2048 || n.BitLen() > 8192 || e.BitLen() > 31 || e.Bit(0) == 0 || e.Int64() < 3 {
			return nil
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}
	case "EC":
		curve, ok := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[k.Crv]
		x, y := unsigned(k.X), unsigned(k.Y)
		if !ok || x == nil || y == nil {
			return nil
		}
		size := (curve.Params().BitSize + 7) / 8
		if x.BitLen() > 8*size || y.BitLen() > 8*size {
			return nil
		}
		point := append([]byte{4}, x.FillBytes(make([]byte, size))...)
		key, err := ecdsa.ParseUncompressedPublicKey(curve, append(point, y.FillBytes(make([]byte, size))...))
		if err != nil {
			return nil // not on the curve
		}
		return key
	}
	return nil
}

func unsigned(text string) *big.Int {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) == 0 || len(b) > 1024 {
		return nil
	}
	return new(big.Int).SetBytes(b)
}

// fits reports whether the key may verify signatures of an algorithm.
func (k *publishedKey) fits(name string, method jwt.SigningMethod) bool {
	if k.alg != "" && k.alg != name {
		return false
	}
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		_, ok := method.(*jwt.SigningMethodRSA)
		return ok
	case *ecdsa.PublicKey:
		m, ok := method.(*jwt.SigningMethodECDSA)
		return ok && m.CurveBits == key.Curve.Params().BitSize
	}
	return false
}

// pick returns the key that a token names; of a token that names none, the only
// one that fits.
func pick(keys []publishedKey, alg string, kid any) any {
	method := algorithms[alg].method
	var found []any
	for i := range keys {
		if k := &keys[i]; k.fits(alg, method) && (kid == nil || kid == k.id) {
			found = append(found, k.key)
		}
	}
	if len(found) == 0 || kid == nil && len(found) > 1 {
		return nil
	}
	return found[0]
}
