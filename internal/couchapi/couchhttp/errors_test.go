package couchhttp

import (
	"errors"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		err          error
		status       int
		word, reason string
	}{
		{dberr.New(dberr.Invalid, "illegal_docid", "no"), 400, "illegal_docid", "no"},
		{dberr.New(dberr.Conflict, "", "no"), 409, "conflict", "no"},
		{dberr.New(dberr.Exists, "file_exists", "there"), 412, "file_exists", "there"},
		{dberr.Wrap("x", dberr.New(dberr.NotFound, "not_found", "missing")), 404, "not_found", "missing"},
		{dberr.New(dberr.NotFound, "gone", "Temporary views are not supported in CouchDB"), 410, "gone", "Temporary views are not supported in CouchDB"},
		{dberr.New(dberr.Invalid, "", "no %s", strings.Repeat("é", 4000)), 400, "bad_request", "no " + strings.Repeat("é", 2046) + "…"},
		{errors.New("disk on fire"), 500, "internal_server_error", "The server could not process the request."},
		{dberr.Wrap("x", errors.New("secret cause")), 500, "internal_server_error", "The server could not process the request."},
	} {
		if status, word, reason := Words(c.err); status != c.status || word != c.word || reason != c.reason {
			t.Errorf("%v: %d %s %q", c.err, status, word, reason)
		}
	}
}

func TestEveryKindHasAStatus(t *testing.T) {
	for k := dberr.Internal; k <= dberr.UnknownOutcome; k++ {
		if w := wires[k]; w.status < 400 || w.word == "" {
			t.Errorf("kind %d has no status", k)
		}
	}
}
