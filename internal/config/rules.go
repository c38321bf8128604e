package config

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/sectional/sectional/internal/dberr"
)

// closedSections can't be changed over HTTP: in CouchDB they name programs to
// run, and setup scripts rely on the refusal.
var closedSections = []string{
	"daemons", "external", "feature_flags", "httpd_db_handlers", "httpd_design_handlers",
	"httpd_global_handlers", "native_query_servers", "os_daemons", "query_servers",
}

// CheckWritable refuses sections that may not be changed over HTTP.
func CheckWritable(section string) error {
	if slices.Contains(closedSections, section) {
		return dberr.New(dberr.Forbidden, "forbidden",
			"Config section blacklisted for modification over HTTP API.")
	}
	return nil
}

// secretKeys are shown as Redacted: whoever reads them could act as anybody.
var secretKeys = map[string][]string{
	"chttpd_auth":      {"secret"},
	"engine":           {"url"},
	"couch_httpd_auth": {"secret"},
	"ssl":              {"password", "acme_eab_key"},
	"replicator":       {"password"},
}

// Redacted stands for a value that is not shown.
const Redacted = "****"

// Sensitive reports whether a value must not be shown or logged as it is.
// Administrators' lines are: they are shown only because they are hashes.
func Sensitive(section, key string) bool {
	return section == "admins" || slices.Contains(secretKeys[section], key) ||
		section == "jwt_keys" && strings.HasPrefix(key, "hmac:")
}

// Shown returns a value as server administrators may see it over HTTP: secrets
// redacted, administrators' passwords as their hashes.
func Shown(s Setting) string {
	switch {
	case s.Value == "" || !Sensitive(s.Section, s.Key):
		return s.Value
	case s.Section == "admins" && (strings.HasPrefix(s.Value, "-pbkdf2") || strings.HasPrefix(s.Value, "-hashed-")):
		return s.Value
	}
	return Redacted
}

// checked returns s trimmed, or an error when the dialect could not give it back.
func checked(s Setting) (Setting, error) {
	s.Value = strings.TrimSpace(s.Value)
	switch {
	case !plainName(s.Section) || strings.Contains(s.Section, ";"):
		return s, invalid("Invalid configuration section")
	case !plainName(s.Key) || strings.ContainsAny(s.Key, "=;") || s.Key[0] == '#':
		return s, invalid("Invalid configuration key")
	case !printable(s.Value) || strings.HasPrefix(s.Value, ";") ||
		strings.Contains(s.Value, " ;") || strings.Contains(s.Value, "\t;"):
		return s, invalid("Invalid configuration value")
	}
	return s, nil
}

func invalid(reason string) error { return dberr.New(dberr.Invalid, "bad_request", reason) }

func plainName(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && printable(s) && !strings.ContainsAny(s, "[]")
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r == unicode.ReplacementChar || r != '\t' && !unicode.IsPrint(r)
	})
}

// CheckValue refuses a word that a setting of our own can't have; a mistyped
// limit must not look like one that is set. For CouchDB's settings see Warning.
func CheckValue(s Setting) error {
	k, known := find(s.Section, s.Key)
	switch {
	case !known:
		return nil
	case k.Kind == networks:
		return checkNetworks(s)
	case k.Kind == hosts:
		if _, err := ParseHosts(s.Value); err != nil {
			return invalid("`" + s.Key + "`: " + err.Error() + ".")
		}
		return nil
	case k.Kind == secureURL:
		if err := CheckSecureURL(s.Value); err != nil {
			return invalid("`" + s.Key + "`: " + err.Error() + ".")
		}
		return nil
	case k.Kind == challenges && !k.takes(s.Value):
		return invalid("`" + s.Key + "` is a list of tls-alpn-01 and http-01.")
	case k.ours() && (k.Kind != boolean || k.Section == "ssl") && strings.Contains(string(k.Kind), ", ") && !k.takes(s.Value):
		return invalid("`" + s.Key + "` is one of: " + string(k.Kind) + ".")
	}
	return nil
}

// ours reports whether CouchDB does not have the setting.
func (k Known) ours() bool {
	return k.Section == "sectional" || k.Section == "subscriptions" || k.Key == "private_addresses" || strings.HasPrefix(k.Key, "acme_")
}

// checkNetworks refuses a list that has something else than networks.
func checkNetworks(s Setting) error {
	for part := range strings.SplitSeq(s.Value, ",") {
		if _, err := ParseNetwork(part); err != nil && strings.TrimSpace(part) != "" {
			return invalid("`" + s.Key + "` is a list of addresses and networks, such as 10.0.0.0/8.")
		}
	}
	return nil
}

// ParseNetwork reads a network, such as 10.0.0.0/8, or a single address.
func ParseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Unmap().Prefix(ip.Unmap().BitLen())
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}
