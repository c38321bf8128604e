package couchapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// eventually asks until an answer holds what it should. What happens in the
// background can't be waited for otherwise over HTTP.
func (a *testAPI) eventually(target, holds string, header ...string) answer {
	a.t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		got := a.do("GET", target, "", header...)
		if strings.Contains(got.Body, holds) {
			return got
		}
		select {
		case <-deadline.C:
			a.t.Fatalf("GET %s does not come to %s: %s", target, holds, got.Body)
		case <-tick.C:
		}
	}
}

// as makes a user and returns the header of their requests.
func (a *testAPI) as(name string, roles ...string) []string {
	return []string{"Authorization", a.user(name, roles...)}
}

// hold makes a database with documents.
func (a *testAPI) hold(db string, docs ...string) {
	a.t.Helper()
	a.do("PUT", "/"+db, "").want(201, "")
	for _, id := range docs {
		a.do("PUT", "/"+db+"/"+id, `{"x":1}`).want(201, "")
	}
}

func TestReplicateByNames(t *testing.T) {
	a := newTestAPI(t)
	a.hold("a", "1", "2")
	a.hold("my%2Fb", "3")
	got := a.do("POST", "/_replicate", `{"source":"a","target":"my/b"}`).want(200, "")
	if h := got.json()["history"].([]any)[0].(map[string]any); fmt.Sprint(h["docs_written"]) != "2" || got.Header.Get("X-Sectional-Replication") == "" {
		t.Errorf("%s", got.Body)
	}
	a.do("POST", "/_replicate", `{"source":"a","target":{"url":"my%2Fb"}}`).want(200, "")
	if got := a.do("POST", "/_replicate", `{"source":"a","target":"my/b"}`).want(200, "").json(); got["no_changes"] != true {
		t.Errorf("again: %v", got)
	}
	a.do("POST", "/_replicate", `{"source":"my/b","target":"c","create_target":true}`).want(200, "")
	if got := a.do("GET", "/c", "").json(); fmt.Sprint(got["doc_count"]) != "3" {
		t.Errorf("made with it: %v", got)
	}
	a.do("POST", "/_replicate", `{"source":"a","target":"nosuch"}`).want(500, `{"error":"db_not_found","reason":"could not open nosuch/"}`)
}

// TestReplicationsDoNotSpeakForProxies: the headers of a replication are its author's, also where
// the server believes unsigned ones of a proxy, and whatever the endpoint's credentials look like.
func TestReplicationsDoNotSpeakForProxies(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd_auth", Key: "proxy_use_secret", Value: "false"}, config.Setting{Section: "chttpd_auth", Key: "x_auth_roles", Value: "X-Roles"},
		config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{x, proxy_authentication_handler}, {x, cookie_authentication_handler}, {x, default_authentication_handler}"})
	a.hold("hidden", "1")
	a.do("GET", "/hidden/1", "", "Authorization", "", "X-Auth-CouchDB-UserName", "root", "X-Roles", "_admin").want(200, "")
	jan := a.as("jan")
	a.do("PUT", "/_replicator/_security", `{"admins":{"names":["jan"]},"members":{"names":["jan"]}}`).want(200, "")
	for i, credentials := range []string{"", `"Authorization":"x",`, `"Authorization":"x y",`, `"Authorization":"Bearer x",`, `"Authorization":"Basic Xzpf",`, `"Authorization":"Basic",`, `"Cookie":"AuthSession=",`} {
		source := `{"url":"hidden","headers":{` + credentials + `"X-Auth-CouchDB-UserName":"root","X-Roles":"_admin"}}`
		for way, begin := range map[string]func(target string){
			"request": func(target string) {
				a.do("POST", "/_replicate", fmt.Sprintf(`{"source":%s,"target":%q,"retries_per_request":0}`, source, target), jan...)
			},
			"document": func(target string) {
				a.do("PUT", "/_replicator/"+target, fmt.Sprintf(`{"source":%s,"target":%q,"retries_per_request":0}`, source, target), jan...).want(201, "")
				a.eventually("/_scheduler/docs/_replicator/"+target, `"info":{`)
			},
		} {
			target := fmt.Sprintf("%s-%d", way, i)
			a.do("PUT", "/"+target, "").want(201, "")
			a.do("PUT", "/"+target+"/_security", `{"admins":{"names":["jan"]},"members":{"names":["jan"]}}`).want(200, "")
			begin(target)
			if got := a.do("GET", "/"+target, "").json(); fmt.Sprint(got["doc_count"]) != "0" {
				t.Errorf("a %s with %q reads as an administrator", way, credentials)
			}
		}
	}
}

func TestReplicateRefusals(t *testing.T) {
	a := newTestAPI(t)
	a.hold("a")
	for body, want := range map[string]string{
		`[]`:                         `{"error":"bad_request","reason":"Request body must be a JSON object"}`,
		`{`:                          `{"error":"bad_request","reason":"invalid UTF-8 JSON (line 1, column 2, byte 2: the text ends there)"}`,
		`{}`:                         `{"error":"bad_request","reason":"Missing replicator database"}`,
		`{"source":"a"}`:             `{"error":"bad_request","reason":"Missing replicator database"}`,
		`{"source":{},"target":"a"}`: `{"error":"bad_request","reason":"endpoint has an invalid url"}`,
		`{"source":"a","target":"b","doc_ids":[],"filter":"x/y"}`: "{\"error\":\"bad_request\",\"reason\":\"`doc_ids`,`filter`,`selector` are mutually exclusive\"}",
	} {
		a.do("POST", "/_replicate", body).want(400, want)
	}
	a.do("POST", "/_replicate", `{"source":"a","target":"b"}`, "Content-Type", "text/plain").want(415, "")
	a.do("POST", "/_replicate", `{"source":"a","target":"b"}`, "Authorization", "").want(401, `{"error":"unauthorized","reason":"Authentication required."}`)
	a.do("POST", "/_replicate", `{"cancel":true,"replication_id":"x"}`).want(404, `{"error":"not_found","reason":"missing"}`)
	a.do("POST", "/_replicate", `{"source":"a","target":"a","filter":"no/such"}`).want(404,
		"{\"error\":\"not_found\",\"reason\":\"Couldn't open document `_design/no` from source database `a`: {error,<<\\\"not_found\\\">>}\"}")
	a.do("GET", "/_replicate", "").want(400, `{"error":"bad_request","reason":"Missing request body"}`)
	a.do("PUT", "/_replicate", "{}").want(405, "")
}

// TestReplicationsHaveTheirOwnersRights: by a name nobody reaches more than by a
// request of their own, in a request and in a document.
func TestReplicationsHaveTheirOwnersRights(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "default_security", Value: "everyone"})
	ann := a.as("ann", "reader")
	a.hold("open", "1")
	a.hold("closed", "secret")
	a.do("PUT", "/closed/_security", `{"members":{"roles":["reader"]}}`).want(200, "")
	a.do("PUT", "/x%2F_replicator", "").want(201, "")
	a.do("POST", "/_replicate", `{"source":"closed","target":"open"}`, ann...).want(200, "")
	a.do("GET", "/open/secret", "").want(200, "")
	a.do("POST", "/_replicate", `{"source":"open","target":"new","create_target":true}`, ann...).want(401, `{"error":"unauthorized","reason":"unauthorized to access or create database new/"}`)
	a.do("PUT", "/x%2F_replicator/new", `{"source":"open","target":"new","create_target":true}`, ann...).want(201, "")
	a.eventually("/_scheduler/docs/x%2F_replicator/new", `"info":{"error":"unauthorized: unauthorized to access or create database new/"}`)
	a.do("GET", "/new", "").want(404, "")
	// One that is there need not be made.
	a.hold("there")
	a.do("POST", "/_replicate", `{"source":"open","target":"there","create_target":true}`, ann...).want(200, "")
	a.do("PUT", "/closed/_security", `{"members":{"roles":["others"]}}`).want(200, "")
	a.do("POST", "/_replicate", `{"source":"closed","target":"open"}`, ann...).want(401, `{"error":"unauthorized","reason":"unauthorized to access or create database closed/"}`)
	a.do("PUT", "/x%2F_replicator/d", `{"source":"closed","target":"open"}`, ann...).want(201, "")
	a.eventually("/_scheduler/docs/x%2F_replicator/d", `"info":{"error":"unauthorized: unauthorized to access or create database closed/"}`)
	a.do("PUT", "/x%2F_replicator/e", `{"source":"closed","target":"open","user_ctx":{"name":"ann","roles":["others"]}}`, ann...).want(403, "")
	// Rights count as they are: the owner gets the role back.
	a.do("PUT", "/closed/_security", `{"members":{"roles":["reader"]}}`).want(200, "")
	a.do("PUT", "/closed/later", `{}`).want(201, "")
	a.do("PUT", "/x%2F_replicator/f", `{"source":"closed","target":"open","continuous":true}`, ann...).want(201, "")
	a.eventually("/open/later", `"_rev"`)
	a.do("PUT", "/closed/_security", `{"members":{"roles":["others"]}}`).want(200, "")
}

func TestReplicationDocument(t *testing.T) {
	a := newTestAPI(t)
	a.hold("a", "1", "2")
	a.do("PUT", "/_replicator/d%2F1", `{"source":"a","target":"b","create_target":true}`).want(201, "")
	got := a.eventually("/_replicator/d%2F1", `"_replication_state":"completed"`).json()
	if got["owner"] != "adm" || fmt.Sprint(got["_replication_stats"].(map[string]any)["docs_written"]) != "2" {
		t.Errorf("%v", got)
	}
	row := a.do("GET", "/_scheduler/docs/_replicator/d%2F1", "").want(200, "").json()
	if row["state"] != "completed" || row["doc_id"] != "d/1" || row["id"] != nil || row["source"] != "a" || row["start_time"] == nil {
		t.Errorf("%v", row)
	}
	a.do("PUT", "/_replicator/c", `{"source":"a","target":"b","continuous":true}`).want(201, "")
	a.eventually("/_scheduler/docs/_replicator/c", `"state":"running"`)
	a.eventually("/_active_tasks", `"type":"replication"`)
	a.do("PUT", "/a/3", `{}`).want(201, "")
	a.eventually("/b/3", `"_rev"`)
	job := a.do("GET", "/_scheduler/jobs", "").want(200, "").json()["jobs"].([]any)[0].(map[string]any)
	if job["doc_id"] != "c" || job["database"] != "_replicator" || job["user"] != "adm" || !strings.HasSuffix(job["id"].(string), "+continuous") {
		t.Errorf("%v", job)
	}
	a.do("GET", "/_scheduler/jobs/"+job["id"].(string), "").want(200, "")
	a.do("GET", "/_scheduler/jobs/nosuch", "").want(404, `{"error":"not_found","reason":"missing"}`)
	rev := a.do("GET", "/_replicator/c", "").json()["_rev"].(string)
	a.do("DELETE", "/_replicator/c?rev="+rev, "").want(200, "")
	a.eventually("/_scheduler/jobs", `"total_rows":0`)
	a.do("PUT", "/_replicator/bad", `{"source":"a"}`).want(403, `{"error":"forbidden","reason":"Missing replicator database"}`)
}

func TestSchedulerPages(t *testing.T) {
	a := newTestAPI(t)
	a.hold("a")
	a.do("PUT", "/x%2F_replicator", "").want(201, "")
	for _, id := range []string{"1", "2", "3"} {
		a.do("PUT", "/x%2F_replicator/"+id, `{"source":"a","target":"b`+id+`","continuous":true,"create_target":true}`).want(201, "")
	}
	a.eventually("/_scheduler/jobs", `"total_rows":3`)
	for target, want := range map[string]string{
		"/_scheduler/docs":                                           "0 of 0 from 0",
		"/_scheduler/docs/_replicator":                               "0 of 0 from 0",
		"/_scheduler/docs/x%2F_replicator":                           "3 of 3 from 0",
		"/_scheduler/docs/x/_replicator":                             "3 of 3 from 0",
		"/_scheduler/docs/x/_replicator?limit=1&skip=1":              "1 of 3 from 1",
		"/_scheduler/docs/x/_replicator?states=failed,completed":     "0 of 3 from 0",
		"/_scheduler/docs/x/_replicator?states=RUNNING,initializing": "3 of 3 from 0",
		"/_scheduler/jobs?limit=2":                                   "2 of 3 from 0",
		"/_scheduler/jobs?limit=2&skip=2":                            "1 of 3 from 2",
		"/_scheduler/jobs?skip=9":                                    "0 of 3 from 3",
	} {
		got := a.do("GET", target, "").want(200, "").json()
		rows, _ := got["docs"].([]any)
		if strings.Contains(target, "jobs") {
			rows, _ = got["jobs"].([]any)
		}
		if found := fmt.Sprintf("%d of %v from %v", len(rows), got["total_rows"], got["offset"]); found != want {
			t.Errorf("%s: %s, want %s", target, found, want)
		}
	}
	for target, want := range map[string]int{
		"/_scheduler/docs/x/_replicator/1": 200, "/_scheduler/docs/x%2F_replicator/1": 200, "/_scheduler/docs/x%2F_replicator/9": 404, "/_scheduler/docs/y/_replicator": 404,
		"/_scheduler/docs/a": 400, "/_scheduler/docs/x/_replicator?states=odd": 400, "/_scheduler/jobs?limit=x": 400, "/_scheduler/jobs?skip=-1": 400,
		"/_scheduler/docs/x/_replicator?limit=-1": 400,
	} {
		a.do("GET", target, "").want(want, "")
	}
	a.do("POST", "/_scheduler/jobs", "{}").want(405, "")
	a.do("GET", "/_scheduler/jobs", "", "Authorization", "").want(401, `{"error":"unauthorized","reason":"You are not a server admin."}`)
}

func TestFailuresOfReplications(t *testing.T) {
	a := newTestAPI(t)
	a.hold("a", "good", "bad")
	a.hold("b")
	a.do("PUT", "/b/_design/v", `{"validate_doc_update":"function(d){ if (d._id == 'bad') throw({forbidden: 'not this one'}) }"}`).want(201, "")
	got := a.do("POST", "/_replicate", `{"source":"a","target":"b"}`).want(200, "")
	failures := a.do("GET", "/_scheduler/jobs/"+got.Header.Get("X-Sectional-Replication")+"/failures", "").want(200, "").json()
	row := failures["failures"].([]any)[0].(map[string]any)
	if fmt.Sprint(failures["total"]) != "1" || row["id"] != "bad" || row["error"] != "forbidden" || row["reason"] != "not this one" || row["side"] != "target" {
		t.Errorf("%v", failures)
	}
	a.do("PUT", "/_replicator/d", `{"source":"a","target":"b","selector":{"x":1}}`).want(201, "")
	a.eventually("/_replicator/d", `"_replication_state":"completed"`)
	a.eventually("/_scheduler/docs/_replicator/d/failures", `"reason":"not this one"`)
	a.do("GET", "/_scheduler/jobs/nosuch/failures", "").want(404, "")
}

// TestCredentialsInDocuments: who neither owns a document nor administers its
// database sees no password, by any page of the database.
func TestCredentialsInDocuments(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "default_security", Value: "everyone"})
	ann, eve := a.as("ann"), a.as("eve")
	a.do("PUT", "/x%2F_replicator", "").want(201, "")
	const doc = `{"source":"http://u:SECRET@127.0.0.1:1/a","target":{"url":"http://u:SECRET@127.0.0.1:1/b","headers":{"X":"SECRET"},"auth":{"basic":{"username":"u","password":"SECRET"}}},"proxy":"http://u:SECRET@127.0.0.1:1","retries_per_request":0}`
	written := a.do("PUT", "/x%2F_replicator/d", doc, ann...).want(201, "").json()
	a.eventually("/_scheduler/docs/x%2F_replicator/d", `"state":"crashing"`)
	for _, target := range []string{"/d", "/d?revs=true", "/d?rev=" + written["rev"].(string), "/_all_docs?include_docs=true", "/_changes?include_docs=true", "/d?open_revs=all"} {
		got := a.do("GET", "/x%2F_replicator"+target, "", append(eve, "Accept", "application/json")...).want(200, "")
		if strings.Contains(got.Body, "SECRET") || !strings.Contains(got.Body, `"http://127.0.0.1:1/a"`) {
			t.Errorf("%s shows %s", target, got.Body)
		}
	}
	got := a.do("POST", "/x%2F_replicator/_bulk_get", `{"docs":[{"id":"d"}]}`, eve...).want(200, "")
	if strings.Contains(got.Body, "SECRET") {
		t.Errorf("_bulk_get shows %s", got.Body)
	}
	a.do("POST", "/x%2F_replicator/_find", `{"selector":{"source":{"$regex":"SEC"}}}`, eve...).want(403, "")
	feed := a.do("POST", "/x%2F_replicator/_changes?filter=_selector", `{"selector":{"source":{"$regex":"SEC"}}}`, eve...).want(200, "")
	if strings.Contains(feed.Body, `"id":"d"`) {
		t.Errorf("a selector finds the password: %s", feed.Body)
	}
	if got := a.do("GET", "/x%2F_replicator/d", "", ann...); !strings.Contains(got.Body, "SECRET") {
		t.Errorf("the owner sees %s", got.Body)
	}
	a.do("PUT", "/x%2F_replicator/d?rev="+written["rev"].(string), doc, eve...).want(403, `{"error":"forbidden","reason":"Can't update replication documents from other users."}`)
	for _, target := range []string{"/_scheduler/docs/x%2F_replicator", "/_scheduler/docs/x%2F_replicator/d", "/_scheduler/jobs", "/_active_tasks"} {
		if got := a.do("GET", target, ""); strings.Contains(got.Body, "SECRET") {
			t.Errorf("%s shows %s", target, got.Body)
		}
	}
}

// TestPrivatePeersAreForAdministrators: users can't make the server reach what
// they can't.
func TestPrivatePeersAreForAdministrators(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "default_security", Value: "everyone"})
	peer := httptest.NewServer(a)
	defer peer.Close()
	ann := a.as("ann")
	a.hold("a", "1")
	a.hold("b")
	body := `{"source":"` + peer.URL + `/a","target":"b","retries_per_request":0}`
	got := a.do("POST", "/_replicate", body, ann...).want(500, "")
	if !strings.Contains(got.Body, "private_addresses") {
		t.Errorf("%s", got.Body)
	}
	a.do("POST", "/_replicate", body).want(200, "")
}

// TestTokensOfAdministratorsNames: a token whose name is an administrator's makes
// nobody one, in a request or in a job, and does not see or end what is theirs.
func TestTokensOfAdministratorsNames(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}"},
		config.Setting{Section: "jwt_keys", Key: "hmac:_default", Value: base64.StdEncoding.EncodeToString([]byte("secret"))},
		config.Setting{Section: "couchdb", Key: "default_security", Value: "everyone"})
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"adm","exp":32503680000,"_couchdb.roles":["writer"]}`))
	mac := hmac.New(sha256.New, []byte("secret"))
	mac.Write([]byte(text))
	token := []string{"Authorization", "Bearer " + text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}
	a.do("GET", "/_session", "", token...).want(200, `{"ok":true,"userCtx":{"name":"adm","roles":["writer"]},"info":{"authentication_handlers":["jwt","default"],"authenticated":"jwt"}}`)

	a.hold("closed", "secret")
	a.do("PUT", "/closed/_security", `{"members":{"roles":["_admin"]}}`).want(200, "")
	a.hold("open")
	a.do("PUT", "/x%2F_replicator", "").want(201, "")
	const closed = `"info":{"error":"unauthorized: unauthorized to access or create database closed/"}`
	a.do("PUT", "/x%2F_replicator/d", `{"source":"closed","target":"open"}`, token...).want(201, "")
	a.eventually("/_scheduler/docs/x%2F_replicator/d", closed)
	a.do("PUT", "/x%2F_replicator/forged", `{"source":"closed","target":"open","doc_ids":["secret"],"owner":"adm","owner_ctx":{"from":"password","roles":["_admin"]},"user_ctx":{"name":"adm"}}`, token...).want(201, "")
	a.eventually("/_scheduler/docs/x%2F_replicator/forged", closed)
	a.do("POST", "/x%2F_replicator/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"r","_rev":"1-a","source":"closed","target":"open","owner":"adm"}]}`, token...)
	a.do("GET", "/x%2F_replicator/r", "").want(404, "")
	a.do("POST", "/_replicate", `{"source":"closed","target":"open","doc_ids":["secret","x"]}`, token...).want(401, "")
	a.do("GET", "/open/secret", "").want(404, "")

	// What is the administrator's stays so.
	mine := a.do("PUT", "/x%2F_replicator/mine", `{"source":"http://u:SECRET@127.0.0.1:1/a","target":"open"}`).want(201, "").json()
	a.do("PUT", "/x%2F_replicator/mine?rev="+mine["rev"].(string), `{"source":"closed","target":"open","owner":"adm"}`, token...).want(403, "")
	if got := a.do("GET", "/x%2F_replicator/mine", "", token...).want(200, ""); strings.Contains(got.Body, "SECRET") {
		t.Errorf("a token sees %s", got.Body)
	}
	job := a.do("POST", "/_replicate", `{"source":"closed","target":"open","continuous":true,"doc_ids":["y"]}`).want(202, "").json()
	a.do("POST", "/_replicate", `{"cancel":true,"replication_id":"`+job["_local_id"].(string)+`"}`, token...).want(401, "")
	a.do("POST", "/_replicate", `{"cancel":true,"replication_id":"`+job["_local_id"].(string)+`"}`).want(200, "")
}
