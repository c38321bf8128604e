package main

import (
	"net"
	"sync"
	"time"
)

// slowly is a proxy before a PostgreSQL that makes each direction take longer. It costs little, so that networks can be
// compared on a machine that has no processor to spare.
type slowly struct {
	listener net.Listener
	target   string
	each     time.Duration // of one direction
	work     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newSlowly makes a proxy before the socket target, at which a round trip takes longer by trip.
func newSlowly(target string, trip time.Duration) (*slowly, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &slowly{listener: l, target: target, each: trip / 2}
	p.work.Go(p.accept)
	return p, nil
}

func (p *slowly) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("unix", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.work.Go(func() { p.pass(client, server) })
		p.work.Go(func() { p.pass(server, client) })
	}
}

// piece is what was read, and when it may go on.
type piece struct {
	text []byte
	due  time.Time
}

// pass hands on what comes, each piece when its time has come. Both ends are closed when one is.
func (p *slowly) pass(from, to net.Conn) {
	pieces := make(chan piece, 1024)
	p.work.Go(func() {
		defer to.Close()
		for x := range pieces {
			time.Sleep(time.Until(x.due))
			if _, err := to.Write(x.text); err != nil {
				break
			}
		}
		for range pieces { // nobody takes the rest
		}
	})
	defer close(pieces)
	defer from.Close()
	for {
		text := make([]byte, 64<<10)
		n, err := from.Read(text)
		if err != nil {
			return
		}
		pieces <- piece{text[:n], time.Now().Add(p.each)}
	}
}

// close ends the proxy and its connections.
func (p *slowly) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	return err
}
