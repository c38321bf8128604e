package couchhttp

import (
	"context"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// IsSystemName reports whether a database is one of the system's, which is
// never partitioned: one of users, or by its whole name or its last part.
func (a *API) IsSystemName(name string) bool {
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch name {
	case replicatorDB, "_global_changes", "_dbs", "_nodes":
		return true
	}
	return a.Auth.IsUsersDB(name) || last != name && last == replicatorDB
}

// MakeSystemDatabases makes the databases of users and replications where they are
// missing, for administrators only. The server calls it when it starts.
func (a *API) MakeSystemDatabases(ctx context.Context) error {
	c := store.Creation{Security: auth.DefaultSecurity("admin_only").JSON()}
	names := []string{a.Auth.UsersDB(), replicatorDB}
	if store.ParseName(names[0]) != nil {
		names = names[1:] // nobody but administrators logs in
	}
	if err := a.MakeDatabases(ctx, names, c); err != nil {
		return err
	}
	return a.MakeAuthDesign(ctx)
}

// MakeAuthDesign writes the design document of the users' database, if there is the
// database and not the document.
func (a *API) MakeAuthDesign(ctx context.Context) error {
	ctx = auth.WithCaller(ctx, nil) // the server itself
	db, err := a.Store.Database(ctx, a.Auth.UsersDB())
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

// MakeDatabases makes those of the databases that are missing.
func (a *API) MakeDatabases(ctx context.Context, names []string, c store.Creation) error {
	for _, name := range names {
		_, err := a.Store.Create(ctx, name, c)
		if err != nil && !dberr.Is(err, dberr.Exists) {
			return err
		}
	}
	return nil
}

// redact makes the scope of a database whose documents are not for everybody's eyes
// one that shows the caller what he may see: of users the public fields of others,
// of replications no credentials but his own.
func (r *Request) redact() {
	if r.Caller.IsAdmin() {
		return
	}
	if r.API.Auth.IsUsersDB(r.DB.Name()) || spec.IsReplicator(r.DB.Name()) {
		r.Scope = r.Scope.RedactedBy((*callerView)(r))
	}
}

// callerView is what the caller of a request may see of documents. It is the
// store.Redactor of the request's scope.
type callerView Request

// Redact implements store.Redactor.
func (v *callerView) Redact(rev *store.Revision) ([]byte, error) {
	r := (*Request)(v)
	if spec.IsReplicator(r.DB.Name()) {
		return r.API.rules.VisibleReplication(r.Caller, r.DB, rev)
	}
	s, err := r.security()
	if err != nil {
		return nil, err
	}
	return r.API.Auth.AfterUserRead(auth.UserRead{ID: string(rev.ID), Body: rev.Body, Caller: r.Caller, Security: s})
}

// MayQuery refuses queries of indexes by those who do not see all of every document:
// indexes hold what their functions and selectors saw, which is all of it.
func (r *Request) MayQuery() error {
	if !r.Scope.Redacted() {
		return nil
	}
	s, err := r.security()
	if err != nil {
		return err
	}
	err = s.Check(r.Caller, auth.DatabaseAdmin)
	if err != nil && r.API.Auth.IsUsersDB(r.DB.Name()) {
		return auth.ErrHiddenDesigns
	}
	return err
}

// MaySeeDesigns refuses to tell of design documents where they are hidden.
func (r *Request) MaySeeDesigns() error {
	if r.API.Auth.IsUsersDB(r.DB.Name()) {
		return r.MayQuery()
	}
	return nil
}
