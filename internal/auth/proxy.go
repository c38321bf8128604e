package auth

import (
	"encoding/hex"
	"strings"

	"github.com/sectional/sectional/internal/config"
)

// proxySettings say how a proxy in front of the server names the user it has
// authenticated.
type proxySettings struct {
	user, roles, token string // header names
	signed             bool
}

func parseProxySettings(s *config.Snapshot) proxySettings {
	return proxySettings{
		user:   s.String(section, "x_auth_username", "X-Auth-CouchDB-UserName"),
		roles:  s.String(section, "x_auth_roles", "X-Auth-CouchDB-Roles"),
		token:  s.String(section, "x_auth_token", "X-Auth-CouchDB-Token"),
		signed: s.Bool(section, "proxy_use_secret", true),
	}
}

// byProxy believes the headers of a proxy. With proxy_use_secret the token must
// be the HMAC of the name under the server's secret, in hexadecimal; without a
// secret nobody can have made it, so nobody is believed.
func (a *Authenticator) byProxy(s *settings, r *Request) *Caller {
	name := r.header(s.proxy.user)
	if name == "" || s.proxy.signed && !s.signedName(name, r.header(s.proxy.token)) {
		return nil
	}
	c := &Caller{Name: name, Roles: []string{}, Handler: ProxyHandler}
	for role := range strings.SplitSeq(r.header(s.proxy.roles), ",") {
		if role = strings.TrimSpace(role); role != "" {
			c.Roles = append(c.Roles, role)
		}
	}
	return c
}

func (s *settings) signedName(name, token string) bool {
	if len(s.proxyKey) == 0 {
		return false
	}
	ok := false
	for _, d := range s.digests {
		if same(hex.EncodeToString(d.sign(s.proxyKey, name)), strings.ToLower(token)) {
			ok = true
		}
	}
	return ok
}
