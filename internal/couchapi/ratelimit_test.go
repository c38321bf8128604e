package couchapi_test

import (
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// TestRateLimits: a user who asks too often is told 429 and when to come again, an administrator never.
func TestRateLimits(t *testing.T) {
	a := newTestAPI(t)
	for key, value := range map[string]string{"per_user": "1", "burst": "2"} {
		_, err := a.Config.Set(config.Setting{Section: "rate_limits", Key: key, Value: value}, false)
		must(t, err)
	}
	a.do("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","type":"user","roles":[],"password":"pass"}`).want(201, "")
	as := func() answer { return a.do("GET", "/_session", "", "Authorization", basic("jan", "pass")) }
	limited := 0
	for range 50 { // a second apart they were all let in, which no machine is slow enough for
		if got := as(); got.Status == 429 {
			limited++
			got.want(429, `{"error":"too_many_requests","reason":"You have asked too often; wait as long as Retry-After says."}`)
			if got.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
			}
		}
	}
	if limited == 0 {
		t.Error("nothing was refused")
	}
	for range 10 {
		a.do("GET", "/_session", "").want(200, "")
		a.do("GET", "/_up", "", "Authorization", "").want(200, "")
	}
}

// TestUpLives: maintenance is no reason to end a server, and a server that is about to stop lives.
func TestUpLives(t *testing.T) {
	a := newTestAPI(t)
	health := ""
	a.API.Health = func() string { return health }
	_, err := a.Config.Set(config.Setting{Section: "couchdb", Key: "maintenance_mode", Value: "true"}, false)
	must(t, err)
	for _, health = range []string{"ok", "full", "away", "draining"} {
		a.do("GET", "/_up?live=true", "", "Authorization", "").want(200, `{"status":"ok"}`)
	}
	health = "stopped"
	a.do("GET", "/_up?live=true", "", "Authorization", "").want(503, `{"status":"stopped"}`)
}
