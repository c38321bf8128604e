package servers

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Balancer deals requests out one after the other over the servers that say of themselves that they are up. What a
// server did not get, because nothing listens there, goes to the next; what is lost on its way is never sent again.
type Balancer struct {
	Base    string // "http://127.0.0.1:40123"
	targets []*target
	next    atomic.Uint64
	server  *http.Server
	stop    context.CancelFunc
}

// target is a server behind a balancer.
type target struct {
	url    *url.URL
	health string // the URL that is asked whether it is up
	up     atomic.Bool
	dealt  atomic.Int64
}

const (
	lookEvery = 100 * time.Millisecond // how often a balancer asks whether a server is up
	lookFor   = time.Second            // how long it waits for the answer
)

// NewBalancer makes a balancer that listens at an address, over servers at URLs; health are the URLs of their `_up`.
func NewBalancer(listen string, servers, health []string) (*Balancer, error) {
	b := &Balancer{}
	for i, s := range servers {
		u, err := url.Parse(s)
		if err != nil {
			return nil, err
		}
		t := &target{url: u, health: health[i]}
		t.up.Store(true)
		b.targets = append(b.targets, t)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	b.Base = "http://" + l.Addr().String()
	proxy := &httputil.ReverseProxy{
		Rewrite:       b.rewrite,
		Transport:     b.transport(),
		FlushInterval: -1,                        // feeds are read line by line
		ErrorLog:      log.New(discard{}, "", 0), // what it tells is in the answer
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.Header().Set("X-Balancer", err.Error())
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	b.server, b.stop = &http.Server{Handler: duplex(proxy), ErrorLog: proxy.ErrorLog}, stop
	for _, t := range b.targets {
		go t.watch(ctx)
	}
	go func() { _ = b.server.Serve(l) }() // it ends when Close says so
	return b, nil
}

// duplex leaves a request's body readable while its answer goes out. net/http closes it otherwise, and where the
// transport has not yet looked whether the body is longer than announced, it takes that for a failure and cuts the
// connection to the server that is answering (https://go.dev/issue/40747).
func duplex(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // what is no connection of HTTP/1 has no such limit
		next.ServeHTTP(w, r)
	})
}

// discard is a log that nobody reads.
type discard struct{}

// Write implements io.Writer.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Close ends the balancer and all connections.
func (b *Balancer) Close() error {
	b.stop()
	return b.server.Close()
}

// Up reports whether the balancer takes a server for one that is up.
func (b *Balancer) Up(i int) bool { return b.targets[i].up.Load() }

// Dealt is how many requests a server got.
func (b *Balancer) Dealt(i int) int64 { return b.targets[i].dealt.Load() }

// rewrite passes a request on as it came: path, query and host are what signatures are made over.
func (b *Balancer) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery, r.Out.Host = r.In.URL.RawQuery, r.In.Host
	r.Out.URL.Scheme, r.Out.URL.Host = "http", "balancer"
}

// watch asks a server again and again whether it is up.
func (t *target) watch(ctx context.Context) {
	client := &http.Client{Timeout: lookFor, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, err := client.Get(t.health)
		if err == nil {
			err = answer.Body.Close()
		}
		t.up.Store(err == nil && answer.StatusCode == http.StatusOK)
	}
}

// choose returns the server whose turn it is among those that are up, or among all where none is.
func (b *Balancer) choose() *target {
	n := b.next.Add(1)
	for i := range b.targets {
		if t := b.targets[(n+uint64(i))%uint64(len(b.targets))]; t.up.Load() {
			return t
		}
	}
	return b.targets[n%uint64(len(b.targets))]
}

// dealer sends each request to a server.
type dealer struct {
	b *Balancer
	t *http.Transport
}

func (b *Balancer) transport() dealer {
	return dealer{b, &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64, ExpectContinueTimeout: time.Second}}
}

// RoundTrip implements http.RoundTripper.
func (d dealer) RoundTrip(r *http.Request) (*http.Response, error) {
	for range d.b.targets {
		t := d.b.choose()
		r.URL.Scheme, r.URL.Host = t.url.Scheme, t.url.Host
		t.dealt.Add(1)
		answer, err := d.t.RoundTrip(r)
		if failed := (*net.OpError)(nil); !errors.As(err, &failed) || failed.Op != "dial" {
			return answer, err
		}
		t.up.Store(false)
	}
	return nil, errors.New("no server is up")
}
