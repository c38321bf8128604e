package couchapi

import (
	"testing"
	"time"

	"github.com/sectional/sectional/internal/web"
)

// TestHeartbeatsHaveAFloor raises heartbeats below a second to one, of both kinds of feed.
func TestHeartbeatsHaveAFloor(t *testing.T) {
	for text, want := range map[string]time.Duration{"1": time.Second, "999": time.Second, "1500": 1500 * time.Millisecond, "10000": 10 * time.Second} {
		var of changesQuery
		if err := changesParams.Read(web.Query{{Name: "heartbeat", Value: text}}, &of); err != nil {
			t.Fatal(err)
		}
		var all updatesFeed
		if err := updatesParams.Read(web.Query{{Name: "heartbeat", Value: text}}, &all); err != nil {
			t.Fatal(err)
		}
		if of.Heartbeat != want || all.heartbeat != want {
			t.Errorf("heartbeat=%s: %v of a database, %v of all, want %v", text, of.Heartbeat, all.heartbeat, want)
		}
	}
	var none updatesFeed
	if err := updatesParams.Read(web.Query{{Name: "heartbeat", Value: "false"}}, &none); err != nil {
		t.Fatal(err)
	}
	if none.heartbeat != 0 {
		t.Errorf("without heartbeats: %v", none.heartbeat)
	}
}
