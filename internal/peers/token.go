package peers

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
)

const (
	// tokenLife is for how long a request may be on its way.
	tokenLife = 30 * time.Second
	// maxToken bounds what is looked at before it is known who sends it.
	maxToken = 64 << 10
)

// errToken refuses whoever says to be a server of the store and is not, or says it to another
// one, too late, or a second time.
var errToken = dberr.New(dberr.Forbidden, "forbidden", "The request does not come from a server of this store.")

// token says who asks what of which server.
type token struct {
	To      string       `json:"to"`
	Holder  uint64       `json:"holder,string"` // the process that is meant, of those that had the name
	Method  string       `json:"method"`
	Target  string       `json:"target"`
	Body    []byte       `json:"body"` // its digest
	Name    string       `json:"name"`
	Roles   []string     `json:"roles"`
	Handler auth.Handler `json:"handler"`
	Expires int64        `json:"expires"` // Unix milliseconds
	Nonce   []byte       `json:"nonce"`
}

// seal returns the token as a header: its JSON and a code that only servers of the store can
// make.
func (t *token) seal(key []byte) (string, error) {
	t.Nonce = make([]byte, 16)
	rand.Read(t.Nonce) // never fails
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(code(key, text)), nil
}

// open takes a header apart that seal made.
func open(key []byte, sealed string) (t token, err error) {
	if len(sealed) > maxToken {
		return t, errToken
	}
	first, second, _ := strings.Cut(sealed, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return t, errToken
	}
	given, err := base64.RawURLEncoding.DecodeString(second)
	if err != nil || !hmac.Equal(given, code(key, text)) || json.Unmarshal(text, &t) != nil {
		return t, errToken
	}
	return t, nil
}

func code(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// seen are the tokens that have been used and have not expired.
type seen struct {
	sync.Mutex
	until map[string]time.Time // by nonce
}

// first reports whether a token is used for the first time.
func (s *seen) first(nonce []byte, until, now time.Time) bool {
	s.Lock()
	defer s.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	for other, end := range s.until {
		if end.Before(now) {
			delete(s.until, other)
		}
	}
	if _, used := s.until[string(nonce)]; used {
		return false
	}
	s.until[string(nonce)] = until
	return true
}
