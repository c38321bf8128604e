package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/outgoing"
)

// What an ACME server may cost: its answers have a few kilobytes, chains of certificates some tens.
const (
	answerTime  = 30 * time.Second
	answerBytes = 256 << 10
	maxRetries  = 3
)

// newClient makes the client for one attempt. roots is a file of further roots, "" for none.
func newClient(roots string) (*http.Client, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	if roots != "" {
		text, err := os.ReadFile(roots)
		if err != nil {
			return nil, fmt.Errorf("[ssl] acme_ca_root: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("[ssl] acme_ca_root: there is no certificate in %s", roots)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: bounded{t}, Timeout: answerTime}, nil
}

// bounded makes requests to nothing but https, ends answers that are too long, and has Retry-After say a time to come or nothing.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Scheme != "https" {
		return nil, fmt.Errorf("the ACME server leads to %.200q, which is not https", q.URL)
	}
	a, err := b.Transport.RoundTrip(q)
	if err == nil {
		a.Body = &boundedBody{ReadCloser: a.Body, left: answerBytes}
		boundRetry(a.Header)
	}
	return a, err
}

// boundRetry removes a Retry-After that names no time to come: acme.Client then polls once a second, and otherwise takes a number below
// zero, one that overflows, and a date that has passed (which an honest server sends where our clock is ahead of its) for no pause at all.
func boundRetry(h http.Header) {
	d, _ := outgoing.RetryAfter(h.Get("Retry-After"), time.Now(), longestRest)
	if h.Del("Retry-After"); d >= time.Second {
		h.Set("Retry-After", strconv.FormatInt(int64(d/time.Second), 10))
	}
}

var errTooLong = errors.New("the ACME server's answer is too long")

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// retryAfter is acme.Client's RetryBackoff: a few times, and not for long.
func retryAfter(n int, _ *http.Request, a *http.Response) time.Duration {
	if n > maxRetries {
		return -1
	}
	if a.StatusCode == http.StatusBadRequest { // a nonce was too old
		return time.Millisecond
	}
	d, _ := outgoing.RetryAfter(a.Header.Get("Retry-After"), time.Now(), 10*time.Second)
	return max(d, time.Duration(n)*200*time.Millisecond)
}
