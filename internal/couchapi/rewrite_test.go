package couchapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// wayOut is a path that a design document may lead to, and where that is: below the endpoint,
// or elsewhere; ~ is the way up to the endpoint, + a step further up.
type wayOut struct {
	path   string
	within bool
}

// waysOut are the forms in which a path is written, each for a target.
func waysOut(up, target, escaped string) (ways []wayOut) {
	for _, p := range []string{"%s/%s", "/%s/%s", "//%s//%s", "./%s/./%s", "x/../%s/%s", "%s/x/../%s", "%s/%s?x=1", "%s/%s?/../..", "_design/../%s/%s"} {
		ways = append(ways, wayOut{path: fmt.Sprintf(p, up, target)})
	}
	for _, p := range []string{"/" + target, "//" + target, "///" + target, "http://example.com/" + target, "//example.com/" + target, "%2f" + target, "%2F%2F" + target, `\` + target, "%5c" + target, "%00/" + target} {
		ways = append(ways, wayOut{p, true}) // below the design document
	}
	for _, dots := range []string{"%2e%2e", "%2E.", ".%2e", "%252e%252e", "..;", "%c0%ae%c0%ae", "...", "%2e%2e%2f..", "..%00"} {
		ways = append(ways, wayOut{strings.ReplaceAll(up, "..", dots) + "/" + target, true}, wayOut{strings.ReplaceAll(up, "/", "%2f") + "%2f" + target, true},
			wayOut{strings.ReplaceAll(up, "/", "%252f") + "%252f" + target, true})
	}
	return append(ways, wayOut{path: up + "/" + escaped}, wayOut{path: up + "/%2e%2e/" + target}, wayOut{path: up + "/%2f" + target}, wayOut{path: up})
}

// TestRewritesStayBelowTheirEndpoint: at each kind of endpoint no form of a path leads out, by a
// function, by a rule, and by a rewrite that leads to a rewrite; nothing elsewhere is read,
// and nothing at all is written.
func TestRewritesStayBelowTheirEndpoint(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "sectional", Key: "tenant_designs", Value: "members"})
	a.do("PUT", "/p?partitioned=true", "").want(201, "")
	a.do("PUT", "/q", "").want(201, "")
	for _, doc := range []string{"/q/secret", "/p/bob:secret", "/p/alice:own"} {
		a.do("PUT", doc, `{"x":"SECRET"}`).want(201, "")
	}
	const function = `function(req){ return {path: decodeURIComponent(req.query.to), method: req.query.as || req.method, query: {}, headers: {"Content-Type": "application/json", "X-Sectional-As": "root", "Origin": "http://example.com"}, body: '"evil"'}; }`
	design := func(rewrites string) string { return `{"options":{"partitioned":false},"rewrites":` + rewrites + `}` }
	const configured = "_node/_local/_config/admins/evil"
	before := a.do("GET", "/_node/_local/_config/admins", "").want(200, "").Body
	refused := `{"error":"forbidden","reason":"A rewritten request stays below the path of its database."}`
	for _, e := range []struct{ endpoint, up string }{{"/p", "../.."}, {"/p/_partition/alice", "../.."}, {"/p/_owner/alice", "../.."}} {
		steps := strings.Count(e.endpoint, "/")
		out := strings.Repeat("../", steps) + e.up
		var targets []wayOut
		for _, target := range []string{configured, "q/secret", "_users/_design/_auth", "_session", "p/../q/secret", "p%2f..%2fq/secret"} {
			targets = append(targets, waysOut(out, target, url.PathEscape(target))...)
		}
		if steps > 1 {
			for _, target := range []string{"p/bob:secret", "p/_partition/bob/bob:secret", "p/_owner/bob/secret", "p%2f_partition%2fbob/bob:secret", "p%2F_owner%2Fbob/secret", "p/_security"} {
				targets = append(targets, waysOut(out, target, url.PathEscape(target))...)
			}
		}
		for i, way := range targets {
			check := func(how string, got answer) {
				t.Helper()
				if strings.Contains(got.Body, "SECRET") || strings.Contains(got.Body, "couchdb_auth") || got.Status < 300 || got.Header.Get("Set-Cookie") != "" {
					t.Errorf("%s: %s to %q: %d %s", e.endpoint, how, way.path, got.Status, got.Body)
				}
				if !way.within && got.Body != refused+"\n" && got.Body != refused {
					t.Errorf("%s: %s to %q is refused by chance: %d %s", e.endpoint, how, way.path, got.Status, got.Body)
				}
			}
			to := url.QueryEscape(url.QueryEscape(way.path))
			if i == 0 {
				a.do("PUT", e.endpoint+"/_design/f", design(string(couchhttp.AppendString(nil, function))))
				a.do("PUT", e.endpoint+"/_design/g", design(`[{"from":"*","to":"../f/_rewrite/*"}]`))
			}
			at := e.endpoint + "/_design/f/_rewrite/x?to="
			check("function", a.do("PUT", at+to, `"evil"`))
			switch i % 3 {
			case 0:
				check("function that reads", a.do("PUT", at+to+"&as=GET", `"evil"`))
			case 1:
				check("function of a GET", a.do("GET", at+to+"&as=PUT", ""))
			case 2:
				check("rewrite to a rewrite", a.do("PUT", e.endpoint+"/_design/g/_rewrite/x?to="+to, `"evil"`))
			}
		}
	}
	for _, path := range []string{"../../../" + configured, "%2e%2e/%2e%2e/../" + configured, "../../../q/secret", "*/../../../../q/secret", "../../:x/../../q/secret", "//q/secret"} {
		text, err := json.Marshal(path)
		must(t, err)
		for _, off := range []string{"true", "false"} {
			a.do("PUT", configPath+"chttpd/secure_rewrites", `"`+off+`"`).want(200, "")
			a.do("POST", "/p", fmt.Sprintf(`{"_id":"_design/r%s%x","options":{"partitioned":false},"rewrites":[{"from":"*","to":%s}]}`, off, path, text)).want(201, "")
			got := a.do("PUT", fmt.Sprintf("/p/_design/r%s%x/_rewrite/../..", off, path), `"evil"`)
			if got.Status < 300 {
				t.Errorf("the rule %q, secure_rewrites=%s: %d %s", path, off, got.Status, got.Body)
			}
		}
	}
	if after := a.do("GET", "/_node/_local/_config/admins", "").Body; after != before {
		t.Errorf("the administrators are %s", after)
	}
	if got := a.do("GET", "/q/secret", "").json()["_rev"]; !strings.HasPrefix(fmt.Sprint(got), "1-") {
		t.Errorf("another database was written to: %v", got)
	}
}

// TestGetsDoNotWrite: a link that a browser follows with its cookie writes nothing, and what a
// rewrite makes of a request is let in as the request came.
func TestGetsDoNotWrite(t *testing.T) {
	a := functionsAPI(t, `{"rewrites":`+string(couchhttp.AppendString(nil, `function(req){ return {path: req.path.slice(4).join('/'), method: req.query.as || req.method, body: req.query.body || req.body,
		headers: {'Content-Type': 'application/json', 'Origin': 'http://example.com', 'Sec-Fetch-Site': 'same-origin', 'X-Http-Method-Override': 'PUT', 'Cookie': ''}, query: req.query.rev ? {rev: req.query.rev} : {}}; }`))+`,
		"updates":{"u":"function(doc, req){ return [{_id: req.uuid, by: req.userCtx.name}, 'written']; }"},"shows":{"s":"function(){ return 'shown'; }"}}`)
	cookie := a.session()
	const at = "/db/_design/d/_rewrite/"
	doomed := "../../doomed?as=DELETE&rev=" + a.do("PUT", "/db/doomed", `{}`).want(201, "").json()["rev"].(string)
	const byCookie, byPassword = "cookie", "password"
	for _, c := range []struct {
		method, target, by string
		header             []string
		status             int
	}{
		{"GET", at + "_update/u?as=POST", byCookie, nil, 403},
		{"HEAD", at + "_update/u?as=POST", byCookie, nil, 403},
		{"GET", at + "_update/u", byCookie, nil, 403},
		{"GET", "/db/_design/d/_update/u", byCookie, nil, 405},
		{"HEAD", "/db/_design/d/_update/u", byCookie, nil, 405},
		{"GET", at + "../../new?as=PUT&body={}", byCookie, nil, 403},
		{"GET", at + "../../_security?as=PUT&body={}", byCookie, nil, 403},
		{"GET", at + "../../?as=DELETE", byCookie, nil, 403},
		{"GET", at + "../../_owner/_session?as=POST&body={}", byCookie, nil, 403},
		{"GET", at + "_rewrite/_update/u?as=POST", byCookie, nil, 403},
		{"GET", at + "_update/u?as=POST", byPassword, nil, 403},
		{"GET", at + "../../new?as=PUT&body={}", byPassword, []string{"Sec-Fetch-Site", "none"}, 403},
		{"GET", at + "_show/s", byCookie, nil, 200},
		{"GET", at + "../../_find?as=POST&body={%22selector%22:{}}", byCookie, nil, 200},
		{"POST", at + "../../new?as=PUT&body={}", byCookie, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, 403},
		{"POST", at + "../../new?as=PUT&body={}", byPassword, []string{"Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}, 403},
		{"POST", at + "../../new?as=PUT&body={}", byCookie, []string{"Content-Type", "text/plain"}, 403},
		{"POST", at + "../../_bulk_docs?body={%22docs%22:[{}]}", byCookie, []string{"Origin", "null", "Content-Type", "text/plain"}, 403},
		{"POST", at + doomed, byCookie, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, 403},
		{"POST", at + doomed, byCookie, []string{"Origin", "null", "Content-Type", "multipart/form-data; boundary=b"}, 403},
		{"POST", at + doomed, byCookie, []string{"Sec-Fetch-Site", "same-site", "Content-Type", ""}, 403},
		{"POST", at + doomed, byCookie, []string{"Content-Type", "text/plain"}, 403},
		{"POST", at + doomed, byPassword, []string{"Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}, 403},
		{"HEAD", at + doomed, byCookie, []string{"Sec-Fetch-Site", "same-origin"}, 403},
		{"GET", at + doomed, byCookie, []string{"Sec-Fetch-Site", "same-origin"}, 403},
		{"POST", at + "_update/u", byCookie, []string{"Origin", "http://example.com", "Content-Type", "text/plain"}, 201},
		{"PUT", at + "../../new?body={}", byCookie, nil, 201},
		{"POST", at + doomed, byCookie, []string{"Origin", "http://example.com", "Content-Type", "text/plain"}, 200}, // a page of this server's means it
	} {
		header := append([]string{}, c.header...)
		if c.by == byCookie {
			header = append(header, "Authorization", "", "Cookie", cookie)
		}
		before := a.do("GET", "/db", "").json()
		got := a.do(c.method, strings.Replace(c.target, "../..", "..%2F..", 1), "", header...)
		if got.Status != c.status {
			t.Errorf("%s %s by %s %v: %d %s, want %d", c.method, c.target, c.by, c.header, got.Status, got.Body, c.status)
		}
		after := a.do("GET", "/db", "")
		if wrote := after.Status != http.StatusOK || after.json()["update_seq"] != before["update_seq"]; wrote != (c.status == 201 || strings.Contains(c.target, "doomed") && c.status == 200) {
			t.Errorf("%s %s by %s: wrote %v", c.method, c.target, c.by, wrote)
		}
	}
}

// TestRewrittenFeedsEndWithTheirRights: a feed that is asked for by a rewrite ends with the
// password of who asked, as any other does.
func TestRewrittenFeedsEndWithTheirRights(t *testing.T) {
	a := functionsAPI(t, `{"rewrites":[{"from":"feed","to":"../../_changes"}]}`)
	s := httptest.NewServer(a)
	defer s.Close()
	a.do("PUT", "/db/_security", `{}`).want(200, "")
	body := a.follow(s, "/db/_design/d/_rewrite/feed?heartbeat=60000&since=now&feed=continuous&limit=1", a.user("ann"))
	rev := a.do("GET", "/_users/org.couchdb.user:ann", "").json()["_rev"].(string)
	a.do("PUT", "/_users/org.couchdb.user:ann", fmt.Sprintf(`{"_rev":%q,"name":"ann","type":"user","roles":[],"password":"new"}`, rev)).want(201, "")
	db, err := a.Store.Database(t.Context(), "db")
	must(t, err)
	_, err = db.Whole().Write(t.Context(), []document.Edit{{ID: "secret", Body: []byte("{}")}}, store.WriteOptions{})
	must(t, err)
	if text, err := io.ReadAll(body); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the feed ended with %q, %v", text, err)
	}
}
