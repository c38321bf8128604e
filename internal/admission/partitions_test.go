package admission

import (
	"context"
	"errors"
	"testing"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// TestRestrictedReadersWriteTheirPartition writes through the store's entry point, as callers
// whom rules let into a partition and who come by a way that looked at nothing.
func TestRestrictedReadersWriteTheirPartition(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	const rules = `{"members":{"names":["mia"]},"partitions":[
		{"who":{"names":["rita","will"]},"partition":"alice","access":"read"},
		{"who":{"names":["will"]},"partition":"alice","access":"write"}]}`
	for name, partitioned := range map[string]bool{"parts": true, "plain": false} {
		_, err := w.store.Create(ctx, name, store.Creation{Partitioned: partitioned, Security: []byte(rules)})
		must(t, err)
	}
	const (
		notAuthorized = "You are not authorized to access this db."
		notAllowed    = "You are not allowed to access this db."
		notWriter     = "You are not allowed to write to this partition."
		noDesigns     = "Design documents of partitions are switched off: `[sectional] owner_design_docs = none` in the server's configuration. It can be `views`, `members` or `admins`."
		notAdmin      = "You are not a db or server admin."
	)
	for _, c := range []struct{ caller, db, id, want string }{
		{"", "parts", "alice:1", notAuthorized},
		{"sue", "parts", "alice:1", notAllowed},
		{"rita", "parts", "alice:1", notWriter},
		{"will", "parts", "alice:1", ""},
		{"will", "parts", "bob:1", notAllowed},
		{"will", "parts", "alicea:1", notAllowed},
		{"will", "parts", "_design/alice:1", notAdmin},
		{"mia", "parts", "bob:1", ""},
		{"will", "plain", "alice:1", notAllowed},
		{"mia", "plain", "alice:1", ""},
		{"will", "parts", "alice:_design/x", noDesigns},
		{"will", "parts", "bob:_design/x", notAllowed},
		{"rita", "parts", "alice:_design/x", notWriter},
	} {
		_, err := w.write(&auth.Caller{Name: c.caller}, c.db, document.Edit{ID: document.ID(c.id), Body: []byte(`{}`)})
		if got := reason(err); got != c.want {
			t.Errorf("%q writes %s in %s: %q, want %q", c.caller, c.id, c.db, got, c.want)
		}
	}
	d, err := w.store.Database(ctx, "parts")
	must(t, err)
	whole, alice, bob := d.Whole(), d.Within("alice"), d.Within("bob")
	for _, c := range []struct {
		caller string
		scope  store.Scope
		want   string
	}{
		{"", alice, notAuthorized}, {"sue", alice, notAllowed}, {"rita", alice, notWriter}, {"will", alice, ""}, {"will", bob, notAllowed},
		{"will", whole, notAllowed}, {"rita", whole, notAllowed}, {"mia", whole, ""}, {"mia", bob, ""},
		{"rita", alice.AsTenant(), notWriter}, {"will", alice.AsTenant(), ""},
		{"rita", alice.ReadBy("rita"), ""}, {"rita", alice.AsTenant().ReadBy("rita"), ""}, {"sue", alice.ReadBy("sue"), notAllowed}, {"rita", bob.ReadBy("rita"), notAllowed},
	} {
		ctx := auth.WithCaller(ctx, &auth.Caller{Name: c.caller})
		_, err := c.scope.PutLocal(ctx, "_local/x", 0, []byte(`{}`))
		if got := reason(err); got != c.want {
			t.Errorf("%q writes a local document of %v: %q, want %q", c.caller, c.scope, got, c.want)
		}
		if err := c.scope.DeleteLocal(ctx, "_local/x"); reason(err) != c.want {
			t.Errorf("%q removes a local document of %v: %v, want %q", c.caller, c.scope, err, c.want)
		}
	}
}

// reason returns the sentence of an error.
func reason(err error) string {
	if e := (*dberr.Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
