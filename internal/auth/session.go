package auth

import (
	"context"
	"mime"
	"net/url"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// Login is what a client sends to _session to get a cookie.
type Login struct {
	Name, Password string
	Token          string // the second factor, if the user has one
}

// ParseLogin reads the body of POST /_session, form or JSON.
func ParseLogin(contentType string, body []byte) (Login, error) {
	var fields map[string]string
	var err error
	switch kind, _, _ := mime.ParseMediaType(contentType); kind {
	case "application/x-www-form-urlencoded":
		fields, err = formFields(body)
	case "application/json":
		fields, err = jsonFields(body)
	default:
		err = dberr.New(dberr.Unsupported, "bad_content_type",
			"Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'")
	}
	if err != nil {
		return Login{}, err
	}
	name, hasName := fields["name"]
	username, hasUsername := fields["username"]
	switch {
	case !hasName && !hasUsername:
		return Login{}, badRequest("request body must contain a username")
	case hasName && hasUsername && name != username:
		return Login{}, badRequest("request body contains different usernames")
	case hasUsername:
		name = username
	}
	return Login{Name: name, Password: fields["password"], Token: fields["token"]}, nil
}

func formFields(body []byte) (map[string]string, error) {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, badRequest("The form is not encoded correctly.")
	}
	out := make(map[string]string, len(values))
	for name, list := range values {
		out[name] = list[0]
	}
	return out, nil
}

func jsonFields(body []byte) (map[string]string, error) {
	if !validJSON(body) {
		return nil, document.ErrNotJSON
	}
	o, ok := parseObject(body)
	if !ok {
		return nil, badRequest("Request body must be a JSON object")
	}
	out := map[string]string{}
	for _, name := range []string{"name", "username", "password", "token"} {
		value := o.get(name)
		if value == nil {
			continue
		}
		s, isText := textOf(value)
		if !isText {
			return nil, badRequest("`" + name + "` must be a string")
		}
		out[name] = s
	}
	return out, nil
}

// Session is a login that succeeded.
type Session struct {
	OK        bool     `json:"ok"`
	Name      string   `json:"name"`
	Roles     []string `json:"roles"`
	SetCookie string   `json:"-"`
}

// LogIn checks a login that came with r and returns the session with its cookie.
// After a refusal ClearCookie is to be sent along with the error.
func (a *Authenticator) LogIn(ctx context.Context, l Login, r *Request) (Session, error) {
	s := a.settings.Value()
	try := login{name: l.Name, password: l.Password, peer: r.Peer}
	u, err := a.checkPassword(ctx, s, try)
	if err != nil {
		return Session{}, err
	}
	if err := a.checkToken(ctx, s, u, try, l.Token); err != nil {
		return Session{}, err
	}
	u = a.upgraded(ctx, s, u, try)
	now := a.opts.Now()
	if s.cookieKey == nil {
		return Session{}, &dberr.Error{Op: "auth.LogIn", Kind: dberr.Internal, Reason: "cookie auth secret is not set"}
	}
	c := u.caller(CookieHandler)
	return Session{
		OK:        true,
		Name:      c.Name,
		Roles:     c.Roles,
		SetCookie: s.setCookie(s.newCookie(u.Name, u.Verifier.Salt, now), r.Secure, now),
	}, nil
}

// ClearCookie returns the Set-Cookie header that ends a session in the browser.
// The cookie itself stays valid until its time is over, as in CouchDB.
func (a *Authenticator) ClearCookie(r *Request) string {
	return a.settings.Value().setCookie("", r.Secure, a.opts.Now())
}

// SessionView is the answer to GET /_session.
type SessionView struct {
	OK      bool        `json:"ok"`
	UserCtx userContext `json:"userCtx"`
	Info    sessionInfo `json:"info"`
}

type sessionInfo struct {
	Handlers      []Handler `json:"authentication_handlers"`
	Authenticated Handler   `json:"authenticated,omitempty"`
	DB            string    `json:"authentication_db,omitempty"`
}

// Session describes the caller; with basic, somebody unknown is refused.
func (a *Authenticator) Session(c *Caller, basic bool) (SessionView, error) {
	if basic && c.Anonymous() {
		return SessionView{}, unauthorized("Please login.")
	}
	s := a.settings.Value()
	handlers := s.handlers
	if handlers == nil {
		handlers = []Handler{}
	}
	return SessionView{
		OK:      true,
		UserCtx: c.context(""),
		Info:    sessionInfo{Handlers: handlers, Authenticated: c.Handler, DB: s.authDB},
	}, nil
}
