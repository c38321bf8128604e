package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/kv"
)

const (
	// headerTimeout is how long a client may take for the headers of a request.
	headerTimeout = 30 * time.Second
	// maxHeader bounds the bytes of a request before its body, the query string among
	// them.
	maxHeader = 256 << 10
)

// CheckListen refuses what is not an address to listen on; "" leaves it to the
// configuration.
func CheckListen(listen string) error {
	_, err := listenOverrides(listen)
	return err
}

// listenOverrides turns the command line's address into settings.
func listenOverrides(listen string) ([]config.Setting, error) {
	if listen == "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", listen, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("--listen %s: %q is not a port", listen, port)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return []config.Setting{
		{Section: "chttpd", Key: "bind_address", Value: host},
		{Section: "chttpd", Key: "port", Value: port},
	}, nil
}

// address is where plain HTTP listens.
func (a *instance) address() string {
	s := a.config.Snapshot()
	host := s.String("chttpd", "bind_address", "127.0.0.1")
	if host == "any" {
		host = "0.0.0.0"
	}
	return net.JoinHostPort(host, s.String("chttpd", "port", "5984"))
}

// tlsAddress is where TLS listens, "" if it is off.
func (a *instance) tlsAddress() string {
	s := a.config.Snapshot()
	if !s.Bool("ssl", "enable", false) {
		return ""
	}
	host := s.String("ssl", "bind_address", s.String("chttpd", "bind_address", "127.0.0.1"))
	return net.JoinHostPort(host, s.String("ssl", "port", "6984"))
}

func (a *instance) addresses() []string {
	all := []string{a.address()}
	for _, more := range []string{a.tlsAddress(), a.o.DynamoDB} {
		if more != "" {
			all = append(all, more)
		}
	}
	return all
}

// endpoint is a listener and what answers there.
type endpoint struct {
	net.Listener
	handler http.Handler
}

// listen opens the listeners, that of plain HTTP first.
func (a *instance) listen() (ls []endpoint, err error) {
	open := descriptors()
	limits := config.Derive(a.config, func(s *config.Snapshot) connectionLimits { return parseConnectionLimits(s, open) })
	bound := newConnections(limits.Value)
	a.API.Metrics.Gauges(bound.gauges)
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(ls))
		}
	}()
	plain, err := listenAt(a.address(), "--listen, or [chttpd] bind_address and port")
	if err != nil {
		return nil, err
	}
	ls = append(ls, endpoint{bound.listen(plain), a.apis()})
	if address := a.tlsAddress(); address != "" {
		tls, err := a.listenTLS(address, bound)
		if err != nil {
			return ls, err
		}
		ls[0].handler = a.secured.challenges(ls[0].handler)
		ls = append(ls, endpoint{tls, a.apis()})
	} else if len(a.config.Snapshot().List("ssl", "acme_domains")) > 0 {
		a.log.Warn("[ssl] acme_domains has no effect without enable = true")
	}
	more, err := a.listenDynamoDB()
	if more != nil {
		ls = append(ls, endpoint{bound.listen(more), a.DynamoDB})
	}
	return ls, err
}

func closeAll(ls []endpoint) (err error) {
	for _, l := range ls {
		err = errors.Join(err, l.Close())
	}
	return err
}

// listenAt opens a listener; by says what its address comes from.
func listenAt(address, by string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("something listens at %s already, perhaps another server: stop that, or choose another address (%s): %w", address, by, err)
	}
	return l, err
}

func (a *instance) listenTLS(address string, bound *connections) (net.Listener, error) {
	var err error
	if a.secured, err = a.openCertificates(); err != nil {
		return nil, err
	}
	a.API.Metrics.Gauges(a.secured.gauges)
	l, err := listenAt(address, "[ssl] port")
	if err != nil {
		return nil, err
	}
	return tls.NewListener(bound.listen(l), a.secured.config()), nil
}

// serve answers requests until ctx ends, drains, and answers those in flight.
func (a *instance) serve(ctx context.Context, ls []endpoint) error {
	work, cut := context.WithCancel(context.Background())
	defer cut()
	failed := make(chan error, len(ls))
	var servers []*http.Server
	for _, l := range ls {
		srv := &http.Server{
			BaseContext:       func(net.Listener) context.Context { return work },
			Handler:           a.draining.handler(l.handler),
			ReadHeaderTimeout: headerTimeout,
			MaxHeaderBytes:    maxHeader,
			IdleTimeout:       5 * time.Minute,
			ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
		}
		servers = append(servers, srv)
		go func() { failed <- srv.Serve(l) }()
	}
	if kv.IsShared(a.engine) {
		go a.followServers(work)
	}
	go a.followReloads(work, a.o.Reload)
	a.showUp(ctx, ls[0].Addr())
	if a.secured != nil {
		a.secured.acme.Start()
	}
	fmt.Fprintf(a.o.Out, "Sectional %s listens on http://%s with its data in %s\n", a.o.Version, ls[0].Addr(), a.dataAt())
	if a.dynamoAddress != "" {
		fmt.Fprintf(a.o.Out, "The DynamoDB API listens on http://%s\n", a.dynamoAddress)
	}
	demo := a.startDemo(ctx, "http://"+ls[0].Addr().String())
	// Replications may have addresses of this server: it answers by now.
	err := a.Start()
	if a.o.Ready != nil {
		a.o.Ready(Addresses{HTTP: ls[0].Addr().String(), DynamoDB: a.dynamoAddress})
	}
	if err == nil {
		select {
		case <-ctx.Done():
			err = a.drain(failed)
		case err = <-failed:
		}
	}
	a.EndFeeds()
	return errors.Join(err, a.shutDown(servers, demo, cut))
}

// dataAt tells people where the data is.
func (a *instance) dataAt() string {
	if kv.IsShared(a.engine) {
		return "PostgreSQL and the machine's own files in " + a.o.Data
	}
	return a.o.Data
}
