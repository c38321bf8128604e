package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

// TestErrorsAreToldOnce holds that the sentence of an error that went through several hands is told once, with what is
// behind it.
func TestErrorsAreToldOnce(t *testing.T) {
	plain := errors.New("no route")
	away := &dberr.Error{Op: "engine.Open", Kind: dberr.Unavailable, Reason: "The server is away.", Cause: plain}
	other := &dberr.Error{Reason: "The copy has stopped.", Cause: away}
	for want, err := range map[string]error{
		"ended before its time":          fmt.Errorf("reading: %w", dberr.Wrap("a", context.Canceled)),
		"no route":                       plain,
		"There is none.":                 dberr.Wrap("store.AbandonAll", dberr.New(dberr.NotFound, "", "There is none.")),
		"The server is away. (no route)": dberr.Wrap("b", fmt.Errorf("copying: %w", dberr.Wrap("a", away))),
		"The copy has stopped. (The server is away. (no route))": dberr.Wrap("a", other),
	} {
		if got := explain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
