package auth

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/config"
)

// flat returns an answer as one line.
func flat(a CORSAnswer) string {
	var parts []string
	if a.Preflight {
		parts = append(parts, "preflight")
	}
	for _, h := range a.Headers {
		parts = append(parts, strings.TrimPrefix(h[0], "Access-Control-")+": "+h[1])
	}
	return strings.Join(parts, "; ")
}

func TestCORS(t *testing.T) {
	const exposed = "Expose-Headers: content-type, cache-control, accept-ranges, etag, server, x-couch-request-id, " +
		"x-couch-update-newrev, x-couchdb-body-time, x-sectional-seq"
	const methods = "Allow-Methods: CONNECT, COPY, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE"
	on := []config.Setting{{Section: "chttpd", Key: "enable_cors", Value: "true"},
		{Section: "cors", Key: "origins", Value: "http://a.com, https://b.com"}}
	with := func(more ...string) []config.Setting {
		out := on[:2:2]
		for i := 0; i < len(more); i += 2 {
			out = append(out, config.Setting{Section: "cors", Key: more[i], Value: more[i+1]})
		}
		return out
	}
	get := CORSRequest{Method: "GET", Origin: "http://a.com"}
	ask := CORSRequest{Method: "OPTIONS", Origin: "http://a.com", RequestedMethod: "PUT", RequestedHeaders: "Content-Type, If-Match"}
	for _, c := range []struct {
		name     string
		settings []config.Setting
		r        CORSRequest
		want     string
	}{
		{"off", on[1:], get, ""},
		{"no origin", on, CORSRequest{Method: "GET"}, ""},
		{"other origin", on, CORSRequest{Method: "GET", Origin: "http://c.com"}, ""},
		{"simple", on, get, "Allow-Origin: http://a.com; Vary: Origin; " + exposed},
		{"credentials", with("credentials", "true"), get,
			"Allow-Origin: http://a.com; Vary: Origin; Allow-Credentials: true; " + exposed},
		{"all origins", with("origins", "*"), CORSRequest{Method: "GET", Origin: "http://c.com"},
			"Allow-Origin: http://c.com; Vary: Origin; " + exposed},
		{"exposed", with("exposed_headers", "X-A,ETag"), get, "Allow-Origin: http://a.com; Vary: Origin; Expose-Headers: x-a, etag"},
		{"preflight", on, ask, "preflight; Allow-Origin: http://a.com; Vary: Origin; Max-Age: 600; " + methods +
			"; Allow-Headers: Content-Type, If-Match"},
		{"preflight with settings", with("methods", "GET, PUT", "max_age", "5", "headers", "Content-Type, IF-match"), ask,
			"preflight; Allow-Origin: http://a.com; Vary: Origin; Max-Age: 5; Allow-Methods: GET, PUT; Allow-Headers: Content-Type, If-Match"},
		{"preflight, other method", with("methods", "GET"), ask, ""},
		{"preflight, other header", with("headers", "content-type"), ask, ""},
		{"preflight, other origin", on, CORSRequest{Method: "OPTIONS", Origin: "http://c.com", RequestedMethod: "GET"}, ""},
		{"OPTIONS without a question", on, CORSRequest{Method: "OPTIONS", Origin: "http://a.com"},
			"Allow-Origin: http://a.com; Vary: Origin; " + exposed},
	} {
		w := newWorld(t, c.settings...)
		got := flat(ParseCORS(w.config.Snapshot()).For("db.example").Decide(c.r))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestCORSByHost(t *testing.T) {
	w := newWorld(t, config.Setting{Section: "chttpd", Key: "enable_cors", Value: "true"},
		config.Setting{Section: "cors", Key: "origins", Value: "http://a.com"},
		config.Setting{Section: "cors:http://db.example", Key: "origins", Value: "http://b.com"})
	p := ParseCORS(w.config.Snapshot())
	for host, want := range map[string]string{
		"DB.example:5984": "http://b.com", "db.example": "http://b.com", "other": "http://a.com", "[::1]:5984": "http://a.com",
	} {
		for _, origin := range []string{"http://a.com", "http://b.com"} {
			if got := len(p.For(host).Decide(CORSRequest{Method: "GET", Origin: origin}).Headers) > 0; got != (origin == want) {
				t.Errorf("%s, %s: %v", host, origin, got)
			}
		}
	}
}
