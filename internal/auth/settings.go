package auth

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// digest is a hash function under its name in the configuration.
type digest struct {
	name string
	new  func() hash.Hash
	size int
}

// digests are the functions CouchDB knows, for passwords and for signatures.
var digests = []digest{
	{"sha", sha1.New, sha1.Size},
	{"sha224", sha256.New224, sha256.Size224},
	{"sha256", sha256.New, sha256.Size},
	{"sha384", sha512.New384, sha512.Size384},
	{"sha512", sha512.New, sha512.Size},
}

func digestOf(name string) (digest, bool) {
	for _, d := range digests {
		if d.name == name {
			return d, true
		}
	}
	return digest{}, false
}

// deriveKey returns the key that is made of the secret for a purpose (HKDF, RFC 5869), nil where
// there is no secret. The tokens of proxies are HMACs under the secret itself, as CouchDB has it
// and proxies compute it: so no other purpose may use it, nor an HMAC under it for a key.
func deriveKey(secret, purpose string) []byte {
	if secret == "" {
		return nil
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "sectional "+purpose, sha256.Size)
	if err != nil {
		panic(err) // 32 bytes are few enough
	}
	return key
}

func (d digest) sign(key []byte, message string) []byte {
	h := hmac.New(d.new, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

// settings is the configuration as this package reads it.
type settings struct {
	handlers    []Handler
	admins      map[string]*User // they are shared and not changed
	requireUser bool
	exceptForUp bool
	proxyKey    []byte   // of the tokens of proxies; empty: nobody is believed
	cookieKey   []byte   // of session cookies; nil: there are none
	digests     []digest // the first signs, all are accepted
	timeout     time.Duration
	persistent  bool
	domain      string
	sameSite    string
	authDB      string // only if configured: _session shows it
	usersDB     string
	conflicted  bool // users whose documents have conflicts may log in
	upgrades    bool // a login brings its user's hash up to date
	redirect    string
	challenge   string
	proxy       proxySettings
	proxies     []netip.Prefix // those whose X-Forwarded-For is believed
	jwt         jwtSettings
	lockout     lockoutSettings
	hashing     hashing
	policy      *passwordPolicy
	public      []string
	usersOpen   bool // _security of _users may be edited
}

var handlerName = regexp.MustCompile(`\b(cookie|default|proxy|jwt)_authentication_handler\b`)

const section = "chttpd_auth"

func parseSettings(s *config.Snapshot) *settings {
	out := &settings{
		handlers:    parseHandlers(s.String("chttpd", "authentication_handlers", "")),
		admins:      parseAdmins(s.Section("admins")),
		requireUser: s.Bool("chttpd", "require_valid_user", false) || s.Bool(section, "require_valid_user", false),
		exceptForUp: s.Bool("chttpd", "require_valid_user_except_for_up", false),
		proxyKey:    []byte(s.String(section, "secret", "")),
		cookieKey:   deriveKey(s.String(section, "secret", ""), "session cookies"),
		digests:     parseDigests(s.List(section, "hash_algorithms")),
		timeout:     s.Duration(section, "timeout", time.Second, 10*time.Minute),
		persistent:  s.Bool(section, "allow_persistent_cookies", true),
		domain:      s.String(section, "cookie_domain", ""),
		sameSite:    sameSite(s.String(section, "same_site", "")),
		authDB:      s.String(section, "authentication_db", ""),
		usersDB:     ReadUsersDB(s),
		conflicted:  s.Bool(section, "allow_conflicted_user_docs", false),
		upgrades:    s.Bool(section, "upgrade_hash_on_auth", true),
		redirect:    s.String(section, "authentication_redirect", ""),
		challenge:   s.String("chttpd", "WWW-Authenticate", ""),
		proxy:       parseProxySettings(s),
		proxies:     parseProxies(s),
		jwt:         parseJWTSettings(s),
		lockout:     parseLockoutSettings(s),
		hashing:     parseHashing(s),
		policy:      parsePolicy(s.String(section, "password_regexp", "")),
		public:      s.List(section, "public_fields"),
		usersOpen:   s.Bool("couchdb", "users_db_security_editable", false),
	}
	out.requireUser = out.requireUser || out.exceptForUp
	return out
}

// parseHandlers parses CouchDB's list of Erlang tuples; only the names matter. A list
// that names none counts as the default: else nobody could log in to mend it.
func parseHandlers(list string) []Handler {
	var out []Handler
	for _, m := range handlerName.FindAllStringSubmatch(list, -1) {
		out = append(out, Handler(m[1]))
	}
	if len(out) == 0 {
		return []Handler{CookieHandler, BasicHandler}
	}
	return out
}

func parseDigests(names []string) []digest {
	var out []digest
	for _, name := range names {
		if d, ok := digestOf(name); ok {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		d, _ := digestOf("sha256")
		out = append(out, d)
	}
	return out
}

// sameSite returns the attribute's value: Lax where it is none of the three, and
// none where the setting is empty.
func sameSite(s string) string {
	for _, known := range []string{"None", "Lax", "Strict", ""} {
		if strings.EqualFold(s, known) {
			return known
		}
	}
	return "Lax"
}
