package auth

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// checkUser applies the rules of CouchDB's design document _auth, in its order
// and with its sentences. body has no clear password any more; a document that
// brings its own verifier still has that.
func checkUser(s *settings, w UserWrite, body object, isAdmin bool) error {
	var old object
	if w.Old != nil {
		old, _ = parseObject(w.Old)
	}
	if w.Deleted {
		return checkUserDeletion(w, old)
	}
	name, roles, err := checkUserForm(w, body)
	if err != nil {
		return err
	}
	if w.Old != nil && !bytes.Equal(old.get("name"), body.get("name")) {
		if was, _ := old.text("name"); was != name {
			return forbidden("Usernames can not be changed.")
		}
	}
	if err := checkVerifier(s, body); err != nil {
		return err
	}
	u, err := checkReadable(body)
	if err != nil {
		return err
	}
	if !isAdmin {
		if err := checkOwnWrite(w, old, name, roles); err != nil {
			return err
		}
		if !bytes.Equal(old.get(accessKeys), body.get(accessKeys)) {
			return forbidden("Only _admin may edit access keys")
		}
	}
	if !w.Caller.IsAdmin() {
		if err := checkOwnVerifier(u.Verifier, old); err != nil {
			return err
		}
	}
	return checkNames(name, roles)
}

// checkOwnVerifier refuses a verifier other than the stored one. Who is not a server administrator
// gives a password, and the server makes the verifier of it: sessions are signed by its salt.
func checkOwnVerifier(v Verifier, old object) error {
	was, _ := parseUserObject(old)
	if v == was.Verifier || v.Salt == "" && v.Key == "" {
		return nil
	}
	return forbidden("Only _admin may edit the hash of a password")
}

// checkUserDeletion lets administrators and the user delete. It is the server
// administrators alone: the rule does not ask _security.
func checkUserDeletion(w UserWrite, old object) error {
	name, ok := old.text("name")
	if w.Caller.IsAdmin() || ok && !w.Caller.Anonymous() && name == w.Caller.Name {
		return nil
	}
	return forbidden("Only admins may delete other user docs.")
}

func checkUserForm(w UserWrite, body object) (name string, roles []string, err error) {
	if kind, _ := body.text("type"); kind != "user" && !w.needsNoType(body) {
		return "", nil, forbidden("doc.type must be user")
	}
	name, isText := body.text("name")
	value := body.get("roles")
	switch roles, ok := texts(value); {
	case falsy(body.get("name")) || !isText:
		return "", nil, forbidden("doc.name is required")
	case falsy(value):
		return "", nil, forbidden("doc.roles must exist")
	case value[0] != '[':
		return "", nil, forbidden("doc.roles must be an array")
	case !ok:
		return "", nil, forbidden("doc.roles can only contain strings")
	case w.ID != UserPrefix+name:
		return "", nil, forbidden("Doc ID must be of the form org.couchdb.user:name")
	default:
		return name, roles, nil
	}
}

// needsNoType reports whether a document without a type is a user all the same: one
// that a server administrator writes into a database which only the setting makes one
// of users. CouchDB validates nothing there before its next start.
func (w *UserWrite) needsNoType(body object) bool {
	return body.get("type") == nil && w.Caller.IsAdmin() && !isNamedUsers(w.DB)
}

// checkVerifier checks the verifier that a document brings itself, as a
// replicated one does. The bounds of the iterations are ours to check here:
// else a user could make the server compute for minutes at each login.
func checkVerifier(s *settings, body object) error {
	if !falsy(body.get("password_sha")) && falsy(body.get("salt")) {
		return forbidden("Users with password_sha must have a salt." +
			"See /_utils/script/couch.js for example code.")
	}
	scheme := body.get("password_scheme")
	if falsy(scheme) {
		return nil
	}
	name, isText := textOf(scheme)
	if !isText || len(name) > maxShown {
		name = term(scheme)
	}
	if !isText || !slices.Contains([]string{schemeSimple, schemePBKDF2, "simple+pbkdf2"}, name) {
		return forbidden("Password scheme `" + name + "` not supported.")
	}
	if name != schemePBKDF2 {
		return nil
	}
	var n json.Number
	if value := body.get("iterations"); value == nil || value[0] == '"' || value[0] == 'n' || json.Unmarshal(value, &n) != nil {
		return forbidden("iterations must be a number.")
	}
	if _, isText := body.text("derived_key"); !isText {
		return forbidden("derived_key must be a string.")
	}
	u, err := checkReadable(body)
	if err != nil {
		return err
	}
	return s.hashing.check(u.Verifier)
}

// checkReadable refuses what authentication could not read, whoever writes it:
// with it nobody of that name could log in.
func checkReadable(body object) (*User, error) {
	u, bad := parseUserObject(body)
	if bad != "" {
		return nil, forbidden("`" + bad + "` can't be used for authentication.")
	}
	return u, nil
}

// checkOwnWrite checks the write of somebody who is no administrator.
func checkOwnWrite(w UserWrite, old object, name string, roles []string) error {
	if w.Old == nil {
		if len(roles) > 0 {
			return forbidden("Only _admin may set roles")
		}
		return nil
	}
	if w.Caller.Anonymous() || w.Caller.Name != name {
		return forbidden("You may only update your own user document.")
	}
	before, _ := texts(old.get("roles"))
	if !slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(roles))) {
		return forbidden("Only _admin may edit roles")
	}
	return nil
}

func checkNames(name string, roles []string) error {
	for _, r := range roles {
		if isSystemRole(r) {
			return forbidden("No system roles (starting with underscore) in users db.")
		}
	}
	if CheckName(name) != nil {
		return forbidden("Usernames can have " + strconv.Itoa(maxName) + " bytes at most.")
	}
	if strings.HasPrefix(name, "_") {
		return forbidden("Username may not start with underscore.")
	}
	if strings.Contains(name, ":") {
		return forbidden("Character `:` is not allowed in usernames.")
	}
	return nil
}
