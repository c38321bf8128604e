package couchapi_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// The callers of the tests of access. The names of the users are their
// passwords.
const (
	anonymous = ""
	stranger  = "sue"  // a user, of no database
	readsOne  = "rita" // a rule lets her read alice
	writesTo  = "will" // a rule lets him write to alice
	isMember  = "mia"
	isOwner   = "dan" // administrator of the database
	isAdmin   = "adm"
)

var accessCallers = []string{anonymous, stranger, readsOne, writesTo, isMember, isOwner, isAdmin}

const accessRules = `{"admins":{"names":["dan"]},"members":{"names":["mia"]},"partitions":[
	{"who":{"names":["rita"]},"partition":"alice","access":"read"},
	{"who":{"names":["will"]},"partition":"alice","access":"write"}]}`

// The sentences of refusals.
const (
	notAuthorized = "401 You are not authorized to access this db."
	notLetIn      = "403 You are not allowed to access this db."
	notWriter     = "403 You are not allowed to write to this partition."
	notAdmin      = "403 You are not a db or server admin."
	notMaintainer = "401 You are not a server or db admin."
	notUser       = "401 Authentication required."
	notServer     = "401 You are not a server admin."
	notMetrics    = "401 You are not a server admin or read-only metrics user"
)

// verdict returns what somebody is told who asks something of partition, for the
// words of docs/access.md; "" if he is let in.
func verdict(words, caller, partition string) string {
	if first, changes := strings.CutSuffix(words, ", then database admin"); changes {
		if refused := verdict(first, caller, partition); refused != "" || caller == isOwner || caller == isAdmin {
			return refused
		}
		return notAdmin
	}
	member := slices.Contains([]string{isMember, isOwner, isAdmin}, caller)
	lets := member || partition == "alice" && (caller == writesTo || caller == readsOne)
	switch {
	case words == "own partitions" && (caller == readsOne || caller == writesTo):
		return ""
	case words == "anyone" || caller == isAdmin || words == "user" && caller != anonymous:
		return ""
	case words == "user":
		return notUser
	case words == "metrics":
		return notMetrics
	case words == "server admin":
		return notServer
	case !member && caller == anonymous:
		return notAuthorized
	case !member && !(lets && (words == "reader" || words == "writer")):
		return notLetIn
	case words == "writer" && caller == readsOne:
		return notWriter
	case words == "database admin" && caller == isMember:
		return notAdmin
	case (words == "database admin, 401" || words == "own partitions") && caller == isMember:
		return notMaintainer
	}
	return ""
}

// accessTable reads docs/access.md: who may, by path and method.
func accessTable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/access.md")
	must(t, err)
	roots := map[int][]string{1: {""}, 3: {"/{db}", "/{db}/_partition/{partition}", "/{db}/_owner/{partition}"}}
	table := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 || roots[len(cells)-2] == nil {
			continue
		}
		for i, root := range roots[len(cells)-2] {
			who := strings.TrimSpace(cells[2+i])
			if who == "–" {
				continue
			}
			for method := range strings.SplitSeq(cells[1], ",") {
				path := root + strings.Trim(cells[0], "` ")
				if root != "" || len(cells) == 5 {
					path = strings.TrimSuffix(path, "/")
				}
				table[strings.TrimSpace(method)+" "+path] = who
			}
		}
	}
	return table
}

// accessWorld is a server with a partitioned database that has the partitions
// alice and bob and no partition ghost.
type accessWorld struct {
	*testAPI
	revs   map[string]string
	stored string
}

func newAccessWorld(t *testing.T) *accessWorld {
	w := &accessWorld{testAPI: newTestAPI(t, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "admins"}), revs: map[string]string{}}
	for _, name := range accessCallers[1 : len(accessCallers)-1] {
		w.do("PUT", "/_users/org.couchdb.user:"+name, fmt.Sprintf(`{"name":%q,"password":%q,"roles":[],"type":"user"}`, name, name)).want(201, "")
	}
	w.fill()
	return w
}

// accessDesign is a design document of the database and of alice.
const accessDesign = `{"_id":"ID","views":{"v":{"map":"function (doc) { emit(doc.n, 1); }"}},"updates":{"u":"function (doc, req) { return [doc, 'ok']; }"},
	"shows":{"s":"function (doc, req) { return 'shown'; }"},"lists":{"l":"function (head, req) { return 'listed'; }"},
	"rewrites":[{"from":"/all","to":"../../_all_docs"}],"_attachments":{"a.txt":{"data":"YWFh"}}}`

// fill makes the database.
func (w *accessWorld) fill() {
	w.do("PUT", "/parts?partitioned=true", "").want(201, "")
	w.do("PUT", "/parts/_security", accessRules).want(200, "")
	w.do("POST", "/parts/_bulk_docs", `{"docs":[`+strings.ReplaceAll(accessDesign, "ID", "_design/d")+`,`+strings.ReplaceAll(accessDesign, "ID", "alice:_design/d")+`,
		{"_id":"alice:1","n":1,"_attachments":{"a.txt":{"data":"YWFh","content_type":"text/plain"}}},
		{"_id":"bob:1","n":2,"_attachments":{"a.txt":{"data":"YWFh","content_type":"text/plain"}}}]}`).want(201, "")
	w.do("POST", "/parts/_index", `{"index":{"fields":["n"]},"name":"byn","ddoc":"m"}`).want(200, "")
	w.do("POST", "/parts/_owner/alice/_index", `{"index":{"fields":["n"]},"name":"byn","ddoc":"m"}`).want(200, "")
	w.do("PUT", "/parts/_local/1", `{}`).want(201, "")
	for _, id := range []string{"_design/d", "alice:_design%2Fd", "alice:1", "bob:1"} {
		w.revs[strings.ReplaceAll(id, "%2F", "/")], _ = w.do("GET", "/parts/"+id, "").json()["_rev"].(string)
	}
	w.stored = w.state()
}

// as sends a request as one of the callers.
func (w *accessWorld) as(caller, method, target, body string, header ...string) answer {
	w.t.Helper()
	authorization := ""
	if caller != anonymous {
		r := http.Request{Header: http.Header{}}
		password := caller
		if caller == isAdmin {
			password = "pass"
		}
		r.SetBasicAuth(caller, password)
		authorization = r.Header.Get("Authorization")
	}
	return w.do(method, target, body, append([]string{"Authorization", authorization}, header...)...)
}

// headerList returns status and reason of a refusal, "" for an answer of another kind.
func (w answer) headerList(method string) string {
	if w.Status != http.StatusUnauthorized && w.Status != http.StatusForbidden {
		return ""
	}
	if method == http.MethodHead {
		return fmt.Sprint(w.Status)
	}
	return fmt.Sprint(w.Status, " ", w.json()["reason"])
}

// accessPrefix is what ids of a partition begin with at the endpoint of a pattern.
func accessPrefix(pattern, partition string) string {
	if strings.HasPrefix(pattern, "/{db}/_owner/") {
		return ""
	}
	return partition + ":"
}

// accessPath puts segments of the database into a pattern.
func accessPath(pattern, partition string) string {
	at := strings.NewReplacer("/_design/{id}", "/_design/d", "/_local/{id}", "/_local/1", "/_shards/{id...}", "/_shards/alice:1")
	return strings.NewReplacer("{db}", "parts", "{partition}", partition, "{id}", accessPrefix(pattern, partition)+"1", "{ddoc}/{type}/{name}", "m/json/byn",
		"{ddoc}", "d", "{view}", "v", "{attachment...}", "a.txt", "/_update/{path...}", "/_update/u/"+accessPrefix(pattern, partition)+"1",
		"/_show/{path...}", "/_show/s/"+accessPrefix(pattern, partition)+"1", "/_list/{path...}", "/_list/l/v", "/_rewrite/{path...}", "/_rewrite/all",
		"/_view/{path...}", "/_view/v/x", "{node}", "_local", "{section}", "log", "{key}", "level", "...}", "}").Replace(at.Replace(pattern))
}

// accessBodies are bodies that make the requests good ones, by the end of the
// path below an endpoint.
var accessBodies = map[string]string{
	"POST /_bulk_docs": `{"docs":[{"_id":"%snew"}]}`, "POST /_bulk_get": `{"docs":[{"id":"%s1"}]}`, "POST /_find": `{"selector":{}}`,
	"POST /_explain": `{"selector":{}}`, "POST /_index": `{"index":{"fields":["other"]}}`, "POST /_index/_bulk_delete": `{"docids":["_design/m"]}`,
	"PUT /_security": accessRules, "PUT /_revs_limit": `1000`, "PUT /_purged_infos_limit": `1000`, "POST /_all_docs/queries": `{"queries":[]}`,
	"POST /_design_docs/queries": `{"queries":[]}`, "POST /_local_docs/queries": `{"queries":[]}`, "POST /_view/{view}/queries": `{"queries":[]}`,
	"POST /_session": `{"name":"adm","password":"pass"}`, "PUT /{subscription}": `{"url":"https://example.com","secret":"0123456789abcdef","paused":true}`, "PUT /{db}/{id}": `{"n":3}`, "PUT /{key}": `"info"`,
}

func accessBody(method, pattern, partition string) string {
	for end, body := range accessBodies {
		m, path, _ := strings.Cut(end, " ")
		if m == method && strings.HasSuffix(pattern, path) {
			return strings.ReplaceAll(body, "%s", accessPrefix(pattern, partition))
		}
	}
	if method == http.MethodGet || method == http.MethodHead {
		return ""
	}
	return `{}`
}

// cell is a request of one caller.
type cell struct{ method, pattern, partition, words, caller string }

const accessForm = "--b\r\nContent-Disposition: form-data; name=\"_rev\"\r\n\r\n%s\r\n--b\r\n" +
	"Content-Disposition: form-data; name=\"_attachments\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\nfff\r\n--b--\r\n"

// send sends the request of a cell by a method, with the revision of the
// document that it is about.
func (w *accessWorld) send(c cell, method string, header ...string) answer {
	w.t.Helper()
	target, body := accessPath(c.pattern, c.partition), accessBody(c.method, c.pattern, c.partition)
	document, to := c.partition+":1", accessPrefix(c.pattern, c.partition)+"copy"
	switch {
	case strings.Contains(c.pattern, "/_design/"):
		document, to = "_design/d", "_design/copy"
	case strings.Contains(c.pattern, "/_local/"):
		document, to = "_local/1", "_local/copy"
	}
	if strings.HasPrefix(c.pattern, "/{db}/_owner/") && strings.HasPrefix(document, "_design/") {
		document = c.partition + ":" + document
	}
	rev := w.revs[document]
	whole := strings.HasSuffix(c.pattern, "/{id}")
	switch {
	case c.method == "COPY":
		header = append(header, "Destination", to)
	case c.method == http.MethodPost && whole:
		body, header = fmt.Sprintf(accessForm, rev), append(header, "Content-Type", "multipart/form-data; boundary=b", "Referer", "http://example.com/")
	case c.method != http.MethodGet && c.method != http.MethodHead && rev != "" && (whole || strings.HasSuffix(c.pattern, "/{attachment...}")):
		target += "?rev=" + rev
	}
	return w.as(c.caller, method, target, body, header...)
}

// state is what is stored in the database.
func (w *accessWorld) state() string {
	w.t.Helper()
	db, err := w.Store.Database(w.t.Context(), "parts")
	if dberr.Is(err, dberr.NotFound) {
		return "no database"
	}
	must(w.t, err)
	totals, err := db.Whole().Totals(w.t.Context())
	must(w.t, err)
	state := fmt.Sprintf("%d %s %d", totals.Seq, db.Security(), db.RevsLimit())
	for _, scope := range []store.Scope{db.Whole(), db.Within("alice"), db.Within("bob"), db.Tenant("alice"), db.Tenant("bob")} {
		locals := ""
		must(w.t, scope.View(w.t.Context(), func(r *store.Reader) error {
			locals = "" // it may run again
			for local, err := range r.Locals(store.Span{}) {
				if err != nil {
					return err
				}
				locals += fmt.Sprintf(" %s %d", local.ID, local.Rev)
			}
			return nil
		}))
		state += locals
	}
	return state
}

// TestAccess asks everything that there is to ask, as every caller, and looks
// whether the answer is that of docs/access.md. A route that the page does not
// know fails, and so does a line of it that names no route. What is refused
// must not change anything, nor depend on whether the partition exists.
func TestAccess(t *testing.T) {
	testrun.Sequential(t)
	table := accessTable(t)
	seen := map[string]bool{}
	w := newAccessWorld(t)
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		for m := range strings.SplitSeq(row.Methods, ",") {
			key := m + " " + row.Pattern
			words, ok := table[key]
			if seen[key] = true; !ok {
				t.Errorf("docs/access.md does not say who may %s", key)
				continue
			}
			methods := []string{m}
			switch m {
			case "*":
				methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE"}
			case "GET":
				methods = append(methods, "HEAD")
			}
			for _, method := range methods {
				w.checkCells(cell{method: method, pattern: row.Pattern, words: words})
			}
		}
	}
	for key := range table {
		if !seen[key] {
			t.Errorf("docs/access.md tells of %s, which no route is", key)
		}
	}
}

// checkCells asks one thing as every caller, of each partition.
func (w *accessWorld) checkCells(c cell) {
	w.t.Helper()
	refused := map[string]string{}
	for _, c.partition = range []string{"alice", "bob", "ghost"} {
		for _, c.caller = range accessCallers {
			if c.partition != "alice" && verdict("member", c.caller, "") == "" {
				continue // members may everything everywhere
			}
			want := verdict(c.words, c.caller, c.partition)
			if c.method == http.MethodHead && want != "" {
				want = want[:3]
			}
			got := w.send(c, c.method)
			if told := got.headerList(c.method); told != want {
				w.t.Errorf("%s %s of %s as %q: %q, want %q (%d %s)", c.method, c.pattern, c.partition, c.caller, told, want, got.Status, got.Body)
			}
			if reads := c.method == http.MethodGet || c.method == http.MethodHead; reads && !strings.Contains(c.pattern, "/_update/") {
				continue
			}
			if want == "" && strings.HasPrefix(c.pattern, "/{db}") {
				if c.method != http.MethodPost || w.state() != w.stored { // what it reads by POST changes nothing
					w.refill()
				}
				continue
			}
			if state := w.state(); state != w.stored {
				w.t.Errorf("%s %s of %s as %q changed something: %s became %s", c.method, c.pattern, c.partition, c.caller, w.stored, state)
				w.refill()
			}
			over := w.send(c, http.MethodPost, "X-HTTP-Method-Override", c.method)
			if told := over.headerList(c.method); told != want && !strings.HasSuffix(c.pattern, "/_session") {
				w.t.Errorf("POST for %s %s of %s as %q: %q, want %q", c.method, c.pattern, c.partition, c.caller, told, want)
			}
			if c.partition == "ghost" && got.Body != refused[c.caller] {
				w.t.Errorf("%s %s as %q tells whether a partition exists: %s and %s", c.method, c.pattern, c.caller, refused[c.caller], got.Body)
			}
			refused[c.caller] = got.Body
		}
	}
}

func (w *accessWorld) refill() {
	w.do("DELETE", "/parts", "") // it may be gone
	w.fill()
}
