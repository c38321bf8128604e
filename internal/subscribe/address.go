package subscribe

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

var errPrivate = errors.New("subscribe: the address is a private one")

// reserved are networks that are not for the public, beside those that netip
// knows by name.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("::/96"),         // an old way to write IPv4
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), // Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("fec0::/10"),
}

// These hold an IPv4 address, which is the one that counts.
var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixToIV = netip.MustParsePrefix("2002::/16")
)

// public reports whether anybody's address may be meant.
func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToIV.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// guard refuses connections to addresses that allowed does not allow. It is
// asked about the address itself, after names have been resolved, so that no
// name and no redirect leads around it.
func guard(allowed func(netip.Addr) bool) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(at.Addr()) {
			return errPrivate
		}
		return nil
	}
}

// parseURL reads where requests are to go. Credentials have a place in headers,
// where they are not shown.
func parseURL(v []byte) (string, error) {
	s, ok := text(v)
	if !ok || len(s) > mostText {
		return "", bad("`url` must be a string of up to %d bytes.", mostText)
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
	if err == nil && !public(a) || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return bad("`url` leads to a private address, which [subscriptions] allow_private must allow.")
	}
	return nil
}
