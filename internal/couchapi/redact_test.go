package couchapi_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/testkit/testrun"
	"github.com/sectional/sectional/internal/web"
)

// nosyDesign has functions that tell all they see.
const nosyDesign = `{"_id":"_design/d",
	"views":{"v":{"map":"function (doc) { emit(doc._id, doc); }"},"r":{"map":"function (doc) { emit(null, JSON.stringify(doc)); }","reduce":"function (keys, values) { return values; }"}},
	"indexes":{"i":{"index":"function (doc) { index('default', JSON.stringify(doc), {store: true}); }"}},
	"st_indexes":{"g":{"index":"function (doc) { st_index({type: 'Point', coordinates: [1, 2], note: JSON.stringify(doc)}); }"}},
	"updates":{"u":"function (doc, req) { return [null, JSON.stringify([doc, req.id, req.userCtx])]; }"},
	"shows":{"s":"function (doc, req) { return JSON.stringify([doc, req.id, req.userCtx]); }"},
	"filters":{"f":"function (doc, req) { return JSON.stringify(doc).indexOf('SEC' + 'RET') >= 0; }"},
	"lists":{"l":"function (head, req) { var row, all = []; while (row = getRow()) all.push(row); return JSON.stringify([head, all]); }"},
	"rewrites":[{"from":"/all","to":"../../_all_docs","query":{"include_docs":"true"}},{"from":"/v","to":"_view/v"},{"from":"/up","to":"../../*"}]}`

// nosyLines are requests that show documents, in every way there is: ~ is the
// database, @ the id of a document and ^ one of its revisions.
const nosyLines = `
GET ~/@
GET ~/@?rev=^&revs=true&revs_info=true&conflicts=true&deleted_conflicts=true&local_seq=true
GET ~/@?attachments=true
GET ~/@?open_revs=all
GET ~/@?open_revs=all&revs=true&attachments=true
GET ~/@?open_revs=["^"]&latest=true
GET ~/@?open_revs=["^"]
GET ~/@/a.txt
PUT ~/@/b.txt?rev=^ text
DELETE ~/@/a.txt?rev=^
DELETE ~/@?rev=^
PATCH ~/@ {"x":1}
COPY ~/@
POST ~ {"_id":"@","_rev":"9-x"}
POST ~/_bulk_get {"docs":[{"id":"@"}]}
POST ~/_bulk_get?revs=true&attachments=true {"docs":[{"id":"@","rev":"^"}]}
POST ~/_revs_diff {"@":["^","9-x"]}
POST ~/_missing_revs {"@":["^"]}
GET ~/_all_docs?include_docs=true&conflicts=true&attachments=true
GET ~/_all_docs?include_docs=true&descending=true
POST ~/_all_docs?include_docs=true {"keys":["@"]}
POST ~/_all_docs/queries {"queries":[{"include_docs":true},{"keys":["@"],"include_docs":true}]}
GET ~/_design_docs?include_docs=true
GET ~/_local_docs?include_docs=true
GET ~/_changes?include_docs=true&style=all_docs&conflicts=true&attachments=true
GET ~/_changes?include_docs=true&descending=true
GET ~/_changes?include_docs=true&feed=continuous&timeout=1
GET ~/_changes?include_docs=true&feed=longpoll
GET ~/_changes?include_docs=true&feed=eventsource&timeout=1
GET ~/_changes?filter=d/f
GET ~/_changes?filter=d/f&include_docs=true&style=all_docs
GET ~/_changes?filter=_view&view=d/v&include_docs=true
POST ~/_changes?filter=_doc_ids&include_docs=true {"doc_ids":["@"]}
POST ~/_changes?filter=_selector&include_docs=true {"selector":{"_id":{"$gt":null}},"fields":["_id","source","target","salt","totp"]}
POST ~/_find {"selector":{"_id":{"$gt":null}},"conflicts":true}
POST ~/_find {"selector":{"source":{"$gt":null}},"fields":["source"]}
POST ~/_explain {"selector":{"source":{"$gt":null}},"fields":["source"]}
GET ~/_index
GET ~/_snapshot
GET ~/_design/d/_view/v
GET ~/_design/d/_view/v?include_docs=true&attachments=true
POST ~/_design/d/_view/v {"keys":["@"],"include_docs":true}
POST ~/_design/d/_view/v/queries {"queries":[{"include_docs":true}]}
GET ~/_design/d/_view/r
GET ~/_design/d/_view/r?group=true
GET ~/_design/d/_list/l/v
GET ~/_design/d/_list/l/d/v?include_docs=true
GET ~/_design/d/_list/l/r
GET ~/_design/d/_list/l/_all_docs?include_docs=true
GET ~/_design/d/_show/s/@
GET ~/_design/d/_show/s
POST ~/_design/d/_update/u/@ {"x":1}
GET ~/_design/d/_rewrite/all
GET ~/_design/d/_rewrite/v
GET ~/_design/d/_rewrite/up/@
GET ~/_design/d/_info
GET ~/_purged_infos
GET ~/_security
GET ~/_subscriptions
GET ~/_expiry
GET ~`

// nosyProbes are the requests of nosyLines about a document.
func nosyProbes(db, id, rev string) (probes []leakProbe) {
	for line := range strings.SplitSeq(strings.TrimSpace(nosyLines), "\n") {
		probes = append(probes, probeOf(strings.NewReplacer("~", db, "@", id, "^", rev).Replace(line)))
	}
	return probes
}

// sees returns all that somebody is answered.
func (a *testAPI) sees(p leakProbe, who []string, accept string) answer {
	header := append([]string{"Destination", "copied"}, who...)
	if accept != "" {
		header = append(header, "Accept", accept)
	}
	return a.do(p.method, p.path, p.body, header...)
}

var nosyAccepts = []string{"", web.JSON, "multipart/mixed", "multipart/related"}

// TestNobodyElsesCredentials: in no way out of a database of replications are the
// credentials of others, for members. The way out of the owner has them.
func TestNobodyElsesCredentials(t *testing.T) {
	testrun.Sequential(t)
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "default_security", Value: "everyone"})
	ann, eve := a.as("ann"), a.as("eve")
	const db = "/x%2F_replicator"
	a.do("PUT", db, "").want(201, "")
	a.do("POST", db, nosyDesign).want(201, "")
	a.do("POST", db+"/_index", `{"index":{"fields":["source"]},"name":"s","ddoc":"m"}`).want(200, "")
	doc := func(more string) string {
		return `{"_id":"d","owner":"ann","source":"http://u:SECRET@127.0.0.1:1/a","target":{"url":"http://u:SECRET@127.0.0.1:1/b","headers":{"X":"SECRET"},"auth":{"basic":{"username":"u","password":"SECRET"}}},
			"_replication_state":"failed",` + more + `"_attachments":{"a.txt":{"data":"YWFh","content_type":"text/plain"}}}`
	}
	a.do("POST", db+"/_bulk_docs", `{"new_edits":false,"docs":[`+doc(`"_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},`)+`,`+doc(`"_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},`)+`]}`).want(201, "")
	a.do("GET", db+"/_design/d/_view/v", "").want(200, "")
	shown := 0
	for _, p := range nosyProbes(db, "d", "2-b") {
		for _, accept := range nosyAccepts {
			for _, who := range [][]string{eve, {"Authorization", ""}} {
				if got := a.sees(p, who, accept); strings.Contains(got.Body, "SECRET") {
					t.Errorf("%s %s as %s (%s): %d %q", p.method, p.path, who, accept, got.Status, got.Body)
				}
			}
		}
		if p.method == "GET" || p.method == "POST" && strings.Contains(p.path, "/_bulk_get") {
			if got := a.sees(p, ann, ""); strings.Contains(got.Body, "SECRET") {
				shown++
			}
		}
	}
	if shown < 20 {
		t.Errorf("the owner was shown his credentials by %d of the requests", shown)
	}
}

// TestHiddenUsersAreNobody: for whoever may see nothing of another user there is no such
// user, however he asks. Where there are public fields, they are all he sees.
func TestHiddenUsersAreNobody(t *testing.T) {
	for _, public := range []string{"", "name"} {
		t.Run("public:"+public, func(t *testing.T) {
			a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"},
				config.Setting{Section: "chttpd_auth", Key: "public_fields", Value: public})
			a.do("PUT", "/_users/_security", `{"members":{"roles":[]}}`).want(200, "")
			a.do("POST", "/_users", nosyDesign).want(201, "")
			eve := a.as("eve")
			user := func(name string) string { return "org.couchdb.user:" + name }
			for _, name := range []string{"ann", "gone"} {
				a.do("PUT", "/_users/"+user(name), fmt.Sprintf(`{"name":%q,"type":"user","roles":[],"password":"SECRET","totp":{"key":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"},"note":"SECRET"}`, name)).want(201, "")
			}
			rev := map[string]string{"ghost": "1-a"}
			for _, name := range []string{"ann", "gone"} {
				rev[name] = a.do("PUT", "/_users/"+user(name)+"/a.txt", "aaa", "If-Match", a.do("GET", "/_users/"+user(name), "").json()["_rev"].(string), "Content-Type", "text/plain").want(201, "").json()["rev"].(string)
			}
			rev["gone"] = a.do("DELETE", "/_users/"+user("gone")+"?rev="+rev["gone"], "").want(200, "").json()["rev"].(string)
			stored := a.do("GET", "/_users/"+user("ann"), "").json()
			secrets := []string{"SECRET", "GEZDGNBVGY3T", stored["salt"].(string), stored["derived_key"].(string)}
			probes := func(name string) []leakProbe { return nosyProbes("/_users", user(name), rev[name]) }
			ghost := probes("ghost")
			for _, name := range []string{"ann", "gone"} {
				for i, p := range probes(name) {
					for _, accept := range nosyAccepts {
						got := a.sees(p, eve, accept)
						for _, s := range secrets {
							if strings.Contains(got.Body, s) || strings.Contains(got.Body, base64.StdEncoding.EncodeToString([]byte(s))) {
								t.Errorf("%s %s (%s) shows %s: %d %q", p.method, p.path, accept, s, got.Status, got.Body)
							}
						}
						if public != "" {
							continue
						}
						same := strings.NewReplacer(user(name), user("ghost"), rev[name], rev["ghost"])
						if other := a.sees(ghost[i], eve, accept); plain(same.Replace(got.Body)) != plain(other.Body) || got.Status != other.Status {
							t.Errorf("%s %s (%s): %d %q\nof nobody: %d %q", p.method, p.path, accept, got.Status, got.Body, other.Status, other.Body)
						}
					}
				}
			}
			if public != "" {
				a.do("GET", "/_users/"+user("ann"), "", eve...).want(200, fmt.Sprintf(`{"_id":%q,"_rev":%q,"name":"ann","_attachments":%s}`, user("ann"), rev["ann"], attachmentsOf(a, user("ann"))))
			}
		})
	}
}

// plain takes out of a text what differs from request to request.
func plain(s string) string {
	lines := strings.Split(s, "\r\n")
	if strings.HasPrefix(s, "--") || strings.HasPrefix(s, "\r\n--") {
		lines = lines[2:] // a boundary
		for i, line := range lines {
			if strings.HasPrefix(line, "--") {
				lines[i] = "--"
			}
		}
	}
	return leakTimes.ReplaceAllString(strings.Join(lines, "\r\n"), "")
}

// attachmentsOf returns the stubs of a user's attachments, as JSON.
func attachmentsOf(a *testAPI, id string) string {
	a.t.Helper()
	_, rest, _ := strings.Cut(a.do("GET", "/_users/"+id, "").want(200, "").Body, `"_attachments":`)
	return strings.TrimSuffix(strings.TrimSpace(rest), "}")
}
