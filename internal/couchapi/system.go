package couchapi

import (
	"context"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// MakeSystemDatabases makes the databases of users and replications where they are
// missing, for administrators only. The server calls it when it starts.
func (a *API) MakeSystemDatabases(ctx context.Context) error {
	c := store.Creation{Security: auth.DefaultSecurity("admin_only").JSON()}
	names := []string{a.auth.UsersDB(), replicatorDB}
	if store.ParseName(names[0]) != nil {
		names = names[1:] // nobody but administrators logs in
	}
	if err := a.makeDatabases(ctx, names, c); err != nil {
		return err
	}
	return a.makeAuthDesign(ctx)
}

// makeAuthDesign writes the design document of the users' database, if there is the
// database and not the document.
func (a *API) makeAuthDesign(ctx context.Context) error {
	ctx = auth.WithCaller(ctx, nil) // the server itself
	db, err := a.store.Database(ctx, a.auth.UsersDB())
	if dberr.Is(err, dberr.NotFound) || err == nil && db.Partitioned() {
		return nil
	}
	if err != nil {
		return err
	}
	err = db.Whole().View(ctx, func(r *store.Reader) error {
		_, err := r.Winner(auth.DesignID)
		return err
	})
	if !dberr.Is(err, dberr.NotFound) {
		return err
	}
	got, err := db.Whole().Write(ctx, []document.Edit{{ID: auth.DesignID, Body: auth.Design()}}, store.WriteOptions{})
	if err != nil || dberr.Is(got[0].Err, dberr.Conflict) { // somebody else was first
		return err
	}
	return got[0].Err
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

// redact makes the scope of a database whose documents are not for everybody's eyes
// one that shows the caller what he may see: of users the public fields of others,
// of replications no credentials but his own.
func (r *request) redact() {
	if r.Caller.IsAdmin() {
		return
	}
	if r.api.auth.IsUsersDB(r.db.Name()) || spec.IsReplicator(r.db.Name()) {
		r.scope = r.scope.RedactedBy((*callerView)(r))
	}
}

// callerView is what the caller of a request may see of documents. It is the
// store.Redactor of the request's scope.
type callerView request

// Redact implements store.Redactor.
func (v *callerView) Redact(rev *store.Revision) ([]byte, error) {
	r := (*request)(v)
	if spec.IsReplicator(r.db.Name()) {
		return r.api.rules.VisibleReplication(r.Caller, r.db, rev)
	}
	s, err := r.security()
	if err != nil {
		return nil, err
	}
	return r.api.auth.AfterUserRead(auth.UserRead{ID: string(rev.ID), Body: rev.Body, Caller: r.Caller, Security: s})
}

// mayQuery refuses queries of indexes by those who do not see all of every document:
// indexes hold what their functions and selectors saw, which is all of it.
func (r *request) mayQuery() error {
	if !r.scope.Redacted() {
		return nil
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	err = s.Check(r.Caller, auth.DatabaseAdmin)
	if err != nil && r.api.auth.IsUsersDB(r.db.Name()) {
		return auth.ErrHiddenDesigns
	}
	return err
}

// maySeeDesigns refuses to tell of design documents where they are hidden.
func (r *request) maySeeDesigns() error {
	if r.api.auth.IsUsersDB(r.db.Name()) {
		return r.mayQuery()
	}
	return nil
}
