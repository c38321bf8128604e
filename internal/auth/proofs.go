package auth

import "strings"

// proofs are the headers by which clients prove who they are, in lower case: here, by a signature of AWS's, or to a proxy in
// front of the server.
var proofs = map[string]bool{"authorization": true, "cookie": true, "proxy-authorization": true, "x-amz-security-token": true, "x-api-key": true}

// proxyProofs is how the headers of the proxy handler begin, unless the settings name others.
const proxyProofs = "x-auth-couchdb-"

// Proves reports whether a header of a request proves who asks, or may. Nobody but the authenticator may see it: no function of
// a design document, no log, no trace.
func (a *Authenticator) Proves(header string) bool {
	name := strings.ToLower(header)
	p := &a.settings.Value().proxy
	return proofs[name] || strings.HasPrefix(name, proxyProofs) ||
		strings.EqualFold(header, p.user) || strings.EqualFold(header, p.roles) || strings.EqualFold(header, p.token)
}

// IsSessionCookie reports whether a cookie of that name is a session.
func IsSessionCookie(name string) bool { return strings.EqualFold(strings.TrimSpace(name), cookieName) }

// SetsSession reports whether a value of Set-Cookie would give a browser a cookie that it sends as a session. A cookie without a
// name is sent as its value alone, which may begin like one with a name.
func SetsSession(value string) bool {
	pair, _, _ := strings.Cut(value, ";")
	name, _, _ := strings.Cut(strings.TrimLeft(pair, "= \t"), "=")
	return IsSessionCookie(name)
}
