package couchapi_test

import (
	"regexp"
	"strings"
	"testing"
)

// browser is what browsers send when somebody goes to an address.
const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestBrowsersSeeAPage looks at the server with a browser: the dashboard, and a page to log in that needs nothing
// else; neither shows more than the server's welcome does. Programs see JSON.
func TestBrowsersSeeAPage(t *testing.T) {
	a := newTestAPI(t)
	a.users("ann")
	a.do("PUT", "/secret-db", "").want(201, "")
	for path, holds := range map[string]string{"/_utils/": `<div id="app">`, "/_utils/index.html": `<div id="app">`, "/_utils/session.html": "This database server runs: version test"} {
		w := a.do("GET", path, "", "Accept", browserAccept, "Authorization", "")
		if w.Status != 200 || w.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(w.Body, holds) {
			t.Errorf("%s: %d %v %s", path, w.Status, w.Header, w.Body)
		}
		policy := w.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s has the policy %s", path, policy)
			}
		}
		if strings.Contains(w.Body, a.Store.UUID()) || strings.Contains(w.Body, "secret-db") || strings.Contains(w.Body, "adm") && !strings.Contains(w.Body, "administrators") {
			t.Errorf("%s tells too much: %s", path, w.Body)
		}
		if head := a.do("HEAD", path, "", "Accept", browserAccept); head.Status != 200 || head.Body != "" || head.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("HEAD %s: %d %v %q", path, head.Status, head.Header, head.Body)
		}
	}
	login := a.do("GET", "/_utils/session.html", "", "Accept", browserAccept, "Authorization", "").Body
	for _, tag := range []string{"<script", "<img", "<link", "<iframe", "src=", " on"} {
		if strings.Contains(regexp.MustCompile(`(?s)<p>.*?</p>`).ReplaceAllString(login, ""), tag) {
			t.Errorf("the page to log in holds %s", tag)
		}
	}
	if w := a.do("GET", "/", "", "Accept", browserAccept, "Authorization", ""); w.Status != 302 || w.Header.Get("Location") != "http://example.com/_utils/" || w.Header.Get("Vary") != "Accept" {
		t.Errorf("/: %d %v", w.Status, w.Header)
	}
	for _, accept := range []string{"", "*/*", "application/json", "application/json, text/html", "text/plain"} {
		w := a.do("GET", "/", "", "Accept", accept, "Authorization", "")
		if w.Status != 200 || !strings.HasPrefix(w.Body, `{"couchdb":"Welcome"`) || w.Header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q: %d %v %s", accept, w.Status, w.Header, w.Body)
		}
	}
	if w := a.do("GET", "/_utils?x=1", "", "Authorization", ""); w.Status != 301 || w.Header.Get("Location") != "http://example.com/_utils/?x=1" {
		t.Errorf("/_utils: %d %v", w.Status, w.Header)
	}
	for _, path := range []string{"/_utils/fauxton.js", "/_utils/assets", "/_utils/assets/", "/_utils/../sources.sha256", "/_utils/%2e%2e/dashboard.go"} {
		a.do("GET", path, "", "Authorization", "").want(404, `{"error":"not_found","reason":"missing"}`)
	}
	a.do("POST", "/_utils/", "{}").want(405, "")
	if w := a.do("GET", "/_utils/session.html", "", "Accept", browserAccept, "Authorization", basic("ann", "pw")); !strings.Contains(w.Body, "logged in as <strong>ann</strong>") {
		t.Error(w.Body)
	}
}

// TestDashboardFiles asks for the files that the dashboard's page names: compressed for whom takes that, kept for ever
// because their names tell their content, and not sent again to who has them.
func TestDashboardFiles(t *testing.T) {
	a := newTestAPI(t)
	page := a.do("GET", "/_utils/", "", "Authorization", "")
	if got := page.Header.Get("Cache-Control"); got != "must-revalidate" {
		t.Errorf("the page: Cache-Control %q", got)
	}
	names := regexp.MustCompile(`(?:src|href)="\./(assets/[^"]+)"`).FindAllStringSubmatch(page.Body, -1)
	if len(names) < 2 {
		t.Fatalf("the page names %d files", len(names))
	}
	for _, name := range names {
		path := "/_utils/" + name[1]
		plain := a.do("GET", path, "", "Authorization", "").want(200, "")
		packed := a.do("GET", path, "", "Authorization", "", "Accept-Encoding", "gzip, br").want(200, "")
		if packed.Header.Get("Content-Encoding") != "gzip" || len(packed.Body) >= len(plain.Body) || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %v, %d bytes of %d", path, packed.Header, len(packed.Body), len(plain.Body))
		}
		if got := plain.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") || plain.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, plain.Header)
		}
		a.do("GET", path, "", "Authorization", "", "If-None-Match", plain.Header.Get("Etag")).want(304, "")
	}
}

// TestLoginPage follows a browser to the page where it logs in: the login leads back,
// and nowhere else, whatever the address says.
func TestLoginPage(t *testing.T) {
	a := newTestAPI(t)
	a.users("ann")
	for target, want := range map[string]string{
		"?return=%2Fdb%2F_all_docs%3Fa%3D1%26b%3D2&reason=You%20%3Cb%3Eshall%3C%2Fb%3E%20not": `action="/_session\?next=%2fdb%2f_all_docs%3fa%3d1%26b%3d2"`,
		"?return=https%3A%2F%2Fevil.example&reason=evil":                                      `action="/_session\?next=%2f_utils%2f"`,
		"?return=%2F%2Fevil.example&reason=evil":                                              `action="/_session\?next=%2f_utils%2f"`,
		`?return=%2F%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E`:                                `action="/_session\?next=%2f%22%3e%3cscript%3ealert`,
		"": `action="/_session\?next=%2f_utils%2f"`,
	} {
		w := a.do("GET", "/_utils/session.html"+target, "", "Accept", browserAccept, "Authorization", "")
		if w.Status != 200 || !regexp.MustCompile(want).MatchString(w.Body) || strings.Contains(w.Body, "<b>") || strings.Contains(w.Body, "<script>") || strings.Contains(w.Body, "evil") {
			t.Errorf("%s: %d %s", target, w.Status, w.Body)
		}
	}
	w := a.do("POST", "/_session?next=/db/_all_docs", "name=ann&password=pw", "Content-Type", "application/x-www-form-urlencoded", "Authorization", "",
		"Accept", browserAccept, "Sec-Fetch-Site", "same-origin", "Origin", "http://example.com")
	if w.Status != 302 || w.Header.Get("Location") != "http://example.com/db/_all_docs" || w.Header.Get("Set-Cookie") == "" {
		t.Errorf("logging in: %d %v %s", w.Status, w.Header, w.Body)
	}
}

// TestWhoIsAskedForAPassword holds when a 401 makes a browser ask for a name and a
// password: where somebody went to the address, as CouchDB says otherwise, and never
// for what a page asks in the background.
func TestWhoIsAskedForAPassword(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["ann"]}}`).want(200, "")
	navigates := []string{"Accept", browserAccept, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	const asked = `Basic realm="server"`
	for _, c := range []struct {
		what, path string
		headers    []string
		want       string
	}{
		{"a person", "/db", navigates, asked},
		{"a person", "/_all_dbs", navigates, asked},
		{"a person without rights", "/db", append([]string{"Authorization", basic("sue", "wrong")}, navigates...), asked},
		{"an old browser", "/db", []string{"Accept", browserAccept}, ""},
		{"fetch", "/db", []string{"Accept", "*/*", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, ""},
		{"PouchDB", "/db", []string{"Accept", "application/json", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, ""},
		{"an image", "/db", []string{"Accept", "image/*,*/*;q=0.8", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, ""},
		{"a frame", "/db", []string{"Accept", browserAccept, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, ""},
		{"curl", "/db", []string{"Accept", "*/*"}, ""},
		{"Fauxton", "/db", append([]string{"X-CouchDB-WWW-Authenticate", "Cookie"}, navigates...), "Cookie"},
	} {
		w := a.do("GET", c.path, "", append([]string{"Authorization", ""}, c.headers...)...)
		if w.Status != 401 || w.Header.Get("Www-Authenticate") != c.want {
			t.Errorf("%s, %s: %d with %q, want %q", c.what, c.path, w.Status, w.Header.Get("Www-Authenticate"), c.want)
		}
	}
	w := a.do("POST", "/_session", "name=ann&password=wrong", append([]string{"Content-Type", "application/x-www-form-urlencoded", "Authorization", "", "Sec-Fetch-Site", "same-origin"}, navigates...)...)
	if w.Status != 401 || w.Header.Get("Www-Authenticate") != "" {
		t.Errorf("a wrong password in a form: %d %v", w.Status, w.Header)
	}
	if w := a.do("GET", "/db", "", "Authorization", "", "Accept", "text/html"); w.Status != 302 || !strings.HasPrefix(w.Header.Get("Location"), "http://example.com/_utils/session.html?return=%2Fdb&reason=") {
		t.Errorf("who takes nothing but HTML: %d %v", w.Status, w.Header)
	}
}
