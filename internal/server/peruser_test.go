package server

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// do sends a request as an administrator, or as a user whose password is that of
// all, and returns the answer.
func (r *running) do(user, method, path, body string) string {
	r.t.Helper()
	_, answer, _ := r.ask(method, path, body, user, "secret", nil)
	return strings.TrimSpace(answer)
}

// await waits until the feed of databases reports an event.
func (r *running) await(name, event string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.base+"/_db_updates?feed=continuous&timeout=30000", http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	q.SetBasicAuth("root", "secret")
	w, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.Body.Close()
	lines := bufio.NewScanner(w.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"`+name+`"`) && strings.Contains(lines.Text(), `"`+event+`"`) {
			return
		}
	}
	r.t.Fatalf("%s is not %s: %v", name, event, lines.Err())
}

// TestDatabasePerUser has users made and deleted over HTTP, with the setting
// off, on, and across a restart.
func TestDatabasePerUser(t *testing.T) {
	data, file := t.TempDir(), configured(t, "")
	r := start(t, Options{Data: data, Config: file, User: "root", Password: "secret"})
	check := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	user := func(name string) string {
		return `{"name":"` + name + `","password":"secret","roles":[],"type":"user"}`
	}
	const bobs, anns = "userdb-626f62", "userdb-616e6e"
	check(r.do("root", "PUT", "/_users/org.couchdb.user:bob", user("bob")), `"ok":true`)
	check(r.do("root", "GET", "/_all_dbs", ""), `["_replicator","_users"]`)
	check(r.do("root", "PUT", "/_node/_local/_config/couch_peruser/enable", `"true"`), `"false"`)
	r.await(bobs, "created")
	check(r.do("root", "GET", "/"+bobs+"/_security", ""), `{"members":{"roles":["_admin"],"names":["bob"]},"admins":{"roles":["_admin"],"names":["bob"]}}`)

	check(r.do("root", "PUT", "/_users/org.couchdb.user:ann", user("ann")), `"ok":true`)
	r.await(anns, "created")
	check(r.do("bob", "PUT", "/"+bobs+"/doc", `{}`), `"ok":true`)
	check(r.do("bob", "PUT", "/"+bobs+"/_design/d", `{}`), `"ok":true`)
	check(r.do("ann", "GET", "/"+bobs+"/doc", ""), "You are not allowed to access this db.")
	check(r.do("ann", "PUT", "/"+anns+"/doc", `{}`), `"ok":true`)

	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, Options{Data: data, Config: file, User: "root", Password: "secret"})
	check(r.do("ann", "GET", "/"+anns+"/doc", ""), `"_id":"doc"`)
	check(r.do("root", "PUT", "/_node/_local/_config/couch_peruser/delete_dbs", `"true"`), `"false"`)
	bob := r.do("root", "GET", "/_users/org.couchdb.user:bob", "")
	_, rest, _ := strings.Cut(bob, `"_rev":"`)
	rev, _, _ := strings.Cut(rest, `"`)
	check(r.do("root", "DELETE", "/_users/org.couchdb.user:bob?rev="+rev, ""), `"ok":true`)
	r.await(bobs, "deleted")
	check(r.do("root", "GET", "/_all_dbs", ""), `["_replicator","_users","`+anns+`"]`)

	// Another _users is followed as the one before.
	check(r.do("root", "DELETE", "/_users", ""), `"ok":true`)
	check(r.do("root", "PUT", "/_users", ""), `"ok":true`)
	check(r.do("root", "PUT", "/_users/org.couchdb.user:sue", user("sue")), `"ok":true`)
	r.await("userdb-737565", "created")
}
