package couchapi

import (
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// stay is called by handlers whose answer may go on for long. Before they send more
// they ask mayStay: what let the caller in (a password, a session, a token, a role,
// a rule) may be gone by then.
func (r *request) stay() (err error) {
	if r.grant == nil && auth.CallerOf(r.HTTP.Context()) == nil {
		r.grant, err = r.api.auth.Grant(r.Ctx(), r.authRequest(), r.Caller)
	}
	return err
}

// mayStay returns the error with which the request would be refused if it came now.
// What was read before it is asked may be sent, for the rights still held when it
// was read.
func (r *request) mayStay() error {
	if r.grant != nil {
		c, err := r.grant.Check(r.Ctx())
		if err != nil {
			return err
		}
		r.Caller = c
	}
	if err := r.checkServer(r.route); err != nil || r.db == nil {
		return err
	}
	before := r.scope
	defer func() { r.scope = before }()
	r.scope = r.db.Whole()
	if err := r.checkDatabase(r.route); err != nil {
		return err
	}
	// Whoever sees less from now on asks again, and gets what he may see.
	if r.scope.Restricted() != before.Restricted() || r.scope.OwnLocals() != before.OwnLocals() {
		return errRightsChanged
	}
	return nil
}

// doubt returns a channel that is closed when something changes after the call that the
// caller's right may rest on and no feed tells of: his document among the users, or the
// settings. It is closed at once where the right is gone by then. The function is to be
// called when nobody waits for it any more.
func (r *request) doubt() (<-chan struct{}, func()) {
	if r.grant == nil {
		return nil, func() {}
	}
	var lost <-chan struct{}
	leave := func() {}
	users, err := r.api.store.Database(r.Ctx(), r.api.auth.UsersDB())
	if err == nil { // else nobody's right rests on a document
		lost, leave = users.WatchDoc(document.ID(auth.UserPrefix + r.Caller.Name))
	}
	if r.mayStay() != nil {
		leave()
		gone := make(chan struct{})
		close(gone)
		return gone, func() {}
	}
	return lost, leave
}

var errRightsChanged = dberr.New(dberr.Unauthorized, "unauthorized", "Your rights have changed; ask again.")

// atMost shortens a wait to the end of what let the caller in.
func (r *request) atMost(d time.Duration) time.Duration {
	if r.grant == nil || r.grant.Until().IsZero() {
		return d
	}
	return min(d, max(0, r.grant.Until().Sub(r.api.Now())))
}
