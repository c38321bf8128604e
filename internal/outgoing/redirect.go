package outgoing

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxHops is how many redirections a request follows.
const maxHops = 10

// bareHeaders are those that say nothing of who asks.
var bareHeaders = []string{"Accept", "Accept-Encoding", "Content-Encoding", "Content-Type", "If-None-Match", "User-Agent"}

// Redirected is the CheckRedirect of clients whose requests carry credentials, in
// Authorization or in headers that only their users know the meaning of: whatever
// proves who asks stays with the scheme, host and port that it was given for. A
// request that is sent elsewhere goes without.
func Redirected(next *http.Request, before []*http.Request) error {
	if len(before) >= maxHops {
		return errors.New("too many redirections")
	}
	if sameOrigin(next.URL, before[0].URL) {
		return nil
	}
	for name := range next.Header {
		if !slices.Contains(bareHeaders, name) {
			delete(next.Header, name)
		}
	}
	next.Host = "" // a name that was given for the first
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

// portOf returns the port that a URL is of, though it may not say so.
func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
