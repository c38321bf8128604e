package couchapi

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
)

// session answers GET /_session: who the caller is.
func session(r *request) error {
	view, err := r.api.auth.Session(r.Caller, r.Query.Is("basic"))
	if err != nil {
		return err
	}
	return r.marshal(http.StatusOK, view)
}

// logIn answers POST /_session: a cookie for a name and a password.
func logIn(r *request) error {
	body, err := r.Body(nil)
	if err != nil {
		return err
	}
	s, err := r.api.logIn(r, body)
	if err != nil {
		return err
	}
	r.Set("Set-Cookie", s.SetCookie)
	status := http.StatusOK
	if next, ok := r.Query.Get("next"); ok && isLocal(next) {
		status = http.StatusFound
		r.Set("Location", r.Host()+next)
	}
	return r.marshal(status, s)
}

// isLocal reports whether next is an address on this server: a login must not
// send people elsewhere.
func isLocal(next string) bool {
	return strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.HasPrefix(next, `/\`)
}

// logOut answers DELETE /_session.
func logOut(r *request) error {
	r.Set("Set-Cookie", r.api.auth.ClearCookie(r.authRequest()))
	return r.ok(http.StatusOK)
}

// logIn checks the login in a body. A refusal clears the cookie that the
// browser may still have.
func (a *API) logIn(r *request, body []byte) (auth.Session, error) {
	l, err := auth.ParseLogin(r.Header("Content-Type"), body)
	if err != nil {
		return auth.Session{}, err
	}
	s, err := a.auth.LogIn(r.Ctx(), l, r.authRequest())
	if err != nil {
		r.Set("Set-Cookie", a.auth.ClearCookie(r.authRequest()))
	}
	return s, err
}
