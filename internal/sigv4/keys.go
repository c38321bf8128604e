package sigv4

import (
	"crypto/hmac"
	"encoding/hex"
	"sync"
)

// maxKeys bounds the signing keys that are kept.
const maxKeys = 1024

// Keys verifies signatures and keeps the keys that secrets make for a scope, which are the
// same for all requests of a day: making one takes four of the five digests of a
// signature. A key is kept once it has verified something, so that whoever knows no secret
// fills nothing. The zero value is ready; it may be used by several goroutines.
type Keys struct {
	mu   sync.RWMutex
	kept map[scope][]byte
}

// scope is all that a signing key is made of.
type scope struct{ secret, day, region, service string }

// Verify is Signature.Verify.
func (k *Keys) Verify(s *Signature, secret string, r *Request) error {
	at := scope{secret, s.Day, s.Region, s.Service}
	k.mu.RLock()
	key, found := k.kept[at]
	k.mu.RUnlock()
	if !found {
		key = s.key(secret)
	}
	if err := s.verify(key, r); err != nil || found {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxKeys {
		k.kept = map[scope][]byte{} // the next requests make again what is still in use
	}
	k.kept[at] = key
	return nil
}

// verify refuses the signature if the key does not make it of the request.
func (s *Signature) verify(key []byte, r *Request) error {
	want := hex.EncodeToString(digest(key, s.toSign(r)))
	if !hmac.Equal([]byte(want), []byte(s.value)) {
		return errMismatch
	}
	return nil
}

// key returns the key that signs requests of the signature's scope.
func (s *Signature) key(secret string) []byte {
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.Day, s.Region, s.Service, terminator} {
		key = digest(key, part)
	}
	return key
}
