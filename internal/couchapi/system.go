package couchapi

import (
	"context"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// MakeSystemDatabases makes _users and _replicator where they are missing, for
// administrators only. The server calls it when it starts.
func (a *API) MakeSystemDatabases(ctx context.Context) error {
	c := store.Creation{Security: auth.DefaultSecurity("admin_only").JSON()}
	return a.makeDatabases(ctx, []string{usersDB, replicatorDB}, c)
}

// makeDatabases makes those of the databases that are missing.
func (a *API) makeDatabases(ctx context.Context, names []string, c store.Creation) error {
	for _, name := range names {
		_, err := a.store.Create(ctx, name, c)
		if err != nil && !dberr.Is(err, dberr.Exists) {
			return err
		}
	}
	return nil
}

// visible gives the body of a revision as the caller may see it: whole, but
// for documents of _users, which show others no more than their public fields,
// and replications, whose credentials only their owners see.
// Every door that lets a body out asks it.
func (r *request) visible(rev *store.Revision) ([]byte, error) {
	if r.caller.IsAdmin() {
		return rev.Body, nil
	}
	if spec.IsReplicator(r.db.Name()) {
		return r.api.rules.VisibleReplication(r.caller, r.db, rev)
	}
	if r.db.Name() != usersDB {
		return rev.Body, nil
	}
	s, err := r.security()
	if err != nil {
		return nil, err
	}
	return r.api.auth.AfterUserRead(auth.UserRead{ID: string(rev.ID), Body: rev.Body, Caller: r.caller, Security: s})
}

// designID gives the id of the design document that an argument names.
func (r *request) designID(arg string) (document.ID, error) {
	return document.ParseID("_design/"+r.arg(arg), r.api.settings.Value().maxID)
}
