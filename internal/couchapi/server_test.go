package couchapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func TestWelcome(t *testing.T) {
	a := newTestAPI(t)
	got := a.do("GET", "/", "", "Authorization", "").want(200, "")
	m := got.json()
	if m["couchdb"] != "Welcome" || m["version"] != couchapi.Compatible || m["uuid"] != a.Store.UUID() {
		t.Errorf("got %s", got.Body)
	}
	for _, part := range []string{`"features":["access-ready","geo","nouveau","partitioned","search"]`, `"vendor":{"name":"Sectional",`} {
		if !strings.Contains(got.Body, part) {
			t.Errorf("no %s in %s", part, got.Body)
		}
	}
	if !strings.HasSuffix(got.Body, "}\n") {
		t.Errorf("no newline at the end: %q", got.Body)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "must-revalidate", "X-Couchdb-Body-Time": "0"} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
		}
	}
	if got := a.do("HEAD", "/", ""); got.Status != 200 || got.Body != "" || got.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %+v", got)
	}
}

func TestRequestID(t *testing.T) {
	a := newTestAPI(t)
	made := a.do("GET", "/", "").Header.Get("X-Couch-Request-Id")
	if !regexp.MustCompile(`^[0-9a-f]{10}$`).MatchString(made) {
		t.Errorf("made %q", made)
	}
	if got := a.do("GET", "/", "", "X-Couch-Request-Id", "mine-1").Header.Get("X-Couch-Request-Id"); got != "mine-1" {
		t.Errorf("got %q", got)
	}
	if got := a.do("GET", "/", "", "X-Couch-Request-Id", "a b\"").Header.Get("X-Couch-Request-Id"); got == "a b\"" {
		t.Errorf("an id with a quote was taken over")
	}
}

func TestUp(t *testing.T) {
	a := newTestAPI(t)
	a.do("GET", "/_up", "", "Authorization", "").want(200, `{"status":"ok","seeds":{}}`)
	for _, mode := range []string{"true", "nolb"} {
		_, err := a.Config.Set(config.Setting{Section: "couchdb", Key: "maintenance_mode", Value: mode}, false)
		must(t, err)
		a.do("GET", "/_up", "").want(404, "")
	}
}

func TestAllDBs(t *testing.T) {
	a := newTestAPI(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		a.do("PUT", "/"+name, "").want(201, `{"ok":true}`)
	}
	for query, want := range map[string]string{
		"":                         `["_replicator","_users","a","b","c","d"]`,
		`?startkey="b"`:            `["b","c","d"]`,
		`?startkey="b"&endkey="c"`: `["b","c"]`,
		`?start_key="b"&end_key="c"&inclusive_end=false`: `["b"]`,
		`?descending=true&startkey="c"&endkey="b"`:       `["c","b"]`,
		`?descending=true&limit=1`:                       `["d"]`,
		`?startkey="a"&skip=1&limit=2`:                   `["b","c"]`,
		`?limit=0`:                                       `[]`,
	} {
		a.do("GET", "/_all_dbs"+strings.ReplaceAll(query, `"`, "%22"), "").want(200, want)
	}
	first := a.do("GET", "/_all_dbs", "")
	again := a.do("GET", "/_all_dbs", "", "If-None-Match", first.Header.Get("Etag"))
	if again.Status != http.StatusNotModified || again.Body != "" {
		t.Errorf("unchanged: %d %q", again.Status, again.Body)
	}
	a.do("GET", "/_all_dbs", "", "Authorization", "").want(401, `{"error":"unauthorized","reason":"You are not a server admin."}`)
}

func TestUUIDAlgorithms(t *testing.T) {
	testrun.Sequential(t)
	for _, algorithm := range []string{"sequential", "random", "utc_random", "utc_id", "uuid_v7"} {
		t.Run(algorithm, func(t *testing.T) {
			a := newTestAPI(t, config.Setting{Section: "uuids", Key: "algorithm", Value: algorithm},
				config.Setting{Section: "uuids", Key: "utc_id_suffix", Value: "0123456789abcdef00"})
			var got struct{ UUIDs []string }
			must(t, json.Unmarshal([]byte(a.do("GET", "/_uuids?count=1000", "").want(200, "").Body), &got))
			for _, id := range got.UUIDs {
				if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) {
					t.Fatalf("odd id %q", id)
				}
			}
			if rises := slices.IsSorted(got.UUIDs); !rises && (algorithm == "utc_id" || algorithm == "utc_random") {
				t.Errorf("ids do not rise")
			}
			slices.Sort(got.UUIDs)
			if n := len(slices.Compact(got.UUIDs)); n != 1000 {
				t.Errorf("%d different ids of 1000", n)
			}
		})
	}
}

func TestUUIDsVersion7WithDashes(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "uuids", Key: "algorithm", Value: "uuid_v7"},
		config.Setting{Section: "uuids", Key: "format", Value: "rfc9562"})
	if id, _ := a.do("GET", "/_uuids", "").json()["uuids"].([]any)[0].(string); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("got %q", id)
	}
}

func TestSession(t *testing.T) {
	a := newTestAPI(t)
	login := a.do("POST", "/_session", `{"name":"adm","password":"pass"}`, "Authorization", "").
		want(200, `{"ok":true,"name":"adm","roles":["_admin"]}`)
	cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
	who := a.do("GET", "/_session", "", "Authorization", "", "Cookie", cookie).want(200, "").json()
	if ctx := who["userCtx"].(map[string]any); ctx["name"] != "adm" {
		t.Errorf("got %v", who)
	}
	a.do("POST", "/_session", `{"name":"adm","password":"no"}`, "Authorization", "").
		want(401, `{"error":"unauthorized","reason":"Name or password is incorrect."}`)
}

func TestLoginSendsNobodyElsewhere(t *testing.T) {
	a := newTestAPI(t)
	for next, status := range map[string]int{"/_utils": 302, "//evil.example": 200, "https://evil.example": 200, `/\evil.example`: 200} {
		got := a.do("POST", "/_session?next="+strings.ReplaceAll(next, `\`, "%5C"), `{"name":"adm","password":"pass"}`)
		if got.Status != status {
			t.Errorf("next=%s: %d, want %d", next, got.Status, status)
		}
	}
}

func TestClusterSetup(t *testing.T) {
	a := newTestAPI(t)
	a.do("GET", "/_cluster_setup", "").want(200, `{"state":"single_node_enabled"}`)
	a.do("POST", "/_cluster_setup", `{"action":"enable_single_node","username":"adm","password":"pass"}`).want(201, `{"ok":true}`)
	a.do("POST", "/_cluster_setup", `{"action":"finish_cluster"}`).want(201, `{"ok":true}`)
	a.do("POST", "/_cluster_setup", `{"action":"add_node","host":"x"}`).want(501, "")
	a.do("POST", "/_cluster_setup", `{"action":"dance"}`).want(400, "")
	a.do("POST", "/_cluster_setup", `[]`).want(400, "")
}

func TestClusterSetupMakesDatabases(t *testing.T) {
	a := newTestAPI(t)
	ask := "/_cluster_setup?ensure_dbs_exist=" + url.QueryEscape(`["_users","app"]`)
	a.do("POST", "/_cluster_setup", `{"action":"finish_cluster","ensure_dbs_exist":["app2","Bad"]}`).want(400, "")
	a.do("GET", "/app2", "").want(404, "")
	a.do("POST", "/_cluster_setup", `{"action":"finish_cluster","ensure_dbs_exist":5}`).want(400, "")
	a.do("GET", ask, "").want(200, `{"state":"single_node_disabled"}`)
	for range 2 {
		a.do("POST", "/_cluster_setup", `{"action":"enable_single_node","ensure_dbs_exist":["_users","app"]}`).want(201, `{"ok":true}`)
	}
	a.do("GET", ask, "").want(200, `{"state":"single_node_enabled"}`)
	a.do("GET", "/app", "").want(200, "")
	a.do("GET", "/_cluster_setup?ensure_dbs_exist=5", "").want(400, "")
}

func TestCORS(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "enable_cors", Value: "true"},
		config.Setting{Section: "cors", Key: "origins", Value: "https://app.example"})
	ask := a.do("OPTIONS", "/db", "", "Origin", "https://app.example", "Access-Control-Request-Method", "PUT", "Authorization", "")
	if ask.Status != 204 || ask.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %d %v", ask.Status, ask.Header)
	}
	if got := a.do("GET", "/", "", "Origin", "https://app.example"); got.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("no header for an origin that is allowed")
	}
	if got := a.do("GET", "/", "", "Origin", "https://other.example"); got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a header for an origin that is not allowed")
	}
}

func TestRequireValidUser(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "require_valid_user", Value: "true"})
	got := a.do("GET", "/", "", "Authorization", "").want(401, `{"error":"unauthorized","reason":"Authentication required."}`)
	if got.Header.Get("Www-Authenticate") != `Basic realm="server"` {
		t.Errorf("challenge %q", got.Header.Get("Www-Authenticate"))
	}
	a.do("POST", "/_session", `{"name":"adm","password":"pass"}`, "Authorization", "").want(200, "")
}

func TestDBUpdates(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/one", "").want(201, "")
	a.do("PUT", "/two", "").want(201, "")
	a.do("DELETE", "/one", "").want(200, "")
	var got struct {
		Results []struct {
			DBName string `json:"db_name"`
			Type   string
			Seq    string
		}
		LastSeq string `json:"last_seq"`
	}
	must(t, json.Unmarshal([]byte(a.do("GET", "/_db_updates", "").want(200, "").Body), &got))
	var rows []string
	for _, r := range got.Results {
		rows = append(rows, r.DBName+" "+r.Type)
	}
	want := []string{"_users created", "_replicator created", "two created", "one deleted"}
	if !slices.Equal(rows, want) {
		t.Errorf("got %v, want %v", rows, want)
	}
	a.do("GET", "/_db_updates?since="+got.LastSeq, "").want(200, fmt.Sprintf(`{"results":[],"last_seq":"%s"}`, got.LastSeq))
	a.do("GET", "/_db_updates?feed=longpoll&timeout=1&since=now", "").want(200, fmt.Sprintf(`{"results":[],"last_seq":"%s"}`, got.LastSeq))
	a.do("GET", "/_db_updates?feed=daily", "").want(400, "")
	a.do("GET", "/_db_updates?since=x", "").want(400, "")
	if got := a.do("GET", "/_db_updates?feed=continuous&limit=2", "").want(200, ""); strings.Count(got.Body, "\n") != 3 {
		t.Errorf("continuous: %q", got.Body)
	}
	if got := a.do("GET", "/_db_updates?feed=eventsource&limit=1", "").want(200, ""); !strings.HasPrefix(got.Body, `data: {"db_name":"_users"`) {
		t.Errorf("eventsource: %q", got.Body)
	}
}

func TestBasicGetsNoCookie(t *testing.T) {
	if got := newTestAPI(t).do("GET", "/_session", "").want(200, ""); got.Header.Get("Set-Cookie") != "" {
		t.Errorf("got %q", got.Header.Get("Set-Cookie"))
	}
}
