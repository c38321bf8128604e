package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
)

// UserWrite is a write to a database of users.
type UserWrite struct {
	DB      string // the database's name
	ID      string
	Body    json.RawMessage // without the members that begin with "_"
	Deleted bool
	// Old is the body of the revision that is replaced; nil if there is none or
	// it is deleted.
	Old json.RawMessage
	// Conflict is what refuses the write in the present state of the document; nil if nothing is in
	// its way.
	Conflict error
	Caller   *Caller
	Security *Security // of the database
}

// passwordFields are written by the server when a new password is given.
var passwordFields = []string{"derived_key", "iterations", "password", "password_scheme", "password_sha",
	"preserve_salt", "pbkdf2_prf", "salt"}

// maxUserDocument is how many bytes the body of a user document may have. Each request
// of the user reads it.
const maxUserDocument = 64 << 10

// BeforeUserWrite applies CouchDB's rules for user documents and returns the body
// to store, in which a password is replaced by its verifier. Design documents
// and local documents have no rules here. Since a new verifier has a new salt,
// it must be called once for each write, not once for each try.
func (a *Authenticator) BeforeUserWrite(ctx context.Context, w UserWrite) (json.RawMessage, error) {
	if strings.HasPrefix(w.ID, "_design/") || strings.HasPrefix(w.ID, "_local/") {
		return w.Body, nil
	}
	isAdmin := w.Security.IsAdmin(w.Caller)
	if !isAdmin && !w.Caller.Anonymous() && w.ID != UserPrefix+w.Caller.Name {
		return nil, dberr.New(dberr.NotFound, "not_found", "missing")
	}
	if len(w.Body) > maxUserDocument {
		return nil, dberr.New(dberr.TooLarge, "document_too_large", "%s (the limit is %d bytes for documents of users)", w.ID, maxUserDocument)
	}
	body, ok := parseObject(w.Body)
	if !ok {
		return nil, badRequest("Document must be a JSON object")
	}
	s := a.settings.Value()
	password, given, err := newPassword(s, body)
	if err = cmp.Or(err, w.Conflict); err != nil {
		return nil, err
	}
	if given {
		body = body.without(passwordFields...)
	}
	if err := checkUser(s, w, body, isAdmin); err != nil || !given {
		return w.Body, err
	}
	v, err := a.passwords.hash(ctx, s.hashing, networkOf(w.Caller.Address), password, newSalt())
	if err != nil {
		return nil, err
	}
	return append(v.fields(), body...).encode(), nil
}

// newPassword returns the clear password of a document, if it has one.
func newPassword(s *settings, body object) (password string, given bool, err error) {
	value := body.get("password")
	if value == nil || string(value) == "null" {
		return "", false, nil
	}
	password, isText := textOf(value)
	if !isText {
		return "", false, forbidden("Password value of '" + term(value) + "' is invalid.")
	}
	return password, true, s.policy.check(password)
}

// fields returns the members of a user document, in CouchDB's order.
func (v Verifier) fields() object {
	return object{
		{"password_scheme", quote(v.Scheme)},
		{"pbkdf2_prf", quote(v.PRF)},
		{"salt", quote(v.Salt)},
		{"iterations", json.RawMessage(strconv.Itoa(v.Iterations))},
		{"derived_key", quote(v.Key)},
	}
}

// UserRead is a document of a database of users on its way to a reader.
type UserRead struct {
	ID       string
	Body     json.RawMessage // without the members that begin with "_"
	Caller   *Caller
	Security *Security
}

// ErrHiddenDesigns is what those get who are no administrators of a database of users
// and ask for its design documents, or what these make of its users.
var ErrHiddenDesigns = forbidden("Only administrators can view design docs in the users database.")

// AfterUserRead returns what the reader may see of a user document: all of it for
// administrators and its owner, the public fields for others. A document of
// which nothing is left is missing.
func (a *Authenticator) AfterUserRead(r UserRead) (json.RawMessage, error) {
	switch {
	case r.Security.IsAdmin(r.Caller):
		return r.Body, nil
	case strings.HasPrefix(r.ID, "_design/"):
		return nil, ErrHiddenDesigns
	case !r.Caller.Anonymous() && r.ID == UserPrefix+r.Caller.Name:
		return r.Body, nil
	}
	body, ok := parseObject(r.Body)
	if !ok {
		return nil, &dberr.Error{Op: "auth.AfterUserRead", Kind: dberr.Internal, Reason: "The user document is broken."}
	}
	var public object
	for _, name := range a.settings.Value().public {
		if value := body.get(name); value != nil {
			public = append(public, member{name, value})
		}
	}
	if len(public) == 0 {
		return nil, dberr.New(dberr.NotFound, "not_found", "missing")
	}
	return public.encode(), nil
}

// CheckUsersSecurity refuses changes of the _security of databases of users unless
// the configuration allows them.
func (a *Authenticator) CheckUsersSecurity() error {
	if a.settings.Value().usersOpen {
		return nil
	}
	return forbidden("You can't edit the security object of the user database.")
}

// maxShown is how long a value may be that an error shows.
const maxShown = 100

// term prints a JSON value as Erlang does, which is how CouchDB shows a bad
// password. A long one is not shown.
func term(value json.RawMessage) string {
	if len(value) > maxShown {
		return "…"
	}
	if s, ok := textOf(value); ok {
		return `<<"` + s + `">>`
	}
	if o, ok := parseObject(value); ok {
		parts := make([]string, len(o))
		for i, m := range o {
			parts[i] = `{<<"` + m.name + `">>,` + term(m.value) + "}"
		}
		return "{[" + strings.Join(parts, ",") + "]}"
	}
	var list []json.RawMessage
	if value[0] == '[' && json.Unmarshal(value, &list) == nil {
		parts := make([]string, len(list))
		for i, v := range list {
			parts[i] = term(v)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return string(value)
}
