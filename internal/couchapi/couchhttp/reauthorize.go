package couchhttp

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// KeepGrant is called by handlers whose answer may go on for long. Before they send more
// they ask mayStay: what let the caller in (a password, a session, a token, a role,
// a rule) may be gone by then.
func (r *Request) KeepGrant() (err error) {
	if r.Grant == nil && auth.CallerOf(r.HTTP.Context()) == nil {
		r.Grant, err = r.API.Auth.Grant(r.Ctx(), r.AuthRequest(), r.Caller)
	}
	return err
}

// maxReauthorizations is how often Reauthorize looks for rights that stay: each time others have changed what
// they rest on meanwhile.
const maxReauthorizations = 20

// Reauthorize returns the error with which the request would be refused if it came now.
// What was read before it is asked may be sent, for the rights still held when it
// was read. Where other processes write to the store, what is remembered of rights is looked
// at in one read, as at the request's beginning.
func (r *Request) Reauthorize() error {
	if r.Grant == nil {
		return r.authorize() // nobody's, or a caller from within the process
	}
	for range maxReauthorizations {
		ctx, claims := r.API.Store.WithPreconditions(r.Ctx())
		err := r.claimDatabase(ctx)
		if err == nil {
			err = r.authorizeAt(ctx)
		}
		if looked := claims.Confirm(ctx); looked != nil && !claims.Stale() {
			return looked
		}
		if !claims.Stale() {
			return err
		}
	}
	return store.ErrStale
}

// Unconfirmed reports whether the request was let in by what its first read is still to look at.
func (r *Request) Unconfirmed() bool { return r.preconditions.Open() }

// claimDatabase adds to the claims in ctx that the request's database is as remembered.
func (r *Request) claimDatabase(ctx context.Context) error {
	if r.DB == nil || !r.API.Store.Shared() || r.DB.Claim(ctx) {
		return nil
	}
	now, err := r.API.Store.Database(ctx, r.DB.Name())
	if err == nil && now != r.DB {
		err = errNoDatabase
	}
	return err
}

// authorizeAt is authorize for the caller as of now.
func (r *Request) authorizeAt(ctx context.Context) error {
	c, err := r.Grant.Check(ctx)
	if err != nil {
		return err
	}
	r.Caller = c
	return r.authorize()
}

// authorize returns the error with which the caller would be refused now.
func (r *Request) authorize() error {
	if err := r.checkServer(r.route); err != nil || r.DB == nil {
		return err
	}
	before := r.Scope
	defer func() { r.Scope = before }()
	r.Scope = r.DB.Whole()
	if err := r.checkDatabase(r.route); err != nil {
		return err
	}
	// Whoever sees less from now on asks again, and gets what he may see.
	if r.Scope.Restricted() != before.Restricted() || r.Scope.OwnLocals() != before.OwnLocals() {
		return errRightsChanged
	}
	return nil
}

// WatchGrant returns a channel that is closed when something changes after the call that the
// caller's right may rest on and no feed shows: his document among the users, or the
// settings. It is closed at once where the right is gone by then. The function is to be
// called when nobody waits for it any more.
func (r *Request) WatchGrant() (<-chan struct{}, func()) {
	if r.Grant == nil {
		return nil, func() {}
	}
	var lost <-chan struct{}
	leave := func() {}
	users, err := r.API.Store.Database(r.Ctx(), r.API.Auth.UsersDB())
	if err == nil { // else nobody's right rests on a document
		lost, leave = users.WatchDoc(document.ID(auth.UserPrefix + r.Caller.Name))
	}
	if r.Reauthorize() != nil {
		leave()
		gone := make(chan struct{})
		close(gone)
		return gone, func() {}
	}
	return lost, leave
}

var errRightsChanged = dberr.New(dberr.Unauthorized, "unauthorized", "Your rights have changed; ask again.")

// AtMost shortens a wait to the end of what let the caller in.
func (r *Request) AtMost(d time.Duration) time.Duration {
	if r.Grant == nil || r.Grant.Until().IsZero() {
		return d
	}
	return min(d, max(0, r.Grant.Until().Sub(r.API.Store.Now())))
}
