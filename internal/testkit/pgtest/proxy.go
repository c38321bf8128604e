package pgtest

import (
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Verdict says what a proxy does with what a client sends.
type Verdict uint8

// The verdicts.
const (
	Pass   Verdict = iota // hand it on
	Drop                  // end the connection, and the server gets nothing of it
	Silent                // hand it on, wait for the answer, and end the connection instead of handing that back
	Leave                 // hand it on, and end the connection at once
)

// Proxy stands between clients and a cluster, and loses connections as it is told.
type Proxy struct {
	dir    string
	target string
	judge  func(sent []byte) Verdict
	l      net.Listener
	work   sync.WaitGroup

	mu        sync.Mutex
	conns     map[net.Conn]bool
	swallowed atomic.Int64 // connections up to this number are
	last      int64        // the number of the last connection
}

// NewProxy makes a proxy before a cluster. judge is asked about each piece that a client sends, by many
// goroutines.
func NewProxy(c *Cluster, judge func(sent []byte) Verdict) (*Proxy, error) {
	dir, err := os.MkdirTemp("", "sectional-pg")
	if err != nil {
		return nil, err
	}
	p := &Proxy{dir: dir, target: c.Socket(), judge: judge, conns: map[net.Conn]bool{}}
	if p.l, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
		return nil, err
	}
	p.work.Go(p.accept)
	return p, nil
}

// URL returns where the cluster is through the proxy.
func (p *Proxy) URL() string { return URLAt(p.dir) }

// Swallow has all connections that there are lose what is sent by them, both ways, without ending; and also those that are
// made until Pass is called.
func (p *Proxy) Swallow() { p.swallowed.Store(math.MaxInt64) }

// Pass has connections be as usual that are made from now on.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallowed.Store(p.last)
}

// Close ends the proxy and all connections.
func (p *Proxy) Close() error {
	err := p.l.Close()
	p.mu.Lock()
	for conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	_ = os.RemoveAll(p.dir) // in the temporary directory, where a leftover does no harm
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("unix", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.last++
		number := p.last
		p.mu.Unlock()
		muted := make(chan struct{})
		lost := func() bool { return number <= p.swallowed.Load() }
		p.work.Go(func() { p.forth(client, server, muted, lost) })
		p.work.Go(func() { p.back(server, client, muted, lost) })
	}
}

// end closes both ends of a connection.
func (p *Proxy) end(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	client.Close()
	server.Close()
	delete(p.conns, client)
	delete(p.conns, server)
}

// forth hands on what the client sends.
func (p *Proxy) forth(client, server net.Conn, muted chan struct{}, lost func() bool) {
	piece := make([]byte, 1<<20)
	for {
		n, err := client.Read(piece)
		if err != nil {
			p.end(client, server)
			return
		}
		if lost() {
			continue
		}
		verdict := p.judge(piece[:n])
		if verdict == Silent {
			close(muted)
		}
		if verdict != Drop {
			if _, err = server.Write(piece[:n]); err != nil {
				verdict = Drop
			}
		}
		switch verdict {
		case Drop, Leave:
			p.end(client, server)
			return
		case Silent:
			return // back ends both
		}
	}
}

// back hands back what the server answers.
func (p *Proxy) back(server, client net.Conn, muted chan struct{}, lost func() bool) {
	defer p.end(client, server)
	piece := make([]byte, 1<<20)
	for {
		n, err := server.Read(piece)
		if err != nil {
			return
		}
		select {
		case <-muted:
			return
		default:
		}
		if lost() {
			continue
		}
		if _, err := client.Write(piece[:n]); err != nil {
			return
		}
	}
}
