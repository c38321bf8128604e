package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// maxKeys bounds the signing keys that are kept.
const maxKeys = 1024

// Keys verifies signatures and keeps the keys that secrets make for a scope, which are the
// same for all requests of a day: making one takes four of the five digests of a
// signature. A key is kept once it has verified something, so that whoever knows no secret
// fills nothing. It may be used by several goroutines.
type Keys struct {
	// Secret returns the secret of an access key, which is the same at all times: whether the
	// key counts is for the caller to know.
	Secret func(keyID string) string

	mu   sync.RWMutex
	kept map[scope]*signingKey
}

// scope is all that a signing key is made of.
type scope struct{ keyID, day, region, service string }

// signingKey signs what is of one scope.
type signingKey struct{ hashers sync.Pool } // to begin one takes longer than a signature does

// hasher makes signatures, one after the other.
type hasher struct {
	hash.Hash // with the key in it
	text, sum []byte
}

func newSigningKey(key []byte) *signingKey {
	k := &signingKey{}
	k.hashers.New = func() any { return &hasher{Hash: hmac.New(sha256.New, key)} }
	return k
}

// sign returns the signature of a request, hexadecimal, up to the hasher's next one.
func (h *hasher) sign(s *Signature, r *Request) []byte {
	h.text = s.appendToSign(h.text[:0], r)
	h.Reset()
	h.Write(h.text)
	h.sum = h.Sum(h.sum[:0])
	h.text = hex.AppendEncode(h.text[:0], h.sum)
	return h.text
}

// Verify is Signature.Verify with the secret of the signature's key.
func (k *Keys) Verify(s *Signature, r *Request) error {
	at := scope{s.KeyID, s.Day, s.Region, s.Service}
	k.mu.RLock()
	key, found := k.kept[at]
	k.mu.RUnlock()
	if !found {
		key = s.key(k.Secret(s.KeyID))
	}
	if err := s.verify(key, r); err != nil || found {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxKeys {
		k.kept = map[scope]*signingKey{} // the next requests make again what is still in use
	}
	k.kept[at] = key
	return nil
}

// verify refuses the signature if the key does not make it of the request.
func (s *Signature) verify(key *signingKey, r *Request) error {
	h := key.hashers.Get().(*hasher)
	defer key.hashers.Put(h)
	if !hmac.Equal(h.sign(s, r), []byte(s.value)) {
		return errMismatch
	}
	return nil
}

// key returns the key that signs requests of the signature's scope.
func (s *Signature) key(secret string) *signingKey {
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.Day, s.Region, s.Service, terminator} {
		key = digest(key, part)
	}
	return newSigningKey(key)
}
