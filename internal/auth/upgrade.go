package auth

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"time"
)

// Upgrader is a power that Users may have: it stores a verifier of the same password in
// place of the one that was read, unless that is another by now.
type Upgrader interface {
	Upgrade(ctx context.Context, db, name string, was, now Verifier) error
}

// upgradeTimeout is how long a login waits for its user's new verifier.
const upgradeTimeout = 5 * time.Second

// outdated reports whether a password is hashed otherwise than new ones are.
func (h hashing) outdated(v Verifier) bool {
	return v.usable() && (v.Scheme != schemePBKDF2 || v.PRF != h.prf || v.Iterations != h.iterations)
}

// upgraded returns the user of a login that succeeded, his password hashed as the
// configuration says now. It is tried once for a verifier: what fails stays as it is,
// and the login holds.
//
// The salt stays, so that sessions go on.
func (a *Authenticator) upgraded(ctx context.Context, s *settings, u *User, l login) *User {
	users, can := a.opts.Users.(Upgrader)
	if !can || !s.upgrades || s.admins[l.name] != nil || !s.hashing.outdated(u.Verifier) {
		return u
	}
	c := a.passwords.credential(u.Verifier, l.name, l.password)
	tried := keyed(&a.passwords.key, string(c[:]), s.hashing.prf, strconv.Itoa(s.hashing.iterations))
	if a.upgrades.has(tried) {
		return u
	}
	a.upgrades.add(tried)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), upgradeTimeout) // a client that leaves must not use up the try
	defer cancel()
	salt := u.Verifier.Salt
	if salt == "" {
		salt = newSalt()
	}
	v, err := a.passwords.hash(ctx, s.hashing, networkOf(l.peer), l.password, salt)
	if err == nil {
		err = users.Upgrade(ctx, s.usersDB, l.name, u.Verifier, v)
	}
	if err != nil {
		a.opts.Log.Warn("the hash of a password could not be upgraded", slog.String("user", l.name), slog.Any("cause", err))
		return u
	}
	a.passwords.remember(a.passwords.credential(v, l.name, l.password), networkOf(l.peer))
	now := *u
	now.Verifier = v
	return &now
}

// WithVerifier returns the body of a user document with another verifier.
func WithVerifier(body []byte, v Verifier) (json.RawMessage, error) {
	o, ok := parseObject(body)
	if !ok {
		return nil, errBrokenUser
	}
	return append(v.fields(), o.without(passwordFields...)...).encode(), nil
}
