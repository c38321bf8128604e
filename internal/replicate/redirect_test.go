package replicate_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/sectional/sectional/internal/replicate"
)

// TestRedirectsCarryNoCredentials has a source redirect every request to another
// server, which sees neither the password nor the header that it was given.
func TestRedirectsCarryNoCredentials(t *testing.T) {
	w := newWorld(t)
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			if got := r.Header.Get(name); got != "" {
				t.Errorf("%s %s came with %s: %s", r.Method, r.URL.Path, name, got)
			}
		}
		rw.WriteHeader(http.StatusForbidden)
	}))
	defer other.Close()
	source := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer source.Close()
	task := w.task(&record{})
	task.Source = replicate.Address{URL: source.URL + "/a", User: "u", Password: "secret", Retries: -1,
		Header: http.Header{"X-Api-Key": {"secret"}, "Cookie": {"AuthSession=secret"}}}
	if _, err := task.Run(t.Context()); err == nil || asked.Load() == 0 {
		t.Errorf("the replication ended with %v after %d requests elsewhere", err, asked.Load())
	}
}
