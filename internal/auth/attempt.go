package auth

import (
	"context"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// login is an attempt to show that one knows a password.
type login struct {
	name, password string
	peer           string // address of the client, without the port
	basic          bool   // there is no second factor with it
}

// checkPassword returns the user whose password is right, or why not.
//
// A password that is remembered passes without being counted, also while others
// are guessing: see lockout.
func (a *Authenticator) checkPassword(ctx context.Context, s *settings, l login) (*User, error) {
	u, err := a.user(ctx, s, l.name)
	if err != nil {
		return nil, err
	}
	if u == nil {
		u = &User{Name: l.name}
	}
	v := u.Verifier
	if l.basic && u.totp != nil {
		v = Verifier{} // no password is enough
	}
	if err := s.hashing.check(v); err != nil {
		return nil, err
	}
	c, network := a.passwords.credential(v, l.name, l.password), networkOf(l.peer)
	t := passwordAttempt{login: l, what: "password", salt: u.Verifier.Salt, secret: l.password}
	if known, familiar := a.passwords.remembered(c, network); known {
		if err := a.checkRemembered(ctx, s, t, familiar); err != nil {
			return nil, err
		}
		if !familiar {
			a.passwords.remember(c, network)
		}
		return u, nil
	}
	right, err := a.passwords.verify(ctx, c, network, func() (bool, error) {
		return a.counted(ctx, s, t, func() (bool, error) {
			return a.passwords.compute(ctx, s.hashing, v, l.password, c, network)
		})
	})
	if err != nil {
		return nil, err
	}
	if !right {
		a.opts.Log.Warn("authentication failed", "user", l.name, "peer", l.peer)
		return nil, errWrongPassword()
	}
	return u, nil
}

// checkToken checks the second factor of a user who has one. It is counted by
// itself: who guesses passwords keeps nobody from giving it.
func (a *Authenticator) checkToken(ctx context.Context, s *settings, u *User, l login, token string) error {
	if u.totp == nil {
		return nil
	}
	t := passwordAttempt{login: l, what: "token", salt: u.Verifier.Salt, secret: token}
	right, err := a.counted(ctx, s, t, func() (bool, error) { return u.totp.matches(token, a.opts.Now()), nil })
	if err == nil && !right {
		err = errWrongPassword()
	}
	return err
}

// passwordAttempt is what the lock-out sees of a guess.
type passwordAttempt struct {
	login
	what   string // password or token
	salt   string // of the user
	secret string // what was guessed
}

// counted checks a guess, unless too many were wrong. It counts from before the
// check on, and no more if it was right or could not be checked.
func (a *Authenticator) counted(ctx context.Context, s *settings, t passwordAttempt, check func() (bool, error)) (bool, error) {
	if !s.lockout.on() || t.peer == "" {
		return check()
	}
	wait, err := a.count(ctx, s.lockout, t)
	if err != nil {
		return false, err
	}
	if wait > 0 {
		if err := a.lockedOut(s, t, wait); err != nil {
			return false, err
		}
		return check()
	}
	right, err := check()
	if right || err != nil {
		a.uncount(ctx, s.lockout, t)
	}
	return right, err
}

// count counts a guess here, and at all servers of the store where there are others. It returns
// how long it is refused yet. What is refused here, and changes no count, asks nobody else.
func (a *Authenticator) count(ctx context.Context, s lockoutSettings, t passwordAttempt) (wait time.Duration, err error) {
	now := a.opts.Now()
	g := a.lockout.attempt(t)
	wait, counted := a.lockout.begin(s, g, now)
	if a.shared == nil || !counted {
		return wait, nil
	}
	everywhere, err := a.shared.begin(ctx, s, t, wait > 0, now)
	if err != nil && wait == 0 {
		a.lockout.takeBack(s, g, now)
	}
	if err == nil && everywhere > wait {
		a.lockout.adopt(s, g, everywhere, now)
		wait = everywhere
	}
	return wait, err
}

// uncount takes back what count has counted, and did not refuse.
func (a *Authenticator) uncount(ctx context.Context, s lockoutSettings, t passwordAttempt) {
	now := a.opts.Now()
	a.lockout.takeBack(s, a.lockout.attempt(t), now)
	if a.shared == nil {
		return
	}
	if err := a.shared.takeBack(ctx, s, t, now); err != nil {
		a.opts.Log.Warn("a right password stays counted as a guess", "user", t.name, "cause", err)
	}
}

// checkRemembered refuses a right password where a wrong one would be refused:
// else it could be found out by trying. One that was right from this network
// before is let in while the guesses are not many more.
//
// What other servers have counted is asked for when the password comes from a network for the
// first time, and while guesses from there at this name are refused here: whoever guesses here, too,
// has at most a guess more at each server.
func (a *Authenticator) checkRemembered(ctx context.Context, s *settings, t passwordAttempt, familiar bool) error {
	now := a.opts.Now()
	if !s.lockout.on() || t.peer == "" || familiar && a.lockout.quiet(now) {
		return nil
	}
	g := a.lockout.attempt(t)
	wait := a.lockout.wait(s.lockout, g, familiar, now)
	if wait == 0 && a.shared != nil && (!familiar || a.lockout.wait(s.lockout, g, false, now) > 0) {
		var err error
		if wait, err = a.shared.wait(ctx, s.lockout, t, familiar, now); err != nil {
			return err
		}
	}
	if wait > 0 {
		return a.lockedOut(s, t, wait)
	}
	return nil
}

// lockedOut logs that the threshold is reached, and refuses if that is enforced.
func (a *Authenticator) lockedOut(s *settings, t passwordAttempt, wait time.Duration) error {
	a.opts.Log.Warn("authentication failures reached the threshold", "user", t.name, "peer", t.peer)
	if s.lockout.mode != "enforce" {
		return nil
	}
	seconds := int64((wait + time.Second - 1) / time.Second)
	return dberr.New(dberr.Forbidden, "forbidden", "Account is temporarily locked due to multiple authentication failures. Try again in "+
		strconv.FormatInt(seconds, 10)+" seconds.").After(wait)
}
