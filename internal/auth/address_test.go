package auth

import (
	"testing"

	"github.com/sectional/sectional/internal/config"
)

func TestClientBehindProxies(t *testing.T) {
	const proxies = "10.0.0.0/8, 127.0.0.1, 2001:db8::/32, nonsense, 300.0.0.0/8"
	for _, c := range []struct {
		name, trusted, peer string
		forwarded           []string
		want                string
	}{
		{"nothing is trusted", "", "10.0.0.1", []string{"1.2.3.4"}, "10.0.0.1"},
		{"no proxy", proxies, "9.9.9.9", []string{"1.2.3.4"}, "9.9.9.9"},
		{"no header", proxies, "10.0.0.1", nil, "10.0.0.1"},
		{"one proxy", proxies, "10.0.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"one address as a proxy", proxies, "127.0.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"the client says something itself", proxies, "10.0.0.1", []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"in a line of its own", proxies, "10.0.0.1", []string{"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
		{"two proxies", proxies, "127.0.0.1", []string{"6.6.6.6,1.2.3.4 , 10.1.1.1"}, "1.2.3.4"},
		{"all are proxies", proxies, "127.0.0.1", []string{"10.0.0.3,10.0.0.2"}, "10.0.0.3"},
		{"not an address", proxies, "10.0.0.1", []string{"1.2.3.4, unknown"}, "10.0.0.1"},
		{"nothing between commas", proxies, "10.0.0.1", []string{"1.2.3.4,,"}, "10.0.0.1"},
		{"with a port", proxies, "10.0.0.1", []string{"1.2.3.4:5555"}, "1.2.3.4"},
		{"IPv6", proxies, "2001:db8::7", []string{"2001:4860::1"}, "2001:4860::1"},
		{"IPv6 with a port", proxies, "10.0.0.1", []string{"[2001:4860::1]:80"}, "2001:4860::1"},
		{"IPv4 in IPv6", proxies, "::ffff:10.0.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
	} {
		w := newWorld(t, config.Setting{Section: "chttpd", Key: "trusted_proxies", Value: c.trusted})
		if got := w.Client(c.peer, c.forwarded); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
