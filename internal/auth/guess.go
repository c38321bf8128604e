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
	t := tried{login: l, what: "password", salt: u.Verifier.Salt, fingerprint: c}
	if known, familiar := a.passwords.remembered(c, network); known {
		if err := a.checkRemembered(s, t, familiar); err != nil {
			return nil, err
		}
		if !familiar {
			a.passwords.remember(c, network)
		}
		return u, nil
	}
	right, err := a.passwords.verify(ctx, c, network, func() (bool, error) {
		return a.counted(s, t, func() (bool, error) {
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
func (a *Authenticator) checkToken(s *settings, u *User, l login, token string) error {
	if u.totp == nil {
		return nil
	}
	t := tried{login: l, what: "token", salt: u.Verifier.Salt, fingerprint: keyed(&a.passwords.key, token)}
	right, err := a.counted(s, t, func() (bool, error) { return u.totp.matches(token, a.opts.Now()), nil })
	if err == nil && !right {
		err = errWrongPassword()
	}
	return err
}

// tried is what the lock-out sees of a guess.
type tried struct {
	login
	what        string     // password or token
	salt        string     // of the user
	fingerprint credential // tells this guess from others
}

func (a *Authenticator) guessOf(t tried) guess {
	return a.lockout.guess(t.what, networkOf(t.peer), t.name, t.salt, t.fingerprint)
}

// counted checks a guess, unless too many were wrong. It counts from before the
// check on, and no more if it was right or could not be checked.
func (a *Authenticator) counted(s *settings, t tried, check func() (bool, error)) (bool, error) {
	if !s.lockout.on() || t.peer == "" {
		return check()
	}
	g := a.guessOf(t)
	if wait := a.lockout.begin(s.lockout, g, a.opts.Now()); wait > 0 {
		if err := a.lockedOut(s, t, wait); err != nil {
			return false, err
		}
		return check()
	}
	right, err := check()
	if right || err != nil {
		a.lockout.takeBack(s.lockout, g, a.opts.Now())
	}
	return right, err
}

// checkRemembered refuses a right password where a wrong one would be refused:
// else it could be found out by trying. One that was right from this network
// before is let in while the guesses are not many more.
func (a *Authenticator) checkRemembered(s *settings, t tried, familiar bool) error {
	now := a.opts.Now()
	if !s.lockout.on() || t.peer == "" || a.lockout.quiet(now) {
		return nil
	}
	if wait := a.lockout.wait(s.lockout, a.guessOf(t), familiar, now); wait > 0 {
		return a.lockedOut(s, t, wait)
	}
	return nil
}

// lockedOut logs that the threshold is reached, and refuses if that is enforced.
func (a *Authenticator) lockedOut(s *settings, t tried, wait time.Duration) error {
	a.opts.Log.Warn("authentication failures reached the threshold", "user", t.name, "peer", t.peer)
	if s.lockout.mode != "enforce" {
		return nil
	}
	seconds := int64((wait + time.Second - 1) / time.Second)
	return dberr.New(dberr.Forbidden, "forbidden", "Account is temporarily locked due to multiple authentication failures. Try again in "+
		strconv.FormatInt(seconds, 10)+" seconds.").After(wait)
}
