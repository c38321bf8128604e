package subscribe

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sectional/sectional/internal/outgoing"
)

var errPrivate = errors.New("subscribe: the address is a private one")

// parseURL reads where requests are to go. Credentials have a place in headers,
// where they are not shown.
func parseURL(v []byte) (string, error) {
	s, ok := text(v)
	if !ok || len(s) > maxText {
		return "", bad("`url` must be a string of up to %d bytes.", maxText)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return "", bad("`url` must be an absolute address that begins with http:// or https://.")
	case u.User != nil:
		return "", bad("`url` can't hold credentials: put them into `headers`.")
	case u.Fragment != "":
		return "", bad("`url` can't have a fragment.")
	}
	return s, nil
}

// refusePrivate refuses a URL whose host is, as it is written, a private
// address: whoever sets it is told at once. What names resolve to is looked at
// when it counts, at connecting.
func refusePrivate(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	a, err := netip.ParseAddr(host)
	if err == nil && !outgoing.Public(a) || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return bad("`url` leads to a private address, which [subscriptions] allow_private must allow.")
	}
	return nil
}
