package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/certificates"
	"github.com/sectional/sectional/internal/testkit/acmetest"
)

const acmeName = "db.example.test"

// acmeServer is a server that gets a certificate by ACME, and where it answers.
type acmeServer struct {
	*running
	o  Options
	at acmetest.Addresses
}

// acmeOptions are those of a server that asks an ACME server for a certificate of acmeName.
func acmeOptions(t *testing.T, ca *acmetest.CA, more string) acmeServer {
	t.Helper()
	plain, secured := fmt.Sprintf("127.0.0.1:%d", freePort(t)), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	_, port, _ := net.SplitHostPort(secured)
	file := configured(t, "[ssl]\nenable = true\nport = "+port+"\nacme_domains = "+acmeName+"\nacme_directory = "+ca.Directory()+"\nacme_ca_root = "+ca.RootFile()+"\n"+more)
	return acmeServer{at: acmetest.Addresses{HTTP: plain, TLS: secured}, o: Options{
		Data: filepath.Join(t.TempDir(), "data"), Config: file, Listen: plain, User: "adm", Password: "pass", Reload: make(chan os.Signal),
		acmePace: certificates.Pace{Look: 20 * time.Millisecond, Eager: 20 * time.Millisecond, Pause: time.Minute},
	}}
}

// handshake returns the serial number of the certificate that is served for a name, "" if there is none.
func (s acmeServer) handshake(t *testing.T, ca *acmetest.CA, name string) string {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: name != acmeName, RootCAs: ca.Roots}}
	c, err := d.DialContext(t.Context(), "tcp", s.at.TLS)
	if err != nil {
		return ""
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// served waits until there is a certificate.
func (s acmeServer) served(t *testing.T, ca *acmetest.CA) string {
	t.Helper()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if is := s.handshake(t, ca, acmeName); is != "" {
			tick.Stop()
			return is
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(s.log.String())
		}
	}
}

// TestCertificateByACME starts a server while the ACME server is away, has it get a certificate when that is back, by either
// challenge, and serve it after a restart whatever has become of the ACME server.
func TestCertificateByACME(t *testing.T) {
	for _, kind := range []string{certificates.HTTP, certificates.TLSALPN} {
		ca := acmetest.New(t)
		s := acmeOptions(t, ca, "acme_accept_terms = true\nacme_challenges = "+kind+"\n")
		ca.Lead(acmeName, s.at)
		signals := make(chan os.Signal)
		s.o.Reload = signals
		away := acmetest.Faults{Instead: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
		ca.Set(away)
		s.running = start(t, s.o)
		if status, body := s.get("/_up", "", ""); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		if got := s.handshake(t, ca, acmeName); got != "" {
			t.Errorf("a certificate %s came from nowhere", got)
		}
		for tick := time.NewTicker(10 * time.Millisecond); !strings.Contains(s.log.String(), "no certificate could be got by ACME"); <-tick.C {
		}
		ca.Set(acmetest.Faults{})
		signals <- syscall.SIGHUP // tries again at once
		first := s.served(t, ca)
		if other := s.handshake(t, ca, "other.example.test"); other != first {
			t.Errorf("other names get the certificate %q", other)
		}
		_, metrics := s.get("/_node/_local/_prometheus", "adm", "pass")
		for _, want := range []string{"\nsectional_acme_missing 0\n", "\nsectional_acme_failures_total 1\n", "\nsectional_certificate_expires_seconds 1"} {
			if !strings.Contains(metrics, want) {
				t.Errorf("no %q in the metrics", want)
			}
		}
		// Where there is no token everything is as it was.
		was, _, _ := s.ask("GET", "/.well-known/acme-challengf/0123456789abcdefghijkl", "", "", "", nil)
		for _, method := range []string{"GET", "HEAD", "PUT"} {
			if status, body, _ := s.ask(method, "/.well-known/acme-challenge/0123456789abcdefghijkl", "", "", "", http.Header{"Host": {acmeName}}); method == "GET" && status != was || status < 400 {
				t.Errorf("%s of a token that is not there: %d %s", method, status, body)
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		ca.Set(away)
		s.running = start(t, s.o)
		if s.served(t, ca) != first || ca.Issued(acmeName) != 1 {
			t.Errorf("after a restart: another certificate, of %d", ca.Issued(acmeName))
		}
		if _, _, _, passed := ca.Seen(); len(passed) != 1 || passed[0] != kind {
			t.Errorf("passed %v", passed)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestACMEIsRefused starts servers whose settings can't be, and changes those of one that runs.
func TestACMEIsRefused(t *testing.T) {
	ca := acmetest.New(t)
	for want, text := range map[string]string{
		"acme_accept_terms = true": "",
		"acme_challenges":          "acme_accept_terms = true\nacme_challenges = dns-01\n",
		"stands for many hosts":    "acme_accept_terms = true\nacme_domains = *.example.test\n",
		"begins with https":        "acme_accept_terms = true\nacme_directory = http://127.0.0.1/\n",
	} {
		s := acmeOptions(t, ca, text)
		if err := refuses(t, s.o); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	s := acmeOptions(t, ca, "acme_accept_terms = true\n")
	ca.Lead(acmeName, s.at)
	s.running = start(t, s.o)
	first := s.served(t, ca)
	if status, body := s.send("PUT", "/_node/_local/_config/ssl/acme_domains", `"*.example.test"`); status != 400 || !strings.Contains(body, "stands for many hosts") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := s.send("PUT", "/_node/_local/_config/ssl/acme_eab_key", `"c2VjcmV0"`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if _, body := s.send("GET", "/_node/_local/_config/ssl", ""); strings.Contains(body, "c2VjcmV0") || !strings.Contains(body, `"acme_eab_key":"****"`) {
		t.Errorf("a key is shown: %s", body)
	}
	if status, body := s.send("PUT", "/_node/_local/_config/ssl/acme_accept_terms", `"false"`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if s.served(t, ca) != first || !strings.Contains(s.log.String(), "the settings before stay") {
		t.Error(s.log.String())
	}
}

// TestServersShareCertificates has two servers over one PostgreSQL: one gets the certificate, the other answers the challenge
// and serves it too.
func TestServersShareCertificates(t *testing.T) {
	engine, ca := ownDatabase(t), acmetest.New(t)
	one := acmeOptions(t, ca, "acme_accept_terms = true\n")
	two := acmeOptions(t, ca, "acme_accept_terms = true\n")
	one.o.Store, two.o.Store = engine, engine
	ca.Set(acmetest.Faults{Instead: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }})
	signals := make(chan os.Signal)
	one.o.Reload = signals
	one.running, two.running = start(t, one.o), start(t, two.o)
	ca.Lead(acmeName, two.at)
	ca.Set(acmetest.Faults{})
	signals <- syscall.SIGHUP
	if a, b := one.served(t, ca), two.served(t, ca); a != b || ca.Issued(acmeName) != 1 {
		t.Errorf("certificates %s and %s, of %d", a, b, ca.Issued(acmeName))
	}
	if accounts, _, _, _ := ca.Seen(); accounts != 1 {
		t.Errorf("%d accounts", accounts)
	}
}
