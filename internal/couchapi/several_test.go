package couchapi_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// on is the server of a number alone.
func (a *testAPI) on(n int) *testAPI {
	return &testAPI{Server: a.All()[n].SingleServer(), t: a.t}
}

// changeOfRights is something that one server is told, and what another answers to the same request
// before and after. The other one remembers all that it can.
type changeOfRights struct {
	name          string
	setup         []string // requests of the administrator, "METHOD target body"
	ask           string
	user          string // who asks, "name:password"; "" for the administrator
	before, after int
	change        []string
	body          string // what the answer has in it then; "" for anything
}

const (
	annsDocument = `{"name":"ann","type":"user","roles":["crew"],"password":"one"}`
	annsTarget   = "/_users/org.couchdb.user:ann"
	crewSecurity = `{"admins":{"roles":["_admin"]},"members":{"roles":["crew"]}}`
	bothIndexes  = `{"views":{"v":{"map":"function(d){emit(1)}"}},"indexes":{"s":{"index":"function(d){index('n',d.n)}"}}}`
	anyone       = `{"admins":{"roles":["_admin"]},"members":{}}`
)

// changesOfRights are all that a request is decided by.
var changesOfRights = []changeOfRights{
	{name: "security taken away", setup: []string{"PUT /db/_security " + crewSecurity}, ask: "GET /db/doc", user: "ann:one", before: 200, after: 403,
		change: []string{`PUT /db/_security {"members":{"names":["eve"]}}`}},
	{name: "security given", setup: []string{`PUT /db/_security {"members":{"names":["eve"]}}`}, ask: "GET /db/doc", user: "ann:one", before: 403, after: 200,
		change: []string{"PUT /db/_security " + crewSecurity}},
	{name: "security of a list", setup: []string{"PUT /db/_security " + crewSecurity}, ask: "GET /db/_all_docs", user: "ann:one", before: 200, after: 403,
		change: []string{`PUT /db/_security {"members":{"names":["eve"]}}`}},
	{name: "security of a write", setup: []string{"PUT /db/_security " + crewSecurity}, ask: `POST /db {}`, user: "ann:one", before: 201, after: 403,
		change: []string{`PUT /db/_security {"members":{"names":["eve"]}}`}},
	{name: "security of a query", setup: []string{"PUT /db/_security " + crewSecurity}, ask: `POST /db/_find {"selector":{}}`, user: "ann:one", before: 200, after: 403,
		change: []string{`PUT /db/_security {"members":{"names":["eve"]}}`}},
	{name: "security shown", ask: "GET /db/_security", before: 200, after: 200, body: `"eve"`, change: []string{`PUT /db/_security {"members":{"names":["eve"]}}`}},
	{name: "password", setup: []string{"PUT /db/_security " + anyone}, ask: "GET /db/doc", user: "ann:one", before: 200, after: 401,
		change: []string{"EDIT " + annsTarget + ` {"password":"two"}`}},
	{name: "password that is right now", setup: []string{"PUT /db/_security " + anyone}, ask: "GET /db/doc", user: "ann:two", before: 401, after: 200,
		change: []string{"EDIT " + annsTarget + ` {"password":"two"}`}},
	{name: "password for the session", ask: `POST /_session {"name":"ann","password":"one"}`, before: 200, after: 401,
		change: []string{"EDIT " + annsTarget + ` {"password":"two"}`}},
	{name: "password for a page of the server", ask: "GET /_session", user: "ann:one", before: 200, after: 401,
		change: []string{"EDIT " + annsTarget + ` {"password":"two"}`}},
	{name: "role", setup: []string{"PUT /db/_security " + crewSecurity}, ask: "GET /db/doc", user: "ann:one", before: 200, after: 403,
		change: []string{"EDIT " + annsTarget + ` {"roles":[]}`}},
	{name: "role that is new", setup: []string{`PUT /db/_security {"members":{"roles":["board"]}}`}, ask: "GET /db/doc", user: "ann:one", before: 403, after: 200,
		change: []string{"EDIT " + annsTarget + ` {"roles":["board"]}`}},
	{name: "user deleted", setup: []string{"PUT /db/_security " + anyone}, ask: "GET /db/doc", user: "ann:one", before: 200, after: 401,
		change: []string{"DELETE " + annsTarget}},
	{name: "user made", setup: []string{"PUT /db/_security " + anyone}, ask: "GET /db/doc", user: "bob:one", before: 401, after: 200,
		change: []string{strings.NewReplacer("ann", "bob").Replace("PUT " + annsTarget + " " + annsDocument)}},
	{name: "users dropped", setup: []string{"PUT /db/_security " + anyone}, ask: "GET /db/doc", user: "ann:one", before: 200, after: 401, change: []string{"DELETE /_users"}},
	{name: "database dropped", ask: "GET /db/doc", before: 200, after: 404, change: []string{"DELETE /db"}},
	{name: "database dropped, and listed", ask: "GET /db/_all_docs", before: 200, after: 404, change: []string{"DELETE /db"}},
	{name: "database dropped, and written to", ask: "POST /db {}", before: 201, after: 404, change: []string{"DELETE /db"}},
	{name: "database made", ask: "GET /other", before: 404, after: 200, change: []string{"PUT /other"}},
	{name: "database remade", ask: "GET /db/doc", before: 200, after: 200, body: `"remade"`,
		change: []string{"DELETE /db", "PUT /db", `PUT /db/doc {"is":"remade"}`}},
	{name: "database remade, and written to", ask: "POST /db {}", before: 201, after: 201, change: []string{"DELETE /db", "PUT /db"}},
	{name: "database remade of another kind", ask: "GET /db", before: 200, after: 200, body: `"partitioned":true`, change: []string{"DELETE /db", "PUT /db?partitioned=true"}},
	{name: "document made where there was a database without", ask: "GET /db/p:x", before: 404, after: 200,
		change: []string{"DELETE /db", "PUT /db?partitioned=true", "PUT /db/p:x {}"}},
	{name: "partition dropped", ask: "GET /parts/p:doc", before: 200, after: 404, change: []string{"DELETE /parts/_partition/p"}},
	{name: "partition dropped, and listed", ask: "GET /parts/_partition/p/_all_docs", before: 200, after: 200, body: `"total_rows":0`, change: []string{"DELETE /parts/_partition/p"}},
	{name: "partition dropped, and written to", ask: "POST /parts " + `{"_id":"p:%d"}`, before: 201, after: 409, change: []string{"DELETE /parts/_partition/p"}},
	{name: "partition dropped and filled again", ask: "GET /parts/p:doc", before: 200, after: 200, body: `"again"`,
		change: []string{"DELETE /parts/_partition/p", "SWEEP", `PUT /parts/p:doc {"is":"again"}`}},
	{name: "a tenant's rules", setup: []string{`PUT /parts/_security {"members":{"names":["eve"]},"partitions":[{"who":{"names":["ann"]},"partition":"p","access":"read"}]}`},
		ask: "GET /parts/_owner/p/doc", user: "ann:one", before: 200, after: 403, change: []string{`PUT /parts/_security {"members":{"names":["eve"]},"partitions":[{"who":{"names":["ann"]},"partition":"q","access":"read"}]}`}},
	{name: "a validation function", ask: "POST /db {}", before: 201, after: 403,
		change: []string{`PUT /db/_design/v {"validate_doc_update":"function(n){throw({forbidden:'no'})}"}`}},
	{name: "a validation function that goes", setup: []string{`PUT /db/_design/v {"validate_doc_update":"function(n){throw({forbidden:'no'})}"}`}, ask: "POST /db {}", before: 403, after: 201,
		change: []string{"DELETE /db/_design/v"}},
	{name: "a tenant's validation function", ask: "POST /parts " + `{"_id":"p:%d"}`, before: 201, after: 403,
		change: []string{`PUT /parts/_owner/p/_design/v {"validate_doc_update":"function(n){throw({forbidden:'no'})}"}`}},
	{name: "a view", ask: "GET /db/_design/d/_view/v", before: 404, after: 200, body: `"key":1`,
		change: []string{`PUT /db/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`}},
	{name: "a view that becomes another", setup: []string{`PUT /db/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`}, ask: "GET /db/_design/d/_view/v", before: 200, after: 200, body: `"key":2`,
		change: []string{`EDIT /db/_design/d {"views":{"v":{"map":"function(d){emit(2)}"}}}`}},
	{name: "an index", ask: `POST /db/_explain {"selector":{"n":1}}`, before: 200, after: 200, body: `"name":"by-n"`,
		change: []string{`POST /db/_index {"index":{"fields":["n"]},"ddoc":"n","name":"by-n"}`, `POST /db/_find {"selector":{"n":1}}`}},
	{name: "design documents listed", ask: "GET /db/_design_docs", before: 200, after: 200, body: `"total_rows":1,"offset":0`,
		change: []string{`PUT /db/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`}},
	{name: "documents listed", ask: "GET /db/_all_docs", before: 200, after: 200, body: `"total_rows":2,"offset":0`,
		change: []string{`PUT /db/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`}},
	{name: "changes of some documents", ask: `POST /db/_changes?filter=_doc_ids {"doc_ids":["doc"]}`, before: 200, after: 200, body: `"pending":1`,
		change: []string{`PUT /db/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`}},
	{name: "changes from the last one", ask: "GET /db/_changes?descending=true&limit=1", before: 200, after: 200, body: `"pending":1`,
		change: []string{`PUT /db/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`}},
	{name: "revs_limit", ask: "GET /db/_revs_limit", before: 200, after: 200, body: "7", change: []string{"PUT /db/_revs_limit 7"}},
	{name: "a document", ask: "GET /db/doc", before: 200, after: 404, change: []string{"DELETE /db/doc"}},
	{name: "a local document", ask: "GET /db/_local/doc", before: 404, after: 200, change: []string{"PUT /db/_local/doc {}"}},
	{name: "a view of a database remade", setup: []string{"PUT /db/_design/d " + bothIndexes}, ask: "GET /db/_design/d/_view/v", before: 200, after: 200, body: `"id":"remade"`,
		change: []string{"DELETE /db", "PUT /db", "PUT /db/_design/d " + bothIndexes, `PUT /db/remade {"n":2}`, "GET /db/_design/d/_view/v"}},
	{name: "a search of a database remade", setup: []string{"PUT /db/_design/d " + bothIndexes}, ask: "GET /db/_design/d/_search/s?q=*:*", before: 200, after: 200, body: `"total_rows":1,"bookmark":`,
		change: []string{"DELETE /db", "PUT /db", "PUT /db/_design/d " + bothIndexes, `PUT /db/remade {"n":2}`, "GET /db/_design/d/_search/s?q=*:*"}},
	{name: "a feed of a database remade", ask: "GET /db/_changes", before: 200, after: 200, body: `"last_seq":"0-`, change: []string{"DELETE /db", "PUT /db"}},
	{name: "a feed of the databases", ask: "GET /_db_updates", before: 200, after: 200, body: `"db_name":"other"`, change: []string{"PUT /other"}},
	{name: "a purge", ask: "GET /db/_design/none", setup: []string{"PUT /db/_design/none {}"}, before: 200, after: 404, change: []string{"PURGE /db/_design/none"}},
	{name: "a definition and its tenant's partition dropped", setup: []string{`PUT /parts/_owner/p/_design/d {"views":{"v":{"map":"function(d){emit(1)}"}}}`},
		ask: "GET /parts/_owner/p/_design/d/_view/v", before: 200, after: 404, change: []string{"DELETE /parts/_partition/p"}},
}

// TestRightsOverServers has one server told of a change, and another asked right after: it heeds it.
func TestRightsOverServers(t *testing.T) {
	for _, c := range changesOfRights {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newSeveral(t, "model", 2, config.Setting{Section: "sectional", Key: "owner_design_docs", Value: "members"})
			told, asked := a.on(0), a.on(1)
			for _, r := range append([]string{"PUT " + annsTarget + " " + annsDocument, "PUT /db", `PUT /db/doc {"n":1}`, "PUT /parts?partitioned=true", "PUT /parts/p:doc {}"}, c.setup...) {
				told.must(r)
			}
			for n := range 2 { // the second time from memory
				asked.asksFor(c, n).want(c.before, "")
			}
			for _, r := range c.change {
				told.must(r)
			}
			got := asked.asksFor(c, 3)
			got.want(c.after, "")
			if !strings.Contains(got.Body, c.body) {
				t.Errorf("answered %s, want %s in it", got.Body, c.body)
			}
		})
	}
}

// asksFor sends the request that a change makes a difference to, for the nth time.
func (a *testAPI) asksFor(c changeOfRights, n int) answer {
	method, target, body := taken(c.ask)
	if strings.Contains(body, "%d") {
		body = fmt.Sprintf(body, n)
	}
	var header []string
	if c.user != "" {
		header = []string{"Authorization", basicOf(c.user)}
	}
	return a.do(method, target, body, header...)
}

// must sends a request of a table as the administrator, which has to succeed. EDIT merges members into a document; SWEEP
// does the background work.
func (a *testAPI) must(request string) {
	a.t.Helper()
	method, target, body := taken(request)
	switch method {
	case "SWEEP":
		must(a.t, a.Store.Sweep(a.t.Context()))
		return
	case "PURGE":
		db, id, _ := strings.Cut(target[1:], "/")
		rev := a.do("GET", target, "").json()["_rev"].(string)
		method, target, body = "POST", "/"+db+"/_purge", fmt.Sprintf(`{%q:[%q]}`, id, rev)
	case "EDIT":
		a.do("PATCH", target, body, "Content-Type", "application/merge-patch+json").want(201, "")
		return
	case "DELETE":
		if parts := strings.Split(target, "/"); len(parts) > 2 && parts[2] != "_partition" {
			target += "?rev=" + a.do("GET", target, "").json()["_rev"].(string)
		}
	}
	if got := a.do(method, target, body); got.Status > 299 {
		a.t.Fatalf("%s: %d %s", request, got.Status, got.Body)
	}
}

// basicOf is basic for "name:password".
func basicOf(user string) string {
	name, password, _ := strings.Cut(user, ":")
	return basic(name, password)
}

// taken takes a request of a table apart.
func taken(request string) (method, target, body string) {
	method, rest, _ := strings.Cut(request, " ")
	target, body, _ = strings.Cut(rest, " ")
	return method, target, body
}

// TestFewReadsOverServers holds what looking at the truth costs: nothing for a document, whose read takes it along, and one
// read for what changes something.
func TestFewReadsOverServers(t *testing.T) {
	trips := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
	a := newTestAPIWith(t, apitest.Options{Engine: trips, Servers: 2, Store: store.Options{AssumeStale: func() bool { return false }}})
	one := a.on(0)
	one.must("PUT /db")
	one.must("PUT /db/doc {}")
	one.must("PUT " + annsTarget + " " + annsDocument)
	one.must("PUT /db/_security " + crewSecurity)
	for ask, most := range map[string]int{"GET /db/doc": 2, "HEAD /db/doc": 2, "GET /db/none": 1, "GET /db": 2, "GET /none": 2} {
		method, target, _ := taken(ask)
		for range 2 {
			trips.Take()
			one.do(method, target, "", "Authorization", basicOf("ann:one"))
		}
		if got := trips.Take(); len(got) > most {
			t.Errorf("%s took %d trips, want %d: %s", ask, len(got), most, printTrips(got))
		}
	}
}

func printTrips(trips []*kvtest.Trip) (text string) {
	for _, t := range trips {
		text += fmt.Sprintf("\n%s %q and %d", t.Op, t.Key, t.Rows)
	}
	return text
}

// TestFeedsOverServers has feeds of one server, which wait, shown what another stores, and end when that takes the
// right to see it.
func TestFeedsOverServers(t *testing.T) {
	for name, ask := range map[string]string{
		"changes":              "/db/_changes?feed=longpoll&timeout=60000&since=%s",
		"changes of partition": "/db/_partition/p/_changes?feed=longpoll&timeout=60000&since=%s",
		"databases":            "/_db_updates?feed=longpoll&timeout=60000&since=now",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newSeveral(t, "model", 2)
			told, asked := a.on(0), a.on(1)
			told.must("PUT /db?partitioned=true")
			told.must("PUT /db/p:one {}")
			since := asked.do("GET", "/db/_changes", "").json()["last_seq"].(string)
			if strings.Contains(ask, "%s") {
				ask = fmt.Sprintf(ask, since)
			}
			if strings.Contains(ask, "_partition") {
				ask = strings.Replace(ask, since, asked.do("GET", "/db/_partition/p/_changes", "").json()["last_seq"].(string), 1)
			}
			got := make(chan answer)
			go func() { got <- asked.do("GET", ask, "") }()
			for n := 0; ; n++ {
				told.must(fmt.Sprintf("PUT /db/p:two%d {}", n))
				told.must(fmt.Sprintf("PUT /db%d", n))
				must(t, asked.Store.Sweep(t.Context())) // looks for what others did
				select {
				case a := <-got:
					if a.Status != 200 || !strings.Contains(a.Body, "p:two") && !strings.Contains(a.Body, `"db_name":"db`) {
						t.Errorf("%d %s", a.Status, a.Body)
					}
					return
				default:
				}
			}
		})
	}
}

// newConfigured is newSeveral with two servers whose configurations are their own, as those of two processes: what
// one is told the other learns from the store.
func newConfigured(t *testing.T) *testAPI {
	t.Helper()
	e := kvtest.NewModel(kvtest.ModelOptions{})
	t.Cleanup(func() { must(t, e.Close()) })
	var both []*apitest.Server
	for i := range 2 {
		c := apitest.Configured(t)
		must(t, c.Share(store.ConfigurationIn(e)))
		both = append(both, apitest.Add(t, kvtest.NewShared(e), c, apitest.Options{Store: store.Options{Configured: c, Holder: uint64(i + 1), Lease: time.Minute}}))
	}
	return &testAPI{Server: apitest.Together(both...), t: t}
}

// TestFeedsOfRevokedAdministrators has one server told that somebody is no administrator any more, and writes there:
// a feed that he has at the other one, which has not looked at the configuration since, shows nothing of it.
func TestFeedsOfRevokedAdministrators(t *testing.T) {
	for _, ask := range []string{"/db/_changes?since=now&heartbeat=60000&feed=continuous", "/db/_changes?since=now&heartbeat=60000&feed=longpoll", "/_db_updates?timeout=60000&feed=continuous"} {
		t.Run(ask, func(t *testing.T) {
			t.Parallel()
			a := newConfigured(t)
			told, asked := a.on(0), a.on(1)
			_, err := auth.SetAdmin(a.Config, "eve", "pass")
			must(t, err)
			told.must("PUT /db")
			s := httptest.NewServer(asked)
			defer s.Close()
			body := asked.follow(s, ask, basic("eve", "pass"))
			_, err = a.Config.Delete("admins", "eve", true)
			must(t, err)
			told.must("PUT /secret")
			told.must("PUT /db/secret {}")
			must(t, told.Store.Sweep(t.Context()))
			must(t, asked.Store.Sweep(t.Context())) // looks for what others did
			text, err := io.ReadAll(body)
			if err != nil || strings.Contains(string(text), "secret") {
				t.Errorf("the feed ended with %q, %v", text, err)
			}
		})
	}
}

// TestSessionsOverServers has a session that one server began ended by what another is told.
func TestSessionsOverServers(t *testing.T) {
	for name, change := range map[string]string{"deleted": "DELETE " + annsTarget, "password": "EDIT " + annsTarget + ` {"password":"two"}`, "dropped": "DELETE /_users"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newSeveral(t, "model", 2)
			told, asked := a.on(0), a.on(1)
			told.must("PUT " + annsTarget + " " + annsDocument)
			login := asked.do("POST", "/_session", `{"name":"ann","password":"one"}`, "Authorization", "").want(200, "")
			cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
			is := func() string {
				return asked.do("GET", "/_session", "", "Authorization", "", "Cookie", cookie).want(200, "").Body
			}
			if got := is(); !strings.Contains(got, `"name":"ann"`) {
				t.Fatal(got)
			}
			told.must(change)
			if got := is(); !strings.Contains(got, `"name":null`) {
				t.Errorf("the session goes on: %s", got)
			}
		})
	}
}

// TestClocksOfServers has servers whose machines' clocks are hours apart let the same people in: what they show is judged
// by the clock of the engine; how long a search may take is not.
func TestClocksOfServers(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	shared := kvtest.NewSharing(e, false)
	shared.Clock(time.Now)
	t.Cleanup(func() { must(t, e.Close()) })
	c := apitest.Configured(t)
	var all []*apitest.Server
	for i, off := range []time.Duration{-7 * time.Hour, 5 * time.Hour} {
		all = append(all, apitest.Add(t, shared.Engine(), c, apitest.Options{Store: store.Options{Holder: uint64(i + 1), Lease: time.Minute, Clock: func() time.Time { return time.Now().Add(off) }}}))
	}
	a := &testAPI{Server: apitest.Together(all...), t: t}
	first := a.on(0)
	first.must("PUT " + annsTarget + " " + annsDocument)
	first.must("PUT /db?partitioned=true")
	first.must("PUT /db/_design/d " + `{"indexes":{"i":{"index":"function(doc){index(\"n\",doc.n)}"}}}`)
	first.must("PUT /db/p:1 " + `{"n":"one"}`)
	for from := range a.All() {
		login := a.on(from).do("POST", "/_session", `{"name":"ann","password":"one"}`, "Authorization", "").want(200, "")
		cookie, _, _ := strings.Cut(login.Header.Get("Set-Cookie"), ";")
		for to := range a.All() {
			got := a.on(to).do("GET", "/_session", "", "Authorization", "", "Cookie", cookie).want(200, "").Body
			if !strings.Contains(got, `"name":"ann"`) {
				t.Errorf("the cookie of server %d is a stranger's to server %d: %s", from, to, got)
			}
		}
		a.on(from).do("GET", "/db/_partition/p/_design/d/_search/i?q=n:one", "").want(200, "")
	}
}
