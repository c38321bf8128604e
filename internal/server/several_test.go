package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// over starts a server over a PostgreSQL cluster.
func over(t *testing.T, o EngineOptions) *running {
	t.Helper()
	return start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Store: o})
}

// TestServersShareTheConfiguration holds that what one server is told counts at the other
// with the next request: settings, administrators, the secret of sessions.
func TestServersShareTheConfiguration(t *testing.T) {
	o := ownDatabase(t)
	first, second := over(t, o), over(t, o)
	if !strings.Contains(first.said, "with its data in PostgreSQL and") {
		t.Errorf("the server says that it keeps its data elsewhere: %s", first.said)
	}

	if status, body := first.send("PUT", "/_node/_local/_config/couchdb/max_document_size", `"100"`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := first.send("PUT", "/settings", ""); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := second.send("PUT", "/settings/long", `{"a":"`+strings.Repeat("x", 200)+`"}`); status != 413 {
		t.Errorf("a setting of the other server: %d %s", status, body)
	}

	// A session of one is one at the other.
	status, body, w := first.ask("POST", "/_session", `{"name":"adm","password":"pass"}`, "", "", nil)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	session := http.Header{"Cookie": {w.Cookies()[0].String()}}
	if status, body, _ := second.ask("GET", "/_session", "", "", "", session); status != 200 || !strings.Contains(body, `"name":"adm"`) {
		t.Errorf("a session of the other server: %d %s", status, body)
	}

	// A new administrator, and a new password, count at once, and the old one no more.
	if status, body := first.send("PUT", "/_node/_local/_config/admins/eva", `"secret1"`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	as := func(r *running, name, password string) int {
		status, _ := r.get("/_all_dbs", name, password)
		return status
	}
	if status := as(second, "eva", "secret1"); status != 200 {
		t.Errorf("a new administrator: %d", status)
	}
	if status, body := second.send("PUT", "/_node/_local/_config/admins/eva", `"secret2"`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if old, now := as(first, "eva", "secret1"), as(first, "eva", "secret2"); old != 401 || now != 200 {
		t.Errorf("with the old password %d, with the new one %d", old, now)
	}
	if status, body := first.send("DELETE", "/_node/_local/_config/admins/eva", ""); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if status := as(second, "eva", "secret2"); status != 401 {
		t.Errorf("an administrator who was removed: %d", status)
	}

	if status, body := first.send("GET", "/_membership", ""); status != 200 || strings.Count(body, "sectional-") != 4 {
		t.Errorf("%d %s", status, body)
	}
	if err := second.stop(); err != nil {
		t.Error(err)
	}
	if status, body := first.send("GET", "/_membership", ""); status != 200 || strings.Count(body, "sectional-") != 3 {
		t.Errorf("one is stopped: %d %s", status, body)
	}
}

// TestFeedsHearOfOtherServers has a feed at one server wait for what is written at the other.
func TestFeedsHearOfOtherServers(t *testing.T) {
	o := ownDatabase(t)
	first, second := over(t, o), over(t, o)
	if status, body := first.send("PUT", "/heard", ""); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	for n := range 10 {
		_, info := second.send("GET", "/heard", "")
		since := regexp.MustCompile(`"update_seq":"([^"]*)"`).FindStringSubmatch(info)
		told := make(chan string, 1)
		go func() {
			_, body := second.send("GET", "/heard/_changes?feed=longpoll&since="+since[1], "")
			told <- body
		}()
		id := fmt.Sprintf("doc%d", n)
		if status, body := first.send("PUT", "/heard/"+id, "{}"); status != 201 {
			t.Fatalf("%d %s", status, body)
		}
		if body := <-told; !strings.Contains(body, id) {
			t.Errorf("told of %s", body)
		}
	}
}

// TestOtherServersAreAsked has a server answer for another one of its store.
func TestOtherServersAreAsked(t *testing.T) {
	o := ownDatabase(t)
	first, second := over(t, o), over(t, o)
	name := func(r *running) string {
		_, body := r.send("GET", "/_node/_local", "")
		return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(body), `{"name":"`), `"}`)
	}
	one, two := name(first), name(second)
	at := "/_node/" + strings.ReplaceAll(two, "@", "%40")
	must := func(r *running, method, path, body, want string) {
		t.Helper()
		if status, got := r.send(method, path, body); status != 200 || !strings.Contains(got, want) {
			t.Errorf("%s %s: %d %s, want %s", method, path, status, got, want)
		}
	}
	must(first, "GET", at, "", two)
	for _, path := range []string{"/_system", "/_stats", "/_versions", "/_config/couchdb", "/_smoosh/status"} {
		must(first, "GET", at+path, "", "{")
	}
	must(first, "GET", at+"/_prometheus", "", "storage_trips_total")
	// What is a machine's own is that one's.
	must(first, "PUT", at+"/_config/couchdb/maintenance_mode", `"true"`, `""`)
	must(first, "GET", at+"/_config/couchdb/maintenance_mode", "", `"true"`)
	if status, body := second.send("GET", "/_up", ""); status != 404 {
		t.Errorf("the other server is not in maintenance: %d %s", status, body)
	}
	must(first, "GET", "/_up", "", `"ok"`)
	must(first, "DELETE", at+"/_config/couchdb/maintenance_mode", "", `"true"`)
	// Errors are those of the other server, and rights are those here.
	if status, body := first.send("GET", at+"/_stats/nothing", ""); status != 404 || !strings.Contains(body, `"missing"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := first.send("PUT", at+"/_config/couchdb/x", `{`); status != 400 {
		t.Errorf("%d %s", status, body)
	}
	for _, who := range [][2]string{{"", ""}, {"adm", "wrong"}, {"eve", "eve"}} {
		if status, body := first.get(at+"/_config", who[0], who[1]); status != 401 {
			t.Errorf("%s: %d %s", who[0], status, body)
		}
	}
	if status, body := first.send("GET", "/_node/three%40nowhere/_system", ""); status != 404 || !strings.Contains(body, "no such node: three@nowhere") {
		t.Errorf("%d %s", status, body)
	}
	if err := second.stop(); err != nil {
		t.Error(err)
	}
	if status, body := first.send("GET", at+"/_system", ""); status != 503 || !strings.Contains(body, two+" is down") {
		t.Errorf("a server that was stopped: %d %s", status, body)
	}
	must(first, "GET", "/_node/"+strings.ReplaceAll(one, "@", "%40")+"/_system", "", "uptime")
}
