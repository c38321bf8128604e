package couchapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestLockoutTellsWhen: a 403 says how long, in words and in Retry-After, for a
// login, Basic credentials and whatever is asked with them.
func TestLockoutTellsWhen(t *testing.T) {
	a := newTestAPI(t)
	ann := a.as("ann")
	wrong := func(password string, more ...string) answer {
		return a.do("GET", "/_session", "", append([]string{"Authorization", basic("ann", password)}, more...)...)
	}
	for i := range 5 {
		wrong(fmt.Sprint("guess", i)).want(401, "")
	}
	for _, got := range []answer{
		wrong("guess5"), a.do("PUT", "/ann", "", "Authorization", basic("ann", "guess6")),
		a.do("POST", "/_session", `{"name":"ann","password":"guess7"}`, "Authorization", ""),
	} {
		if got.Status != 403 || got.Header.Get("Retry-After") != "300" ||
			got.json()["reason"] != "Account is temporarily locked due to multiple authentication failures. Try again in 300 seconds." {
			t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
	}
	a.do("GET", "/_session", "", ann...).want(403, "") // it was never right from here
	a.do("GET", "/_session", "").want(200, "")
}

// TestForwardedClients: behind a trusted proxy each client has its own count,
// and nobody has another one's by saying so.
func TestForwardedClients(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "chttpd", Key: "trusted_proxies", Value: "192.0.2.0/24"}) // where httptest's requests come from
	ann := a.as("ann")
	for i := range 6 {
		a.do("GET", "/_session", "", "Authorization", basic("ann", fmt.Sprint("guess", i)), "X-Forwarded-For", fmt.Sprintf("6.6.6.%d, 10.0.0.1", i)).
			want(map[bool]int{true: 401, false: 403}[i < 5], "")
	}
	a.do("GET", "/_session", "", append(ann, "X-Forwarded-For", "10.0.0.1")...).want(403, "")
	a.do("GET", "/_session", "", append(ann, "X-Forwarded-For", "10.0.0.2")...).want(200, "")
	a.do("PUT", "/_node/_local/_config/chttpd/trusted_proxies", `"10.0.0.0/8, proxy"`).
		want(400, `{"error":"bad_request","reason":"`+"`trusted_proxies`"+` is a list of addresses and networks, such as 10.0.0.0/8."}`)
	a.do("PUT", "/_node/_local/_config/chttpd/trusted_proxies", `"127.0.0.1, ::1, 10.0.0.0/8"`).want(200, "")
}

// TestJobsGuessNoPasswords: what a job tries on this server is counted, whatever
// address it claims.
func TestJobsGuessNoPasswords(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "default_security", Value: "everyone"},
		config.Setting{Section: "chttpd", Key: "trusted_proxies", Value: "0.0.0.0/0"})
	ann := a.as("ann")
	a.hold("a")
	a.hold("b")
	try := func(password string, i int) string {
		return a.do("POST", "/_replicate", fmt.Sprintf(`{"source":{"url":"a","headers":{"X-Forwarded-For":"10.0.0.%d"},
			"auth":{"basic":{"username":"adm","password":%q}}},"target":"b"}`, i, password), ann...).Body
	}
	for i := range 10 {
		try(fmt.Sprint("guess", i), i)
	}
	if got := try("pass", 11); !strings.Contains(got, `"unauthorized"`) {
		t.Errorf("the right one after ten: %s", got)
	}
	a.do("PUT", "/_node/_local/_config/chttpd_auth_lockout/mode", `"off"`).want(200, "") // and nobody else is kept out
	if got := try("pass", 12); !strings.Contains(got, `"ok":true`) {
		t.Errorf("with the lock-out off: %s", got)
	}
}

// TestNobodyLocksTheAdministratorOut: with open sign-up, by every way that a
// document is written.
func TestNobodyLocksTheAdministratorOut(t *testing.T) {
	a := newTestAPI(t, config.Setting{Section: "couchdb", Key: "users_db_security_editable", Value: "true"})
	a.do("PUT", "/_users/_security", `{}`).want(200, "")
	const broken = `{"_id":"org.couchdb.user:adm","name":"adm","type":"user","roles":[],"totp":5}`
	replicated := strings.Replace(broken, `"name"`, `"_rev":"9-abc","name"`, 1)
	for name, got := range map[string]answer{
		"PUT":        a.do("PUT", "/_users/org.couchdb.user:adm", broken, "Authorization", ""),
		"POST":       a.do("POST", "/_users", broken, "Authorization", ""),
		"bulk":       a.do("POST", "/_users/_bulk_docs", `{"docs":[`+broken+`]}`, "Authorization", ""),
		"replicated": a.do("POST", "/_users/_bulk_docs", `{"new_edits":false,"docs":[`+replicated+`]}`, "Authorization", ""),
		"by himself": a.do("PUT", "/_users/org.couchdb.user:adm", broken),
	} {
		if !strings.Contains(got.Body, `"forbidden"`) || !strings.Contains(got.Body, "`totp`") {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	a.do("GET", "/_users/org.couchdb.user:adm", "").want(404, "")
	a.do("GET", "/_session", "").want(200, "")
}

// TestLockoutOfSeveral: guesses are counted together, whichever servers they come to, and right
// passwords at all of them are none.
func TestLockoutOfSeveral(t *testing.T) {
	for _, engine := range []string{"model", "pebble"} {
		t.Run(engine, func(t *testing.T) {
			a := newSeveral(t, engine, 3)
			ann := a.as("ann")
			for range 12 {
				a.do("GET", "/_session", "", ann...).want(200, "")
			}
			from := func(password string) []string {
				return []string{"Authorization", basic("ann", password), "X-Forwarded-For", "10.0.0.1"}
			}
			a.Config.Set(config.Setting{Section: "chttpd", Key: "trusted_proxies", Value: "192.0.2.0/24"}, false)
			for i := range 12 {
				a.do("GET", "/_session", "", from(fmt.Sprint("guess", i))...).want(map[bool]int{true: 401, false: 403}[i < 5], "")
			}
			for n := range 3 {
				a.on(n).do("GET", "/_session", "", from("pw")...).want(403, "")
				a.on(n).do("GET", "/_session", "", ann...).want(200, "")
			}
		})
	}
}
