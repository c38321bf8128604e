package couchapi_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/couchapi/admin"
)

// user makes a user and returns the header that authenticates as it.
func (a *testAPI) user(name string, roles ...string) string {
	a.t.Helper()
	list := "[]"
	if len(roles) > 0 {
		list = `["` + strings.Join(roles, `","`) + `"]`
	}
	a.do("PUT", "/_users/org.couchdb.user:"+name, `{"name":"`+name+`","type":"user","roles":`+list+`,"password":"pw"}`).want(201, "")
	return basic(name, "pw")
}

func TestDatabaseInfo(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db%2Fsub?q=8&n=3", "").want(201, `{"ok":true}`)
	m := a.do("GET", "/db%2Fsub", "").want(200, "").json()
	for name, want := range map[string]string{
		"db_name": `"db/sub"`, "doc_count": "0", "doc_del_count": "0", "props": "{}",
		"disk_format_version": "8", "compact_running": "false", "cluster": `{"n":1,"q":1,"r":1,"w":1}`,
	} {
		if got := toJSON(t, m[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	started := toJSON(t, m["instance_start_time"])
	a.do("POST", "/db%2Fsub/_ensure_full_commit", "").want(201, `{"ok":true,"instance_start_time":`+started+`}`)
	if n, err := strconv.ParseInt(strings.Trim(started, `"`), 10, 64); err != nil || n < a.API.Began.UnixMilli() {
		t.Errorf("instance_start_time: %s", started)
	}
	a.do("PUT", "/parted?partitioned=true", "").want(201, "")
	if got := toJSON(t, a.do("GET", "/parted", "").json()["props"]); got != `{"partitioned":true}` {
		t.Errorf("props: %s", got)
	}
}

func TestCreateAndDelete(t *testing.T) {
	a := newTestAPI(t)
	got := a.do("PUT", "/db%2Bx", "anything at all", "Content-Type", "text/plain").want(201, `{"ok":true}`)
	if l := got.Header.Get("Location"); l != "http://example.com/db%2Bx" {
		t.Errorf("Location %q", l)
	}
	a.do("PUT", "/db%2Bx", "").want(412, `{"error":"file_exists","reason":"The database could not be created, the file already exists."}`)
	a.do("PUT", "/Bad", "").want(400, "")
	a.do("GET", "/Bad", "").want(404, `{"error":"not_found","reason":"Database does not exist."}`)
	for query, reason := range map[string]string{
		"q=0": "The `q` value should be a positive integer.", "n=x": "The `n` value should be a positive integer.",
		"partitioned=yes": "Invalid `partitioned` parameter",
	} {
		a.do("PUT", "/new?"+query, "").want(400, `{"error":"bad_request","reason":"`+reason+`"}`)
	}
	for _, name := range []string{"_global_changes", "x%2F_users", "x%2F_replicator"} {
		a.do("PUT", "/"+name+"?partitioned=true", "").want(400, `{"error":"bad_request","reason":"Cannot partition a system database"}`)
	}
	a.do("DELETE", "/db%2Bx?rev=1-a", "").want(400, "")
	a.do("DELETE", "/db%2Bx", "").want(200, `{"ok":true}`)
	a.do("DELETE", "/db%2Bx", "").want(404, "")
}

func TestBadSecurity(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, body := range []string{`[]`, `"x"`, `5`, `{`, ``, `{"admins":5}`, `{"admins":{"names":"ann"}}`, `{"members":{"roles":[null]}}`} {
		a.do("PUT", "/db/_security", body).want(400, "")
	}
	a.do("GET", "/db/_security", "").want(200, `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`)
}

func TestSettingsNeedAnAdministrator(t *testing.T) {
	a := newTestAPI(t)
	member, boss := a.user("mia"), a.user("bob")
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`).want(200, `{"ok":true}`)
	for path, body := range map[string]string{"_security": `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`, "_revs_limit": "7"} {
		a.do("PUT", "/db/"+path, body, "Authorization", member).want(403, `{"error":"forbidden","reason":"You are not a db or server admin."}`)
		a.do("PUT", "/db/"+path, body, "Authorization", "").want(401, `{"error":"unauthorized","reason":"You are not authorized to access this db."}`)
		a.do("PUT", "/db/"+path, body, "Authorization", boss).want(200, `{"ok":true}`)
	}
	a.do("GET", "/db/_revs_limit", "", "Authorization", member).want(200, "7")
	for _, path := range []string{"_compact", "_view_cleanup"} {
		a.do("POST", "/db/"+path, "{}", "Authorization", member).want(401, `{"error":"unauthorized","reason":"You are not a server or db admin."}`)
		a.do("POST", "/db/"+path, "{}", "Authorization", boss).want(202, `{"ok":true}`)
	}
}

// TestPurgesAreTheServersToLimit holds who reads and sets how many purges are remembered.
func TestPurgesAreTheServersToLimit(t *testing.T) {
	a := newTestAPI(t)
	member, boss := a.user("mia"), a.user("bob")
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`).want(200, "")
	for _, who := range []string{"", member, boss} {
		for _, method := range []string{"GET", "PUT"} {
			a.do(method, "/db/_purged_infos_limit", "8", "Authorization", who).want(401, `{"error":"unauthorized","reason":"You are not a server admin."}`)
		}
	}
	a.do("PUT", "/db/_purged_infos_limit", "9").want(200, `{"ok":true}`)
	a.do("GET", "/db/_purged_infos_limit", "").want(200, "9")
}

func TestBadLimits(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, body := range []string{"0", "-1", `"5"`, "1.5", "{}", "99999999999", "x", ""} {
		a.do("PUT", "/db/_revs_limit", body).want(400, "")
		a.do("PUT", "/db/_purged_infos_limit", body).want(400, "")
	}
	a.do("GET", "/db/_revs_limit", "").want(200, "1000")
}

func TestSystemDatabases(t *testing.T) {
	a := newTestAPI(t)
	own := a.user("una", "clerk")
	for _, name := range []string{"_users", "_replicator"} {
		a.do("GET", "/"+name+"/_security", "").want(200, `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`)
		a.do("GET", "/"+name, "", "Authorization", own).want(403, "")
		a.do("GET", "/"+name+"/_all_docs", "", "Authorization", own).want(401, `{"error":"unauthorized","reason":"You are not a server admin."}`)
		a.do("GET", "/"+name+"/_changes", "", "Authorization", own).want(401, "")
	}
	a.do("PUT", "/_users/_security", `{}`).want(403, `{"error":"forbidden","reason":"You can't edit the security object of the user database."}`)
}

// TestUsersAreHidden opens _users to all, as some installations do, and looks
// for an endpoint through which somebody else's document shows.
func TestUsersAreHidden(t *testing.T) {
	a := newTestAPI(t)
	ann, ben := a.user("ann"), a.user("ben")
	db, err := a.Store.Database(t.Context(), "_users")
	must(t, err)
	must(t, db.SetSecurity(t.Context(), []byte(`{}`)))
	target := "/_users/org.couchdb.user:ann"
	a.do("GET", target, "", "Authorization", ann).want(200, "")
	rev := a.do("GET", target, "").json()["_rev"].(string)
	for _, q := range []string{"", "?rev=" + rev, "?open_revs=all", "?revs=true", "?attachments=true"} {
		got := a.do("GET", target+q, "", "Authorization", ben)
		if strings.Contains(got.Body, "derived_key") || q == "" && got.Status != 404 {
			t.Errorf("GET %s: %d %s", q, got.Status, got.Body)
		}
	}
	got := a.do("POST", "/_users/_bulk_get", `{"docs":[{"id":"org.couchdb.user:ann"}]}`, "Authorization", ben)
	if strings.Contains(got.Body, "derived_key") {
		t.Errorf("_bulk_get: %s", got.Body)
	}
	// Through the feeds and lists that are open to administrators alone.
	for _, path := range []string{"_all_docs?include_docs=true", "_changes?include_docs=true", "_design_docs?include_docs=true"} {
		if got := a.do("GET", "/_users/"+path, "", "Authorization", ben); strings.Contains(got.Body, "derived_key") {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if got := a.do("COPY", target, "", "Authorization", ben, "Destination", "org.couchdb.user:ben2"); got.Status < 400 {
		t.Errorf("COPY: %d %s", got.Status, got.Body)
	}
}

func TestPasswordChangeCountsAtOnce(t *testing.T) {
	a := newTestAPI(t)
	old := a.user("pat")
	a.do("GET", "/_session", "", "Authorization", old).want(200, "")
	doc := a.do("GET", "/_users/org.couchdb.user:pat", "").json()
	a.do("PUT", "/_users/org.couchdb.user:pat?rev="+doc["_rev"].(string), `{"name":"pat","type":"user","roles":[],"password":"new"}`).want(201, "")
	a.do("GET", "/_session", "", "Authorization", old).want(401, "")
	a.do("GET", "/_session", "", "Authorization", basic("pat", "new")).want(200, "")
	rev := a.do("GET", "/_users/org.couchdb.user:pat", "").json()["_rev"].(string)
	a.do("DELETE", "/_users/org.couchdb.user:pat?rev="+rev, "").want(200, "")
	a.do("GET", "/_session", "", "Authorization", basic("pat", "new")).want(401, "")
}

func TestDBsInfo(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/a", "").want(201, "")
	got := a.do("POST", "/_dbs_info", `{"keys":["a","none","Bad Name"]}`).want(200, "")
	if !strings.Contains(got.Body, `{"key":"a","info":{`) || !strings.Contains(got.Body, `{"key":"none","error":"not_found"}`) {
		t.Errorf("got %s", got.Body)
	}
	for body, reason := range map[string]string{
		`{}`: "`keys` member must exist.", `{"keys":5}`: "`keys` member must be an array.", `[]`: "Request body must be a JSON object",
		`{"keys":[1]}`: "`keys` member must be an array of strings.", `{`: "invalid UTF-8 JSON (line 1, column 2, byte 2: the text ends there)",
	} {
		a.do("POST", "/_dbs_info", body).want(400, `{"error":"bad_request","reason":"`+reason+`"}`)
	}
	if got := a.do("GET", "/_dbs_info?startkey=%22a%22", "").want(200, ""); !strings.HasPrefix(got.Body, `[{"key":"a","info":{`) {
		t.Errorf("got %s", got.Body)
	}
}

func TestUpkeep(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("POST", "/db/_compact", "{}").want(202, `{"ok":true}`)
	a.API.Wait()
	a.do("GET", "/_active_tasks", "").want(200, `[]`)
	a.do("POST", "/db/_compact", "{}", "Content-Type", "text/plain").want(415, "")
	a.do("POST", "/db/_compact/none", "{}").want(404, `{"error":"not_found","reason":"missing"}`)
	a.do("POST", "/db/_ensure_full_commit", "").want(201, "")
	a.do("GET", "/db/_shards/x", "").want(200, `{"range":"00000000-ffffffff","nodes":["`+admin.OneNode+`"]}`)
	a.do("PUT", "/parted?partitioned=true", "").want(201, "")
	a.do("GET", "/parted/_shards/p:x", "").want(200, "")
	a.do("GET", "/parted/_shards/bad", "").want(400, `{"error":"illegal_docid","reason":"Doc id must be of form partition:id"}`)
	a.do("POST", "/db/_sync_shards", "{}").want(202, `{"ok":true}`)
	a.do("GET", "/db/_temp_view", "").want(410, `{"error":"gone","reason":"Temporary views are not supported in CouchDB"}`)
}

func TestDesignDocumentsNeedAnAdministrator(t *testing.T) {
	a := newTestAPI(t)
	member, boss := a.user("mia"), a.user("bob")
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"admins":{"names":["bob"]},"members":{"names":["mia"]}}`).want(200, "")
	a.do("PUT", "/db/_design/d", `{}`, "Authorization", member).want(403, `{"error":"forbidden","reason":"You are not a db or server admin."}`)
	a.do("PUT", "/db/_design/d", `{}`, "Authorization", boss).want(201, "")
	bulk := a.do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"_design/e"},{"_id":"x"}]}`, "Authorization", member).want(201, "")
	if !strings.Contains(bulk.Body, `"forbidden"`) || strings.Count(bulk.Body, `"ok":true`) != 1 {
		t.Errorf("_bulk_docs: %s", bulk.Body)
	}
	a.do("COPY", "/db/x", "", "Authorization", member, "Destination", "_design/f").want(403, "")
}
