package config

import (
	"slices"
	"strings"
	"testing"
)

func TestParseHosts(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " , ": nil, "db.example.com": {"db.example.com"}, " B.example.com., a.example.com,b.EXAMPLE.com": {"b.example.com", "a.example.com"},
		"xn--bcher-kva.example": {"xn--bcher-kva.example"}, "a-1.b2.test": {"a-1.b2.test"},
	} {
		if got, err := ParseHosts(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	many := make([]string, maxHosts+1)
	for n := range many {
		many[n] = strings.Repeat("a", n%60+1) + strings.Repeat("b", n/60+1) + ".test"
	}
	for _, text := range []string{
		"*.example.com", "10.0.0.1", "::1", "localhost", "a..b", ".a.b", "a.b..", "-a.b", "a-.b", "a_b.c", "a b.c", "b\u00fccher.example", "a.b:443", "https://a.b", "a.b/c",
		strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 130) + "b", "good.example, bad", strings.Join(many, ","),
	} {
		if got, err := ParseHosts(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
	if _, err := ParseHosts(strings.Join(many[1:], ",")); err != nil {
		t.Error(err)
	}
}

// TestACMESettings sets what can't be: it is refused over HTTP, and told of where it is in a file.
func TestACMESettings(t *testing.T) {
	for _, c := range []struct {
		key, value string
		good       bool
	}{
		{"acme_domains", "db.example.com, www.example.com", true}, {"acme_domains", "*.example.com", false},
		{"acme_directory", "https://ca.example:9000/acme/directory", true}, {"acme_directory", "http://ca.example/directory", false}, {"acme_directory", "https://", false},
		{"acme_challenges", "http-01", true}, {"acme_challenges", "http-01, dns-01", false},
		{"acme_accept_terms", "true", true}, {"acme_accept_terms", "yes", false},
	} {
		s := Setting{"ssl", c.key, c.value}
		if err := CheckValue(s); (err == nil) != c.good {
			t.Errorf("%s = %s: %v", c.key, c.value, err)
		}
		if w := Warning(s); (w == "") != c.good {
			t.Errorf("%s = %s: %q", c.key, c.value, w)
		}
	}
}
