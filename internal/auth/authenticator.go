package auth

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// Options join the package to the rest of the server.
type Options struct {
	Config *config.Config
	Users  Users
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: no log
	// Fetcher gets the keys of issuers of tokens; nil: no issuers are known but by
	// configured keys.
	Fetcher Fetcher
}

// Authenticator finds out who sends a request.
//
// The handlers of [chttpd] authentication_handlers are asked in their order;
// the first that finds its kind of credential decides. Credentials that are
// wrong are an error (Basic, tokens) or as good as none (cookies, proxies), as
// in CouchDB. Without any the caller is anonymous, unless a valid user is
// required.
type Authenticator struct {
	opts      Options
	settings  *config.Derived[*settings]
	passwords *passwords
	upgrades  memory // verifiers that were tried to be brought up to date
	lockout   *lockout
	shared    *sharedLockout // nil where there are no other servers
	keyring   *keyring
}

// New makes an Authenticator; Config and Users must be given.
func New(o Options) *Authenticator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Authenticator{
		opts:      o,
		settings:  config.Derive(o.Config, parseSettings),
		passwords: newPasswords(int(o.Config.Snapshot().Int(section, "auth_cache_size", 10000))),
		lockout:   newLockout(int(o.Config.Snapshot().Int(lockoutSection, "max_objects", 10000)), o.Now()),
		keyring:   newKeyring(&o),
	}
	a.upgrades.half = a.passwords.known.half
	return a
}

// Close ends what goes on in the background. No request may come after it.
func (a *Authenticator) Close() { a.keyring.close() }

// Request is what authentication sees of a request.
type Request struct {
	Method string
	Path   string                   // without the query, such as "/_session"
	Header func(name string) string // first value, "" if there is none
	Peer   string                   // address of the client without the port: see Client
	Secure bool                     // came over TLS
	Login  bool                     // it asks for a session, at whatever path the server has that
}

func (r *Request) header(name string) string {
	if r.Header == nil {
		return ""
	}
	return r.Header(name)
}

// Identity is the outcome of Authenticate.
type Identity struct {
	Caller Caller
	// SetCookie is the header that renews the session, "" if there is nothing
	// to renew. A handler that sets a session cookie itself goes before it.
	SetCookie string
}

// Authenticate finds out who sends r, and as whom.
func (a *Authenticator) Authenticate(ctx context.Context, r *Request) (Identity, error) {
	s := a.settings.Value()
	id, err := a.identify(ctx, s, r)
	if as := r.header(AsHeader); as != "" && err == nil {
		err = a.impersonate(ctx, s, &id.Caller, as)
	}
	return id, err
}

// identify finds out who sends r.
func (a *Authenticator) identify(ctx context.Context, s *settings, r *Request) (Identity, error) {
	for _, h := range s.handlers {
		id, found, err := a.try(ctx, h, s, r)
		if err != nil || found {
			id.Caller.Address = r.Peer
			return id, err
		}
	}
	if s.requireUser && !s.openTo(r) {
		return Identity{}, unauthorized("Authentication required.")
	}
	return Identity{Caller: Caller{Address: r.Peer}}, nil
}

// try asks one handler.
func (a *Authenticator) try(ctx context.Context, h Handler, s *settings, r *Request) (id Identity, found bool, err error) {
	var c *Caller
	switch h {
	case CookieHandler:
		return a.byCookie(ctx, s, r)
	case BasicHandler:
		c, err = a.byPassword(ctx, s, r)
	case ProxyHandler:
		if !isWithin(ctx) {
			c = a.byProxy(s, r)
		}
	case JWTHandler:
		c, err = a.byToken(ctx, s, r)
	}
	if err == nil && c != nil {
		err = CheckName(c.Name)
	}
	if c == nil || err != nil {
		return Identity{}, false, err
	}
	return Identity{Caller: *c}, true, nil
}

// openTo reports whether r is open to all even where a valid user is required:
// a login must be possible, and probes ask for /_up.
func (s *settings) openTo(r *Request) bool {
	if r.Login {
		return true
	}
	switch strings.TrimSuffix(r.Path, "/") {
	case "/_session":
		return r.Method == "POST"
	case "/_up":
		return s.exceptForUp
	}
	return false
}

// byCookie authenticates by a session cookie.
func (a *Authenticator) byCookie(ctx context.Context, s *settings, r *Request) (Identity, bool, error) {
	value := cookieOf(r.header("Cookie"))
	if value == "" {
		return Identity{}, false, nil
	}
	c, err := parseCookie(value)
	if err != nil {
		return Identity{}, false, err
	}
	now := a.opts.Now()
	if c.left(s, now) <= 0 {
		return Identity{}, false, nil
	}
	u, err := a.user(ctx, s, c.name)
	if err != nil || u == nil || !c.authentic(s, u.Verifier.Salt) {
		return Identity{}, false, err
	}
	id := Identity{Caller: *u.caller(CookieHandler)}
	if c.left(s, now) < s.timeout*9/10 {
		id.SetCookie = s.setCookie(s.newCookie(u.Name, u.Verifier.Salt, now), r.Secure, now)
	}
	return id, true, nil
}

// byPassword authenticates by Basic credentials; nil if there are none.
func (a *Authenticator) byPassword(ctx context.Context, s *settings, r *Request) (*Caller, error) {
	name, password, ok, err := basicCredentials(r.header("Authorization"))
	if !ok || err != nil {
		return nil, err
	}
	l := login{name: name, password: password, peer: r.Peer, basic: true}
	u, err := a.checkPassword(ctx, s, l)
	if err != nil {
		return nil, err
	}
	return a.upgraded(ctx, s, u, l).caller(BasicHandler), nil
}

func (u *User) caller(h Handler) *Caller {
	c := &Caller{Name: u.Name, Roles: u.Roles, Handler: h}
	if c.Roles == nil {
		c.Roles = []string{}
	}
	return c
}

// user returns a user by name, nil if there is none. A server administrator is
// known by the configuration; a user document of the same name adds roles and
// nothing else, and nothing at all when it can't be read.
func (a *Authenticator) user(ctx context.Context, s *settings, name string) (*User, error) {
	if name == "" {
		return nil, nil
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	u, err := a.opts.Users.User(ctx, s.usersDB, name)
	admin := s.admins[name]
	if err != nil && (admin == nil || ctx.Err() != nil) {
		return nil, err
	}
	if err != nil {
		a.opts.Log.Warn("an administrator's user document can't be read", "cause", err)
		return admin, nil
	}
	if admin != nil {
		if u == nil {
			return admin, nil
		}
		return &User{Name: name, Roles: slices.Concat(admin.Roles, u.Roles), Verifier: admin.Verifier, AccessKeys: u.AccessKeys}, nil
	}
	if u != nil && u.Conflicts && !s.conflicted {
		return nil, errUserConflicts
	}
	if u == nil || u.Name == name {
		return u, nil
	}
	named := *u // the id decides, whatever the body says
	named.Name = name
	return &named, nil
}
