package couchapi_test

import (
	"crypto/pbkdf2"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// set changes a setting as an administrator does.
func (a *testAPI) set(section, key, value string) {
	a.t.Helper()
	a.do("PUT", "/_node/_local/_config/"+section+"/"+key, fmt.Sprintf("%q", value)).want(200, "")
}

func userID(name string) string { return "org.couchdb.user:" + name }

// newUser returns the document of a user with the password pw.
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
		must(t, a.API.MakeSystemDatabases(t.Context()))
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
	_, err := auth.SetAdmin(a.Config, "ann", "other")
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

// TestAuthDesign: the database of users is born with its design document, for its
// administrators to read and to change, wherever that database comes from.
func TestAuthDesign(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	const path = "/_design/_auth"
	shown := func(db string) map[string]any {
		t.Helper()
		doc := a.do("GET", db+path, "").want(200, "").json()
		if doc["language"] != "javascript" || !strings.Contains(fmt.Sprint(doc["validate_doc_update"]), "function") {
			t.Errorf("%s: %v", db, doc)
		}
		return doc
	}
	first := shown("/_users")
	a.do("PUT", "/_users/_security", `{"admins":{"names":["boss"]}}`).want(200, "")
	a.do("GET", "/_users"+path, "", a.as("boss")...).want(200, "")
	a.do("GET", "/_users"+path, "", a.as("eve")...).want(403, "")
	a.do("GET", "/_users"+path, "", "Authorization", "").want(403, "")
	must(t, a.API.MakeSystemDatabases(t.Context()))
	if again := shown("/_users"); again["_rev"] != first["_rev"] {
		t.Error("it was written again at the start")
	}
	a.do("DELETE", "/_users", "").want(200, "")
	a.do("PUT", "/_users", "").want(201, "")
	shown("/_users")
	a.do("PUT", "/people", "").want(201, "")
	a.do("GET", "/people"+path, "").want(404, "")
	a.set("chttpd_auth", "authentication_db", "people")
	shown("/people")
	a.do("DELETE", "/_node/_local/_config/chttpd_auth/authentication_db", "").want(200, "")

	// Who changes it is asked, beside the rules that hold in any case.
	doc := shown("/_users")
	doc["validate_doc_update"] = "function (doc) { if (doc.town === 'Ulm') throw {forbidden: 'No.'}; }"
	rev := a.do("PUT", "/_users"+path, marshal(t, doc)).want(201, "").json()["rev"].(string)
	a.do("PUT", "/_users/"+userID("ulm"), `{"name":"ulm","type":"user","roles":[],"town":"Ulm"}`).want(403, `{"error":"forbidden","reason":"No."}`)
	a.do("PUT", "/_users/"+userID("bad"), `{"name":"bad","type":"user"}`).want(403, `{"error":"forbidden","reason":"doc.roles must exist"}`)
	a.do("DELETE", "/_users"+path+"?rev="+rev, "").want(200, "")
	a.do("PUT", "/_users/"+userID("bad"), `{"name":"bad","type":"user"}`).want(403, "")
	must(t, a.API.MakeSystemDatabases(t.Context()))
	shown("/_users")
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// TestAuthDesignSaysTheRules holds the function of the design document against the
// rules that it describes: it is run where it is in an ordinary database.
func TestAuthDesignSaysTheRules(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"}, config.Setting{Section: "chttpd_auth", Key: "proxy_use_secret", Value: "false"},
		config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{x, proxy_authentication_handler}, {x, default_authentication_handler}"})
	a.do("PUT", "/copy", "").want(201, "")
	named := func(name, roles string) []string {
		return []string{"Authorization", "", "X-Auth-CouchDB-UserName", name, "X-Auth-CouchDB-Roles", roles}
	}
	callers := map[string][]string{"adm": nil, "boss": named("boss", ""), "chief": named("ann", "chief"), "ann": named("ann", "a"), "anonymous": {"Authorization", ""}}
	text := marshal(t, a.do("GET", "/_users/_design/_auth", "").json())
	a.do("PUT", "/copy/_design/_auth", strings.Replace(text, `"_rev"`, `"was"`, 1)).want(201, "")
	for _, db := range []string{"/copy", "/_users"} {
		a.do("PUT", db+"/_security", `{"admins":{"names":["boss"],"roles":["chief"]}}`).want(200, "")
	}
	user := func(more string) string {
		return `{"_id":"org.couchdb.user:ann","name":"ann","type":"user"` + more + `}`
	}
	olds := []string{"", user(`,"roles":["a","b"]`)}
	news := []string{
		user(`,"roles":["b","a"],"x":1`), user(`,"roles":[]`), user(`,"roles":["a","c"]`), user(`,"roles":["a","b","_metrics"]`), user(`,"roles":["_admin"]`),
		user(``), user(`,"roles":null`), user(`,"roles":"a"`), user(`,"roles":{}`), user(`,"roles":[1]`),
		`{"_id":"org.couchdb.user:ann","name":"ann","roles":[]}`, `{"_id":"org.couchdb.user:ann","name":"ann","type":"other","roles":[]}`,
		`{"_id":"org.couchdb.user:ann","type":"user","roles":[]}`, `{"_id":"org.couchdb.user:ann","type":"user","name":5,"roles":[]}`, `{"_id":"org.couchdb.user:ann","type":"user","name":"other","roles":[]}`,
		user(`,"roles":["a","b"],"password_sha":"x"`), user(`,"roles":["a","b"],"password_scheme":"md5"`), user(`,"roles":["a","b"],"password_scheme":"pbkdf2"`),
		user(`,"roles":["a","b"],"password_scheme":"pbkdf2","iterations":5`), user(`,"roles":["a","b"],"password_scheme":"pbkdf2","iterations":5,"derived_key":"x","salt":"s"`),
		`{"_id":"org.couchdb.user:_ann","type":"user","name":"_ann","roles":[]}`, `{"_id":"org.couchdb.user:a:b","type":"user","name":"a:b","roles":[]}`,
		`{"_id":"plain","type":"user","name":"ann","roles":[]}`, user(`,"_deleted":true`),
	}
	asked := 0
	for _, old := range olds {
		for _, now := range news {
			for who, header := range callers {
				answers := map[string]answer{}
				for _, db := range []string{"/copy", "/_users"} {
					doc := now
					if old != "" && strings.Contains(now, `:ann"`) {
						got := a.do("POST", db, old).want(201, "").json()
						doc = strings.Replace(now, `{`, `{"_rev":"`+got["rev"].(string)+`",`, 1)
					}
					answers[db] = a.do("POST", db, doc, header...)
					a.clear(db)
				}
				asked++
				mine, rules := answers["/copy"], answers["/_users"]
				if rules.Status == 404 || old == "" && strings.Contains(now, `"_deleted"`) {
					continue // somebody else is told less in a database of users
				}
				if strings.Contains(now, `"salt"`) && mine.Status == 201 && who != "adm" {
					if rules.Status != 403 || rules.json()["reason"] != "Only _admin may edit the hash of a password" { // the function sees hashes that servers have made
						t.Errorf("%s over %s by %s: the rules say %d %s", now, old, who, rules.Status, rules.Body)
					}
					continue
				}
				if mine.Status != rules.Status || rules.Status != 201 && mine.Body != rules.Body {
					t.Errorf("%s over %s by %s: the function says %d %s, the rules %d %s", now, old, who, mine.Status, mine.Body, rules.Status, rules.Body)
				}
			}
		}
	}
	if asked < 150 {
		t.Errorf("only %d writes were compared", asked)
	}
}

// clear deletes the users of a database.
func (a *testAPI) clear(db string) {
	a.t.Helper()
	for _, row := range a.do("GET", db+"/_all_docs", "").json()["rows"].([]any) {
		id := row.(map[string]any)["id"].(string)
		if id == "_design/_auth" {
			continue
		}
		rev := row.(map[string]any)["value"].(map[string]any)["rev"].(string)
		a.do("DELETE", db+"/"+id+"?rev="+rev, "").want(200, "")
	}
}

// TestHashUpgrade: a login, of either kind, hashes its password as the configuration
// says now; what else the document has stays, and so do sessions and its rights.
func TestHashUpgrade(t *testing.T) {
	a := newTestAPI(t)
	ways := map[string]func(){
		"basic": func() { a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(200, "") },
		"login": func() {
			a.do("POST", "/_session", `{"name":"ann","password":"pw"}`, "Authorization", "").want(200, "")
		},
	}
	doc := func() map[string]any { return a.do("GET", "/_users/"+userID("ann"), "").want(200, "").json() }
	for way, login := range ways {
		a.set("chttpd_auth", "iterations", "2")
		a.do("PUT", "/_users/"+userID("ann"), strings.Replace(newUser("ann"), `"password"`, `"town":"Ulm","_attachments":{"a.txt":{"data":"YWFh"}},"password"`, 1)).want(201, "")
		old := doc()
		session := a.do("POST", "/_session", `{"name":"ann","password":"pw"}`, "Authorization", "").want(200, "")
		cookie, _, _ := strings.Cut(session.Header.Get("Set-Cookie"), ";")

		a.set("chttpd_auth", "upgrade_hash_on_auth", "false")
		a.set("chttpd_auth", "iterations", "3")
		login()
		if doc()["_rev"] != old["_rev"] {
			t.Errorf("%s: the hash was upgraded in spite of the setting", way)
		}
		a.set("chttpd_auth", "upgrade_hash_on_auth", "true")
		a.do("GET", "/_session", "", "Authorization", basic("ann", "wrong")).want(401, "")
		if doc()["_rev"] != old["_rev"] {
			t.Errorf("%s: a wrong password upgraded the hash", way)
		}
		login()
		now := doc()
		if fmt.Sprint(now["iterations"]) != "3" || now["derived_key"] == old["derived_key"] || now["salt"] != old["salt"] || now["town"] != "Ulm" || now["_attachments"] == nil || now["password"] != nil {
			t.Errorf("%s: %v became %v", way, old, now)
		}
		login()
		a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(200, "")
		a.do("GET", "/_session", "", "Authorization", basic("ann", "wrong")).want(401, "")
		if doc()["_rev"] != now["_rev"] {
			t.Errorf("%s: the hash was upgraded again", way)
		}
		if s := a.do("GET", "/_session", "", "Cookie", cookie, "Authorization", "").Body; !strings.Contains(s, `"name":"ann"`) {
			t.Errorf("%s: the session ended: %s", way, s)
		}
		a.do("DELETE", "/_users/"+userID("ann")+"?rev="+now["_rev"].(string), "").want(200, "")
	}
}

// TestHashUpgradeOfOldSchemes: users that CouchDB 1.x to 3.3 hashed log in, and are
// hashed anew; where that is refused the login holds, and is not tried again.
func TestHashUpgradeOfOldSchemes(t *testing.T) {
	a := newTestAPI(t)
	for name, verifier := range map[string]string{
		"simple":  `"password_sha":"4bc4f6d50f7e2a44b9b0b3b7a4c1f1e4ac1d7d0e","salt":"s"`,
		"derived": `"password_scheme":"pbkdf2","iterations":10,"derived_key":"KEY","salt":"s"`,
	} {
		verifier = strings.Replace(verifier, "4bc4f6d50f7e2a44b9b0b3b7a4c1f1e4ac1d7d0e", fmt.Sprintf("%x", sha1.Sum([]byte("pws"))), 1)
		key, err := pbkdf2.Key(sha1.New, "pw", []byte("s"), 10, 20)
		must(t, err)
		verifier = strings.Replace(verifier, "KEY", fmt.Sprintf("%x", key), 1)
		a.do("PUT", "/_users/"+userID(name), fmt.Sprintf(`{"name":%q,"type":"user","roles":[],%s}`, name, verifier)).want(201, "")
		a.do("GET", "/_session", "", "Authorization", basic(name, "pw")).want(200, "")
		doc := a.do("GET", "/_users/"+userID(name), "").json()
		if doc["password_scheme"] != "pbkdf2" || doc["pbkdf2_prf"] != "sha256" || fmt.Sprint(doc["iterations"]) != "1" || doc["password_sha"] != nil {
			t.Errorf("%s became %v", name, doc)
		}
		a.do("GET", "/_session", "", "Authorization", basic(name, "pw")).want(200, "")
	}
	a.do("PUT", "/_users/_design/strict", `{"validate_doc_update":"function (doc) { if (doc.iterations === 7) throw {forbidden: 'No.'}; }"}`).want(201, "")
	a.user("ann")
	rev := a.do("GET", "/_users/"+userID("ann"), "").json()["_rev"]
	a.set("chttpd_auth", "iterations", "7")
	for range 2 {
		a.do("GET", "/_session", "", "Authorization", basic("ann", "pw")).want(200, "")
	}
	if now := a.do("GET", "/_users/"+userID("ann"), "").json()["_rev"]; now != rev {
		t.Errorf("a refused hash was stored: %v", now)
	}
}
