package couchhttp

import (
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// Stay is called by handlers whose answer may go on for long. Before they send more
// they ask mayStay: what let the caller in (a password, a session, a token, a role,
// a rule) may be gone by then.
func (r *Request) Stay() (err error) {
	if r.Grant == nil && auth.CallerOf(r.HTTP.Context()) == nil {
		r.Grant, err = r.API.Auth.Grant(r.Ctx(), r.AuthRequest(), r.Caller)
	}
	return err
}

// MayStay returns the error with which the request would be refused if it came now.
// What was read before it is asked may be sent, for the rights still held when it
// was read.
func (r *Request) MayStay() error {
	if r.Grant != nil {
		c, err := r.Grant.Check(r.Ctx())
		if err != nil {
			return err
		}
		r.Caller = c
	}
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

// Doubt returns a channel that is closed when something changes after the call that the
// caller's right may rest on and no feed shows: his document among the users, or the
// settings. It is closed at once where the right is gone by then. The function is to be
// called when nobody waits for it any more.
func (r *Request) Doubt() (<-chan struct{}, func()) {
	if r.Grant == nil {
		return nil, func() {}
	}
	var lost <-chan struct{}
	leave := func() {}
	users, err := r.API.Store.Database(r.Ctx(), r.API.Auth.UsersDB())
	if err == nil { // else nobody's right rests on a document
		lost, leave = users.WatchDoc(document.ID(auth.UserPrefix + r.Caller.Name))
	}
	if r.MayStay() != nil {
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
	return min(d, max(0, r.Grant.Until().Sub(r.API.Now())))
}
