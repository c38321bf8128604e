package auth

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// unusable are members with which a user could not log in, each with the one
// that is named in the refusal.
var unusable = map[string]string{
	`"totp":5`: "totp", `"totp":"x"`: "totp", `"totp":[]`: "totp", `"totp":true`: "totp", `"totp":{}`: "totp", `"totp":{"key":5}`: "totp", `"totp":{"key":""}`: "totp",
	`"totp":{"key":"1"}`: "totp", `"totp":{"key":"GEZDGNBV","algorithm":"md5"}`: "totp", `"totp":{"key":"GEZDGNBV","algorithm":1}`: "totp",
	`"totp":{"key":"GEZDGNBV","length":5}`: "totp", `"totp":{"key":"GEZDGNBV","length":10}`: "totp", `"totp":{"key":"GEZDGNBV","length":"6"}`: "totp",
	`"totp":{"key":"GEZDGNBV","length":6.5}`: "totp", `"totp":{"key":"GEZDGNBV","length":1e300}`: "totp",
	`"salt":5`: "salt", `"salt":{}`: "salt", `"derived_key":5`: "derived_key", `"pbkdf2_prf":5`: "pbkdf2_prf", `"password_sha":[]`: "password_sha",
	`"salt":"s","password_sha":5`: "password_sha", `"iterations":"5"`: "iterations", `"iterations":1.5`: "iterations", `"iterations":{}`: "iterations", `"iterations":1e400`: "iterations",
}

// TestUnusableUsersAreRefused: nobody, whoever he is, stores a user document that
// authentication could not read. As many as there are ways to write one go
// through this rule.
func TestUnusableUsersAreRefused(t *testing.T) {
	const old = `{"name":"jan","type":"user","roles":[]}`
	for members, at := range unusable {
		for _, w := range []UserWrite{
			{Caller: admin()}, {Caller: &Caller{}}, {Caller: &Caller{Name: "jan"}, Old: json.RawMessage(old)},
		} {
			world := newWorld(t)
			w.ID, w.Security = UserPrefix+"jan", DefaultSecurity("")
			for _, body := range []string{`{"name":"jan","type":"user","roles":[],` + members + `}`, `{"name":"jan","type":"user","roles":[],"password":"pw",` + members + `}`} {
				if strings.Contains(body, `"password":`) && at != "totp" {
					continue // the server writes the others itself then
				}
				w.Body = json.RawMessage(body)
				if stored, err := world.BeforeUserWrite(t.Context(), w); !strings.HasPrefix(refusal(err), "403: `"+at+"` ") && !strings.HasPrefix(refusal(err), "403: "+at+" ") &&
					!strings.HasPrefix(refusal(err), "403: Users with password_sha must") {
					t.Errorf("%s by %q: %s, %v", body, w.Caller.Name, stored, err)
				}
			}
		}
	}
}

// Members of other spelling are nobody's business, at the write and at the login.
func TestSpellingOfMembersCounts(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", `{"name":"jan","type":"user","roles":[],"password":"pw","Totp":5,"SALT":"x","Roles":["a"],"Iterations":{}}`)
	if got := w.who(t, basic("jan", "pw")); got != "default jan" {
		t.Errorf("got %s", got)
	}
}

// TestSystemRolesOfDocumentsCountForNothing: a document may have come into the
// database before it was the one of users, when nobody looked at its roles.
func TestSystemRolesOfDocumentsCountForNothing(t *testing.T) {
	w := newWorld(t)
	w.addUser(t, "jan", `{"name":"jan","type":"user","roles":["a"],"password":"pw"}`)
	w.users["jan"] = strings.Replace(w.users["jan"], `["a"]`, `["_admin","a","_reader","_metrics"]`, 1)
	if got := w.who(t, basic("jan", "pw")); got != "default jan a,_metrics" {
		t.Errorf("got %s", got)
	}
}

// TestAdministratorsDoNotDependOnUsers: whatever is in _users, and whether it
// can be read, a configured administrator gets in.
func TestAdministratorsDoNotDependOnUsers(t *testing.T) {
	bodies := []string{`{"name":"adm","totp":{"key":"GEZDGNBV"},"roles":[]}`, `{"name":"adm","roles":5}`, `[]`, `{`}
	for members := range unusable {
		bodies = append(bodies, fmt.Sprintf(`{"name":"adm","type":"user","roles":[],%s}`, members))
	}
	for _, body := range bodies {
		w := newWorld(t)
		w.addAdmin(t, "adm", "pass")
		w.users["adm"] = body
		if got := w.who(t, basic("adm", "pass")); got != "default adm _admin" {
			t.Errorf("with %s: %s", body, got)
		}
		session, err := w.LogIn(t.Context(), Login{Name: "adm", Password: "pass"}, request())
		if err != nil {
			t.Errorf("with %s: %v", body, err)
			continue
		}
		cookie, _, _ := strings.Cut(session.SetCookie, ";")
		if got := w.who(t, request("Cookie", cookie)); got != "cookie adm _admin" {
			t.Errorf("with %s, by cookie: %s", body, got)
		}
	}
}
