package auth

import "net/url"

// Refused is a request that is being answered with 401.
type Refused struct {
	Path        string // as the client asked, with the query
	Reason      string
	Wanted      string // header X-CouchDB-WWW-Authenticate: the challenge the client asks for
	AcceptsJSON bool
	AcceptsHTML bool
}

// Challenge is how a 401 goes out: with a WWW-Authenticate header, as a
// redirection (302) to Location, or, where both are empty, as it is. A browser
// opens its own window for the first, which applications don't want; so it is
// sent only where it is asked for.
type Challenge struct {
	WWWAuthenticate string
	Location        string
}

// Challenge decides how a refusal goes out.
func (a *Authenticator) Challenge(r Refused) Challenge {
	s := a.settings.Value()
	switch {
	case r.Wanted != "":
		return Challenge{WWWAuthenticate: r.Wanted}
	case s.challenge != "":
		return Challenge{WWWAuthenticate: s.challenge}
	case s.redirect == "":
		return Challenge{}
	case s.requireUser:
		return Challenge{WWWAuthenticate: `Basic realm="server"`}
	case r.AcceptsJSON || !r.AcceptsHTML:
		return Challenge{}
	}
	return Challenge{Location: s.redirect + "?return=" + url.QueryEscape(r.Path) + "&reason=" + url.QueryEscape(r.Reason)}
}
