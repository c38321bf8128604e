package replicate

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// TransportOptions are how a peer on the network is reached.
type TransportOptions struct {
	Proxy       *url.URL      // http, https or socks5, with its credentials; nil: none, whatever the environment says
	TLS         *tls.Config   // nil: the system's authorities
	Connections int           // to one peer at once; 0: 20
	Timeout     time.Duration // to connect; 0: 30 s
	// Control may refuse to dial an address, as that of net.Dialer; nil: none is refused.
	Control func(network, address string, c syscall.RawConn) error
}

// NewTransport makes the http.RoundTripper to a peer on the network. Tasks may
// share it; its owner closes its idle connections.
func NewTransport(o TransportOptions) *http.Transport {
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: o.Timeout, KeepAlive: 15 * time.Second, Control: o.Control}).DialContext,
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: o.Timeout,
		// One more than there are requests at once: the feed is not counted
		// among them.
		MaxIdleConnsPerHost: o.Connections + 1,
		IdleConnTimeout:     time.Minute,
		WriteBufferSize:     32 << 10,
		ReadBufferSize:      32 << 10,
	}
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return t
}
