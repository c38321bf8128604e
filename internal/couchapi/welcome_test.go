package couchapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// TestUpTellsOfTheDisk holds difference 291: `_up` says that the disk is full and
// stays in the balance, and leaves it when the storage engine has stopped.
func TestUpTellsOfTheDisk(t *testing.T) {
	a := newTestAPI(t)
	for _, c := range []struct {
		health string
		status int
	}{{"ok", http.StatusOK}, {"full", http.StatusOK}, {"stopped", http.StatusServiceUnavailable}, {"away", http.StatusServiceUnavailable}} {
		a.API.Health = func() string { return c.health }
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/_up", nil))
		if want := `{"status":"` + c.health + `","seeds":{}}`; w.Code != c.status || w.Body.String() != want && w.Body.String() != want+"\n" {
			t.Errorf("%s: %d %s", c.health, w.Code, w.Body)
		}
	}
}

// TestFullDiskAnswer holds difference 290: no room on the disk is a 507.
func TestFullDiskAnswer(t *testing.T) {
	status, word, reason := couchhttp.Words(dberr.Wrap("store.Write", dberr.New(dberr.Full, "", "The disk is full.")))
	if status != http.StatusInsufficientStorage || word != "insufficient_storage" || reason != "The disk is full." {
		t.Errorf("%d %s %s", status, word, reason)
	}
}
