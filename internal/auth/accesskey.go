package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// Requests of the DynamoDB API are signed with the secret of an access key. The keys of a
// user are listed in the user document, so they go with the user. Their secrets are
// nowhere: each is made of the key's id by a secret of the store, so nobody who reads or
// writes user documents knows one, and a key that was copied into another store or into
// another user's document opens nothing there: the id ends with the user's name.

// AccessKey is a key whose secret signs requests in a user's name.
type AccessKey struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	// Tables are those that the key is for, of which ReadOnly can be read alone; nil:
	// what the user may.
	Tables   []string `json:"tables,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
}

// accessKeys is the member of user documents that lists them.
const accessKeys = "access_keys"

const (
	accessKeyPrefix = "SK"
	accessKeyRandom = 10  // bytes, which are 16 characters
	accessKeyFixed  = 18  // characters before the name
	maxAccessKey    = 128 // characters of an id, as AWS documents it
	maxAccessKeys   = 100 // of a user
	secretLength    = 40  // characters, as AWS's
)

// keyNames writes what ids hold: their characters are letters and digits, as clients expect.
var keyNames = base32.StdEncoding.WithPadding(base32.NoPadding)

// Allows reports whether the key is for a table, and for writing to it.
func (k *AccessKey) Allows(table string, write bool) bool {
	return (k.Tables == nil || slices.Contains(k.Tables, table)) && !(write && k.ReadOnly)
}

// NewAccessKey makes a key for a user; it counts once it is in the user document (see
// WithAccessKeys). Errors: Invalid for a name that is too long.
func (a *Authenticator) NewAccessKey(name string) (AccessKey, error) {
	var b [accessKeyRandom]byte
	rand.Read(b[:]) // never fails
	k := AccessKey{ID: accessKeyPrefix + keyNames.EncodeToString(b[:]) + keyNames.EncodeToString([]byte(name)), Created: a.opts.Now().UTC().Truncate(time.Second)}
	if len(k.ID) > maxAccessKey {
		return k, badRequest("The user's name is too long for access keys.")
	}
	return k, nil
}

// Secrets is a power that Users may have, without which there are no access keys.
type Secrets interface {
	// Secret returns the secret of the users' store for a purpose, the same in each of its
	// servers.
	Secret(purpose string) []byte
}

// AccessSecret returns the secret of a key, for whoever verifies what it signed, and for
// the one answer in which the key is made.
func (a *Authenticator) AccessSecret(id string) string {
	mac := hmac.New(sha256.New, a.opts.Users.(Secrets).Secret("access keys"))
	mac.Write([]byte(id))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))[:secretLength]
}

// AccessKey returns a key by its id and the user whose it is, as the user is now; nil if
// there is no such key.
func (a *Authenticator) AccessKey(ctx context.Context, id string) (*AccessKey, *Caller, error) {
	if !strings.HasPrefix(id, accessKeyPrefix) || len(id) <= accessKeyFixed || len(id) > maxAccessKey {
		return nil, nil, nil
	}
	name, err := keyNames.DecodeString(id[accessKeyFixed:])
	if err != nil || CheckName(string(name)) != nil {
		return nil, nil, nil
	}
	u, err := a.user(ctx, a.settings.Value(), string(name))
	if u == nil || err != nil {
		return nil, nil, err
	}
	for i := range u.AccessKeys {
		if k := &u.AccessKeys[i]; k.ID == id {
			return k, u.caller(SignatureHandler), nil
		}
	}
	return nil, nil, nil
}

// parseAccessKeys reads those of a user document; ok is false for what is no list of them.
func parseAccessKeys(value json.RawMessage) (keys []AccessKey, ok bool) {
	if isNull(value) {
		return nil, true
	}
	err := json.Unmarshal(value, &keys)
	return keys, err == nil && len(keys) <= maxAccessKeys
}

// AccessKeysOf returns the keys that a user document lists. Errors: Invalid for a body
// that can't be read.
func AccessKeysOf(body []byte) ([]AccessKey, error) {
	u, err := ParseUser(body)
	if err != nil {
		return nil, err
	}
	return u.AccessKeys, nil
}

// WithAccessKeys returns the body of a user document with other keys; a nil body is that
// of a user who has nothing else, as an administrator of the configuration. Errors: Invalid
// for too many.
func WithAccessKeys(name string, body []byte, keys []AccessKey) (json.RawMessage, error) {
	if len(keys) > maxAccessKeys {
		return nil, dberr.New(dberr.Invalid, "bad_request", "A user has %d access keys at most.", maxAccessKeys)
	}
	o, ok := parseObject(body)
	if body == nil {
		o, ok = object{{"type", quote("user")}, {"name", quote(name)}, {"roles", json.RawMessage("[]")}}, true
	}
	if !ok {
		return nil, errBrokenUser
	}
	o = o.without(accessKeys)
	if len(keys) > 0 {
		value, err := json.Marshal(keys)
		if err != nil {
			return nil, err
		}
		o = append(o, member{accessKeys, value})
	}
	return o.encode(), nil
}
