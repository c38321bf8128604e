package couchapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// follow opens a feed over a real connection and returns its body once it has begun.
func (a *testAPI) follow(s *httptest.Server, target, authorization string) io.ReadCloser {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 5*time.Minute) // a feed that does not end fails the test
	a.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+target, nil)
	must(a.t, err)
	r.Header.Set("Authorization", authorization)
	w, err := http.DefaultClient.Do(r)
	must(a.t, err)
	a.t.Cleanup(func() { w.Body.Close() })
	if w.StatusCode != 200 {
		a.t.Fatalf("%s: status %d", target, w.StatusCode)
	}
	return w.Body
}

// TestFeedsEndWithTheirRights takes from somebody, in every way there is, the right
// to a feed that he follows: it ends at once, without another change, does not show one
// that comes right then, and asking again is refused.
func TestFeedsEndWithTheirRights(t *testing.T) {
	rule := `{"members":{"names":["mia"],"roles":["clerk"]},"partitions":[{"who":{"names":["ann"]},"partition":"p","access":"read"}]}`
	losses := []struct {
		what, security, endpoint string
		roles                    []string
		lose                     func(a *testAPI)
	}{
		{"rule", rule, "/db/_partition/p", nil, func(a *testAPI) { a.do("PUT", "/db/_security", `{"members":{"names":["mia"]}}`).want(200, "") }},
		{"rule, owner", rule, "/db/_owner/p", nil, func(a *testAPI) { a.do("PUT", "/db/_security", `{"members":{"names":["mia"]}}`).want(200, "") }},
		{"membership", `{"members":{"names":["ann"]}}`, "/db", nil, func(a *testAPI) { a.do("PUT", "/db/_security", `{"members":{"names":["mia"]}}`).want(200, "") }},
		{"role of the rule", `{"members":{"names":["mia"]},"partitions":[{"who":{"roles":["clerk"]},"partition":"p","access":"read"}]}`, "/db/_partition/p", []string{"clerk"}, (*testAPI).takeRoles},
		{"role that names the partition", `{"members":{"names":["mia"]},"partitions":[{"who":"*","partition":"{role}","access":"read"}]}`, "/db/_owner/p", []string{"a", "p", "z"}, (*testAPI).takeRoles},
		{"role that names the partition by a pattern", `{"members":{"names":["mia"]},"partitions":[{"who":{"role":"t-*"},"partition":"{*}","access":"read"}]}`, "/db/_partition/p", []string{"t-a", "t-p"}, (*testAPI).takeRoles},
		{"role", rule, "/db", []string{"clerk"}, (*testAPI).takeRoles},
		{"role, a rule stays", rule, "/db/_partition/p", []string{"clerk"}, (*testAPI).takeRoles},
		{"user", rule, "/db", []string{"clerk"}, func(a *testAPI) {
			rev := a.do("GET", "/_users/org.couchdb.user:ann", "").json()["_rev"].(string)
			a.do("DELETE", "/_users/org.couchdb.user:ann?rev="+rev, "").want(200, "")
		}},
		{"password", rule, "/db", []string{"clerk"}, func(a *testAPI) {
			rev := a.do("GET", "/_users/org.couchdb.user:ann", "").json()["_rev"].(string)
			a.do("PUT", "/_users/org.couchdb.user:ann", fmt.Sprintf(`{"_rev":%q,"name":"ann","type":"user","roles":["clerk"],"password":"new"}`, rev)).want(201, "")
		}},
		{"handler", rule, "/db", []string{"clerk"}, func(a *testAPI) {
			_, err := a.Config.Set(config.Setting{Section: "chttpd", Key: "authentication_handlers", Value: "{chttpd_auth, cookie_authentication_handler}"}, false)
			must(a.t, err)
		}},
	}
	for _, l := range losses {
		for _, way := range []string{"continuous", "eventsource", "longpoll", "continuous, change", "eventsource, change", "longpoll, change"} {
			t.Run(l.what+" "+way, func(t *testing.T) {
				feed, change := strings.CutSuffix(way, ", change")
				t.Parallel()
				a := newTestAPI(t)
				s := httptest.NewServer(a)
				defer s.Close()
				a.do("PUT", "/db?partitioned=true", "").want(201, "")
				a.do("PUT", "/db/_security", l.security).want(200, "")
				a.do("PUT", "/db/p:1", "{}").want(201, "")
				ann := a.user("ann", l.roles...)
				db, err := a.Store.Database(t.Context(), "db")
				must(t, err)
				body := a.follow(s, l.endpoint+"/_changes?heartbeat=60000&since=now&feed="+feed, ann)
				l.lose(a)
				if change {
					_, err = db.Whole().Write(t.Context(), []document.Edit{{ID: "p:secret", Body: []byte("{}")}}, store.WriteOptions{}) // as the server, whatever became of its handlers
					must(t, err)
				}
				text, err := io.ReadAll(body)
				if err != nil || strings.Contains(string(text), "secret") {
					t.Errorf("the feed ended with %q, %v", text, err)
				}
				if feed != "eventsource" && !strings.Contains(string(text), `"last_seq":"`) {
					t.Errorf("no end: %q", text)
				}
				if again := a.do("GET", l.endpoint+"/_changes?feed="+feed+"&timeout=1", "", "Authorization", ann); l.what != "role, a rule stays" && again.Status != 401 && again.Status != 403 {
					t.Errorf("asking again: %d %s", again.Status, again.Body)
				}
			})
		}
	}
}

// takeRoles takes all roles from ann.
func (a *testAPI) takeRoles() {
	doc := a.do("GET", "/_users/org.couchdb.user:ann", "").want(200, "").Body
	a.do("PUT", "/_users/org.couchdb.user:ann", regexp.MustCompile(`"roles":\[[^\]]*\]`).ReplaceAllString(doc, `"roles":[]`)).want(201, "")
}

// TestFeedsStay: changes that leave a reader his right leave him his feed.
func TestFeedsStay(t *testing.T) {
	a := newTestAPI(t)
	s := httptest.NewServer(a)
	defer s.Close()
	a.fill("db", "p:1")
	a.do("PUT", "/db/_security", `{"members":{"roles":["clerk"]}}`).want(200, "")
	ann := a.user("ann", "clerk", "other")
	body := a.follow(s, "/db/_changes?heartbeat=60000&since=now&feed=continuous&limit=2", ann)
	a.do("PUT", "/db/p:2", "{}").want(201, "")
	doc := a.do("GET", "/_users/org.couchdb.user:ann", "").Body
	a.do("PUT", "/_users/org.couchdb.user:ann", strings.Replace(doc, `,"other"`, "", 1)).want(201, "")
	a.do("PUT", "/db/_security", `{"members":{"names":["ann"]}}`).want(200, "")
	a.user("bob")
	a.do("PUT", "/db/p:3", "{}").want(201, "")
	text, err := io.ReadAll(body)
	if err != nil || !strings.Contains(string(text), `"id":"p:2"`) || !strings.Contains(string(text), `"id":"p:3"`) {
		t.Errorf("the feed showed %q, %v", text, err)
	}
}

// TestIdleFeedsEndAtOnce: a feed by a password ends when there is no such user any more
// because the database of users is another, is gone, or the user has conflicts.
func TestIdleFeedsEndAtOnce(t *testing.T) {
	for _, lose := range []func(a *testAPI){
		func(a *testAPI) { a.set("chttpd_auth", "authentication_db", "others") },
		func(a *testAPI) { a.do("DELETE", "/_users", "").want(200, "") },
		func(a *testAPI) { conflicting(a, "/_users") },
	} {
		a := newTestAPI(t)
		s := httptest.NewServer(a)
		defer s.Close()
		a.do("PUT", "/db", "").want(201, "")
		a.do("PUT", "/db/_security", `{"members":{"names":["ann"]}}`).want(200, "")
		body := a.follow(s, "/db/_changes?heartbeat=60000&since=now&feed=continuous", a.user("ann"))
		lose(a)
		if text, err := io.ReadAll(body); err != nil || !strings.Contains(string(text), `"last_seq":"`) {
			t.Errorf("the feed ended with %q, %v", text, err)
		}
	}
}

// TestUpdatesEndWithTheirRights is the same for _db_updates.
func TestUpdatesEndWithTheirRights(t *testing.T) {
	a := newTestAPI(t)
	s := httptest.NewServer(a)
	defer s.Close()
	for _, feed := range []string{"continuous", "eventsource"} {
		_, err := auth.SetAdmin(a.Config, "root", "pw")
		must(t, err)
		body := a.follow(s, "/_db_updates?heartbeat=60000&since=0&feed="+feed, basic("root", "pw"))
		_, err = a.Config.Delete("admins", "root", false)
		must(t, err)
		if text, err := io.ReadAll(body); err != nil {
			t.Errorf("%s ended with %q, %v", feed, text, err)
		}
	}
}
