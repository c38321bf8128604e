package couchapi_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/golden"
	"github.com/sectional/sectional/internal/web"
)

// TestEndpointTable shows which rows of the route table are served at which endpoints,
// and asks each of them at each endpoint that serves it.
func TestEndpointTable(t *testing.T) {
	root := couchhttp.NewTable(couchapi.AllRoutes(), couchhttp.Classes{})
	served := map[string]map[couchhttp.Endpoint]bool{} // by methods and pattern below {db}
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		for method := range strings.SplitSeq(row.Methods, ",") {
			p := splitPath(concrete(strings.Replace(row.Pattern, "{path...}", "{path}/more", 1)))
			var args [web.MaxArgs]string
			var found *couchhttp.Route
			if n := root.Find(&p, &args); n != nil {
				found, _ = n.Row(method)
			}
			if found == nil || found.Pattern != row.Pattern || found.At != row.At {
				t.Errorf("%s %s is not what answers %s", method, row.Pattern, concrete(row.Pattern))
			}
		}
		for _, e := range couchhttp.EndpointRoots() {
			if row.At == e.At {
				key := strings.TrimPrefix(row.Pattern, e.Root) + " " + row.Methods
				if served[key] == nil {
					served[key] = map[couchhttp.Endpoint]bool{}
				}
				served[key][e.At] = true
			}
		}
	}
	var lines []string
	for key, endpoints := range served {
		below, methods, _ := strings.Cut(key, " ")
		line := fmt.Sprintf("%-50s %-9s", below, methods)
		for _, e := range couchhttp.EndpointRoots() {
			root := "."
			if endpoints[e.At] {
				root = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(e.Root, "/{db}"), "/_")+"/", "/")
				if root, _, _ = strings.Cut(root, "/"); root == "" {
					root = "database"
				}
			}
			line += fmt.Sprintf(" %-10s", root)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	slices.Sort(lines)
	golden.File(t, "testdata/endpoints.txt", strings.Join(lines, "\n")+"\n")
}

// TestEndpointPaths splits the ways in which clients write the path of an endpoint.
func TestEndpointPaths(t *testing.T) {
	for target, want := range map[string]string{
		"/fitness/_partition/alice":                  "fitness _partition alice",
		"/fitness%2F_partition%2Falice":              "fitness _partition alice",
		"/fitness%2f_partition%2falice/_changes":     "fitness _partition alice _changes",
		"/a%2Fb%2F_partition%2Falice/x":              "a/b _partition alice x",
		"/fitness%2F_partition%2Fa%2Fb":              "fitness _partition a/b",
		"/fitness%2F_partition%2Fa%20b+c":            "fitness _partition a b c",
		"/fitness%2F_partition":                      "fitness _partition",
		"/fitness%2F_partition%2F":                   "fitness _partition",
		"/fitness%2F_partition/alice/_local/x":       "fitness _partition alice _local x",
		"/fitness%2F_partitions":                     "fitness/_partitions",
		"/fitness%2F_partition%2Fx%2F_partition%2Fy": "fitness _partition x/_partition/y",
		"/a%2Fb/x":        "a/b x",
		"/_partition%2Fx": "_partition/x",
	} {
		p := splitPath(target)
		if got := strings.Join(p.Parts(), " "); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

// asked is one request of a script: who asks ("" the administrator, "-" nobody,
// else a user whose password is pw), "METHOD target body", the status, and a
// pattern of the answer.
type asked struct {
	who, request string
	status       int
	want         string
}

// ask runs a script of requests. «name» in a request is what an answer before
// showed where its pattern has (?P<name>…).
func (a *testAPI) ask(script []asked) {
	a.t.Helper()
	seen := map[string]string{}
	for _, q := range script {
		request := regexp.MustCompile(`«(\w+)»`).ReplaceAllStringFunc(q.request, func(name string) string {
			return seen[strings.Trim(name, "«»")]
		})
		method, rest, _ := strings.Cut(request, " ")
		target, body, _ := strings.Cut(rest, " ")
		header := []string{"Accept", "application/json"}
		if method == "COPY" {
			header, body = []string{"Destination", body}, ""
		}
		if q.who != "" {
			header = append(header, "Authorization", map[bool]string{true: "", false: basic(q.who, "pw")}[q.who == "-"])
		}
		w := a.do(method, strings.ReplaceAll(target, `"`, "%22"), body, header...)
		pattern := regexp.MustCompile(`(?s)` + q.want)
		found := pattern.FindStringSubmatch(w.Body)
		if w.Status != q.status || found == nil {
			a.t.Errorf("%s %s:\n got %d %s\nwant %d %s", q.who, request, w.Status, w.Body, q.status, q.want)
			continue
		}
		for i, name := range pattern.SubexpNames() {
			if name != "" {
				seen[name] = found[i]
			}
		}
	}
}

// users makes users with the password pw.
func (a *testAPI) users(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.do("PUT", "/_users/org.couchdb.user:"+name, fmt.Sprintf(`{"name":%q,"type":"user","password":"pw","roles":[]}`, name)).want(201, "")
	}
}

// fitnessDB makes a database with the partitions alice and bob, whose members
// are ann and, as its administrator, boss.
func (a *testAPI) fitnessDB() {
	a.t.Helper()
	a.fill("fit", "alice:1", "alice:2", "bob:secret", "_design/v")
	a.users("ann", "boss")
	a.do("PUT", "/fit/_security", `{"members":{"names":["ann"]},"admins":{"names":["boss"]}}`).want(200, "")
}

// TestPartitionIsADatabase asks the endpoint of a partition for everything that
// clients ask of a database.
func TestPartitionIsADatabase(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	const p = " /fit/_partition/alice"
	a.ask([]asked{
		{"ann", "GET" + p, 200, `"db_name":"fit","partition":"alice",.*"update_seq":"\d+-[^"]*".*"doc_count":2`},
		{"ann", "HEAD" + p, 200, `^$`},
		{"ann", "PUT" + p, 412, `"file_exists"`},
		{"ann", "POST" + p + "/_ensure_full_commit {}", 201, `"ok":true`},
		{"ann", "GET" + p + "/_security", 401, "You are not a server or db admin."},
		{"boss", "GET" + p + "/_security", 200, `"names":\["ann"\]`},

		// Documents.
		{"ann", "PUT" + p + `/alice:3 {"n":3}`, 201, `"id":"alice:3","rev":"(?P<r3>[^"]*)"`},
		{"ann", "GET" + p + "/alice:3", 200, `^{"_id":"alice:3","_rev":"«?`},
		{"ann", "GET" + p + "/alice:3?revs=true&open_revs=all", 200, `"ok":{"_id":"alice:3"`},
		{"ann", "PATCH" + p + `/alice:3 {"m":1}`, 201, `"rev":"(?P<r3>2-[^"]*)"`},
		{"ann", "COPY" + p + "/alice:3 alice:4", 201, `"id":"alice:4","rev":"(?P<r4>[^"]*)"`},
		{"ann", "DELETE" + p + "/alice:4?rev=«r4»", 200, `"ok":true`},
		{"ann", "PUT" + p + "/alice:3/note.txt?rev=«r3» hello", 201, `"rev":"(?P<r3>[^"]*)"`},
		{"ann", "GET" + p + "/alice:3/note.txt", 200, `^hello$`},
		{"ann", "DELETE" + p + "/alice:3/note.txt?rev=«r3»", 200, `"rev":"(?P<r3>[^"]*)"`},
		{"ann", "POST" + p + ` {"_id":"alice:5"}`, 201, `"id":"alice:5"`},
		{"ann", "POST" + p + ` {"n":6}`, 201, `"id":"alice:(?P<made>[0-9a-f]{32})"`},
		{"ann", "GET /fit/alice:«made»", 200, `"n":6`},

		// What replicating clients ask.
		{"ann", "POST" + p + `/_bulk_docs {"docs":[{"_id":"alice:7"},{"n":8}]}`, 201, `"id":"alice:7".*"id":"alice:[0-9a-f]{32}"`},
		{"ann", "POST" + p + `/_bulk_docs {"new_edits":false,"docs":[{"_id":"alice:9","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]}}]}`, 201, `^\[\]`},
		{"ann", "POST" + p + `/_revs_diff {"alice:9":["3-c","4-d"],"alice:x":["1-a"]}`, 200, `^{"alice:9":{"missing":\["4-d"\],"possible_ancestors":\["3-c"\]},"alice:x":{"missing":\["1-a"\]}}`},
		{"ann", "POST" + p + `/_missing_revs {"alice:9":["3-c","4-d"]}`, 200, `{"missing_revs":{"alice:9":\["4-d"\]}}`},
		{"ann", "POST" + p + `/_bulk_get?revs=true {"docs":[{"id":"alice:9"},{"id":"alice:x"}]}`, 200, `"_revisions":{"start":3,.*"error":"not_found"`},
		{"ann", "POST" + p + `/_bulk_docs {"docs":[{"_id":"alice:7b"},{"_id":"bob:x"}]}`, 201, `"id":"alice:7b".*{"id":"bob:x","error":"forbidden"`},
		{"ann", "POST" + p + `/_bulk_docs {"new_edits":false,"docs":[{"_id":"bob:x","_rev":"1-a"},{"_id":"alice:7c","_rev":"1-a"}]}`, 201, `^\[{"id":"bob:x","rev":"1-a","error":"forbidden"[^}]*}\]`},
		{"ann", "DELETE" + p + `/alice:7c?rev=1-a`, 200, ``},
		{"ann", "GET" + p + `/alice:7b`, 200, `"_rev":"(?P<r7b>[^"]*)"`},
		{"ann", "DELETE" + p + `/alice:7b?rev=«r7b»`, 200, ``},
		{"ann", "PUT" + p + `/_local/cp {"seq":1}`, 201, `"id":"_local/cp","rev":"0-1"`},
		{"ann", "GET" + p + `/_local/cp`, 200, `"seq":1`},
		{"ann", "GET /fit/_local/cp", 404, ``},
		{"ann", "GET /fit/_partition/bob/_local/cp", 404, ``},
		{"ann", "GET" + p + `/_local_docs`, 200, `"id":"_local/cp"`},
		{"ann", "DELETE" + p + `/_local/cp?rev=0-1`, 200, ``},
		{"ann", "GET" + p + `/_changes?since=0&limit=1`, 200, `"id":"alice:1"`},
		{"ann", "GET" + p + `/_changes?feed=longpoll&limit=1`, 200, `"id":"alice:1"`},
		{"ann", "GET" + p + `/_changes?feed=continuous&limit=1`, 200, `"id":"alice:1"`},
		{"ann", "GET" + p + `/_changes?feed=eventsource&limit=1`, 200, `^data: .*"id":"alice:1"`},
		{"ann", "POST" + p + `/_changes?filter=_doc_ids {"doc_ids":["alice:9","bob:secret"]}`, 200, `^{"results":\[\n[^\n]*"alice:9"[^\n]*\n\]`},
		{"ann", "POST" + p + `/_changes?filter=_selector {"selector":{"n":{"$gt":5}}}`, 200, `^{"results":\[\n[^\n]*\n[^\n]*\n\]`},
		{"ann", "GET" + p + `/_all_docs?startkey="alice:9"`, 200, `"total_rows":8,"offset":\d,"rows":\[\r\n{"id":"alice:9"`},
		{"ann", "POST" + p + `/_all_docs/queries {"queries":[{"keys":["alice:9"]}]}`, 200, `"alice:9"`},
		{"ann", "POST" + p + `/_find {"selector":{"_id":"alice:9"}}`, 200, `"_id":"alice:9"`},
		{"ann", "POST" + p + `/_explain {"selector":{"_id":"alice:9"}}`, 200, `"dbname":"fit"`},
		{"ann", "GET" + p + `/_index`, 200, `"_all_docs"`},

		// The database's design documents.
		{"ann", "GET" + p + `/_design/v`, 200, `"_id":"_design/v","_rev":"(?P<v>[^"]*)"`},
		{"ann", "GET" + p + `/_design%2Fv`, 301, ``},
		{"ann", "GET" + p + `/_design_docs?update_seq=true`, 200, `"total_rows":1,"offset":0,.*"_design/v"`},
		{"ann", "PUT" + p + `/_design/v {"_rev":"«v»"}`, 403, `You are not a db or server admin.`},
		{"ann", "POST" + p + `/_bulk_docs {"docs":[{"_id":"_design/w"},{"_id":"alice:10"}]}`, 201, `{"id":"_design/w","error":"forbidden",.*{"ok":true,"id":"alice:10"`},
		{"ann", "POST" + p + `/_bulk_docs {"new_edits":false,"docs":[{"_id":"_design/w","_rev":"1-a"},{"_id":"alice:11","_rev":"1-a"}]}`, 201, `^\[{"id":"_design/w","rev":"1-a","error":"forbidden",[^}]*}\]`},
		{"ann", "GET" + p + `/alice:11`, 200, ``},
		{"boss", "PUT" + p + `/_design/w {"views":{}}`, 201, ``},
		{"ann", "GET /fit/_design/w", 200, ``},
		{"ann", "GET" + p + `/_changes?filter=_design`, 200, `"results":\[\n\n\]`},
	})
	if got := a.do("PUT", "/fit%2F_partition%2Falice/alice:12", "{}"); got.Header.Get("Location") != "http://example.com/fit/_partition/alice/alice:12" {
		t.Errorf("Location: %q", got.Header.Get("Location"))
	}
}

// TestPartitionRefusesOthers asks a partition for documents of another one, once
// for one that exists and once for one that does not: the answers are equal but
// for the name.
func TestPartitionRefusesOthers(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	a.do("PUT", "/fit/alice:1/a", "x", "If-Match", a.do("GET", "/fit/alice:1", "").json()["_rev"].(string)).want(201, "")
	rev := a.do("GET", "/fit/bob:secret", "").json()["_rev"].(string)
	const notHere = `"error":"forbidden","reason":"The document 'bob:\w+' is not in this partition."`
	for _, q := range []struct {
		request string
		status  int
		want    string
	}{
		{"GET /ID", 403, notHere}, {"HEAD /ID", 403, ""}, {"GET /ID?open_revs=all", 403, notHere}, {"GET /ID?rev=" + rev, 403, notHere},
		{"PUT /ID {}", 403, notHere}, {"PUT /ID?new_edits=false {\"_rev\":\"1-a\"}", 403, notHere},
		{"DELETE /ID?rev=" + rev, 403, notHere}, {"PATCH /ID {}", 403, notHere},
		{"COPY /ID alice:x", 403, notHere}, {"COPY /alice:1 ID", 403, notHere}, {"COPY /alice:1 ID?rev=" + rev, 403, notHere},
		{"GET /ID/a", 403, notHere}, {"PUT /ID/a x", 403, notHere}, {"PUT /ID/a?rev=" + rev + " x", 403, notHere}, {"DELETE /ID/a?rev=" + rev, 403, notHere},
		{`POST / {"_id":"ID"}`, 403, notHere},
		{`POST /_bulk_docs {"docs":[{"_id":"ID"},{"_id":"alice:n0"}]}`, 201, `^\[{"id":"bob:\w+",` + notHere + `},{"ok":true`},
		{`POST /_bulk_docs {"docs":[{"_id":"ID"}],"atomic":true}`, 409, notHere},
		{`POST /_bulk_docs {"new_edits":false,"docs":[{"_id":"ID","_rev":"1-a"}]}`, 201, `^\[{"id":"bob:\w+","rev":"1-a",` + notHere + `}\]`},
		{`POST /_bulk_get {"docs":[{"id":"ID"},{"id":"ID","rev":"` + rev + `"}]}`, 200, `not in this partition.*"error":"forbidden".*not in this partition.*"error":"forbidden"`},
		{`POST /_revs_diff {"ID":["` + rev + `","1-z"]}`, 200, `^{"bob:\w+":{"missing":\["` + rev + `","1-z"\]}}`},
		{`POST /_missing_revs {"ID":["` + rev + `"]}`, 200, `\["` + rev + `"\]`},
		{`POST /_all_docs {"keys":["ID"]}`, 200, `"error":"not_found"`},
		{`GET /_all_docs?key="ID"`, 200, `"rows":\[\r\n\]`},
		{`POST /_changes?filter=_doc_ids {"doc_ids":["ID"]}`, 200, `"results":\[\n\n\]`},
		{`POST /_find {"selector":{"_id":"ID"}}`, 200, `"docs":\[\n?\]`},
		{`POST /_find {"selector":{"_id":{"$gte":"b"}}}`, 200, `"docs":\[\n?\]`},
		{`GET /_partition/bob/_all_docs`, 404, ``},
	} {
		var answers []string
		for _, id := range []string{"bob:secret", "bob:nobody"} {
			method, rest, _ := strings.Cut(strings.ReplaceAll(q.request, "ID", id), " ")
			target, body, _ := strings.Cut(rest, " ")
			var header []string
			if method == "COPY" {
				header, body = []string{"Destination", body}, ""
			}
			w := a.do(method, strings.TrimSuffix("/fit/_partition/alice"+strings.ReplaceAll(target, `"`, "%22"), "/"), body, header...)
			if w.Status != q.status || !regexp.MustCompile(`(?s)`+q.want).MatchString(w.Body) {
				t.Errorf("%s of %s: %d %s", q.request, id, w.Status, w.Body)
			}
			answers = append(answers, strings.ReplaceAll(w.Body, id, "ID"))
			a.do("DELETE", "/fit/alice:n0?rev="+fmt.Sprint(a.do("GET", "/fit/alice:n0", "").json()["_rev"]), "")
		}
		if !strings.Contains(q.request, "alice:n0") && !strings.Contains(q.request, "/_find") && answers[0] != answers[1] {
			t.Errorf("%s tells a document that is there from one that is not:\n%s%s", q.request, answers[0], answers[1])
		}
	}
	if got := a.do("GET", "/fit/_partition/bob", "").json()["doc_count"]; fmt.Sprint(got) != "1" {
		t.Errorf("bob has %v documents now", got)
	}
}

// TestLinkedDocumentsOfOthers follows the links of a view's rows: a member of
// one partition must not read what lies in another by writing its name into a
// document of their own.
func TestLinkedDocumentsOfOthers(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	a.do("PUT", "/fit/_design/l", `{"views":{"v":{"map":"function (doc) { emit(null, {_id: doc.link}) }"}}}`).want(201, "")
	for id, link := range map[string]string{"a": "bob:secret", "b": "alice:1", "c": "_design/v"} {
		a.do("PUT", "/fit/alice:link-"+id, fmt.Sprintf(`{"link":%q}`, link)).want(201, "")
	}
	a.ask([]asked{{"", `GET /fit/_partition/alice/_design/l/_view/v?include_docs=true&startkey_docid="alice:link-"&startkey=null`, 200,
		`"bob:secret"},"doc":null}.*"doc":{"_id":"alice:1",.*"doc":{"_id":"_design/v",`}})
}

// TestSessionBelowAnEndpoint logs in where pouchdb-authentication looks for the
// session: beside the database, which is at the endpoint's parent, and in it.
func TestSessionBelowAnEndpoint(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "require_valid_user", Value: "true"})
	a.fitnessDB()
	for _, at := range []string{"/fit/_partition/_session", "/fit/_partition/alice/_session", "/fit%2F_partition%2Falice/_session", "/none/_partition/alice/_session"} {
		login := a.do("POST", at, `{"name":"ann","password":"pw"}`, "Authorization", "").want(200, `{"ok":true,"name":"ann","roles":[]}`)
		cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
		who := a.do("GET", at, "", "Authorization", "", "Cookie", cookie).want(200, "").json()
		if who["userCtx"].(map[string]any)["name"] != "ann" {
			t.Errorf("%s: %v", at, who)
		}
		if out := a.do("DELETE", at, "", "Authorization", "", "Cookie", cookie).want(200, `{"ok":true}`); !strings.HasPrefix(out.Header.Get("Set-Cookie"), "AuthSession=;") {
			t.Errorf("%s: %v", at, out.Header)
		}
	}
	a.do("POST", "/fit/_partition/alice/_design/v/_update/_session", "{}", "Authorization", "").want(401, "")
}

// TestEndpointHasNoUUID asks what PouchDB takes for the server of a partition: it
// must not tell the server's uuid.
func TestEndpointHasNoUUID(t *testing.T) {
	a := newTestAPI(t)
	a.fitnessDB()
	for _, name := range couchhttp.EndpointNames() {
		a.do("GET", "/fit/"+name+"/", "").want(400, `{"error":"bad_request","reason":"invalid_partition_req"}`)
	}
}
