package auth

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Grant is what let a caller in, for an answer that outlives a request's first
// moment: a feed asks it again before it shows more. Asking costs no hash.
type Grant struct {
	a        *Authenticator
	request  *Request
	caller   *Caller
	settings *settings // under which it was given
	verifier Verifier  // of the password or session
	until    time.Time
	as       string // as whom the caller sees, escaped; empty: as himself
}

// Grant returns what let c in, whom Authenticate found for r; c is nobody's without
// credentials. Errors: as of Check.
func (a *Authenticator) Grant(ctx context.Context, r *Request, c *Caller) (*Grant, error) {
	g := &Grant{a: a, request: r, caller: c, settings: a.settings.Value()}
	if c.By != nil {
		g.caller, g.as = c.By, r.header(AsHeader)
	}
	switch g.caller.Handler {
	case BasicHandler, CookieHandler:
		if err := g.remember(ctx); err != nil {
			return nil, err
		}
	case JWTHandler:
		g.until = tokenEnd(r)
	}
	return g, nil
}

// remember notes the verifier under which the credentials are right.
func (g *Grant) remember(ctx context.Context) error {
	if g.caller.Handler == CookieHandler {
		return g.rememberSession(ctx)
	}
	name, password, _, err := basicCredentials(g.request.header("Authorization"))
	if err != nil {
		return err
	}
	// It was right a moment ago, so this costs no hash unless it was changed since.
	u, err := g.a.checkPassword(ctx, g.settings, login{name: name, password: password, peer: g.request.Peer, basic: true})
	if err == nil {
		g.verifier = u.Verifier
	}
	return err
}

// rememberSession is remember for a session.
func (g *Grant) rememberSession(ctx context.Context) error {
	u, err := g.a.user(ctx, g.settings, g.caller.Name)
	if err != nil {
		return err
	}
	c, err := parseCookie(cookieOf(g.request.header("Cookie")))
	if err != nil {
		return err
	}
	if u == nil || !c.authentic(g.settings, u.Verifier.Salt) {
		return errNoLonger
	}
	g.verifier, g.until = u.Verifier, c.issued.Add(g.settings.timeout)
	return nil
}

// tokenEnd returns the time when a bearer token, which was found valid, ends; zero
// for never.
func tokenEnd(r *Request) time.Time {
	_, text, _ := strings.Cut(r.header("Authorization"), " ")
	t, err := parseToken(strings.TrimSpace(text))
	if err != nil {
		return time.Time{}
	}
	end, has, err := t.seconds("exp")
	if !has || err != nil {
		return time.Time{}
	}
	return time.Unix(int64(end), 0)
}

// Until reports when the grant ends by itself, zero for never.
func (g *Grant) Until() time.Time { return g.until }

// errNoLonger is what those get whose credentials have ended.
var errNoLonger = unauthorized("The credentials of this request are no longer valid.")

// Check returns the caller as he is now: roles may have changed. Unauthorized when the
// session or token has ended, the password was changed, or the user is gone.
func (g *Grant) Check(ctx context.Context) (*Caller, error) {
	c, err := g.check(ctx)
	if err != nil || g.as == "" {
		return c, err
	}
	seen := *c
	err = g.a.impersonate(ctx, g.settings, &seen, g.as)
	return &seen, err
}

// check is Check for who has the credentials.
func (g *Grant) check(ctx context.Context) (*Caller, error) {
	if !g.until.IsZero() && !g.a.opts.Now().Before(g.until) {
		return nil, errNoLonger
	}
	s := g.a.settings.Value()
	if s != g.settings && g.caller.Handler != "" && !slices.Contains(s.handlers, g.caller.Handler) {
		return nil, errNoLonger
	}
	switch g.caller.Handler {
	case BasicHandler, CookieHandler:
		return g.checkUser(ctx, s)
	case ProxyHandler, JWTHandler:
		return g.reload(ctx, s)
	}
	return g.caller, nil
}

// checkUser looks whether the user is there with the same password.
func (g *Grant) checkUser(ctx context.Context, s *settings) (*Caller, error) {
	u, err := g.a.user(ctx, s, g.caller.Name)
	if err != nil {
		return nil, err
	}
	if u == nil || u.Verifier != g.verifier || u.totp != nil && g.caller.Handler == BasicHandler {
		return nil, errNoLonger
	}
	g.settings = s
	if !slices.Equal(u.Roles, g.caller.Roles) {
		address := g.caller.Address
		g.caller = u.caller(g.caller.Handler)
		g.caller.Address = address
	}
	return g.caller, nil
}

// reload authenticates once more where the settings have changed: what a token or
// a proxy says depends on nothing else.
func (g *Grant) reload(ctx context.Context, s *settings) (*Caller, error) {
	if s == g.settings {
		return g.caller, nil
	}
	id, found, err := g.a.try(ctx, g.caller.Handler, s, g.request)
	if err != nil {
		return nil, err
	}
	if !found || id.Caller.Name != g.caller.Name {
		return nil, errNoLonger
	}
	id.Caller.Address = g.caller.Address
	g.settings, g.caller = s, &id.Caller
	return g.caller, nil
}
