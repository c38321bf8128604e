package acmetest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/asn1"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// kinds are the challenges that the server can look at.
var kinds = []string{"http-01", "tls-alpn-01", "dns-01"}

// lookTime is how long a look at a name may take.
const lookTime = 10 * time.Second

// authorization tells of an authorization (7.5).
func (c *CA) authorization(r *request) *problem {
	n, p := c.orderOf(r)
	if p != nil {
		return p
	}
	o := c.orders[n]
	all := []any{}
	for _, kind := range kinds {
		if c.faults.Kinds == nil || slices.Contains(c.faults.Kinds, kind) {
			all = append(all, c.shown(n, kind))
		}
	}
	answer(r.w, http.StatusOK, map[string]any{"status": o.authz, "identifier": identifier(o.name), "challenges": all})
	return nil
}

func (c *CA) shown(n int, kind string) map[string]any {
	o := c.orders[n]
	is := map[string]any{"type": kind, "url": c.at("challenge", n) + "/" + kind, "token": o.token, "status": "pending"}
	if o.kind == kind {
		is["status"] = o.authz
		if o.problem != "" {
			is["error"] = refused("unauthorized", o.problem)
		}
	}
	return is
}

// challenge looks at the name that is to be authorized (7.5.1), before it answers: so a test need
// not wait for what is looked at later.
func (c *CA) challenge(r *request) *problem {
	n, p := c.orderOf(r)
	if p != nil {
		return p
	}
	o, kind := c.orders[n], r.q.PathValue("kind")
	if string(r.payload) != "{}" || !slices.Contains(kinds, kind) {
		return refused("malformed", "no such challenge")
	}
	if o.authz == "pending" {
		ctx, cancel := context.WithTimeout(r.q.Context(), lookTime)
		defer cancel()
		to, proof := c.leads[o.name], authorizationOf(o.token, o.of.key)
		c.mu.Unlock() // others go on while names are looked at
		err := look(ctx, kind, to, o.name, o.token, proof)
		c.mu.Lock()
		o.kind, o.authz, o.status = kind, "valid", "ready"
		if err != nil {
			o.authz, o.status, o.problem = "invalid", "invalid", err.Error()
		} else {
			c.passed = append(c.passed, kind)
		}
	}
	r.w.Header().Set("Link", "<"+c.at("authz", n)+`>;rel="up"`)
	answer(r.w, http.StatusOK, c.shown(n, kind))
	return nil
}

// look connects to where a name leads, and looks for the proof.
func look(ctx context.Context, kind string, to Addresses, name, token, proof string) error {
	switch kind {
	case "http-01":
		return lookHTTP(ctx, to.HTTP, name, token, proof)
	case "tls-alpn-01":
		return lookTLS(ctx, to.TLS, name, proof)
	}
	return fmt.Errorf("there is no name server for %s", name)
}

// lookHTTP asks for the token (8.3).
func lookHTTP(ctx context.Context, address, name, token, proof string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+"/.well-known/acme-challenge/"+token, http.NoBody)
	if err != nil {
		return err
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	a, err := t.RoundTrip(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 1<<10))
	if err != nil || a.StatusCode != http.StatusOK || strings.TrimRight(string(text), " \t\r\n") != proof {
		return fmt.Errorf("%s answers %d %.100q", name, a.StatusCode, text)
	}
	return nil
}

// acmeIdentifier is the extension of certificates that answer by a handshake.
var acmeIdentifier = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}

// lookTLS makes a handshake (RFC 8737).
func lookTLS(ctx context.Context, address, name, proof string) error {
	d := tls.Dialer{Config: &tls.Config{ServerName: name, NextProtos: []string{"acme-tls/1"}, InsecureSkipVerify: true}}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	state := conn.(*tls.Conn).ConnectionState()
	leaf := state.PeerCertificates[0]
	if state.NegotiatedProtocol != "acme-tls/1" || !slices.Equal(leaf.DNSNames, []string{name}) || len(leaf.IPAddresses)+len(leaf.EmailAddresses)+len(leaf.URIs) > 0 {
		return fmt.Errorf("%s answers by %q for %q", name, state.NegotiatedProtocol, leaf.DNSNames)
	}
	digest := sha256.Sum256([]byte(proof))
	want, err := asn1.Marshal(digest[:])
	if err != nil {
		return err
	}
	for _, e := range leaf.Extensions {
		if e.Id.Equal(acmeIdentifier) && e.Critical && string(e.Value) == string(want) {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer to the challenge", name)
}
