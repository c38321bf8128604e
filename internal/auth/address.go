package auth

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/config"
)

// parseProxies parses networks and single addresses; what is neither is left out,
// and trusts nobody.
func parseProxies(s *config.Snapshot) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range s.List("chttpd", "trusted_proxies") {
		if p, err := config.ParseNetwork(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Client returns the address of a request's client: peer, which the connection
// came from, or, where that is one of [chttpd] trusted_proxies, whom it and the
// trusted ones before it say they were asked by. forwarded are the values of the
// X-Forwarded-For headers in their order; each proxy adds at the end, so what a
// client itself put there is never reached.
func (a *Authenticator) Client(peer string, forwarded []string) string {
	trusted := a.settings.Value().proxies
	if len(trusted) == 0 || len(forwarded) == 0 {
		return peer
	}
	at := peer
	hops := strings.Join(forwarded, ",")
	for more := true; more && isAmong(trusted, at); {
		i := strings.LastIndexByte(hops, ',')
		hop, ok := parseHop(hops[i+1:])
		if !ok {
			break
		}
		at = hop
		if more = i >= 0; more {
			hops = hops[:i]
		}
	}
	return at
}

func isAmong(networks []netip.Prefix, address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip.Unmap().WithZone("")) })
}

// parseHop parses an entry of X-Forwarded-For: an address, perhaps with a port.
func parseHop(text string) (address string, ok bool) {
	text = strings.TrimSpace(text)
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.String(), true
	}
	p, err := netip.ParseAddrPort(text)
	return p.Addr().String(), err == nil
}

// networkOf returns what guesses and turns are counted by: the address, or of IPv6
// its network of 64 bits, all of which belongs to whoever has one address.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Is4() {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // every IPv6 address has one
	return network.String()
}
