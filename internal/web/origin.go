package web

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/sectional/sectional/internal/auth"
)

// answerCORS sets the headers for pages of other origins, and answers the
// question that browsers ask before such a request: done.
func (r *Request) answerCORS() (done bool) {
	origin := r.HTTP.Header["Origin"]
	if origin == nil {
		return false
	}
	answer := r.cors().Decide(auth.CORSRequest{
		Method:           r.HTTP.Method,
		Origin:           origin[0],
		RequestedMethod:  r.Header("Access-Control-Request-Method"),
		RequestedHeaders: r.Header("Access-Control-Request-Headers"),
	})
	for _, h := range answer.Headers {
		r.w.Header()[http.CanonicalHeaderKey(h[0])] = []string{h[1]}
	}
	if answer.Preflight {
		r.Begin(http.StatusNoContent, 0)
	}
	return answer.Preflight
}

// cors is the policy for the host by which the client knows the server.
func (r *Request) cors() auth.CORS { return r.frame.options.Settings().CORS.For(r.HTTP.Host) }

// MayBeForm reports whether a form of any page can have the content type of the request, or none is given:
// a page can send that, too. What can't be read is taken for such a one.
func (r *Request) MayBeForm() bool {
	kind, _, err := mime.ParseMediaType(r.Header("Content-Type"))
	switch kind {
	case "", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
		return true
	}
	return err != nil || !strings.Contains(kind, "/")
}

// IsForeign reports whether the request comes from a page of another origin
// that the configuration does not let in with its credentials. Browsers say it in
// Sec-Fetch-Site where the connection is safe, and otherwise name the origin.
func (r *Request) IsForeign() bool {
	origin := r.Header("Origin")
	switch site := r.Header("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return false
	case "":
		if origin == "" || r.isOwn(origin) {
			return false
		}
	}
	return !r.cors().Trusts(origin)
}

// isOwn reports whether an origin is this server, as the client calls it.
func (r *Request) isOwn(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	_, own, _ := strings.Cut(r.Host(), "://")
	return strings.EqualFold(u.Host, own) || strings.EqualFold(u.Host, r.HTTP.Host)
}
