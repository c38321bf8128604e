package auth

import (
	"context"
	"slices"
)

// Named gives a user as a session would know it, for work that is done in
// somebody's name without a request. nil: no administrator and no user document
// has that name.
func (a *Authenticator) Named(ctx context.Context, name string) (*Caller, error) {
	u, err := a.user(ctx, a.settings.Value(), name)
	if u == nil || err != nil {
		return nil, err
	}
	return u.caller(""), nil
}

// KnowsStrangers tells whether there may be users without a document: those that
// a proxy or a token vouches for.
func (a *Authenticator) KnowsStrangers() bool {
	handlers := a.settings.Value().handlers
	return slices.Contains(handlers, ProxyHandler) || slices.Contains(handlers, JWTHandler)
}
