package auth

import (
	"context"
	"slices"
)

// Named returns a user as a session would know it, for work that is done in
// somebody's name without a request. nil: no administrator and no user document
// has that name.
func (a *Authenticator) Named(ctx context.Context, name string) (*Caller, error) {
	u, err := a.user(ctx, a.settings.Value(), name)
	if u == nil || err != nil {
		return nil, err
	}
	return u.caller(""), nil
}

// Accepts reports whether a way of authentication is configured.
func (a *Authenticator) Accepts(h Handler) bool {
	return slices.Contains(a.settings.Value().handlers, h)
}

// ByPassword is what VouchedBy returns for passwords of this server.
const ByPassword = "password"

// VouchedBy reports how the server knows a caller's name: by a password of its own,
// with which sessions begin too, or by "jwt" or "proxy". Where something is
// somebody's own, equal names of different ways are different people: whoever
// issues tokens must not give away what belongs to users here.
func (c *Caller) VouchedBy() string {
	switch c.Handler {
	case JWTHandler, ProxyHandler:
		return string(c.Handler)
	}
	return ByPassword
}
