package auth

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"regexp"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// jwtSettings say which tokens are accepted.
type jwtSettings struct {
	broken     error // the configuration can't be understood
	required   []claim
	algorithms []string // none: all
	rolesName  string
	rolesPath  []string // instead of rolesName, if any
	keys       map[string]jwtKey
	issuers    map[string]*issuer // by the claim iss
	fetched    keySettings
}

// claim is something a token must have: just have, or with a given value.
type claim struct {
	name, value string
	valued      bool
}

// jwtKey is a parsed key, or the answer to whoever uses it.
type jwtKey struct {
	key any
	err error
}

func parseJWTSettings(s *config.Snapshot) jwtSettings {
	const section = "jwt_auth"
	out := jwtSettings{
		algorithms: s.List(section, "algorithms"),
		rolesName:  s.String(section, "roles_claim_name", "_couchdb.roles"),
		rolesPath:  splitPath(s.String(section, "roles_claim_path", "")),
		keys:       map[string]jwtKey{},
		issuers:    parseIssuers(s),
		fetched:    parseKeySettings(s),
	}
	out.required, out.broken = parseClaims(s.String(section, "required_claims", ""))
	for name, value := range s.Section("jwt_keys") {
		out.keys[name] = parseKey(name, value)
	}
	return out
}

var claimPattern = regexp.MustCompile(`^\s*(?:([A-Za-z_]+)|\{\s*([A-Za-z_]+)\s*,\s*"([^"]+)"\s*\})\s*(?:,|$)`)

// parseClaims parses CouchDB's list: names, or {name, "value"}.
func parseClaims(list string) ([]claim, error) {
	var out []claim
	for rest := list; strings.TrimSpace(rest) != ""; {
		m := claimPattern.FindStringSubmatch(rest)
		if m == nil {
			return nil, errMisconfigured
		}
		out = append(out, claim{name: m[1] + m[2], value: m[3], valued: m[3] != ""})
		rest = rest[len(m[0]):]
	}
	return out, nil
}

// ofHeader reports whether the name is a parameter of the header.
func (c claim) ofHeader() bool { return slices.Contains([]string{"alg", "kid", "typ", "sig"}, c.name) }

// accepts reports whether a claim has the required value; of a list, such as
// the audience, one element must be equal.
func (c claim) accepts(value any) bool {
	if !c.valued {
		return true
	}
	if list, isList := value.([]any); isList {
		return slices.Contains(list, any(c.value))
	}
	return value == c.value
}

// checkHeader checks the required parameters of the header.
func (s *jwtSettings) checkHeader(header map[string]any) error {
	// It lists what must be understood for the token to mean what it seems to, and
	// nothing of the kind is understood here (RFC 7515, section 4.1.11).
	if _, has := header["crit"]; has {
		return badRequest("Unknown crit header parameter")
	}
	for _, c := range s.required {
		switch value, has := header[c.name]; c.name {
		case "typ":
			if !has {
				return badRequest("Missing typ header parameter")
			}
			if value != "JWT" {
				return badRequest("Invalid typ header parameter")
			}
		case "kid":
			if !has {
				return badRequest("Missing kid claim")
			}
		}
	}
	return nil
}

// key returns the key of a kind with the id a token names, "_default" if none.
func (s *jwtSettings) key(kind string, kid any) (any, error) {
	id := "_default"
	if kid != nil {
		var ok bool
		if id, ok = kid.(string); !ok {
			return nil, badRequest("Unknown kid")
		}
	}
	k, ok := s.keys[kind+":"+id]
	if !ok {
		return nil, badRequest("Unknown kid")
	}
	return k.key, k.err
}

// parseKey parses a value of [jwt_keys]: base64 of the secret for HMAC, else a
// public key or certificate in PEM whose line breaks are written as \n.
func parseKey(name, value string) jwtKey {
	kind, _, _ := strings.Cut(name, ":")
	if kind == "hmac" {
		secret, err := base64.StdEncoding.DecodeString(value)
		if err != nil || len(secret) == 0 {
			return jwtKey{err: badRequest("Not a valid key")}
		}
		return jwtKey{key: secret}
	}
	switch key := publicKey(strings.ReplaceAll(value, `\n`, "\n")).(type) {
	case *rsa.PublicKey:
		if kind == "rsa" {
			return jwtKey{key: key}
		}
	case *ecdsa.PublicKey:
		if kind == "ec" {
			return jwtKey{key: key}
		}
	case nil:
		return jwtKey{err: badRequest("Not a valid key")}
	}
	return jwtKey{err: badRequest("not an " + strings.ToUpper(kind) + " public key")}
}

// publicKey returns the key of a PEM block, nil if there is none.
func publicKey(text string) any {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS1PublicKey(block.Bytes); err == nil {
		return key
	}
	if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
		return cert.PublicKey
	}
	return nil
}

// splitPath divides a path at its dots; a dot after a backslash is a dot of the
// name.
func splitPath(path string) []string {
	if path == "" {
		return nil
	}
	parts := []string{""}
	for i := 0; i < len(path); i++ {
		last := &parts[len(parts)-1]
		switch {
		case path[i] == '\\' && i+1 < len(path) && path[i+1] == '.':
			i++
			*last += "."
		case path[i] == '.':
			parts = append(parts, "")
		default:
			*last += path[i : i+1]
		}
	}
	return parts
}

// roles returns the claim with the roles, nil if there is none. A path that leads to no
// claim refuses the token, as in CouchDB: who wrote a wrong path is told.
func (s *jwtSettings) roles(payload map[string]any) (any, error) {
	if s.rolesPath == nil {
		return payload[s.rolesName], nil
	}
	var at any = payload
	for _, part := range s.rolesPath {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, dberr.New(dberr.NotFound, "not_found", "json_mismatch")
		}
		if at, ok = m[part]; !ok {
			return nil, dberr.New(dberr.NotFound, "not_found", "%s", "missing json key: "+part)
		}
	}
	return at, nil
}
