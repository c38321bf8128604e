package auth

import (
	"context"
	"encoding/json"
)

// UsersDB is the database whose documents are users, UserPrefix begins their ids.
const (
	UsersDB    = "_users"
	UserPrefix = "org.couchdb.user:"
)

// User is what authentication needs of a user document.
type User struct {
	Name     string
	Roles    []string
	Verifier Verifier
	totp     *totp
}

// Users gives user documents by name: nil without an error if there is none.
// It is asked at each authenticated request, and what it gives must not be
// older than the last acknowledged write; so a cache goes by revision.
type Users interface {
	User(ctx context.Context, name string) (*User, error)
}

// ErrUserConflicts is what Users gives for a document with conflicts: which of
// the passwords is the right one is not for the server to guess.
var ErrUserConflicts = unauthorized(
	"User document conflicts must be resolved before the document is used for authentication purposes.")

// userFields are the members of a user document that are read here.
type userFields struct {
	Name        string   `json:"name"`
	Roles       []any    `json:"roles"`
	Scheme      string   `json:"password_scheme"`
	PRF         string   `json:"pbkdf2_prf"`
	Iterations  float64  `json:"iterations"`
	Salt        string   `json:"salt"`
	DerivedKey  string   `json:"derived_key"`
	PasswordSHA string   `json:"password_sha"`
	TOTP        *rawTOTP `json:"totp"`
}

// ParseUser reads the body of a user document. Documents were checked when
// they were written; one that came by another way and is broken is an error.
func ParseUser(body []byte) (*User, error) {
	var f userFields
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, badRequest("The user document can't be used for authentication.")
	}
	u := &User{Name: f.Name, Verifier: f.verifier()}
	for _, r := range f.Roles {
		if s, ok := r.(string); ok {
			u.Roles = append(u.Roles, s)
		}
	}
	if f.TOTP != nil {
		u.totp = f.TOTP.parse()
	}
	return u, nil
}

// verifier applies CouchDB's defaults: no scheme is the simple one, no function
// is SHA-1.
func (f userFields) verifier() Verifier {
	v := Verifier{Scheme: f.Scheme, Salt: f.Salt}
	switch f.Scheme {
	case schemePBKDF2:
		v.Key, v.Iterations, v.PRF = f.DerivedKey, int(f.Iterations), f.PRF
		if v.PRF == "" {
			v.PRF = "sha"
		}
	case "", schemeSimple:
		v.Scheme, v.Key = schemeSimple, f.PasswordSHA
	}
	return v
}
