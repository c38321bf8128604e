package auth

import "net/url"

// Refused is a request that is being answered with 401.
type Refused struct {
	Path        string // as the client asked, with the query
	Reason      string
	Wanted      string // header X-CouchDB-WWW-Authenticate: the challenge the client asks for
	AcceptsJSON bool
	AcceptsHTML bool
	Navigates   bool // somebody went to this address with a browser
}

// Challenge is how a 401 goes out: with a WWW-Authenticate header, as a
// redirection (302) to Location, or, where both are empty, as it is. A browser
// opens its own window for the first, which applications don't want; so it is
// sent only where it is asked for, and to a person who goes to an address: browsers
// tell that apart from what a page asks in the background.
type Challenge struct {
	WWWAuthenticate string
	Location        string
}

// basicChallenge makes a browser ask for a name and a password.
const basicChallenge = `Basic realm="server"`

// Challenge decides how a refusal goes out.
func (a *Authenticator) Challenge(r Refused) Challenge {
	s := a.settings.Value()
	switch {
	case r.Wanted != "":
		return Challenge{WWWAuthenticate: r.Wanted}
	case s.challenge != "":
		return Challenge{WWWAuthenticate: s.challenge}
	case r.Navigates:
		return Challenge{WWWAuthenticate: basicChallenge}
	case s.redirect == "":
		return Challenge{}
	case s.requireUser:
		return Challenge{WWWAuthenticate: basicChallenge}
	case r.AcceptsJSON || !r.AcceptsHTML:
		return Challenge{}
	}
	return Challenge{Location: s.redirect + "?return=" + url.QueryEscape(r.Path) + "&reason=" + url.QueryEscape(r.Reason)}
}
