package couchapi_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/admin"
)

func basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

func TestNodeConfig(t *testing.T) {
	a := newTestAPI(t)
	at := "/_node/_local/_config/"
	a.do("PUT", at+"test/x", `"one"`).want(200, `""`)
	a.do("PUT", at+"test/x", `"two"`).want(200, `"one"`)
	a.do("GET", at+"test/x", "").want(200, `"two"`)
	a.do("GET", at+"test", "").want(200, `{"x":"two"}`)
	a.do("DELETE", at+"test/x", "").want(200, `"two"`)
	a.do("GET", at+"test/x", "").want(404, `{"error":"not_found","reason":"unknown_config_value"}`)
	a.do("DELETE", at+"test/x", "").want(404, "")
	a.do("GET", at+"nothing", "").want(200, `{}`)
	for _, body := range []string{`5`, `{}`, `x`, ``, `"a` + "\\n" + `b"`} {
		a.do("PUT", at+"test/x", body).want(400, "")
	}
	a.do("PUT", at+"daemons/x", `"y"`).want(403, "")
	a.do("POST", "/_node/_local/_config/_reload", "").want(200, `{"ok":true}`)
	a.do("GET", "/_node/elsewhere/_config", "").want(404, "")
}

func TestNodeConfigKeepsSecrets(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/_node/_local/_config/admins/eve", `"clear text"`).want(200, `""`)
	line, _ := a.Config.Get("admins", "eve")
	if !auth.IsHashed(line) {
		t.Errorf("stored as %q", line)
	}
	a.do("GET", "/_session", "", "Authorization", basic("eve", "clear text")).want(200, "")
	if all := a.do("GET", "/_node/_local/_config", "").want(200, "").Body; strings.Contains(all, "tell nobody") || strings.Contains(all, "clear text") {
		t.Errorf("a secret shows: %s", all)
	}
	a.do("GET", "/_node/_local/_config/chttpd_auth/secret", "").want(200, `"****"`)
}

func TestNodeNumbers(t *testing.T) {
	a := newTestAPI(t)
	metrics := a.user("mo", "metrics")
	a.do("GET", "/nowhere", "").want(404, "")
	a.do("GET", "/_node/_local", "").want(200, `{"name":"`+admin.OneNode+`"}`)
	if n := a.do("GET", "/_node/_local/_stats/couchdb/httpd_status_codes/404", "").want(200, "").json(); toJSON(t, n["value"]) != "1" {
		t.Errorf("404s: %v", n)
	}
	a.do("GET", "/_node/_local/_stats/couchdb/nothing", "").want(404, "")
	a.do("PATCH", "/nowhere/x", "{}").want(404, "")
	if n := a.do("GET", "/_node/_local/_stats/couchdb/httpd_request_methods/PATCH", "").want(200, "").json(); toJSON(t, n["value"]) != "1" {
		t.Errorf("PATCH requests: %v", n)
	}
	a.do("GET", "/_node/_local/_stats", "", "Authorization", metrics).
		want(401, `{"error":"unauthorized","reason":"You are not a server admin or read-only metrics user"}`)
	for _, page := range []string{"_stats", "_system", "_versions", "_smoosh/status"} {
		a.do("GET", "/_node/"+admin.OneNode+"/"+page, "").want(200, "").json()
	}
	text := a.do("GET", "/_node/_local/_prometheus", "").want(200, "").Body
	for _, line := range []string{
		`sectional_http_requests_total{class="admin",status="404"} 1`, `sectional_http_request_seconds_count{class="server"}`,
		"sectional_feeds_open 0", "go_goroutines ",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
