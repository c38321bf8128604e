package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/config"
)

// UsersDB is the database whose documents are users, unless the setting
// authentication_db names another; UserPrefix begins their ids.
const (
	UsersDB    = "_users"
	UserPrefix = "org.couchdb.user:"
)

// ReadUsersDB returns the name of the database in which logins look users up.
func ReadUsersDB(s *config.Snapshot) string {
	return cmp.Or(s.String(section, "authentication_db", ""), UsersDB)
}

// UsersDB returns the name of the database in which logins look users up now.
func (a *Authenticator) UsersDB() string { return a.settings.Value().usersDB }

// IsUsersDB reports whether the documents of a database are users: of the one that
// logins look into, and of all that have the system's name for it. What such a
// database holds is not shown, also while logins look elsewhere.
func (a *Authenticator) IsUsersDB(name string) bool {
	return isNamedUsers(name) || name == a.UsersDB()
}

// isNamedUsers reports whether a name is the system's for databases of users.
func isNamedUsers(name string) bool {
	return name == UsersDB || strings.HasSuffix(name, "/"+UsersDB)
}

// User is what authentication needs of a user document.
type User struct {
	Name     string
	Roles    []string
	Verifier Verifier
	// Conflicts says that the document has conflicts: which of the passwords is
	// the right one is not for the server to guess.
	Conflicts  bool
	AccessKeys []AccessKey
	totp       *totp
}

// Users returns user documents of a database by name: nil without an error if there
// is none. It is asked at each authenticated request, and what it gives must not be
// older than the last acknowledged write; so a cache goes by revision.
type Users interface {
	User(ctx context.Context, db, name string) (*User, error)
}

// errUserConflicts is CouchDB's sentence for a user whose document has conflicts.
var errUserConflicts = unauthorized(
	"User document conflicts must be resolved before the document is used for authentication purposes.")

// ParseUser parses the body of a user document. Who writes one is refused what
// can't be read here; one that came by another way and is broken is an error.
func ParseUser(body []byte) (*User, error) {
	o, ok := parseObject(body)
	u, bad := parseUserObject(o)
	if !ok || bad != "" {
		return nil, errBrokenUser
	}
	return u, nil
}

var errBrokenUser = badRequest("The user document can't be used for authentication.")

// parseUserObject parses what authentication needs of a user document; bad is the
// member that can't be read. Members are found by their exact names.
func parseUserObject(o object) (u *User, bad string) {
	r := memberReader{object: o}
	u = &User{Name: r.text("name"), Roles: slices.DeleteFunc(r.texts("roles"), isSystemRole), Verifier: parseVerifier(&r)}
	if value := o.get("totp"); !isNull(value) {
		if u.totp = parseTOTP(value); u.totp == nil {
			r.fail("totp")
		}
	}
	var ok bool
	if u.AccessKeys, ok = parseAccessKeys(o.get(accessKeys)); !ok {
		r.fail(accessKeys)
	}
	return u, r.bad
}

// isSystemRole reports whether a role is one that only the server gives, such as
// _admin. A user document can't be written with one, but it may be older than the
// setting that made its database the one of users.
func isSystemRole(role string) bool { return strings.HasPrefix(role, "_") && role != MetricsRole }

// parseVerifier applies CouchDB's defaults: no scheme is the simple one, no
// function is SHA-1.
func parseVerifier(r *memberReader) Verifier {
	key, sum, n, prf := r.text("derived_key"), r.text("password_sha"), r.number("iterations"), r.text("pbkdf2_prf")
	v := Verifier{Scheme: r.text("password_scheme"), Salt: r.text("salt")}
	switch v.Scheme {
	case schemePBKDF2:
		v.Key, v.Iterations, v.PRF = key, n, cmp.Or(prf, "sha")
	case "", schemeSimple:
		v.Scheme, v.Key = schemeSimple, sum
	}
	return v
}

// memberReader reads members of an object that may be missing or null, and notes
// the first that is of another kind.
type memberReader struct {
	object object
	bad    string
}

func (r *memberReader) fail(name string) {
	if r.bad == "" {
		r.bad = name
	}
}

func (r *memberReader) text(name string) string {
	value := r.object.get(name)
	if isNull(value) {
		return ""
	}
	s, ok := textOf(value)
	if !ok {
		r.fail(name)
	}
	return s
}

// texts returns the strings of a list; what else is in it is overlooked.
func (r *memberReader) texts(name string) (out []string) {
	value := r.object.get(name)
	var list []json.RawMessage
	if !isNull(value) && json.Unmarshal(value, &list) != nil {
		r.fail(name)
	}
	for _, v := range list {
		if s, ok := textOf(v); ok {
			out = append(out, s)
		}
	}
	return out
}

// number returns a whole number, at most one that no setting allows.
func (r *memberReader) number(name string) int {
	value := r.object.get(name)
	if isNull(value) {
		return 0
	}
	var f float64
	if json.Unmarshal(value, &f) != nil || f != math.Trunc(f) {
		r.fail(name)
	}
	return int(max(min(f, math.MaxInt32), math.MinInt32))
}

// isNull reports whether a member is missing or null.
func isNull(value json.RawMessage) bool { return value == nil || string(value) == "null" }
