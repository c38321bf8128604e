package couchapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// formTypes are the content types that a page can have sent without asking, and
// what browsers and servers may read in different ways.
var formTypes = []string{"application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=b", "", "text/plain; charset=x; =", "nonsense", "TEXT/PLAIN;application/json"}

// otherOrigins are the marks of requests that a browser sends for another page.
var otherOrigins = [][]string{
	{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://example.com:81"}, {"Origin", "http://example.com.evil.example"},
	{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://example.com", "Sec-Fetch-Site", "cross-site"},
}

// session logs the administrator in and returns the cookie.
func (a *testAPI) session() string {
	a.t.Helper()
	login := a.do("POST", "/_session", `{"name":"adm","password":"pass"}`, "Authorization", "").want(200, "")
	cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
	return cookie
}

// postRoutes are the routes that a POST reaches.
func postRoutes() []couchhttp.Route {
	return slices.DeleteFunc(couchhttp.ExpandRoutes(couchapi.AllRoutes()), func(row couchhttp.Route) bool {
		return row.Methods != "*" && !slices.Contains(strings.Split(row.Methods, ","), "POST")
	})
}

// TestOtherOrigins: no page of another origin makes an administrator's browser
// do anything, whatever the route.
func TestOtherOrigins(t *testing.T) {
	testrun.Sequential(t)
	w := newAccessWorld(t)
	cookie := w.session()
	asked := 0
	for _, row := range postRoutes() {
		for i, kind := range formTypes {
			for j, marks := range otherOrigins {
				c := cell{method: "POST", pattern: row.Pattern, partition: "alice", caller: isAdmin}
				with := []string{"Authorization", "", "Cookie", cookie}
				if (i+j)%2 == 0 {
					with = nil // the password that the browser has been told
				}
				got := w.send(c, "POST", slices.Concat(with, marks, []string{"Content-Type", kind})...)
				if got.Status != 403 || got.json()["reason"] != "This request came from a page of another origin." {
					t.Errorf("POST %s as %q with %v: %d %s", row.Pattern, kind, marks, got.Status, got.Body)
				}
				asked++
			}
		}
	}
	if state := w.state(); state != w.stored {
		t.Errorf("%s became %s", w.stored, state)
	}
	if asked < 100 {
		t.Errorf("only %d requests were sent", asked)
	}
}

// TestCookiesNeedJSON: where a browser does not say which page it speaks for, a
// form with a cookie is JSON nowhere, and reaches nothing of the server's.
func TestCookiesNeedJSON(t *testing.T) {
	testrun.Sequential(t)
	w := newAccessWorld(t)
	cookie := w.session()
	for _, row := range postRoutes() {
		if strings.Contains(row.Pattern, "/_update/") || strings.HasSuffix(row.Pattern, "/_session") || strings.HasSuffix(row.Pattern, "/{id}") {
			continue // functions read forms, logins are some, and uploads to documents tell their page in Referer
		}
		for _, kind := range formTypes {
			got := w.send(cell{method: "POST", pattern: row.Pattern, partition: "alice", caller: isAdmin}, "POST", "Authorization", "", "Cookie", cookie, "Content-Type", kind)
			if !strings.HasPrefix(row.Pattern, "/{db}") && got.Status != 403 {
				t.Errorf("POST %s as %q: %d %s", row.Pattern, kind, got.Status, got.Body)
			}
		}
		if state := w.state(); state != w.stored {
			t.Errorf("POST %s: %s became %s", row.Pattern, w.stored, state)
			w.refill()
		}
	}
}

// TestBrowsersAskFirst: for every other method, and for JSON, a browser asks, and
// is not told that it may.
func TestBrowsersAskFirst(t *testing.T) {
	w := newAccessWorld(t)
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		for method := range strings.SplitSeq(row.Methods, ",") {
			got := w.do("OPTIONS", accessPath(row.Pattern, "alice"), "", "Authorization", "", "Origin", "https://evil.example",
				"Access-Control-Request-Method", method, "Access-Control-Request-Headers", "content-type")
			for name := range got.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %v", method, row.Pattern, got.Header)
				}
			}
		}
	}
}

// TestContentTypes: what "curl -d" sends of itself counts as JSON in databases,
// and nowhere where a browser could have sent it.
func TestContentTypes(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	for _, c := range []struct {
		method, target, kind string
		header               []string
		status               int
	}{
		{"POST", "/db/_find", "application/json", nil, 200},
		{"POST", "/db/_find", "application/json; charset=utf-8", nil, 200},
		{"POST", "/db/_find", form, nil, 200},
		{"POST", "/db/_find", "text/plain", nil, 415},
		{"POST", "/db/_find", "", nil, 415},
		{"POST", "/db/_find", "application/vnd.api+json", nil, 415},
		{"POST", "/db/_find", form, []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"POST", "/db/_find", form, []string{"Origin", "http://example.com"}, 415},
		{"POST", "/db/_find", form, []string{"Cookie", "a=b"}, 415},
		{"POST", "/db/_find", form, []string{"Origin", "http://evil.example", "Authorization", ""}, 401},
		{"POST", "/_users/_find", form, nil, 415},
		{"POST", "/_replicator/_find", form, nil, 415},
		{"POST", "/_dbs_info", "application/json", nil, 400},
		{"POST", "/_dbs_info", form, nil, 415},
		{"POST", "/_replicate", form, nil, 415},
		{"POST", "/_cluster_setup", form, nil, 415},
		{"PUT", "/_node/_local/_config/log/level", form, nil, 200},
		{"PUT", "/db/_revs_limit", form, nil, 200},
		{"POST", "/_node/_local/_config/_reload", "", nil, 200},
		{"POST", "/_api/v2/api_keys", "", nil, 201},
	} {
		body := map[string]string{"/db/_find": `{"selector":{}}`, "/_node/_local/_config/log/level": `"info"`, "/db/_revs_limit": "1000"}[c.target]
		if body == "" {
			body = "{}"
		}
		if got := a.do(c.method, c.target, body, append(c.header, "Content-Type", c.kind)...); got.Status != c.status {
			t.Errorf("%s %s as %q with %q: %d, want %d: %s", c.method, c.target, c.kind, c.header, got.Status, c.status, got.Body)
		}
	}
}

// TestOwnPagesAndTrustedOrigins: pages of the server itself, and those that the
// configuration lets in with their credentials, send forms where forms are taken.
func TestOwnPagesAndTrustedOrigins(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "enable_cors", Value: "true"}, config.Setting{Section: "cors", Key: "origins", Value: "https://app.example"},
		config.Setting{Section: "cors", Key: "credentials", Value: "true"})
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", `{"updates":{"u":"function (doc, req) { return [{_id: req.uuid}, 'ok']; }"}}`).want(201, "")
	const form = "application/x-www-form-urlencoded"
	for _, marks := range [][]string{
		{"Origin", "http://example.com", "Sec-Fetch-Site", "same-origin"}, {"Origin", "http://example.com"}, {"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site"},
		{"Origin", "https://front.example", "X-Forwarded-Host", "front.example"},
	} {
		with := append(marks, "Content-Type", form, "Authorization", "")
		login := a.do("POST", "/_session", "name=adm&password=pass", with...)
		cookie, _, _ := strings.Cut(login.want(200, "").Header.Get("Set-Cookie"), ";")
		a.do("POST", "/db/_design/d/_update/u", "x=1", append(with, "Cookie", cookie)...).want(201, "")
		a.do("POST", "/db/_bulk_docs", `{"docs":[]}`, append(with, "Cookie", cookie)...).want(415, "")
		a.do("POST", "/db/_bulk_docs", `{"docs":[]}`, append(with, "Cookie", cookie, "Content-Type", "application/json")...).want(201, "")
	}
	a.do("PUT", "/db/_security", `{"members":{"names":[],"roles":[]}}`).want(200, "")
	a.do("POST", "/db/_design/d/_update/u", "x=1", "Authorization", "", "Origin", "https://evil.example", "Content-Type", form).want(201, "") // a restricted reader book
	a.do("PUT", "/_node/_local/_config/cors/credentials", `"false"`).want(200, "")
	a.do("POST", "/_session", "name=adm&password=pass", "Authorization", "", "Origin", "https://app.example", "Content-Type", form).want(http.StatusForbidden, "")
}
