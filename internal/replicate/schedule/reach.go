package schedule

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// transport makes the way to a peer on the network, with the limits of the
// configuration.
func (s *Scheduler) transport(e *spec.Endpoint, r *spec.Replication, trusted bool) (*http.Transport, error) {
	v := s.settings.Value()
	secure, err := v.tls()
	if err != nil {
		return nil, err
	}
	t := replicate.NewTransport(replicate.TransportOptions{Proxy: e.Proxy, TLS: secure, Connections: r.Connections, Timeout: r.Timeout})
	if v.private == "true" || v.private == "admins" && trusted {
		return t, nil
	}
	d := &net.Dialer{Timeout: r.Timeout, KeepAlive: 30 * time.Second, ControlContext: publicOnly}
	t.DialContext = d.DialContext
	return t, nil
}

// tls reads the files that the configuration names.
func (v *settings) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: !v.verify}
	if v.caFile != "" {
		pem, err := os.ReadFile(v.caFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("[replicator] ssl_trusted_certificates_file %s holds no certificate", v.caFile)
		}
	}
	if v.certFile != "" && v.keyFile != "" {
		pair, err := tls.LoadX509KeyPair(v.certFile, v.keyFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

var errPrivate = errors.New("the address is a private one, which [replicator] private_addresses forbids")

// publicOnly refuses to connect to addresses that are not on the public network.
// It sees the address that is dialled, so that no name can lead astray.
func publicOnly(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errPrivate
	}
	if !isPublic(at.Addr()) {
		return fmt.Errorf("%s: %w", at.Addr(), errPrivate)
	}
	return nil
}

// reserved are networks that netip knows no name for: this network, carriers' own,
// protocol assignments and tests, documentation, benchmarks, future use, and those
// that lead to IPv4 addresses by another name.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.IsPrivate() || !a.IsGlobalUnicast() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
