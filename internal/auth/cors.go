package auth

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/config"
)

// CORS is which pages of other origins may use the server.
type CORS struct {
	Enabled     bool
	Origins     []string // "*": all
	Credentials bool
	Methods     []string
	Headers     []string // lower case
	Exposed     []string
	MaxAge      int64 // seconds
}

// CouchDB's lists, to which PATCH and the headers of conditional and ranged
// requests are added: a browser asks before it sends those.
var (
	corsMethods = []string{"CONNECT", "COPY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
	corsHeaders = []string{"accept", "accept-language", "authorization", "content-length", "content-range",
		"content-type", "destination", "expires", "if-match", "if-none-match", "last-event-id", "last-modified",
		"origin", "pragma", "range", "x-couch-full-commit", "x-couch-id", "x-couch-persist",
		"x-couch-request-id", "x-couchdb-www-authenticate", "x-http-method-override", "x-requested-with",
		"x-couchdb-vhost-path"}
	corsExposed = []string{"content-type", "cache-control", "accept-ranges", "etag", "server",
		"x-couch-request-id", "x-couch-update-newrev", "x-couchdb-body-time", "x-sectional-seq"}
)

// CORSPolicies are the rules for all hosts the server is known by.
type CORSPolicies struct {
	other CORS
	hosts map[string]CORS
}

// ParseCORS parses the configuration: a section [cors:host] goes before [cors]
// for requests to that host.
func ParseCORS(s *config.Snapshot) CORSPolicies {
	p := CORSPolicies{other: parseCORS(s, "cors"), hosts: map[string]CORS{}}
	for _, section := range s.Sections() {
		if host, ok := strings.CutPrefix(section, "cors:"); ok {
			p.hosts[hostOf(host)] = parseCORS(s, section)
		}
	}
	return p
}

// For returns the rules for a Host header.
func (p CORSPolicies) For(host string) CORS {
	if len(p.hosts) == 0 {
		return p.other
	}
	if c, ok := p.hosts[hostOf(host)]; ok {
		return c
	}
	return p.other
}

// hostOf returns the host alone, without scheme and port.
func hostOf(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	if host, _, err := net.SplitHostPort(s); err == nil {
		return strings.ToLower(host)
	}
	return strings.ToLower(s)
}

func parseCORS(s *config.Snapshot, section string) CORS {
	get := func(key string) (string, []string) {
		in := section
		if _, ok := s.Get(in, key); !ok {
			in = "cors"
		}
		return s.String(in, key, ""), s.List(in, key)
	}
	c := CORS{
		Enabled: s.Bool("chttpd", "enable_cors", false),
		Methods: corsMethods,
		Headers: corsHeaders,
		Exposed: corsExposed,
		MaxAge:  600,
	}
	_, c.Origins = get("origins")
	credentials, _ := get("credentials")
	c.Credentials = credentials == "true"
	if _, list := get("methods"); list != nil {
		c.Methods = list
	}
	if text, list := get("headers"); list != nil {
		c.Headers = lowerList(text)
	}
	if text, list := get("exposed_headers"); list != nil {
		c.Exposed = lowerList(text)
	}
	age, _ := get("max_age")
	if n, err := strconv.ParseInt(age, 10, 64); err == nil {
		c.MaxAge = n
	}
	return c
}

// lowerList divides a list at its commas, in lower case.
func lowerList(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// CORSRequest is what the decision depends on.
type CORSRequest struct {
	Method           string
	Origin           string
	RequestedMethod  string // Access-Control-Request-Method
	RequestedHeaders string // Access-Control-Request-Headers
}

// CORSAnswer is the decision: the headers to send along, and whether the
// request was a preflight, which these headers and status 204 answer whole.
type CORSAnswer struct {
	Preflight bool
	Headers   [][2]string
}

// Decide returns what to tell the browser; nothing if the origin is not one of
// those allowed.
func (c CORS) Decide(r CORSRequest) CORSAnswer {
	if !c.Enabled || r.Origin == "" || !c.allows(r.Origin) {
		return CORSAnswer{}
	}
	headers := [][2]string{{"Access-Control-Allow-Origin", r.Origin}, {"Vary", "Origin"}}
	if c.Credentials {
		headers = append(headers, [2]string{"Access-Control-Allow-Credentials", "true"})
	}
	if r.Method != "OPTIONS" || r.RequestedMethod == "" {
		return CORSAnswer{Headers: append(headers, [2]string{"Access-Control-Expose-Headers", strings.Join(c.Exposed, ", ")})}
	}
	if !slices.Contains(c.Methods, r.RequestedMethod) || !c.allowsHeaders(r.RequestedHeaders) {
		return CORSAnswer{}
	}
	return CORSAnswer{Preflight: true, Headers: append(headers,
		[2]string{"Access-Control-Max-Age", strconv.FormatInt(c.MaxAge, 10)},
		[2]string{"Access-Control-Allow-Methods", strings.Join(c.Methods, ", ")},
		[2]string{"Access-Control-Allow-Headers", r.RequestedHeaders})}
}

// Trusts reports whether pages of an origin may use what a browser keeps of its
// user: cookies and passwords.
func (c CORS) Trusts(origin string) bool {
	return c.Enabled && c.Credentials && origin != "" && c.allows(origin)
}

func (c CORS) allows(origin string) bool {
	return slices.ContainsFunc(c.Origins, func(o string) bool { return o == "*" || strings.EqualFold(o, origin) })
}

func (c CORS) allowsHeaders(list string) bool {
	return !slices.ContainsFunc(lowerList(list), func(h string) bool { return !slices.Contains(c.Headers, h) })
}
