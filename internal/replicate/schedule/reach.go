package schedule

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/outgoing"
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
	o := replicate.TransportOptions{Proxy: e.Proxy, TLS: secure, Connections: r.Connections, Timeout: r.Timeout}
	if v.private != "true" && (v.private != "admins" || !trusted) {
		o.Control = outgoing.Guard(outgoing.Public, errPrivate)
	}
	return replicate.NewTransport(o), nil
}

// tls reads the files that the configuration names. Errors say which setting is
// of no use; why goes to the log, since the replication may be anybody's.
func (v *settings) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: !v.verify}
	if v.caFile != "" {
		pem, err := os.ReadFile(v.caFile)
		if err != nil {
			return nil, useless("ssl_trusted_certificates_file", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, useless("ssl_trusted_certificates_file", fmt.Errorf("%s holds no certificate", v.caFile))
		}
	}
	if v.certFile != "" && v.keyFile != "" {
		pair, err := tls.LoadX509KeyPair(v.certFile, v.keyFile)
		if err != nil {
			return nil, useless("cert_file or key_file", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func useless(setting string, cause error) error {
	return &dberr.Error{Kind: dberr.Internal, Code: "replication_failed", Reason: "[replicator] " + setting + " can't be used", Cause: cause}
}

var errPrivate = errors.New("the address is a private one, which [replicator] private_addresses forbids")
