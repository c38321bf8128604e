package deploy

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

// client asks a server or a balancer as the administrator.
type client struct {
	base   string
	http   *http.Client
	header http.Header
}

type answer struct {
	status int
	body   []byte
	header http.Header
}

// newClient makes a client with connections of its own, from an address of this machine.
func newClient(base, from string) *client {
	dialer := &net.Dialer{}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return &client{base: base, http: &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 8}}, header: http.Header{}}
}

func (s *site) client(from string) *client { return newClient(s.base, from) }

// open sends a request, whose answer's body the caller closes.
func (c *client) open(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header = c.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth("admin", environment["ADMIN_PASSWORD"])
	// Without this a request that found its connection closed would be sent again, and nobody would know.
	r.GetBody = nil
	return c.http.Do(r)
}

// do sends a request and reads the answer.
func (c *client) do(ctx context.Context, method, path string, body []byte) (a answer, err error) {
	var from io.Reader
	if body != nil {
		from = bytes.NewReader(body)
	}
	r, err := c.open(ctx, method, path, from)
	if err != nil {
		return a, err
	}
	defer r.Body.Close()
	a = answer{status: r.StatusCode, header: r.Header}
	a.body, err = io.ReadAll(r.Body)
	return a, err
}

// must is do for what has to succeed.
func (c *client) must(t testing.TB, status int, method, path, body string) []byte {
	t.Helper()
	var text []byte
	if body != "" {
		text = []byte(body)
	}
	a, err := c.do(t.Context(), method, path, text)
	if err != nil || a.status != status {
		t.Fatalf("%s %s: %d %s %v", method, path, a.status, a.body, err)
	}
	return a.body
}
