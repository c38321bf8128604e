package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sectional/sectional/internal/certificates"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/web"
)

// acmeSettings are what the configuration says of certificates by ACME. Errors say what can't be.
func acmeSettings(s *config.Snapshot) (certificates.Settings, error) {
	names, err := config.ParseHosts(s.String("ssl", "acme_domains", ""))
	if err != nil {
		return certificates.Settings{}, fmt.Errorf("[ssl] acme_domains: %w", err)
	}
	return certificates.Settings{
		Names:      names,
		Email:      s.String("ssl", "acme_email", ""),
		Directory:  s.String("ssl", "acme_directory", ""),
		Roots:      s.String("ssl", "acme_ca_root", ""),
		KeyID:      s.String("ssl", "acme_eab_key_id", ""),
		MAC:        s.String("ssl", "acme_eab_key", ""),
		Accepted:   s.Bool("ssl", "acme_accept_terms", false),
		Challenges: s.List("ssl", "acme_challenges"),
	}.Check()
}

// secured has the certificates of HTTPS: from files, and by ACME.
type secured struct {
	files *certificate
	acme  *certificates.Service
}

// openCertificates reads the files of [ssl], and makes what gets certificates by ACME, which begins
// when the server listens. Settings that can't be are refused here; later the ones before stay.
func (a *instance) openCertificates() (*secured, error) {
	first, err := acmeSettings(a.config.Snapshot())
	if err != nil {
		return nil, err
	}
	files, err := openCertificate(a.config, a.log, a.Store.Now, len(first.Names) > 0)
	if err != nil {
		return nil, err
	}
	var current atomic.Pointer[certificates.Settings]
	current.Store(&first)
	service := certificates.New(certificates.Options{
		Settings: func() certificates.Settings { return *current.Load() },
		Rows:     a.Store, Now: a.Store.Now, Log: a.log, Pace: a.o.acmePace,
	})
	a.config.Subscribe(func(s *config.Snapshot) {
		next, err := acmeSettings(s)
		if err != nil {
			a.log.Warn("what the configuration says of ACME can't be; the settings before stay", "err", err)
			return
		}
		current.Store(&next)
		service.Wake()
	})
	return &secured{files, service}, nil
}

// get is tls.Config's GetCertificate: the one of the name that the client wants, else that of the
// files, else that of the first name.
func (c *secured) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if is := c.acme.Certificate(hello.ServerName); is != nil {
		return is, nil
	}
	if is, err := c.files.get(hello); is != nil || err != nil {
		return is, err
	}
	if is := c.acme.First(); is != nil {
		return is, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// config is that of the listener.
func (c *secured) config() *tls.Config {
	return &tls.Config{
		GetCertificate: c.get,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if certificates.Asked(hello) {
				return c.acme.Handshake(hello)
			}
			return nil, nil
		},
	}
}

// challenges answers for http-01, and leaves everything else to next.
func (c *secured) challenges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if text, asked := c.acme.Response(r.Context(), hostOf(r), r.URL.Path); asked {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				_, _ = io.WriteString(w, text) // nobody is there
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf is the name of the host that a request is for.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}

// refresh looks at files and settings now.
func (c *secured) refresh() {
	c.files.refresh()
	c.acme.Refresh()
}

// gauges returns when the certificate ends that ends first, and how it goes with ACME.
func (c *secured) gauges() []web.Gauge {
	n := c.acme.Numbers()
	if ends := c.files.ends(); !ends.IsZero() && (n.Ends.IsZero() || ends.Before(n.Ends)) {
		n.Ends = ends
	}
	return certificateGauges(n)
}

func certificateGauges(n certificates.Numbers) []web.Gauge {
	gauges := []web.Gauge{
		web.Level("acme_missing", "Names of [ssl] acme_domains without a certificate that is valid.", float64(n.Missing)),
		web.Count("acme_failures_total", "Attempts to get a certificate by ACME that failed.", float64(n.Failures)),
	}
	if !n.Ends.IsZero() {
		gauges = append(gauges, web.Level("certificate_expires_seconds", "When the certificate of HTTPS expires that does so first, in seconds since 1970.", float64(n.Ends.Unix())))
	}
	return gauges
}
