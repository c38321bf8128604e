package replicate

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"time"
)

// TransportOptions are how a peer on the network is reached.
type TransportOptions struct {
	Proxy       *url.URL    // http, https or socks5, with its credentials; nil: none, whatever the environment says
	TLS         *tls.Config // nil: the system's authorities
	Connections int         // to one peer at once; 0: 20
	Timeout     time.Duration
}

// NewTransport makes the http.RoundTripper to a peer on the network. Tasks may
// share it; its owner closes its idle connections.
func NewTransport(o TransportOptions) *http.Transport {
	return &http.Transport{}
}

// PeerError is a request that a peer did not answer well, however often it was
// asked.
type PeerError struct {
	Method, URL string // URL without credentials
	Status      int    // 0: there was no answer
	Code        string // the peer's word; "" when it gave none
	Reason      string
	Cause       error // when there was no whole answer
}

// Error implements error.
func (e *PeerError) Error() string { return e.Method + " " + e.URL + ": " + e.Reason }

// Unwrap gives the cause.
func (e *PeerError) Unwrap() error { return e.Cause }
