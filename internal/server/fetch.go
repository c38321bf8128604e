package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/auth"
)

// What an issuer's answer may cost: descriptions and sets of keys have a few
// kilobytes.
const (
	fetchTime  = 10 * time.Second
	fetchBytes = 1 << 20
	fetchHops  = 5
)

// fetcher gets documents of issuers of tokens. It implements auth.Fetcher.
type fetcher struct {
	client *http.Client
}

// newFetcher makes a fetcher whose requests go by a transport; nil: the
// ordinary one, which trusts the system's certificates and knows of proxies.
func newFetcher(transport http.RoundTripper) *fetcher {
	return &fetcher{client: &http.Client{Transport: transport, Timeout: fetchTime, CheckRedirect: checkRedirect}}
}

// checkRedirect refuses to leave https, and addresses that keys may not be
// fetched from.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > fetchHops {
		return errors.New("too many redirections")
	}
	if next.URL.Scheme != "https" && before[0].URL.Scheme == "https" || !auth.Fetchable(next.URL.String()) {
		return errors.New("redirected to where an answer can't be trusted")
	}
	return nil
}

// Fetch gets a document. It fails after ten seconds, and if the answer is not
// 200 or longer than a megabyte.
func (f *fetcher) Fetch(ctx context.Context, url string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	w, err := f.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Body.Close() }() // only read
	if w.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, w.Status)
	}
	text, err := io.ReadAll(io.LimitReader(w.Body, fetchBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > fetchBytes {
		return nil, fmt.Errorf("%s answered with more than %d bytes", url, fetchBytes)
	}
	return text, nil
}
