package couchapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// guardedLines are the ways to read more than one document out of a database whose
// documents are not for everybody, with what is told in _users and in _replicator to
// nobody in particular, a user, and the database's administrator.
const guardedLines = `
401,401,401 401,401,401 GET ~/_all_docs?include_docs=true
401,401,401 401,401,401 POST ~/_all_docs {"keys":["@"]}
401,401,401 401,401,401 POST ~/_all_docs/queries {"queries":[{}]}
401,401,401 401,401,401 GET ~/_design_docs
401,401,401 401,401,401 GET ~/_local_docs
401,401,401 401,401,401 GET ~/_changes?include_docs=true
401,401,401 401,401,401 GET ~/_changes?feed=longpoll
401,401,401 401,401,401 POST ~/_changes?filter=_selector {"selector":{}}
401,401,401 401,401,401 GET ~/_changes?filter=d/f
401,401,401 401,401,401 GET ~/_snapshot
401,401,401 401,401,401 GET ~/_design/d/_list/l/_all_docs?include_docs=true
401,401,401 401,401,401 GET ~/_design/d/_rewrite/all
401,401,401 401,401,401 GET ~/_partition/x/_all_docs
401,401,401 401,401,401 GET ~/_partition/x/_changes
401,401,401 401,401,401 GET ~/_partition/x/_snapshot
401,401,401 401,401,401 GET ~/_owner/x/_all_docs
401,401,401 401,401,401 GET ~/_owner/x/_changes
400,400,400 400,400,400 GET ~/_partition/x/_design/d/_view/v
400,400,400 400,400,400 GET ~/_owner/x/_design/d/_view/v
400,400,400 400,400,400 POST ~/_partition/x/_find {"selector":{}}
400,400,400 400,400,400 POST ~/_owner/x/_find {"selector":{}}
400,400,400 400,400,400 GET ~/_partition/x/_design/d/_list/l/v
400,400,400 400,400,400 GET ~/_owner/x/_design/d/_list/l/v
403,403,200 401,403,200 GET ~/_design/d/_view/v
403,403,200 401,403,200 GET ~/_design/d/_view/v?include_docs=true
403,403,200 401,403,200 GET ~/_design/d/_view/v?key="@"
403,403,200 401,403,200 GET ~/_design/d/_view/v?limit=0
403,403,200 401,403,200 GET ~/_design/d/_view/v?update=false
403,403,200 401,403,200 GET ~/_design/d/_view/v?stale=ok
403,403,200 401,403,200 POST ~/_design/d/_view/v {"keys":["@"]}
403,403,200 401,403,200 POST ~/_design/d/_view/v/queries {"queries":[{}]}
403,403,200 401,403,200 GET ~/_design/d/_view/r
403,403,200 401,403,200 GET ~/_design/d/_view/r?group=true
403,403,200 401,403,200 GET ~/_design/d/_view/r?reduce=false
403,403,404 401,403,404 GET ~/_design/d/_view/none
403,403,200 401,403,200 GET ~/_design/d/_list/l/v
403,403,200 401,403,200 POST ~/_design/d/_list/l/v {"keys":["@"]}
403,403,200 401,403,200 GET ~/_design/d/_list/l/d/v?include_docs=true
403,403,200 401,403,200 GET ~/_design/d/_list/l/r
403,403,200 401,403,200 GET ~/_design/d/_list/l/r?group=true
403,403,200 401,403,200 GET ~/_design/d/_rewrite/v
403,403,200 401,403,200 GET ~/_design/d/_search/i?q=*:*
403,403,200 401,403,200 GET ~/_design/d/_search/i?q=*:*&include_docs=true&stale=ok
403,403,200 401,403,200 POST ~/_design/d/_search/i {"q":"SECRET","counts":["default"]}
403,403,404 401,403,404 GET ~/_design/d/_search/none?q=a
403,403,200 401,403,200 GET ~/_design/d/_search_info/i
403,403,200 401,403,200 GET ~/_design/d/_search_disk_size/i
403,403,200 401,403,200 GET ~/_design/d/_geo/g?bbox=0,0,9,9
403,403,200 401,403,200 GET ~/_design/d/_geo/g?lat=2&lon=1&nearest=true&include_docs=true&stale=ok
403,403,200 401,403,200 POST ~/_design/d/_geo/g {"bbox":"0,0,9,9","format":"geojson"}
403,403,404 401,403,404 GET ~/_design/d/_geo/none?bbox=0,0,9,9
403,403,200 401,403,200 GET ~/_design/d/_geo_info/g
403,403,200 401,403,200 POST ~/_find {"selector":{"_id":"@"}}
403,403,200 401,403,200 POST ~/_find {"selector":{"source":{"$gt":null}}}
403,403,200 401,403,200 POST ~/_find {"selector":{"derived_key":{"$gt":"8"}},"fields":["_id"]}
403,403,200 401,403,200 POST ~/_find {"selector":{},"group":{"by":["salt"]}}
403,403,200 401,403,200 POST ~/_explain {"selector":{"_id":"@"},"execution_stats":true}
403,403,200 200,200,200 GET ~/_index
403,403,200 200,200,200 GET ~/_design/d
403,403,200 200,200,200 GET ~/_design/d/_info
`

// guarded makes a database whose _security lets everybody in, with functions that
// tell all, boss as its administrator, and the document id in it.
func (a *testAPI) guarded(db, id, doc string) {
	a.t.Helper()
	a.do("PUT", db+"/_security", `{"admins":{"names":["boss"]},"members":{"roles":[]}}`).want(200, "")
	a.do("POST", db, nosyDesign).want(201, "")
	a.do("POST", db+"/_index", `{"index":{"fields":["source"]},"name":"s","ddoc":"m"}`).want(200, "")
	a.do("PUT", db+"/"+id, doc).want(201, "")
	a.do("GET", db+"/_design/d/_view/v", "").want(200, "") // its index holds the secret
}

// TestGuardedReads: what reads many documents of users or replications at once, or
// what was made of them, is for administrators, whichever route leads there, and
// whatever name the database has.
func TestGuardedReads(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	who := [][]string{{"Authorization", ""}, a.as("eve"), a.as("boss")}
	ann := strings.Replace(newUser("ann"), `"password"`, `"note":"SECRET","password"`, 1)
	a.guarded("/_users", userID("ann"), ann)
	a.do("PUT", "/x%2F_users", "").want(201, "")
	a.guarded("/x%2F_users", userID("ann"), ann)
	a.guarded("/_replicator", "x", `{"source":"http://u:SECRET@127.0.0.1:1/a","target":"http://127.0.0.1:1/b","_replication_state":"failed","owner":"ann"}`)
	for line := range strings.SplitSeq(strings.TrimSpace(guardedLines), "\n") {
		parts := strings.SplitN(line, " ", 3)
		for _, c := range []struct{ db, id, want string }{
			{"/_users", userID("ann"), parts[0]}, {"/x%2F_users", userID("ann"), parts[0]}, {"/_replicator", "x", parts[1]},
		} {
			p := probeOf(strings.NewReplacer("~", c.db, "@", c.id).Replace(parts[2]))
			var got []string
			for i, w := range who {
				answer := a.sees(p, w, "")
				got = append(got, fmt.Sprint(answer.Status))
				if i < 2 && strings.Contains(answer.Body, "SECRET") {
					t.Errorf("%s %s tells %q", p.method, p.path, answer.Body)
				}
			}
			if want := strings.Split(c.want, ","); !slices.Equal(got, want) {
				t.Errorf("%s %s: %v, want %v", p.method, p.path, got, want)
			}
		}
	}
	const hidden = `{"error":"forbidden","reason":"Only administrators can view design docs in the users database."}`
	a.do("GET", "/_users/_design/d/_view/v", "", "Authorization", "").want(403, hidden)
	if got := a.do("GET", "/_users/_design/d/_view/v", "", who[2]...).want(200, "").Body; !strings.Contains(got, "SECRET") {
		t.Errorf("the database's administrator is shown %s", got)
	}
}
