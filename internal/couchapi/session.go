package couchapi

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
)

// session answers GET /_session: who the caller is.
func session(r *couchhttp.Request) error {
	view, err := r.API.Auth.Session(r.Caller, r.Query.Is("basic"))
	if err != nil {
		return err
	}
	return r.Marshal(http.StatusOK, view)
}

// logIn answers POST /_session: a cookie for a name and a password.
func logIn(r *couchhttp.Request) error {
	body, err := r.Body(nil)
	if err != nil {
		return err
	}
	s, err := checkLogin(r.API, r, body)
	if err != nil {
		return err
	}
	r.Set("Set-Cookie", s.SetCookie)
	status := http.StatusOK
	if next, ok := r.Query.Get("next"); ok && isLocal(next) {
		status = http.StatusFound
		r.Set("Location", r.Host()+next)
	}
	return r.Marshal(status, s)
}

// isLocal reports whether next is an address on this server: a login must not
// send people elsewhere.
func isLocal(next string) bool {
	return strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.HasPrefix(next, `/\`)
}

// logOut answers DELETE /_session.
func logOut(r *couchhttp.Request) error {
	r.Set("Set-Cookie", r.API.Auth.ClearCookie(r.AuthRequest()))
	return r.OK(http.StatusOK)
}

// checkLogin checks the login in a body. A refusal clears the cookie that the
// browser may still have.
func checkLogin(a *couchhttp.API, r *couchhttp.Request, body []byte) (auth.Session, error) {
	l, err := auth.ParseLogin(r.Header("Content-Type"), body)
	if err != nil {
		return auth.Session{}, err
	}
	s, err := a.Auth.LogIn(r.Ctx(), l, r.AuthRequest())
	if err != nil {
		r.Set("Set-Cookie", a.Auth.ClearCookie(r.AuthRequest()))
	}
	return s, err
}
