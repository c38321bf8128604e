package couchapi_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

// TestAPIKeys makes keys and uses one in the place of a user.
func TestAPIKeys(t *testing.T) {
	a := newTestAPI(t)
	type key struct {
		OK            bool
		Key, Password string
	}
	var keys [2]key
	for i := range keys {
		must(t, json.Unmarshal([]byte(a.do("POST", "/_api/v2/api_keys", "").want(201, "").Body), &keys[i]))
		if k := keys[i]; !k.OK || len(k.Key) < 20 || len(k.Password) < 40 {
			t.Errorf("%+v", k)
		}
	}
	if keys[0].Key == keys[1].Key || keys[0].Password == keys[1].Password {
		t.Error("two keys are alike")
	}
	as := func(k key) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(k.Key+":"+k.Password))}
	}
	a.do("PUT", "/app", "").want(201, "")
	a.do("PUT", "/app/_security", `{"members":{"names":["`+keys[0].Key+`"]}}`).want(200, "")
	a.do("PUT", "/app/doc", `{}`, as(keys[0])...).want(201, "")
	a.do("GET", "/app/doc", "", as(keys[1])...).want(403, "")
	a.do("GET", "/app/doc", "", as(key{Key: keys[0].Key, Password: keys[1].Password})...).want(401, "")
	a.do("POST", "/_api/v2/api_keys", "", as(keys[0])...).want(401, `{"error":"unauthorized","reason":"You are not a server admin."}`)
	a.do("GET", "/_api/v2/api_keys", "").want(405, `{"error":"method_not_allowed","reason":"Only POST allowed"}`)
}

func TestCORSAsCloudantHasIt(t *testing.T) {
	a := newTestAPI(t)
	const path = "/_api/v2/user/config/cors"
	a.do("GET", path, "").want(200, `{"origins":[],"allow_credentials":false,"enable_cors":false}`)
	a.do("PUT", path, `{"origins":["https://app.example","http://localhost:8080"],"allow_credentials":true,"enable_cors":true}`).want(200, `{"ok":true}`)
	a.do("GET", path, "").want(200, `{"origins":["https://app.example","http://localhost:8080"],"allow_credentials":true,"enable_cors":true}`)
	a.do("GET", "/_node/_local/_config/cors/origins", "").want(200, `"https://app.example, http://localhost:8080"`)
	allowed := func(origin string) string {
		return a.do("GET", "/", "", "Origin", origin).Header.Get("Access-Control-Allow-Origin")
	}
	if got := allowed("http://localhost:8080"); got != "http://localhost:8080" {
		t.Errorf("an origin that is allowed: %q", got)
	}
	if got := allowed("https://other.example"); got != "" {
		t.Errorf("an origin that is not allowed: %q", got)
	}
	// What is not named stays; what is refused changes nothing.
	a.do("PUT", path, `{"origins":["*"]}`).want(200, "")
	const now = `{"origins":["*"],"allow_credentials":true,"enable_cors":true}`
	a.do("GET", path, "").want(200, now)
	for _, body := range []string{
		`[]`, `{}`, `{"origins":null}`, `{"origins":"*"}`, `{"origins":[5]}`, `{"origins":["app.example"]}`, `{"origins":["https://a.example/x"]}`,
		`{"origins":["https://a.example/"]}`, `{"origins":["https://a,https://b"]}`, `{"origins":["https://a ;b"]}`, `{"origins":["https://a\n[admins]"]}`,
		`{"origins":["https://"]}`, `{"origins":[],"enable_cors":"false"}`, `{"origins":[],"enable":false}`, `{"origins":[],"allow_credentials":0}`, `{"origins":`,
	} {
		if got := a.do("PUT", path, body); got.Status != 400 {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
	a.do("GET", path, "").want(200, now)
	a.do("PUT", path, `{"origins":[],"enable_cors":false}`).want(200, "")
	a.do("GET", path, "").want(200, `{"origins":[],"allow_credentials":true,"enable_cors":false}`)
	a.do("GET", path, "", "Authorization", "").want(401, "")
	a.do("PUT", path, `{"origins":["*"]}`, "Authorization", "").want(401, "")
}

// TestCloudantRoles asks, as callers of each role, what tells the roles apart.
func TestCloudantRoles(t *testing.T) {
	w := newAccessWorld(t)
	const security = `{"cloudant":{"nobody":["_reader"],"rita":["_reader"],"will":["_writer"],"mia":["_reader","_writer"],"dan":["_design","_security"]}}`
	w.do("PUT", "/_api/v2/db/parts/_security", security).want(200, `{"ok":true}`)
	w.do("GET", "/parts/_security", "").want(200, security)
	w.do("PUT", "/_api/v2/db/parts/_security", `{"cloudant":{"rita":["_boss"]}}`).want(400, "")
	const (
		notToDatabase = "You are not allowed to write to this database."
		no401         = "401 " + notToDatabase
		no403         = "403 " + notToDatabase
	)
	design := `{"views":{},"n":1}`
	for _, c := range []struct {
		method, path, body string
		want               map[string]string
	}{
		{"GET", "/parts/alice:1", "", map[string]string{anonymous: "", stranger: notLetIn, readsOne: "", writesTo: notLetIn, isMember: "", isOwner: notLetIn}},
		{"GET", "/parts/_all_docs", "", map[string]string{anonymous: "", stranger: notLetIn, readsOne: "", writesTo: notLetIn, isMember: "", isOwner: notLetIn}},
		{"GET", "/parts/_partition/alice/_all_docs", "", map[string]string{anonymous: "", stranger: notLetIn, readsOne: "", writesTo: notLetIn, isOwner: notLetIn}},
		{"POST", "/parts/_find", `{"selector":{}}`, map[string]string{anonymous: "", writesTo: notLetIn, isOwner: notLetIn}},
		{"POST", "/parts", `{"_id":"x:1"}`, map[string]string{anonymous: no401, stranger: notLetIn, readsOne: no403, writesTo: "", isOwner: notLetIn}},
		{"PUT", "/parts/x:2", `{}`, map[string]string{anonymous: no401, stranger: notLetIn, readsOne: no403, writesTo: "", isOwner: notLetIn}},
		{"PUT", "/parts/_partition/x/x:3", `{}`, map[string]string{anonymous: no401, stranger: notLetIn, readsOne: no403, isMember: ""}},
		{"POST", "/parts/_bulk_docs", `{"docs":[]}`, map[string]string{anonymous: no401, readsOne: no403, writesTo: "", isMember: ""}},
		{"PUT", "/parts/_local/c", `{}`, map[string]string{anonymous: no401, readsOne: no403, isMember: ""}},
		{"PUT", "/parts/_design/n", design, map[string]string{anonymous: no401, stranger: notLetIn, readsOne: no403, writesTo: notLetIn, isMember: notAdmin, isOwner: ""}},
		{"POST", "/parts/_design/d/_update/u/alice:1", `{}`, map[string]string{anonymous: no401, readsOne: no403, writesTo: notLetIn}},
		{"GET", "/_api/v2/db/parts/_security", "", map[string]string{anonymous: "401 You are not a db or server admin.", stranger: notLetIn, readsOne: notAdmin, isMember: notAdmin, isOwner: ""}},
		{"PUT", "/parts/_security", security, map[string]string{stranger: notLetIn, readsOne: notAdmin, isMember: notAdmin, isOwner: ""}},
		{"PUT", "/parts/_revs_limit", "1000", map[string]string{readsOne: notAdmin, isMember: notAdmin, isOwner: notLetIn}},
	} {
		for caller, want := range c.want {
			got := w.as(caller, c.method, c.path, c.body)
			if told := got.headerList(c.method); told != want || want == "" && got.Status >= 400 {
				t.Errorf("%s %s as %q: %q, want %q (%d %s)", c.method, c.path, caller, told, want, got.Status, got.Body)
			}
		}
	}
}
