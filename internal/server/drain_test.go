package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestDrain: a server that is told to end goes on for a while, says so to balancers, and has its clients come
// on other connections.
func TestDrain(t *testing.T) {
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: configured(t, "[sectional]\ndrain = 500ms\n")})
	if status, body, answer := r.ask("PUT", "/db", "", "adm", "pass", nil); status != 201 || answer.Close {
		t.Fatalf("%d %s, closed: %v", status, body, answer.Close)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	for status, body := 200, ""; status != 404; { // fails when the server ends before
		if status, body = r.get("/_up", "", ""); status == 404 && !strings.Contains(body, `"draining"`) {
			t.Errorf("_up: %s", body)
		}
	}
	status, body, answer := r.ask("PUT", "/db/doc", "{}", "adm", "pass", nil)
	if status != 201 || !answer.Close {
		t.Errorf("while draining: %d %s, closed: %v", status, body, answer.Close)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(r.base + "/_up"); err == nil {
		t.Error("the server goes on")
	}
}
