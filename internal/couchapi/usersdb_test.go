package couchapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
)

// set changes a setting as an administrator does.
func (a *testAPI) set(section, key, value string) {
	a.t.Helper()
	a.do("PUT", "/_node/_local/_config/"+section+"/"+key, fmt.Sprintf("%q", value)).want(200, "")
}

func userID(name string) string { return "org.couchdb.user:" + name }

// newUser gives the document of a user with the password pw.
func newUser(name string) string {
	return fmt.Sprintf(`{"_id":%q,"name":%q,"type":"user","roles":["clerk"],"password":"pw"}`, userID(name), name)
}

// TestAuthenticationDB: the setting names the users' database at run time, by either
// section, and all that is special about that database goes with it.
func TestAuthenticationDB(t *testing.T) {
	for _, section := range []string{"chttpd_auth", "couch_httpd_auth"} {
		t.Run(section, func(t *testing.T) {
			a := newTestAPI(t)
			a.do("PUT", "/people", "").want(201, "")
			a.do("POST", "/people", newUser("early")).want(201, "")
			a.do("POST", "/_users", newUser("old")).want(201, "")
			if got := a.do("GET", "/people/"+userID("early"), "").Body; !strings.Contains(got, `"password":"pw"`) {
				t.Errorf("a document of an ordinary database was changed: %s", got)
			}
			a.do("GET", "/_session", "", "Authorization", basic("old", "pw")).want(200, "")

			a.set(section, "authentication_db", "people")
			a.do("GET", "/_session", "", "Authorization", basic("old", "pw")).want(401, "")
			a.do("POST", "/people", newUser("ann")).want(201, "")
			a.do("POST", "/people", `{"_id":"org.couchdb.user:bob","name":"bob","roles":[],"password":"pw"}`).want(201, "") // as CouchDB's own tests do
			stored := a.do("GET", "/people/"+userID("ann"), "").json()
			if stored["password"] != nil || stored["derived_key"] == nil {
				t.Errorf("the password was not replaced: %v", stored)
			}
			a.do("GET", "/_session", "", "Authorization", basic("bob", "pw")).want(200, "")
			ann := []string{"Authorization", basic("ann", "pw")}
			if s := a.do("GET", "/_session", "", ann...).want(200, "").Body; !strings.Contains(s, `"roles":["clerk"]`) || !strings.Contains(s, `"authentication_db":"people"`) {
				t.Errorf("session: %s", s)
			}
			a.holdsUsers("/people", stored["derived_key"].(string), ann)
			a.do("GET", "/_users/"+userID("old"), "", ann...).want(403, "") // nobody but administrators is its member

			a.do("DELETE", "/_node/_local/_config/"+section+"/authentication_db", "").want(200, "")
			a.do("GET", "/_session", "", ann...).want(401, "")
			a.do("GET", "/_session", "", "Authorization", basic("old", "pw")).want(200, "")
		})
	}
}

// holdsUsers checks that a database is guarded as one of users: it shows ann nothing
// of early, and its lists and its _security are closed.
func (a *testAPI) holdsUsers(db, secret string, ann []string) {
	a.t.Helper()
	a.do("PUT", db+"/_security", `{}`).want(403, "")
	a.set("couchdb", "users_db_security_editable", "true")
	a.do("PUT", db+"/_security", `{}`).want(200, "") // now everybody is a member
	a.do("GET", db+"/"+userID("early"), "", ann...).want(404, "")
	if own := a.do("GET", db+"/"+userID("ann"), "", ann...).want(200, "").Body; !strings.Contains(own, secret) {
		a.t.Errorf("ann is not shown her own document: %s", own)
	}
	for _, list := range []string{"/_all_docs", "/_changes", "/_design_docs"} {
		a.do("GET", db+list, "", ann...).want(401, "")
	}
	a.do("PUT", db+"/"+userID("ann"), `{"name":"ann","type":"user","roles":["boss"]}`, ann...).want(409, "")
	a.do("PUT", db+"/"+userID("eve"), `{"name":"eve","type":"user","roles":[]}`, ann...).want(404, "")
	a.do("PUT", db+"/"+userID("eve"), `{"name":"eve","type":"user","roles":["boss"]}`, "Authorization", "").want(403, "")
	a.do("PUT", db+"/plain", `{"x":1}`).want(403, "")
	a.do("GET", db+"/_subscriptions", "").want(403, "")
}

// TestAuthenticationDBThatCannotBe: where the setting names no database that can hold
// users nobody logs in but administrators.
func TestAuthenticationDBThatCannotBe(t *testing.T) {
	for _, name := range []string{"nowhere", "No Name", "parts", "../x"} {
		a := newTestAPI(t)
		a.do("PUT", "/parts?partitioned=true", "").want(201, "")
		a.do("POST", "/parts", newUser("ann")).want(201, "")
		a.set("chttpd_auth", "authentication_db", name)
		a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(401, `{"error":"unauthorized","reason":"Name or password is incorrect."}`)
		a.do("GET", "/_all_dbs", "").want(200, "")
		must(t, a.MakeSystemDatabases(t.Context()))
	}
	a := newTestAPI(t, config.Setting{Section: "chttpd_auth", Key: "authentication_db", Value: "people"})
	a.do("GET", "/people", "").want(200, "") // was made at the start
	a.do("DELETE", "/people", "").want(200, "")
	a.do("PUT", "/people?partitioned=true", "").want(400, "")
}

// conflicting makes two revisions of ann current.
func conflicting(a *testAPI, db string) {
	for _, rev := range []string{"b", "c"} {
		doc := fmt.Sprintf(`{"_id":%q,"_rev":"2-%s","_revisions":{"start":2,"ids":[%q,"a"]},"name":"ann","type":"user","roles":[%q],"password":"pw"}`, userID("ann"), rev, rev, rev)
		a.do("POST", db+"/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`).want(201, "[]")
	}
}

// TestUserWithConflicts: no way of logging in passes for a user whose document has
// conflicts, until one revision is left or the setting allows it.
func TestUserWithConflicts(t *testing.T) {
	const text = `{"error":"unauthorized","reason":"User document conflicts must be resolved before the document is used for authentication purposes."}`
	a := newTestAPI(t)
	conflicting(a, "/_users")
	a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(401, text)
	a.do("POST", "/_session", `{"name":"ann","password":"pw"}`, "Authorization", "").want(401, text)
	a.set("chttpd_auth", "allow_conflicted_user_docs", "true")
	login := a.do("POST", "/_session", `{"name":"ann","password":"pw"}`, "Authorization", "").want(200, "")
	cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
	a.set("chttpd_auth", "allow_conflicted_user_docs", "false")
	a.do("GET", "/_session", "", "Cookie", cookie, "Authorization", "").want(401, text)
	a.do("DELETE", "/_users/"+userID("ann")+"?rev=2-b", "").want(200, "")
	a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(200, "")

	// An administrator does not depend on documents.
	_, err := auth.SetAdmin(a.config, "ann", "other")
	must(t, err)
	conflicting(a, "/_users")
	a.do("GET", "/_session", "", "Authorization", basic("ann", "other")).want(200, "")
}

// TestTakenNames: whoever signs up with a name that is taken is told of a conflict, in
// every way there is to write, and learns nothing else; with the right revision he is
// told that the document is not his.
func TestTakenNames(t *testing.T) {
	const conflict = `{"error":"conflict","reason":"Document update conflict."}`
	const missing = `{"error":"not_found","reason":"missing"}`
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	a.do("PUT", "/_users/_security", `{}`).want(200, "")
	rev := a.do("POST", "/_users", newUser("ann")).want(201, "").json()["rev"].(string)
	eve := a.as("eve")
	nobody := []string{"Authorization", ""}
	doc := func(rev string) string {
		return `{"_id":"org.couchdb.user:ann","name":"ann","type":"user","roles":[],"password":"stolen"` + rev + `}`
	}
	for _, c := range []struct {
		who          []string
		rev          string
		status       int
		want, inBulk string
	}{
		{nobody, "", 409, conflict, conflict},
		{nobody, `,"_rev":"1-abc"`, 409, conflict, conflict},
		{nobody, `,"_rev":"` + rev + `"`, 403, `{"error":"forbidden","reason":"You may only update your own user document."}`, "own user document"},
		{eve, "", 404, missing, `not_found`},
		{eve, `,"_rev":"1-abc"`, 404, missing, `not_found`},
		{eve, `,"_rev":"` + rev + `"`, 404, missing, `not_found`},
	} {
		a.do("PUT", "/_users/"+userID("ann"), doc(c.rev), c.who...).want(c.status, c.want)
		a.do("POST", "/_users", doc(c.rev), c.who...).want(c.status, c.want)
		bulk := a.do("POST", "/_users/_bulk_docs", `{"docs":[`+doc(c.rev)+`]}`, c.who...).want(201, "").Body
		if !strings.Contains(bulk, strings.Trim(strings.TrimPrefix(c.inBulk, `{`), `}`)) {
			t.Errorf("_bulk_docs: %s, want %s", bulk, c.inBulk)
		}
	}
	a.do("DELETE", "/_users/"+userID("ann"), "", nobody...).want(404, missing)
	a.do("DELETE", "/_users/"+userID("ann"), "", eve...).want(404, missing)
	a.do("PUT", "/_users/"+userID("new"), `{"name":"new","type":"user","roles":[],"password":"pw"}`, nobody...).want(201, "")
	a.do("PUT", "/_users/"+userID("worse"), `{"name":"worse","type":"user","roles":["boss"],"_rev":"1-a"}`, nobody...).want(409, "")
	a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(200, "")
}
