package couchapi_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// onTheWay is a proxy that keeps what it was asked for: "METHOD target". It asks
// for credentials.
type onTheWay struct {
	*httptest.Server
	t     testing.TB
	mutex sync.Mutex
	asked []string
}

const proxyUser, proxyPassword = "p:x", "s@cret" // neither goes into a URL as it is

func newProxy(t testing.TB, begin func(*httptest.Server)) *onTheWay {
	p := &onTheWay{t: t}
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	begin(p.Server)
	t.Cleanup(p.Close)
	return p
}

// at returns the proxy's URL with credentials.
func (p *onTheWay) at(password string) string {
	u, err := url.Parse(p.URL)
	must(p.t, err)
	u.User = url.UserPassword(proxyUser, password)
	return u.String()
}

func (p *onTheWay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword)) {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	p.mutex.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI)
	p.mutex.Unlock()
	if r.Method != http.MethodConnect {
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
		return
	}
	to, err := net.Dial("tcp", r.RequestURI)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.t.Errorf("no tunnel: %v", err)
		return
	}
	join(from, to, buffered.Reader)
}

// join carries bytes both ways until one side ends.
func join(from, to net.Conn, sent io.Reader) {
	go func() {
		_, _ = io.Copy(to, sent)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

// took returns what came by and forgets it.
func (p *onTheWay) took() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// newSocks makes a SOCKS 5 proxy that wants the proxy's user and password, and
// returns its URL without credentials.
func newSocks(t testing.TB, p *onTheWay) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.socks(c)
		}
	}()
	return "socks5://" + l.Addr().String()
}

// socks serves a connection, by RFC 1928 and 1929.
func (p *onTheWay) socks(c net.Conn) {
	r := bufio.NewReader(c)
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(r, b)
		return b
	}
	say := func(b ...byte) { _, _ = c.Write(b) }
	methods := read(int(read(2)[1]))
	if !slices.Contains(methods, 2) {
		say(5, 0xff)
		_ = c.Close()
		return
	}
	say(5, 2)
	user := string(read(int(read(2)[1])))
	password := string(read(int(read(1)[0])))
	if user != proxyUser || password != proxyPassword {
		say(1, 1)
		_ = c.Close()
		return
	}
	say(1, 0)
	if head := read(4); head[1] != 1 || head[3] != 1 {
		p.t.Errorf("SOCKS: %v is not a connection to an IPv4 address", head)
	}
	ip, port := net.IP(read(4)), read(2)
	address := net.JoinHostPort(ip.String(), strconv.Itoa(int(port[0])<<8|int(port[1])))
	p.mutex.Lock()
	p.asked = append(p.asked, "SOCKS "+address)
	p.mutex.Unlock()
	to, err := net.Dial("tcp", address)
	if err != nil {
		p.t.Error(err)
		_ = c.Close()
		return
	}
	say(5, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	join(c, to, r)
}

// pemFile writes a file of PEM blocks.
func pemFile(t testing.TB, kind string, der []byte) string {
	name := filepath.Join(t.TempDir(), strings.ReplaceAll(kind, " ", "-")+".pem")
	must(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return name
}

// newPair makes a certificate of its own and its key, in files.
func newPair(t testing.TB) (pool *x509.CertPool, certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(certificate)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pool, pemFile(t, "CERTIFICATE", der), pemFile(t, "PRIVATE KEY", keyDER)
}

// peerAt returns the URL of a database of a peer, with credentials.
func peerAt(s *httptest.Server, db string) string {
	scheme, host, _ := strings.Cut(s.URL, "://")
	return scheme + "://adm:pass@" + host + "/" + db
}

func (a *testAPI) setReplicator(key, value string) {
	a.t.Helper()
	_, err := a.Config.Set(config.Setting{Section: "replicator", Key: key, Value: value}, false)
	must(a.t, err)
}

// secure makes a peer that speaks TLS, and a file with the certificate to trust.
func (a *testAPI) secure(change func(*tls.Config)) (peer *httptest.Server, trusted string) {
	peer = httptest.NewUnstartedServer(a)
	peer.Config.ErrorLog = log.New(io.Discard, "", 0)
	peer.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	change(peer.TLS)
	peer.StartTLS()
	a.t.Cleanup(peer.Close)
	return peer, pemFile(a.t, "CERTIFICATE", peer.Certificate().Raw)
}

// TestReplicationsGoByProxies has each kind of proxy carry the requests to the
// endpoint that names it, and to no other, with the proxy's credentials.
func TestReplicationsGoByProxies(t *testing.T) {
	a := newTestAPI(t)
	a.hold("src", "1")
	plain := httptest.NewServer(a)
	t.Cleanup(plain.Close)
	tlsPeer, trusted := a.secure(func(*tls.Config) {})
	proxy := newProxy(t, (*httptest.Server).Start)
	behindTLS := newProxy(t, func(s *httptest.Server) { s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}; s.StartTLS() })
	socks := strings.Replace(newSocks(t, proxy), "://", "://"+url.UserPassword(proxyUser, proxyPassword).String()+"@", 1)
	a.setReplicator("ssl_trusted_certificates_file", trusted)
	host, tlsHost := strings.TrimPrefix(plain.URL, "http://"), strings.TrimPrefix(tlsPeer.URL, "https://")
	good := proxy.at(proxyPassword)
	for i, c := range []struct {
		peer    *httptest.Server
		proxies string // members of the request
		by      *onTheWay
		source  string // how requests to the source begin at the proxy; "": none comes
		target  string
	}{
		{plain, fmt.Sprintf(`"proxy":%q,"socket_options":"[{nodelay, true}]"`, good), proxy, "http://" + host + "/src", "http://" + host + "/dst"},
		{plain, fmt.Sprintf(`"source_proxy":%q`, good), proxy, "http://" + host + "/src", ""},
		{plain, fmt.Sprintf(`"target_proxy":%q`, good), proxy, "", "http://" + host + "/dst"},
		{tlsPeer, fmt.Sprintf(`"source_proxy":%q`, good), proxy, tlsHost, ""},
		{plain, fmt.Sprintf(`"source_proxy":%q`, behindTLS.at(proxyPassword)), behindTLS, "http://" + host + "/src", ""},
		{plain, fmt.Sprintf(`"source_proxy":%q`, socks), proxy, host, ""},
		{tlsPeer, fmt.Sprintf(`"source_proxy":%q`, socks), proxy, tlsHost, ""},
	} {
		target := fmt.Sprint("dst", i)
		a.hold(target)
		a.do("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":%q,%s}`, peerAt(c.peer, "src"), peerAt(c.peer, target), c.proxies)).want(200, "")
		a.do("GET", "/"+target+"/1", "").want(200, "")
		came := c.by.took()
		for _, begin := range []string{c.source, c.target} {
			has := func(s string) bool { _, at, _ := strings.Cut(s, " "); return strings.HasPrefix(at, begin) }
			if begin != "" && !slices.ContainsFunc(came, has) {
				t.Errorf("%s: nothing for %s came by: %q", c.proxies, begin, came)
			}
			came = slices.DeleteFunc(came, func(s string) bool { return begin != "" && has(s) })
		}
		if len(came) > 0 {
			t.Errorf("%s: came by as well: %q", c.proxies, came)
		}
	}
	got := a.do("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":"dst0","proxy":%q,"retries_per_request":0}`, peerAt(plain, "src"), proxy.at("wrong")))
	if got.Status != 500 || !strings.Contains(got.Body, "Proxy Authentication Required") || strings.Contains(got.Body, "wrong") || len(proxy.took()) > 0 {
		t.Errorf("a proxy that refuses: %d %s", got.Status, got.Body)
	}
}

// TestReplicationsTrustWhomTheyAreTold holds peers that speak TLS against the
// settings: whom is trusted, and what is shown to them.
func TestReplicationsTrustWhomTheyAreTold(t *testing.T) {
	a := newTestAPI(t)
	a.hold("src", "1")
	a.hold("dst")
	clients, certFile, keyFile := newPair(t)
	open, trusted := a.secure(func(*tls.Config) {})
	closed, _ := a.secure(func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, clients })
	nothing := filepath.Join(t.TempDir(), "empty.pem")
	must(t, os.WriteFile(nothing, []byte("nothing"), 0o600))
	try := func(peer *httptest.Server, want string) {
		t.Helper()
		got := a.do("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":"dst","retries_per_request":0}`, peerAt(peer, "src")))
		if (got.Status == 200) != (want == "") || !strings.Contains(got.Body, want) {
			t.Errorf("%d %s, want %q", got.Status, got.Body, want)
		}
	}
	try(open, "certificate signed by unknown authority")
	a.setReplicator("verify_ssl_certificates", "false")
	try(open, "")
	try(closed, "certificate required")
	a.setReplicator("verify_ssl_certificates", "true")
	a.setReplicator("ssl_trusted_certificates_file", trusted)
	try(open, "")
	try(closed, "certificate required")
	a.setReplicator("cert_file", certFile)
	try(closed, "certificate required") // without its key it is of no use
	a.setReplicator("key_file", keyFile)
	try(closed, "")
	try(open, "")
	a.setReplicator("key_file", nothing)
	try(open, "[replicator] cert_file or key_file can't be used")
	a.setReplicator("key_file", keyFile)
	a.setReplicator("ssl_trusted_certificates_file", nothing)
	try(open, "[replicator] ssl_trusted_certificates_file can't be used")
}

// TestReplicationsArePatient has a peer fail and be silent, and looks how often
// it is asked by what the configuration and the request say.
func TestReplicationsArePatient(t *testing.T) {
	a := newTestAPI(t)
	a.hold("dst")
	var asked atomic.Int32
	var silent atomic.Bool
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if silent.Load() {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(peer.Close)
	try := func(members string, want int32, reason string) {
		t.Helper()
		asked.Store(0)
		got := a.do("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":"dst"%s}`, peerAt(peer, "src"), members))
		if got.Status != 500 || asked.Load() != want || !strings.Contains(got.Body, reason) {
			t.Errorf("%s: asked %d times, want %d: %d %s", members, asked.Load(), want, got.Status, got.Body)
		}
	}
	try(`,"retries_per_request":0`, 1, "Internal Server Error")
	try(`,"retries_per_request":1`, 2, "Internal Server Error")
	a.setReplicator("retries_per_request", "0")
	try("", 1, "Internal Server Error")
	silent.Store(true)
	try(`,"connection_timeout":100`, 1, "nothing came for too long")
	a.setReplicator("connection_timeout", "100")
	try("", 1, "nothing came for too long")
}

// TestCredentialsGoWithEachRequest has a peer that needs a password see it in
// every request, and no request to its _session.
func TestCredentialsGoWithEachRequest(t *testing.T) {
	a := newTestAPI(t)
	a.hold("src", "1")
	a.hold("dst")
	var seen []string
	var mutex sync.Mutex
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		mutex.Lock()
		seen = append(seen, strings.Join([]string{r.URL.Path, user, password, r.Header.Get("Cookie")}, " "))
		mutex.Unlock()
		http.SetCookie(w, &http.Cookie{Name: "AuthSession", Value: "bait"})
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(peer.Close)
	for _, source := range []string{
		fmt.Sprintf("%q", peerAt(peer, "src")),
		fmt.Sprintf(`{"url":"%s/src","auth":{"basic":{"username":"adm","password":"pass"}}}`, peer.URL),
	} {
		a.do("POST", "/_replicate", fmt.Sprintf(`{"source":%s,"target":"dst"}`, source)).want(200, "")
	}
	if len(seen) < 6 {
		t.Errorf("the peer saw %q", seen)
	}
	for _, s := range seen {
		if !strings.HasPrefix(s, "/src") || !strings.HasSuffix(s, " adm pass ") {
			t.Errorf("the peer saw %q", s)
		}
	}
	got := a.do("POST", "/_replicate", fmt.Sprintf(`{"source":{"url":"%s/src","auth":{"iam":{"api_key":"k"}}},"target":"dst"}`, peer.URL))
	got.want(400, "{\"error\":\"bad_request\",\"reason\":\"`auth` knows `basic` with `username` and `password` only\"}")
}

// TestReplicationsIgnoreSettings returns those settings of CouchDB that are not
// looked at values that would show.
func TestReplicationsIgnoreSettings(t *testing.T) {
	a := newTestAPI(t)
	a.hold("src", "1")
	peer, trusted := a.secure(func(*tls.Config) {})
	for key, value := range map[string]string{
		"ssl_trusted_certificates_file": trusted,
		"auth_plugins":                  "none", "password": "x", "socket_options": "x", "valid_socket_options": "", "ssl_certificate_max_depth": "0",
		"startup_jitter": "3600000", "update_docs": "true",
	} {
		a.setReplicator(key, value)
	}
	a.do("PUT", "/_replicator/d", fmt.Sprintf(`{"source":%q,"target":"dst","create_target":true}`, peerAt(peer, "src"))).want(201, "")
	got := a.eventually("/_replicator/d", `"_replication_state":"completed"`)
	if rev := got.json()["_rev"].(string); !strings.HasPrefix(rev, "2-") {
		t.Errorf("more than the end is written into the document: %s", got.Body)
	}
}
