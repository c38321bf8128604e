package couchapi_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/admin"
)

const configPath = "/_node/_local/_config/"

// TestConfigWarnings holds what an answer says of settings that have no effect.
func TestConfigWarnings(t *testing.T) {
	a := newTestAPI(t)
	for _, c := range []struct{ place, value, want string }{
		{"log/level", `"debug"`, ""},
		{"couch_httpd_auth/timeout", `"5"`, ""},
		{"mine/key", `"1"`, "[mine] key is not known and has no effect"},
		{"log/file", `"/x"`, "[log] file has no effect here: the log goes to standard error"},
		{"couchdb/max_document_size", `"8MB"`, "[couchdb] max_document_size takes a whole number of bytes: what it is set to has no effect"},
		{"mine/key", `""`, ""},
	} {
		w := a.do("PUT", configPath+c.place, c.value).want(200, "")
		if got := strings.Join(w.Header[admin.WarningHeader], "|"); got != c.want {
			t.Errorf("%s = %s: %q, want %q", c.place, c.value, got, c.want)
		}
		a.do("GET", configPath+c.place, "")
	}
	for i := range 20 {
		a.do("PUT", fmt.Sprintf("%smine/key%d", configPath, i), `"1"`).want(200, "")
	}
	if got := a.do("POST", configPath+"_reload", "").want(200, "").Header[admin.WarningHeader]; len(got) != 10 {
		t.Errorf("_reload tells %q", got)
	}
	for _, c := range [][2]string{{"PUT", "mine/other"}, {"DELETE", "mine/key1"}} {
		if w := a.do(c[0], configPath+c[1], `"x"`, "Authorization", "").want(401, ""); w.Header[admin.WarningHeader] != nil {
			t.Errorf("anybody is told: %v", w.Header)
		}
	}
}

// TestDeletedSettings holds what DELETE answers, and that the default counts and
// shows from then on.
func TestDeletedSettings(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", configPath+"uuids/max_count", `"2"`).want(200, `"1000"`)
	a.do("GET", "/_uuids?count=3", "").want(400, "")
	a.do("DELETE", configPath+"uuids/max_count", "").want(200, `"2"`)
	a.do("GET", configPath+"uuids/max_count", "").want(200, `"1000"`)
	a.do("GET", "/_uuids?count=3", "").want(200, "")
	a.do("DELETE", configPath+"uuids/max_count", "").want(200, `"1000"`)
	a.do("PUT", configPath+"uuids/max_count", `"2"`, "X-Couch-Persist", "false").want(200, `"1000"`)
	a.do("DELETE", configPath+"uuids/max_count", "", "X-Couch-Persist", "false").want(200, `"2"`)
	a.do("GET", configPath+"uuids/max_count", "").want(200, `"1000"`)
	a.do("PUT", configPath+"uuids/utc_id_suffix", `"x"`).want(200, `""`)
	a.do("DELETE", configPath+"uuids/utc_id_suffix", "").want(200, `"x"`)
	a.do("GET", configPath+"uuids/utc_id_suffix", "").want(404, `{"error":"not_found","reason":"unknown_config_value"}`)
	a.do("DELETE", configPath+"uuids/utc_id_suffix", "").want(404, `{"error":"not_found","reason":"unknown_config_value"}`)
}

// TestQueryLimits holds [query_server_config] query_limit and partition_query_limit
// on whatever lists rows.
func TestQueryLimits(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	for i := range 5 {
		a.do("PUT", fmt.Sprintf("/db/p:%d", i), `{"n":1}`).want(201, "")
		a.do("PUT", fmt.Sprintf("/db/q:%d", i), `{"n":1}`).want(201, "")
	}
	a.do("PUT", "/db/_design/p", `{"views":{"v":{"map":"function(doc){ emit(doc.n) }","reduce":"_count"}},"lists":{"l":"function(){ var n = 0; while (getRow()) n++; send(String(n)); }"}}`).want(201, "")
	a.do("PUT", "/db/_design/g", `{"options":{"partitioned":false},"views":{"v":{"map":"function(doc){ emit(doc.n) }","reduce":"_count"}},"lists":{"l":"function(){ var n = 0; while (getRow()) n++; send(String(n)); }"}}`).want(201, "")
	a.do("PUT", configPath+"query_server_config/query_limit", `"4"`).want(200, `"infinity"`)
	a.do("PUT", configPath+"query_server_config/partition_query_limit", `"3"`).want(200, `"infinity"`)
	for target, most := range map[string]int{
		"/db/_all_docs": 4, "/db/_design/g/_view/v?reduce=false": 4, "/db/_owner/p/_all_docs": 4, // as in a database of its own
		"/db/_partition/p/_all_docs": 3, "/db/_all_docs?partition=p": 3, "/db/_partition/p/_design/p/_view/v?reduce=false": 3,
	} {
		and := "?"
		if strings.Contains(target, "?") {
			and = "&"
		}
		for _, limit := range []string{"", fmt.Sprint(and, "limit=", most)} {
			if n := len(a.do("GET", target+limit, "").want(200, "").json()["rows"].([]any)); n != most {
				t.Errorf("%s%s: %d rows, want %d", target, limit, n, most)
			}
		}
		tooLarge := fmt.Sprintf(`{"error":"query_parse_error","reason":"Limit is too large, must not exceed %d"}`, most)
		a.do("GET", fmt.Sprint(target, and, "limit=", most+1), "").want(400, tooLarge)
		if rows := len(a.do("GET", fmt.Sprint(target, and, "limit=1"), "").want(200, "").json()["rows"].([]any)); rows != 1 {
			t.Errorf("%s with a limit of 1: %d rows", target, rows)
		}
	}
	a.do("POST", "/db/_all_docs", `{"limit":5}`).want(400, "")
	a.do("POST", "/db/_all_docs/queries", `{"queries":[{"limit":5}]}`).want(400, "")
	a.do("POST", "/db/_design/g/_view/v/queries", `{"queries":[{"reduce":false},{"reduce":false,"limit":5}]}`).want(400, "")
	a.do("GET", "/db/_design/g/_list/l/v?reduce=false", "").want(200, "4")
	a.do("GET", "/db/_design/g/_list/l/v?reduce=false&limit=5", "").want(400, "")
	// The tag of a view's answer shows another limit.
	tag := a.do("GET", "/db/_design/g/_view/v?reduce=false", "").Header.Get("Etag")
	a.do("DELETE", configPath+"query_server_config/query_limit", "").want(200, `"4"`)
	a.do("GET", "/db/_design/g/_view/v?reduce=false", "", "If-None-Match", tag).want(200, "")
	a.do("GET", "/db/_all_docs?limit=5", "").want(200, "")
}

// TestFindHasItsOwnLimit holds that query_limit does not bound what _find reads.
func TestFindHasItsOwnLimit(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "query_server_config", Key: "query_limit", Value: "2"},
		config.Setting{Section: "query_server_config", Key: "partition_query_limit", Value: "2"})
	a.do("PUT", "/db?partitioned=true", "").want(201, "")
	for i := range 5 {
		a.do("PUT", fmt.Sprintf("/db/p:%d", i), fmt.Sprintf(`{"n":%d}`, i)).want(201, "")
	}
	for _, target := range []string{"/db/_find", "/db/_partition/p/_find"} {
		if docs := a.do("POST", target, `{"selector":{"n":{"$gt":1}},"limit":5}`).want(200, "").json()["docs"].([]any); len(docs) != 3 {
			t.Errorf("%s: %d documents, want 3", target, len(docs))
		}
	}
}

// TestNoJSONP holds that no answer is a script, whatever allow_jsonp says.
func TestNoJSONP(t *testing.T) {
	a := newTestAPI(t)
	w := a.do("PUT", configPath+"chttpd/allow_jsonp", `"true"`).want(200, "")
	if !strings.Contains(w.Header.Get(admin.WarningHeader), "no effect") {
		t.Errorf("headers: %v", w.Header)
	}
	w = a.do("GET", "/?callback=show", "").want(200, "")
	if !strings.HasPrefix(w.Header.Get("Content-Type"), "application/json") || !strings.HasPrefix(w.Body, "{") {
		t.Errorf("%v %s", w.Header, w.Body)
	}
}

// TestQuorums holds that what a request says of copies and of syncing has no effect:
// what is acknowledged is on disk, on the one node.
func TestQuorums(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/a?w=2", `{}`).want(201, "")
	a.do("PUT", "/db/b", `{}`, "X-Couch-Full-Commit", "false").want(201, "")
	a.do("POST", "/db/_bulk_docs?w=3", `{"docs":[{"_id":"c"}]}`).want(201, "")
	a.do("GET", "/db/a?r=3", "").want(200, "")
	a.do("POST", "/db/_ensure_full_commit", "").want(201, "")
}

// TestOtherLanguages holds what design documents in other languages do.
func TestOtherLanguages(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/_design/d", `{"language":"coffeescript","views":{"v":{"map":"(doc) -> emit doc._id"}},"shows":{"s":"(doc) -> 'x'"}}`).want(201, "")
	unknown := `{"error":"unknown_query_language","reason":"coffeescript"}`
	a.do("GET", "/db/_design/d/_view/v", "").want(500, unknown)
	a.do("GET", "/db/_design/d/_show/s", "").want(500, unknown)
}

// TestServerHeader holds that the server names itself.
func TestServerHeader(t *testing.T) {
	a := newTestAPI(t)
	if got := a.do("GET", "/", "").want(200, "").Header.Get("Server"); got != "Sectional" {
		t.Errorf("Server: %s", got)
	}
}

// TestPlusInPaths holds [chttpd] decode_plus_to_space.
func TestPlusInPaths(t *testing.T) {
	a := newTestAPI(t)
	a.do("PUT", "/db", "").want(201, "")
	a.do("PUT", "/db/a+b", `{}`).want(201, "")
	a.do("GET", "/db/a%20b", "").want(200, "")
	a.do("PUT", configPath+"chttpd/decode_plus_to_space", `"false"`).want(200, `"true"`)
	a.do("GET", "/db/a+b", "").want(404, "")
	if at := a.do("PUT", "/db/a+b", `{}`).want(201, "").Header.Get("Location"); !strings.HasSuffix(at, "/db/a%2Bb") {
		t.Errorf("Location: %s", at)
	}
	a.do("GET", "/db/a%2Bb", "").want(200, "")
	a.do("COPY", "/db/a+b", "", "Destination", "c+d").want(201, "")
	a.do("GET", "/db/c%2Bd", "").want(200, "")
	// In query strings a plus is a space in any case.
	a.do("GET", `/db/_all_docs?key="a+b"`, "").want(200, "").json()
	if rows := a.do("GET", `/db/_all_docs?key="a+b"`, "").want(200, "").json()["rows"].([]any); rows[0].(map[string]any)["id"] != "a b" {
		t.Errorf("by a key with a plus: %v", rows)
	}
}

// TestRewriteSettings holds [chttpd] secure_rewrites and rewrite_limit.
func TestRewriteSettings(t *testing.T) {
	a := functionsAPI(t, `{"rewrites":[{"from":"ids","to":"../../../_uuids"},{"from":"config","to":"../../../_node/_local/_config"},{"from":"once","to":"_rewrite/there"},
		{"from":"there","to":"../../x"}]}`)
	a.do("PUT", "/db/x", `{}`).want(201, "")
	a.do("PUT", "/db/_security", `{}`).want(200, "")
	at := "/db/_design/d/_rewrite/"
	a.do("GET", at+"ids", "").want(500, `{"error":"insecure_rewrite_rule","reason":"too many ../.. segments"}`)
	a.do("PUT", configPath+"chttpd/secure_rewrites", `"false"`).want(200, `"true"`)
	a.do("GET", at+"ids", "").want(200, "")
	// The caller's rights are those that the other request asks for.
	a.do("GET", at+"config", "", "Authorization", "").want(401, "")
	a.do("GET", at+"config", "", "Authorization", a.user("jan")).want(401, "")
	a.do("GET", at+"once", "").want(200, "")
	a.do("PUT", configPath+"chttpd/rewrite_limit", `"1"`).want(200, `"100"`)
	a.do("GET", at+"once", "").want(400, `{"error":"bad_request","reason":"Exceeded rewrite recursion limit"}`)
	a.do("GET", at+"there", "").want(200, "")
}

// TestForwardedSettings holds the names of the headers by which proxies tell how they
// were asked.
func TestForwardedSettings(t *testing.T) {
	other := []config.Setting{{Section: "chttpd", Key: "x_forwarded_host", Value: "X-Host"}, {Section: "chttpd", Key: "x_forwarded_proto", Value: "X-Proto"},
		{Section: "httpd", Key: "x_forwarded_ssl", Value: "X-Ssl"}}
	ours, theirs := newTestAPI(t), newTestAPI(t, other...)
	for _, c := range []struct {
		api               *testAPI
		headers           string
		want, wantOverTLS string
	}{
		{ours, "", "http://here", "https://here"},
		{ours, "X-Forwarded-Host: there", "http://there", "https://there"},
		{ours, "X-Forwarded-Host: there, X-Forwarded-Proto: https", "https://there", "https://there"},
		{ours, "X-Forwarded-Proto: http", "http://here", "http://here"},
		{ours, "X-Forwarded-Proto: ftp", "http://here", "https://here"},
		{ours, "X-Forwarded-Ssl: on", "https://here", "https://here"},
		{ours, "X-Forwarded-Ssl: on, X-Forwarded-Proto: http", "https://here", "https://here"},
		{ours, "X-Forwarded-Ssl: off, X-Forwarded-Proto: https", "https://here", "https://here"},
		{theirs, "X-Forwarded-Host: there, X-Forwarded-Proto: https, X-Forwarded-Ssl: on", "http://here", "https://here"},
		{theirs, "X-Host: there, X-Proto: https", "https://there", "https://there"},
		{theirs, "X-Ssl: on", "https://here", "https://here"},
	} {
		h := httptest.NewRequest("GET", "http://here/_utils", nil)
		for line := range strings.SplitSeq(c.headers, ", ") {
			name, value, _ := strings.Cut(line, ": ")
			h.Header.Set(name, value)
		}
		if got := c.api.locationOf(h); got != c.want+"/_utils/" {
			t.Errorf("%q: %s, want %s", c.headers, got, c.want)
		}
		h.TLS = new(tls.ConnectionState)
		if got := c.api.locationOf(h); got != c.wantOverTLS+"/_utils/" {
			t.Errorf("%q over TLS: %s, want %s", c.headers, got, c.wantOverTLS)
		}
	}
}

// locationOf returns where an answer leads.
func (a *testAPI) locationOf(h *http.Request) string {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, h)
	return w.Header().Get("Location")
}

// TestDefaultSecurity holds [couchdb] default_security.
func TestDefaultSecurity(t *testing.T) {
	for word, status := range map[string]int{"admin_only": 401, "admin_local": 200, "everyone": 200, "nonsense": 401} {
		a := newTestAPI(t)
		a.do("PUT", configPath+"couchdb/default_security", `"`+word+`"`).want(200, "")
		a.do("PUT", "/db", "").want(201, "")
		a.do("GET", "/db", "", "Authorization", "").want(status, "")
	}
}
