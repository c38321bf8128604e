// Package acmetest is an ACME server (RFC 8555) for tests: a small one that takes no word for
// granted. Requests are signed, their nonces used once and their URLs the ones that were asked;
// accounts accept the terms; a challenge is passed when the server has connected to whom the
// name leads and found the answer; a certificate is what the request for it says.
//
// It promises to refuse what the standard has servers refuse as far as a client could get it
// wrong, and that what a test sets (lives, refusals, faults) counts for the next request.
//
// Begin reading at [CA]; jws.go is what is signed, validate.go how names are looked at.
package acmetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Faults are what a test has the server do wrong, or refuse.
type Faults struct {
	Life     time.Duration   // of certificates; 0: 90 days
	Ahead    time.Duration   // how far its clock is ahead of the machine's
	Refused  map[string]bool // names that it gives no certificate
	NewTerms bool            // accounts have to accept others, by hand
	Bound    []byte          // the key of the accounts that it has besides, which ACME's need then; the key's id is "bound"
	Garble   bool            // certificates are of another key
	Lazy     bool            // certificates are not there yet when they are asked for, which is no fault
	Instead  http.HandlerFunc
	Kinds    []string // challenges that it offers; nil: all
}

// CA is the server.
type CA struct {
	t     testing.TB
	http  *httptest.Server
	root  *x509.Certificate
	key   *ecdsa.PrivateKey
	Roots *x509.CertPool // of the certificates that it gives

	mu       sync.Mutex
	faults   Faults
	leads    map[string]Addresses
	nonces   map[string]bool
	accounts []*account
	orders   []*order
	issued   map[string]int
	passed   []string
	last     int64 // serial number, nonce
}

// Addresses are where the ports 80 and 443 of a name lead.
type Addresses struct{ HTTP, TLS string }

type account struct {
	key     *ecdsa.PublicKey
	contact []string
}

type order struct {
	of      *account
	name    string
	token   string
	kind    string // by which it was authorized
	status  string // of the order: pending, ready, valid, invalid
	authz   string // of the authorization
	problem string
	chain   []byte
}

// New starts a server, which ends with the test.
func New(t testing.TB) *CA {
	c := &CA{t: t, leads: map[string]Addresses{}, nonces: map[string]bool{}, issued: map[string]int{}, Roots: x509.NewCertPool()}
	var err error
	if c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(1e5 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &c.key.PublicKey, c.key)
	if err != nil {
		t.Fatal(err)
	}
	if c.root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	c.Roots.AddCert(c.root)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /directory", c.directory)
	mux.HandleFunc("HEAD /nonce", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for path, run := range map[string]func(*request) *problem{"account": c.newAccount, "account/{n}": c.oldAccount, "order": c.newOrder, "order/{n}": c.oldOrder, "authz/{n}": c.authorization,
		"challenge/{n}/{kind}": c.challenge, "finalize/{n}": c.finalize, "certificate/{n}": c.certificate} {
		mux.HandleFunc("POST /"+path, c.signed(run))
	}
	c.http = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		instead := c.faults.Instead
		w.Header().Set("Replay-Nonce", c.nonce())
		c.mu.Unlock()
		if instead != nil {
			instead(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(c.http.Close)
	return c
}

// Directory is the URL of its directory.
func (c *CA) Directory() string { return c.http.URL + "/directory" }

// RootFile is a file with the root by which clients know the server, which is not that of the
// certificates it gives.
func (c *CA) RootFile() string {
	name := filepath.Join(c.t.TempDir(), "root.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.http.Certificate().Raw})
	if err := os.WriteFile(name, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// Lead has a name lead to a server.
func (c *CA) Lead(name string, to Addresses) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leads[name] = to
}

// Set sets what goes wrong from now on.
func (c *CA) Set(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Issued returns how many certificates it has given for a name.
func (c *CA) Issued(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.issued[name]
}

// Seen returns how many accounts and orders there are, the contacts of the first account, and which
// kinds of challenge were passed.
func (c *CA) Seen() (accounts, orders int, contact, passed []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.accounts) > 0 {
		contact = c.accounts[0].contact
	}
	return len(c.accounts), len(c.orders), contact, slices.Clone(c.passed)
}

// nonce makes a new one. The caller holds the lock.
func (c *CA) nonce() string {
	c.last++
	n := base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("nonce %d", c.last)))
	c.nonces[n] = true
	return n
}

func (c *CA) directory(w http.ResponseWriter, _ *http.Request) {
	at := c.http.URL
	answer(w, http.StatusOK, map[string]any{"newNonce": at + "/nonce", "newAccount": at + "/account", "newOrder": at + "/order", "revokeCert": at + "/revoke", "keyChange": at + "/key",
		"meta": map[string]any{"termsOfService": at + "/terms"}})
}

func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // the client is gone
}

// newAccount makes an account, or says which one has the key (7.3).
func (c *CA) newAccount(r *request) *problem {
	var q struct {
		Agreed   bool     `json:"termsOfServiceAgreed"`
		Contact  []string `json:"contact"`
		Existing bool     `json:"onlyReturnExisting"`
		Bound    jws      `json:"externalAccountBinding"`
	}
	if p := r.read(&q); p != nil {
		return p
	}
	for n, a := range c.accounts {
		if a.key.Equal(r.key) {
			return c.account(r, n, http.StatusOK)
		}
	}
	switch {
	case q.Existing:
		return refused("accountDoesNotExist", "no such account")
	case !q.Agreed:
		return refused("userActionRequired", "the terms are not accepted")
	case c.faults.Bound != nil && !c.bound(r, q.Bound):
		return refused("externalAccountRequired", "nobody here knows who that is")
	}
	c.accounts = append(c.accounts, &account{key: r.key, contact: q.Contact})
	return c.account(r, len(c.accounts)-1, http.StatusCreated)
}

func (c *CA) oldAccount(r *request) *problem {
	var q struct {
		Contact []string `json:"contact"`
	}
	if p := r.read(&q); p != nil {
		return p
	}
	if r.account.contact = q.Contact; q.Contact == nil {
		r.account.contact = []string{}
	}
	return c.account(r, slices.Index(c.accounts, r.account), http.StatusOK)
}

func (c *CA) account(r *request, n, status int) *problem {
	r.w.Header().Set("Location", c.at("account", n))
	answer(r.w, status, map[string]any{"status": "valid", "contact": c.accounts[n].contact, "orders": c.at("orders", n)})
	return nil
}

func (c *CA) at(what string, n int) string { return c.http.URL + "/" + what + "/" + strconv.Itoa(n) }

// newOrder makes an order (7.4).
func (c *CA) newOrder(r *request) *problem {
	var q struct {
		Identifiers []struct{ Type, Value string }
	}
	if p := r.read(&q); p != nil {
		return p
	}
	switch {
	case c.faults.NewTerms:
		p := refused("userActionRequired", "the terms have changed")
		p.Instance = c.http.URL + "/agree"
		return p
	case len(q.Identifiers) != 1 || q.Identifiers[0].Type != "dns":
		return refused("unsupportedIdentifier", "one name an order")
	case c.faults.Refused[q.Identifiers[0].Value]:
		return refused("rejectedIdentifier", "no certificates for "+q.Identifiers[0].Value)
	}
	token := make([]byte, 18)
	rand.Read(token) // never fails
	c.orders = append(c.orders, &order{of: r.account, name: q.Identifiers[0].Value, token: base64.RawURLEncoding.EncodeToString(token), status: "pending", authz: "pending"})
	return c.order(r, len(c.orders)-1, http.StatusCreated)
}

func (c *CA) oldOrder(r *request) *problem {
	n, p := c.orderOf(r)
	if p == nil {
		p = c.order(r, n, http.StatusOK)
	}
	return p
}

func (c *CA) orderOf(r *request) (int, *problem) {
	n, err := strconv.Atoi(r.q.PathValue("n"))
	if err != nil || n < 0 || n >= len(c.orders) || c.orders[n].of != r.account {
		return 0, refused("unauthorized", "no such order")
	}
	return n, nil
}

func (c *CA) order(r *request, n, status int) *problem {
	o := c.orders[n]
	is := map[string]any{"status": o.status, "expires": time.Now().Add(time.Hour), "identifiers": []any{identifier(o.name)}, "authorizations": []string{c.at("authz", n)}, "finalize": c.at("finalize", n)}
	if o.status == "valid" {
		is["certificate"] = c.at("certificate", n)
	}
	if o.problem != "" {
		is["error"] = refused("unauthorized", o.problem)
	}
	if status == http.StatusCreated { // no other answer needs it, and some servers leave it out
		r.w.Header().Set("Location", c.at("order", n))
	}
	answer(r.w, status, is)
	return nil
}

func identifier(name string) map[string]string {
	return map[string]string{"type": "dns", "value": name}
}

// finalize gives the certificate that is asked for, if it is for the name of the order (7.4).
func (c *CA) finalize(r *request) *problem {
	n, p := c.orderOf(r)
	var q struct{ CSR string }
	if p == nil {
		p = r.read(&q)
	}
	if p != nil {
		return p
	}
	o := c.orders[n]
	if o.status != "ready" {
		return refused("orderNotReady", "the order is "+o.status)
	}
	der, err := base64.RawURLEncoding.DecodeString(q.CSR)
	if err != nil {
		return refused("badCSR", err.Error())
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil || !slices.Equal(csr.DNSNames, []string{o.name}) || csr.Subject.CommonName != "" && csr.Subject.CommonName != o.name {
		return refused("badCSR", fmt.Sprint("the request is not for the order's name: ", err))
	}
	if o.chain, err = c.issue(csr); err != nil {
		return refused("serverInternal", err.Error())
	}
	c.issued[o.name]++
	if o.status = "valid"; c.faults.Lazy {
		o.status = "processing"
	}
	p = c.order(r, n, http.StatusOK)
	o.status = "valid"
	return p
}

func (c *CA) issue(csr *x509.CertificateRequest) ([]byte, error) {
	c.last++
	life := c.faults.Life
	if life == 0 {
		life = 90 * 24 * time.Hour
	}
	now := time.Now().Add(c.faults.Ahead)
	is := &x509.Certificate{SerialNumber: big.NewInt(c.last), DNSNames: csr.DNSNames, NotBefore: now.Add(-time.Second), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	public := csr.PublicKey
	if c.faults.Garble {
		public = &c.key.PublicKey
	}
	der, err := x509.CreateCertificate(rand.Reader, is, c.root, public, c.key)
	if err != nil {
		return nil, err
	}
	var chain strings.Builder
	for _, one := range [][]byte{der, c.root.Raw} {
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one}))
	}
	return []byte(chain.String()), nil
}

func (c *CA) certificate(r *request) *problem {
	n, p := c.orderOf(r)
	if p != nil {
		return p
	}
	if c.orders[n].chain == nil {
		return refused("orderNotReady", "there is no certificate")
	}
	r.w.Header().Set("Content-Type", "application/pem-certificate-chain")
	_, _ = r.w.Write(c.orders[n].chain)
	return nil
}
