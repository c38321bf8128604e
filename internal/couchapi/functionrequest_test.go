package couchapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/web"
)

// showing is a design document whose functions, of each kind that gets a request, show it and log it.
const showing = `{"views":{"v":{"map":"function(doc){ emit(1) }"}},"rewrites":"function(req){ log([req.headers, req.cookie]); return {code: 200, body: toJSON(req)} }",
	"shows":{"f":"function(doc, req){ log([req.headers, req.cookie]); return toJSON(req) }"},"lists":{"f":"function(head, req){ log([req.headers, req.cookie]); return toJSON(req) }"},
	"updates":{"f":"function(doc, req){ log([req.headers, req.cookie]); return [null, toJSON(req)] }"},"filters":{"f":"function(doc, req){ log([req.headers, req.cookie]); throw {error: 'seen', reason: toJSON(req)} }"}}`

// showingRequests are those of the functions of showing.
var showingRequests = []leakProbe{{"GET", "/db/_design/d/_show/f", ""}, {"POST", "/db/_design/d/_show/f/x", "{}"}, {"GET", "/db/_design/d/_list/f/v", ""}, {"POST", "/db/_design/d/_list/f/v", "{}"},
	{"POST", "/db/_design/d/_update/f", "{}"}, {"PUT", "/db/_design/d/_update/f/x", "{}"}, {"GET", "/db/_design/d/_rewrite/x", ""}, {"GET", "/db/_changes?filter=d/f", ""}, {"POST", "/db/_changes?filter=d/f", "{}"}}

// TestFunctionsSeeNoProof holds that no function sees what proves who asks, whichever way that was proved.
func TestFunctionsSeeNoProof(t *testing.T) {
	a := functionsAPI(t, showing, config.Setting{Section: "chttpd_auth", Key: "x_auth_token", Value: "X-Mine-Token"}, config.Setting{Section: "chttpd_auth", Key: "x_auth_roles", Value: "X-Mine-Roles"})
	a.do("PUT", "/db/x", `{}`).want(201, "")
	session, _, _ := strings.Cut(a.do("POST", "/_session", `{"name":"adm","password":"pass"}`).want(200, "").Header.Get("Set-Cookie"), ";")
	_, value, _ := strings.Cut(session, "=")
	const secret = "proof-of-somebody"
	for _, by := range [][2]string{{"Authorization", ""}, {"Cookie", "other=seen"}} { // what takes one of the two away
		header := []string{"Cookie", session + "; other=seen", by[0], by[1], "X-Seen", "seen too"}
		for _, name := range []string{"Proxy-Authorization", "X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token", "X-Mine-Token", "X-Mine-Roles", "X-Amz-Security-Token", "X-Api-Key"} {
			header = append(header, name, secret)
		}
		for _, q := range showingRequests {
			w := a.do(q.method, q.path, q.body, header...)
			if !strings.Contains(w.Body, "seen too") || !strings.Contains(strings.ReplaceAll(w.Body, `\`, ""), `"cookie":{"other":"seen"}`) {
				t.Errorf("%s %s: %d %s", q.method, q.path, w.Status, w.Body)
			}
			for _, hidden := range []string{secret, value, "YWRtOnBhc3M", "AuthSession", "Authorization"} {
				if strings.Contains(w.Body, hidden) || strings.Contains(a.Logged.String(), hidden) {
					t.Errorf("%s %s shows %s: %s", q.method, q.path, hidden, w.Body)
				}
			}
		}
	}
	if !strings.Contains(a.Logged.String(), "seen too") {
		t.Error("nothing is logged")
	}
}

// TestMostParameters holds how many parameters a query and a form may have, and that the last of a name counts.
func TestMostParameters(t *testing.T) {
	a := functionsAPI(t, showing)
	a.do("PUT", "/db/x", `{}`).want(201, "")
	many := strings.Repeat("a=1&", web.MaxParameters-3) + "a=last&b=2"
	for _, q := range showingRequests {
		sep := "?"
		if strings.Contains(q.path, "?") {
			sep = "&"
		}
		w := a.do(q.method, q.path+sep+many, q.body)
		if plain := strings.ReplaceAll(w.Body, `\`, ""); !strings.Contains(q.path, "filter=") && /* the reason of an error is cut */ !strings.Contains(plain, `"a":"last","b":"2"`) {
			t.Errorf("%s %s: %d %s", q.method, q.path, w.Status, w.Body)
		}
		a.do(q.method, q.path+sep+many+"&c&d", q.body).want(400, fmt.Sprintf(`{"error":"bad_request","reason":"A query can have %d parameters."}`, web.MaxParameters))
	}
	a.do("GET", "/db/x?"+strings.Repeat(";", web.MaxParameters), "").want(400, "")
	a.do("GET", "/?"+many, "").want(200, "")
	for _, path := range []string{"_show/f", "_update/f", "_rewrite/x"} {
		form := []string{"Content-Type", "application/x-www-form-urlencoded"}
		if w := a.do("POST", "/db/_design/d/"+path, many, form...); !strings.Contains(strings.ReplaceAll(w.Body, `\`, ""), `"form":{"a":"last","b":"2"}`) {
			t.Errorf("%s: %d %s", path, w.Status, w.Body)
		}
		a.do("POST", "/db/_design/d/"+path, many+"&c=1&d=2", form...).want(413, fmt.Sprintf(`{"error":"too_large","reason":"A form can have %d fields."}`, web.MaxParameters))
	}
}

// TestFunctionsSetTheirHeadersAlone holds that no function sets a header that concerns more than its answer, of each kind that
// answers, and that others are set.
func TestFunctionsSetTheirHeadersAlone(t *testing.T) {
	const given = `var h = {}; h[req.query.n] = req.query.v; var given = {code: 200, headers: h, body: 'b'};`
	a := functionsAPI(t, `{"views":{"v":{"map":"function(doc){ emit(1) }"}},"rewrites":"function(req){ `+given+` return given }","shows":{"f":"function(doc, req){ `+given+` return given }"},
		"lists":{"f":"function(head, req){ `+given+` start(given); return 'b' }"},"updates":{"f":"function(doc, req){ `+given+` return [null, given] }"}}`)
	for _, h := range []struct {
		name, value string
		set         bool
	}{
		{"Set-Cookie", "AuthSession=evil; Path=/", false},
		{"set-cookie", " authsession =evil", false},
		{"Set-Cookie", "=AuthSession=evil", false},
		{"Set-Cookie", "AuthSession", false},
		{"Set-Cookie", "mine=AuthSession", true},
		{"Clear-Site-Data", "*", false},
		{"clear-site-data", "*", false},
		{"Access-Control-Allow-Origin", "https://evil.example", false},
		{"access-control-allow-credentials", "true", false},
		{"Service-Worker-Allowed", "/", false},
		{"Strict-Transport-Security", "max-age=1", false},
		{"NEL", "{}", false},
		{"Alt-Svc", "clear", false},
		{"X-Accel-Redirect", "/etc/passwd", false},
		{"x-accel-buffering", "no", false},
		{"X-Accel-Limit-Rate", "1", false},
		{"X-SENDFILE", "/etc/passwd", false},
		{"X-Sendfile2", "/etc/passwd 0-", false},
		{"X-LIGHTTPD-send-file", "/etc/passwd", false},
		{"X-LIGHTTPD-send-tempfile", "/etc/passwd", false},
		{"X-Reproxy-URL", "http://127.0.0.1/", false},
		{"X-Mine", "yes", true},
		{"Location", "/db", true},
	} {
		for _, q := range showingRequests[:7] {
			w := a.do(q.method, q.path+"?n="+url.QueryEscape(h.name)+"&v="+url.QueryEscape(h.value), q.body)
			if got := w.Header.Get(h.name); w.Status != 200 || h.set != (got == h.value) || !h.set && got != "" {
				t.Errorf("%s %s: %d %s: %q", q.method, q.path, w.Status, h.name, got)
			}
		}
	}
}

// TestNobodySniffs holds that what is stored and what is answered is what it says it is, whatever a function says.
func TestNobodySniffs(t *testing.T) {
	const given = `var given = {code: 200, headers: {'x-content-type-options': 'sniff'}, body: 'b'};`
	a := functionsAPI(t, showing)
	a.do("PUT", "/db/_design/s", `{"rewrites":"function(req){ `+given+` return given }","shows":{"f":"function(doc, req){ `+given+` return given }"},
		"lists":{"f":"function(head, req){ `+given+` start(given); return 'b' }"},"updates":{"f":"function(doc, req){ `+given+` return [null, given] }"}}`).want(201, "")
	a.do("PUT", "/db/x/page.txt", "<script>1</script>", "Content-Type", "text/plain").want(201, "")
	holds := func(method, target string) {
		if got := a.do(method, target, "").Header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%s %s: %v", method, target, got)
		}
	}
	for _, target := range []string{"/", "/db/x", "/db/x/page.txt", "/db/_all_docs", "/db/_changes", "/db/none", "/none", "/db/_design/d/_view/v", "/db/_design/d/_show/f", "/_up", "/_node/_local/_prometheus",
		"/db/_design/s/_show/f", "/db/_design/s/_list/f/d/v", "/db/_design/s/_rewrite/x"} {
		holds("GET", target)
		holds("HEAD", target)
	}
	holds("POST", "/db/_design/s/_update/f")
}
