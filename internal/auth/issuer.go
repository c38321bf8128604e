package auth

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/outgoing"
)

// issuer is a provider of tokens whose keys are fetched.
type issuer struct {
	url      string // as the claim iss has it
	jwks     string // where the keys are; "": where the provider's description says
	audience []string
	name     []string // way to the claim with the caller's name
	roles    []string // way to the claim with the roles; nil: as for other tokens
	// roleMap returns the roles that names of roles in tokens stand for; nil: those
	// names themselves, but none of the system's.
	roleMap map[string]string
	broken  bool
}

var errMisconfigured = dberr.New(dberr.Internal, "misconfigured_server", "JWT is not configured correctly")

// parseIssuers parses [jwt_issuers]: under a name of ours the issuer, and what
// else is to be known of it under that name and a dot.
func parseIssuers(s *config.Snapshot) map[string]*issuer {
	const section = "jwt_issuers"
	values := s.Section(section)
	out := map[string]*issuer{}
	for name, address := range values {
		if strings.Contains(name, ".") || address == "" {
			continue
		}
		i := &issuer{
			url:      address,
			jwks:     values[name+".jwks"],
			audience: s.List(section, name+".audience"),
			name:     splitPath(s.String(section, name+".name", "sub")),
			roles:    splitPath(values[name+".roles"]),
		}
		if _, mapped := values[name+".role_map"]; mapped {
			i.roleMap = map[string]string{}
		}
		i.broken = !Fetchable(address) || i.jwks != "" && !Fetchable(i.jwks) || len(i.audience) == 0
		for _, pair := range s.List(section, name+".role_map") {
			theirs, ours, ok := strings.Cut(pair, ":")
			i.roleMap[strings.TrimSpace(theirs)] = strings.TrimSpace(ours)
			i.broken = i.broken || !ok || strings.TrimSpace(ours) == ""
		}
		for key := range values {
			of, what, dotted := strings.Cut(key, ".")
			if dotted && of == name && !slices.Contains([]string{"jwks", "audience", "name", "roles", "role_map"}, what) {
				i.broken = true // a misspelled restriction is none
			}
		}
		if out[address] != nil {
			i.broken = true // which of the two counts is not for us to guess
		}
		out[address] = i
	}
	return out
}

// Fetchable reports whether keys may be fetched from an address: nobody may be able
// to change them on the way, so it is one of https, or of this machine.
func Fetchable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && outgoing.ThisMachine(u.Hostname())
}

// checkClaims checks what a token of the issuer must have beyond other tokens:
// an end, and an audience that we are among.
func (i *issuer) checkClaims(t *token) error {
	if _, has := t.payload["exp"]; !has {
		return badRequest("Missing exp claim")
	}
	aud, has := t.payload["aud"]
	if !has {
		return badRequest("Missing aud claim")
	}
	for _, ours := range i.audience {
		if (claim{value: ours, valued: true}).accepts(aud) {
			return nil
		}
	}
	return badRequest("Invalid aud claim")
}

// caller returns the caller that a token of the issuer names.
func (i *issuer) caller(s *jwtSettings, t *token) (*Caller, error) {
	claimed := claimAt(t.payload, i.name)
	if claimed == nil {
		return nil, unauthorized("Token missing " + strings.Join(i.name, ".") + " claim.")
	}
	roles, err := claimAt(t.payload, i.roles), error(nil)
	if i.roles == nil {
		if roles, err = s.roles(t.payload); err != nil {
			return nil, err
		}
	}
	c, err := t.named(claimed, roles)
	if err != nil {
		return nil, err
	}
	c.Roles = i.mapRoles(c.Roles)
	return c, nil
}

// mapRoles returns the roles for those of a token. Whoever runs the provider
// makes no administrators here, unless the configuration says which of its roles
// are.
func (i *issuer) mapRoles(theirs []string) []string {
	roles := []string{}
	for _, r := range theirs {
		if i.roleMap != nil {
			r = i.roleMap[r]
		} else if strings.HasPrefix(r, "_") {
			continue
		}
		if r != "" && !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles
}

// claimAt follows a path into the claims; nil if it leads nowhere.
func claimAt(claims map[string]any, path []string) any {
	var at any = claims
	for _, part := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[part]
	}
	return at
}
