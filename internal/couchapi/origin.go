package couchapi

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
)

var errOtherOrigin = dberr.New(dberr.Forbidden, "forbidden", "This request came from a page of another origin.")

// checkOrigin refuses what a page of another origin can have a browser send
// without asking, with the cookie and the password that it keeps for us: a POST
// whose content type a form can have, or none. Whatever else changes something
// is asked for first (CORS), and let in by the configuration or not at all.
//
// Where nobody's rights are used, a form of another site may be sent to a
// database as by anybody else. What concerns the whole server is refused with a
// cookie also where the browser does not say which page it comes from.
func (r *request) checkOrigin() error {
	_, origin := r.http.Header["Origin"]
	_, site := r.http.Header["Sec-Fetch-Site"]
	_, cookie := r.http.Header["Cookie"]
	if !origin && !site && !cookie || !r.needsNoLeave() {
		return nil
	}
	wide := r.concernsServer() || r.isLogin()
	switch {
	case r.isForeign() && (wide || cookie || !r.caller.Anonymous()):
		return errOtherOrigin
	case wide && cookie && !origin && !site && !r.isLogin():
		return errOtherOrigin
	}
	return nil
}

// needsNoLeave reports whether a browser sends such a request for any page, and
// whether it may change something.
func (r *request) needsNoLeave() bool {
	if r.http.Header["X-Http-Method-Override"] != nil {
		return false
	}
	switch r.http.Method {
	case http.MethodGet, http.MethodHead:
		return r.route.class == classWrite // the function of an update is asked by any method
	case http.MethodPost:
		return isFormType(r.header("Content-Type"))
	}
	return false
}

// isFormType reports whether a form can have a content type, or none is given:
// a page can send that, too. What can't be read is taken for such a one.
func isFormType(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	switch kind {
	case "", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
		return true
	}
	return err != nil || !strings.Contains(kind, "/")
}

// isForeign reports whether the request comes from a page of another origin
// that the configuration does not let in with its credentials. Browsers say it in
// Sec-Fetch-Site where the connection is safe, and otherwise name the origin.
func (r *request) isForeign() bool {
	origin := r.header("Origin")
	switch site := r.header("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return false
	case "":
		if origin == "" || r.isOwn(origin) {
			return false
		}
	}
	return !r.api.settings.Value().cors.For(r.http.Host).Trusts(origin)
}

// isOwn reports whether an origin is this server, as the client calls it.
func (r *request) isOwn(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	_, own, _ := strings.Cut(r.host(), "://")
	return strings.EqualFold(u.Host, own) || strings.EqualFold(u.Host, r.http.Host)
}

// concernsServer reports whether the path is one of the server's, or in a
// database that is: of users, of replications.
func (r *request) concernsServer() bool {
	return r.node == nil || !r.namesDatabase() || strings.HasPrefix(r.args[0], "_")
}

// formIsJSON reports whether a body with the content type of a form, which
// "curl -d" sends of itself, counts as JSON: in a database, and only where no
// browser can have sent it for a page.
func (r *request) formIsJSON() bool {
	switch r.header("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return r.header("Cookie") == "" && r.header("Origin") == "" && !r.concernsServer()
	}
	return false
}
