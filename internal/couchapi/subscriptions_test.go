package couchapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestSubscriptions walks a subscription through the face: it is made, read,
// changed, told of a change, and removed.
func TestSubscriptions(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "subscriptions", Key: "allow_private", Value: "true"})
	a.fill("db", "p:a", "q:a")
	told := make(chan string)
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, h *http.Request) {
		raw, _ := io.ReadAll(h.Body)
		told <- string(raw)
		w.WriteHeader(500)
	}))
	defer r.Close()
	const secret = `"secret":"0123456789abcdef"`
	definition := `{"url":"` + r.URL + `",` + secret + `,"attempts":1,"since":0,"include_docs":true}`
	for _, at := range []string{"/db/_subscriptions", "/db/_partition/p/_subscriptions"} {
		a.do("GET", at, "").want(200, `{"subscriptions":[]}`)
		made := a.do("POST", at, `{"url":"`+r.URL+`",`+secret+`,"paused":true}`).want(201, "")
		id := made.json()["id"].(string)
		if got := made.Header.Get("Location"); got != "http://example.com"+at+"/"+id {
			t.Errorf("Location: %s", got)
		}
		a.do("DELETE", at+"/"+id, "").want(200, `{"ok":true}`)
		a.do("GET", at+"/"+id, "").want(404, `{"error":"not_found","reason":"missing"}`)
		one := at + "/hook"
		a.do("PUT", one, definition).want(201, `{"ok":true}`)
		if got := <-told; !strings.Contains(got, `"_id":"p:a"`) || strings.Contains(got, `"partition":"p"`) == strings.Contains(got, "q:a") {
			t.Errorf("told %s", got)
		}
		// What follows waits for the dead letter by asking for it.
		for a.do("GET", one+"/_dead", "").json()["total"].(interface{ String() string }).String() == "0" {
		}
		rows := a.do("GET", one+"/_dead?limit=1", "").want(200, "").json()["rows"].([]any)
		if row := rows[0].(map[string]any); row["reason"] != "The receiver answered 500." || row["changes"].([]any)[0].(map[string]any)["id"] != "p:a" {
			t.Errorf("dead: %v", rows)
		}
		a.do("POST", one+"/_retry", `{"entries":[7]}`).want(202, `{"ok":true,"entries":0}`)
		a.do("POST", one+"/_retry", `{"entries":[-7]}`).want(400, "")
		a.do("POST", one+"/_retry", "").want(202, `{"ok":true,"entries":1}`)
		if got := <-told; !strings.Contains(got, `"dead_letter":1`) {
			t.Errorf("told %s", got)
		}
		for !strings.Contains(a.do("GET", one+"/_dead", "").Body, `"attempts":2`) { // until the second failure is stored, too
		}
		a.do("DELETE", one+"/_dead/9", "").want(404, "")
		a.do("DELETE", one+"/_dead/x", "").want(404, "")
		a.do("DELETE", one+"/_dead/1", "").want(200, `{"ok":true,"entries":1}`)
		a.do("DELETE", one+"/_dead", "").want(200, `{"ok":true,"entries":0}`)
		a.do("PUT", one, strings.Replace(definition, `"since":0`, `"paused":true`, 1)).want(200, `{"ok":true}`)
		got := a.do("GET", one, "").want(200, "")
		if got.json()["state"].(map[string]any)["status"] != "paused" || strings.Contains(got.Body, "cdef") {
			t.Errorf("got %s", got.Body)
		}
		a.do("GET", at, "").want(200, `{"subscriptions":[`+got.Body+`]}`)
	}
	a.do("DELETE", "/db/_subscriptions/hook", "").want(200, "")
	a.do("GET", "/db/_partition/p/_subscriptions/hook", "").want(200, "")
}

// TestWhoSubscribes asks as others than an administrator, and of databases that
// have no subscriptions.
func TestWhoSubscribes(t *testing.T) {
	a := newTestAPI(t)
	a.fill("db", "p:a")
	a.fill("plain", "a")
	a.do("PUT", "/db/_security", `{"admins":{"names":["boss"]},"members":{"names":["joe"]}}`).want(200, "")
	boss, joe := a.user("boss"), a.user("joe")
	const body = `{"url":"https://example.com","secret":"0123456789abcdef","paused":true}`
	for _, at := range []string{"/db/_subscriptions", "/db/_partition/p/_subscriptions"} {
		for _, row := range [][2]string{{"GET", ""}, {"POST", ""}, {"GET", "/x"}, {"PUT", "/x"}, {"DELETE", "/x"}, {"POST", "/x/_retry"}, {"GET", "/x/_dead"}, {"DELETE", "/x/_dead"}, {"DELETE", "/x/_dead/1"}} {
			for _, who := range []string{joe, ""} {
				if got := a.do(row[0], at+row[1], body, "Authorization", who); got.Status != 401 && got.Status != 403 {
					t.Errorf("%s %s%s as somebody else: %d %s", row[0], at, row[1], got.Status, got.Body)
				}
			}
		}
		a.do("PUT", at+"/x", body, "Authorization", boss).want(201, "")
		a.do("GET", at+"/x", "", "Authorization", boss).want(200, "")
		a.do("PUT", at+"/x", strings.Replace(body, "https://example.com", "http://10.1.2.3", 1)).want(400, "")
		a.do("POST", at+"/x", "{}").want(405, "")
		a.do("PUT", at+"/x", "").want(400, "")
	}
	for _, name := range []string{"_users", "_replicator"} {
		a.do("PUT", "/"+name+"/_subscriptions/x", body).want(403, "")
	}
	a.do("GET", "/plain/_partition/p/_subscriptions", "").want(400, "")
	a.do("PUT", "/plain/_subscriptions/x", body).want(201, "")
	a.do("GET", "/none/_subscriptions", "").want(404, "")
}
