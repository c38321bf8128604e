package outgoing

import (
	"net"
	"net/netip"
	"syscall"
)

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

// Public reports whether an address is one of the public network, which
// everybody may reach.
func Public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return Public(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToIV.Contains(a):
			return Public(netip.AddrFrom4([4]byte(b[2:6])))
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

// Guard makes the Control of a net.Dialer that gives refused instead of a
// connection to an address that allowed does not allow. It is asked about the
// address itself, after names have been resolved, so that no name and no
// redirect leads around it.
func Guard(allowed func(netip.Addr) bool, refused error) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(at.Addr()) {
			return refused
		}
		return nil
	}
}

// ThisMachine reports whether a host, a name or an address without a port, is this machine
// as it calls itself: nobody else is reached by it, or reaches it.
func ThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
