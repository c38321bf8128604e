package couchhttp

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
)

var (
	errOtherOrigin = dberr.New(dberr.Forbidden, "forbidden", "This request came from a page of another origin.")
	errGetWrites   = dberr.New(dberr.Forbidden, "forbidden", "A GET request that is rewritten does not write.")
)

// checkOrigin refuses what a page of another origin can have a browser send
// without asking, with the cookie and the password that it keeps for us: a POST
// whose content type a form can have, or none. Whatever else changes something
// is asked for first (CORS), and let in by the configuration or not at all.
//
// Where nobody's rights are used, a form of another site may be sent to a
// database as by anybody else. What concerns the whole server is refused with a
// cookie also where the browser does not say which page it comes from; so is what a
// design document has made a write of.
//
// A request that was rewritten is judged as it came. A link is followed with a GET, with the
// cookie or the password that a browser keeps: whatever a rewrite makes of that, it does not write.
func (r *Request) checkOrigin() error {
	defer r.onWire()()
	_, origin := r.HTTP.Header["Origin"]
	_, site := r.HTTP.Header["Sec-Fetch-Site"]
	_, cookie := r.HTTP.Header["Cookie"]
	rewrittenWrite := r.came != nil && !r.reads(r.route)
	if get := r.HTTP.Method == http.MethodGet || r.HTTP.Method == http.MethodHead; get && rewrittenWrite {
		return errGetWrites
	}
	if !origin && !site && !cookie || !r.needsNoLeave() {
		return nil
	}
	wide := r.concernsServer() || r.isLogin() || rewrittenWrite
	switch {
	case r.IsForeign() && (wide || cookie || !r.Caller.Anonymous()):
		return errOtherOrigin
	case wide && cookie && !origin && !site && !r.isLogin():
		return errOtherOrigin
	}
	return nil
}

// needsNoLeave reports whether a browser sends such a request for any page, and
// whether it may change something.
func (r *Request) needsNoLeave() bool {
	if r.HTTP.Header["X-Http-Method-Override"] != nil {
		return false
	}
	switch r.HTTP.Method {
	case http.MethodGet, http.MethodHead:
		return r.route.Class == ClassWrite // the function of an update is asked by any method
	case http.MethodPost:
		return r.MayBeForm()
	}
	return false
}

// concernsServer reports whether the path is one of the server's, or in a
// database that is: of users, of replications.
func (r *Request) concernsServer() bool {
	return r.node == nil || !r.namesDatabase() || strings.HasPrefix(r.args[0], "_")
}

// formIsJSON reports whether a body with the content type of a form, which
// "curl -d" sends of itself, counts as JSON: in a database, and only where no
// browser can have sent it for a page.
func (r *Request) formIsJSON() bool {
	defer r.onWire()()
	switch r.Header("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return r.Header("Cookie") == "" && r.Header("Origin") == "" && !r.concernsServer()
	}
	return false
}
