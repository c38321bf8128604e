package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

type membership struct {
	Living []string `json:"all_nodes"`
	All    []string `json:"cluster_nodes"`
}

// node is the name of a server, as it says of itself.
func node(t testing.TB, base string) (name string) {
	t.Helper()
	var said struct{ Name string }
	ask(base).must(t, 200, "GET", "/_node/_local", "", &said)
	return said.Name
}

// TestServersAsOne: all know each other, a cookie of one is good at the others, and a server in maintenance gets no
// requests from the balancer, while the others do.
func TestServersAsOne(t *testing.T) {
	t.Parallel()
	s := start(t)
	names := map[string]bool{}
	for i := range s.all {
		var m membership
		ask(s.Server(i).Base).must(t, 200, "GET", "/_membership", "", &m)
		if len(m.Living) != 3 || len(m.All) != 3 {
			t.Errorf("server %d knows %+v", i, m)
		}
		names[node(t, s.Server(i).Base)] = true
	}
	if len(names) != 3 {
		t.Errorf("three servers have the names %v", names)
	}
	cookies(t, s)
	maintenance(t, s)
	afterDeath(t, s)
}

// cookies logs in at one server and goes on at the others.
func cookies(t *testing.T, s *Servers) {
	login := ask(s.Server(0).Base).must(t, 200, "POST", "/_session", `{"name":"adm","password":"pass"}`, nil)
	cookie, _, _ := strings.Cut(login.header.Get("Set-Cookie"), ";")
	for i := range s.all {
		c := ask(s.Server(i).Base).as("", "")
		a, err := c.send(t.Context(), "GET", "/_session", "", http.Header{"Cookie": {cookie}})
		if err != nil || a.status != 200 || !strings.Contains(string(a.body), `"name":"adm"`) {
			t.Errorf("the cookie at server %d: %d %s %v", i, a.status, a.body, err)
		}
	}
}

// maintenance has one server drained while requests go on, of which none fails.
func maintenance(t *testing.T, s *Servers) {
	c, first := ask(s.Base), ask(s.Server(0).Base)
	c.must(t, 201, "PUT", "/drained", "", nil)
	mode := "/_node/" + node(t, first.base) + "/_config/couchdb/maintenance_mode"
	a, err := first.do("PUT", mode, `"true"`)
	if err != nil || a.status != 200 {
		t.Errorf("%d %s %v", a.status, a.body, err)
		return
	}
	first.must(t, 404, "GET", "/_up", "", nil)
	n := 0
	process.Within(t, patience, "the balancer heeds it", func() bool {
		n++
		c.must(t, 201, "PUT", fmt.Sprintf("/drained/a%d", n), "{}", nil)
		return !s.Up(0)
	})
	for i := 1; i < 3; i++ {
		ask(s.Server(i).Base).must(t, 200, "GET", "/_up", "", nil)
	}
	before := s.Dealt(0)
	for i := range 20 {
		c.must(t, 201, "PUT", fmt.Sprintf("/drained/b%d", i), "{}", nil)
	}
	if after := s.Dealt(0); after != before {
		t.Errorf("%d requests went to a server in maintenance", after-before)
	}
	first.must(t, 201, "PUT", "/drained/c", "{}", nil) // it still serves who comes
	first.must(t, 200, "PUT", mode, `"false"`, nil)
	process.Within(t, patience, "it is back", func() bool { return s.Up(0) })
}

// afterDeath kills a server, which the others take for dead after a while, and who comes back has its name.
func afterDeath(t *testing.T, s *Servers) {
	name := node(t, s.Server(2).Base)
	if err := s.Server(2).Kill(); err != nil {
		t.Fatal(err)
	}
	c := ask(s.Server(0).Base)
	took := process.Within(t, patience, "it is taken for dead", func() bool {
		var m membership
		c.must(t, 200, "GET", "/_membership", "", &m)
		return len(m.Living) == 2 && len(m.All) == 3
	})
	t.Logf("taken for dead after %s", took.Round(time.Millisecond))
	if err := s.Restart(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if now := node(t, s.Server(2).Base); now != name {
		t.Errorf("%s came back as %s", name, now)
	}
	var m membership
	c.must(t, 200, "GET", "/_membership", "", &m)
	if len(m.Living) != 3 || len(m.All) != 3 {
		t.Errorf("after its return: %+v", m)
	}
}

// TestCopyToServers: what one server has in its directory is copied to PostgreSQL, where three go on with it: documents,
// feeds from where their readers were, views, users and sessions.
func TestCopyToServers(t *testing.T) {
	t.Parallel()
	url, err := postgres.Cluster(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	alone := process.Start(t, process.Options{Dir: dir})
	c := ask(alone.Base)
	c.must(t, 201, "PUT", "/shop?partitioned=true", "", nil)
	c.must(t, 201, "PUT", "/shop/_design/d", `{"options":{"partitioned":false},"views":{"sum":{"map":"function(d){emit(d.k,d.n)}","reduce":"_sum"}}}`, nil)
	for i := range 20 {
		c.must(t, 201, "PUT", fmt.Sprintf("/shop/p%d:x%d", i%4, i), fmt.Sprintf(`{"k":%d,"n":%d}`, i%3, i), nil)
	}
	c.must(t, 201, "PUT", "/_users/org.couchdb.user:eva", `{"name":"eva","password":"secret","roles":[],"type":"user"}`, nil)
	c.must(t, 200, "PUT", "/shop/_security", `{"members":{"names":["eva"]}}`, nil)
	before := facts(t, c)
	var feed struct {
		Last string `json:"last_seq"`
	}
	c.must(t, 200, "GET", "/shop/_changes?limit=7", "", &feed)
	if err := alone.Stop(); err != nil {
		t.Fatal(err)
	}
	copying := exec.CommandContext(t.Context(), process.Binary(), "copy", dir, url)
	copying.Env = append(os.Environ(), "SECTIONAL_TEST_FSYNC_OFF=1")
	if out, err := copying.CombinedOutput(); err != nil || !strings.Contains(string(out), "compared") {
		t.Fatalf("%v: %s", err, out)
	}
	s := over(t, Options{Postgres: url})
	for i := range s.all {
		if after := facts(t, ask(s.Server(i).Base)); after != before {
			t.Errorf("server %d has\n%s\nnot\n%s", i, after, before)
		}
		ask(s.Server(i).Base).as("eva", "secret").must(t, 200, "GET", "/shop/p1:x1", "", nil)
		ask(s.Server(i).Base).as("eva", "wrong").must(t, 401, "GET", "/shop/p1:x1", "", nil)
		var rest struct{ Results []json.RawMessage }
		ask(s.Server(i).Base).must(t, 200, "GET", "/shop/_changes?since="+feed.Last, "", &rest)
		if len(rest.Results) != 21-7 {
			t.Errorf("server %d: %d changes after the first seven", i, len(rest.Results))
		}
	}
	ask(s.Base).must(t, 201, "PUT", "/shop/p1:new", `{"k":9,"n":9}`, nil)
	ask(s.Server(1).Base).must(t, 200, "GET", "/shop/p1:new", "", nil)
}

// facts is what a server has of the shop, as text.
func facts(t *testing.T, c *client) (text string) {
	t.Helper()
	for _, path := range []string{
		"/_all_dbs", "/shop/_all_docs?include_docs=true", "/shop/_changes", "/shop/_security",
		"/shop/_design/d/_view/sum?group=true", "/shop/_partition/p1/_all_docs", "/_users/org.couchdb.user:eva",
	} {
		text += string(c.must(t, 200, "GET", path, "", nil).body)
	}
	return text
}
