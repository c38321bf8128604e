package server

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A client that sends a byte and waits, or asks and never reads, costs a connection for
// nothing, and descriptors are few. So there is a bound for all connections and for
// those of an address, and at it those that wait for their client the longest make room.
//
// A connection waits while it is in a Read that has a deadline, which net/http sets for
// headers and between requests and the API for bodies, or in a Write. A feed or a long
// computation is in neither: the Read that watches for the client's leaving then has no
// deadline. How long it waits counts from when the deadline was set, so that whoever
// sends a byte now and then gains nothing.

const (
	// leastWait is how long a client may be waited for in any case.
	leastWait = time.Second
	// acceptWait is how long a new connection waits for room.
	acceptWait = 2 * time.Second
	// writeRun is the most that is written under one deadline.
	writeChunk = 64 << 10
)

// connectionLimits say how many connections there may be and how long a write waits for
// its client to take anything.
type connectionLimits struct {
	all, each int
	write     time.Duration
}

// connections are those that are open.
type connections struct {
	limits func() connectionLimits
	now    func() time.Time
	freed  chan struct{} // has an element after a connection was closed

	refused, evicted atomic.Uint64 // connections, since the start

	mu   sync.Mutex
	open map[netip.Addr]map[*conn]struct{}
	all  int
}

func newConnections(limits func() connectionLimits) *connections {
	return &connections{limits: limits, now: time.Now, freed: make(chan struct{}, 1), open: map[netip.Addr]map[*conn]struct{}{}}
}

// listen bounds the connections that a listener accepts.
func (cs *connections) listen(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, of: cs}
}

type boundedListener struct {
	net.Listener
	of *connections
}

// Accept implements net.Listener. What there is no room for is closed.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if taken := l.of.take(c); taken != nil {
			return taken, nil
		}
		l.of.refused.Add(1)
		_ = c.Close() // nothing was said yet
	}
}

// take makes room for a connection, nil if there is none.
func (cs *connections) take(raw net.Conn) net.Conn {
	c := &conn{Conn: raw, of: cs, address: addressOf(raw)}
	c.awaited.Store(cs.now().UnixNano())
	c.reading.Store(true) // its first byte is waited for
	for end := cs.now().Add(acceptWait); ; {
		taken, full := cs.tryTake(c)
		if taken {
			return c
		}
		if !full || !cs.now().Before(end) {
			return nil
		}
		select {
		case <-cs.freed:
		case <-time.After(50 * time.Millisecond): // somebody may have waited long enough by now
		}
	}
}

// tryTake counts c if there is room, or if somebody makes room. full: there is none at
// all, not only for its address.
func (cs *connections) tryTake(c *conn) (taken, full bool) {
	limits := cs.limits()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.open[c.address]) >= limits.each && !cs.evict(cs.open[c.address]) {
		return false, false
	}
	if cs.all >= limits.all && !cs.evictAny() {
		return false, true
	}
	if cs.open[c.address] == nil {
		cs.open[c.address] = map[*conn]struct{}{}
	}
	cs.open[c.address][c] = struct{}{}
	cs.all++
	return true, false
}

// evict closes the connection of these that has waited for its client the longest. The
// caller holds the lock.
func (cs *connections) evict(of map[*conn]struct{}) bool {
	longest, since := (*conn)(nil), cs.now().Add(-leastWait).UnixNano()
	for c := range of {
		if w := c.waiting(); w != 0 && w <= since {
			longest, since = c, w
		}
	}
	return cs.end(longest)
}

// evictAny is evict for all of them: of the address that has most, for it takes the room
// of others.
func (cs *connections) evictAny() bool {
	most := map[*conn]struct{}(nil)
	for _, of := range cs.open {
		if len(of) > len(most) {
			most = of
		}
	}
	if cs.evict(most) {
		return true
	}
	for _, of := range cs.open {
		if cs.evict(of) {
			return true
		}
	}
	return false
}

// end closes a connection and counts it no more.
func (cs *connections) end(c *conn) bool {
	if c == nil {
		return false
	}
	cs.forget(c)
	cs.evicted.Add(1)
	_ = c.Conn.Close() // whoever reads or writes is told
	return true
}

// forget counts c no more. The caller holds the lock.
func (cs *connections) forget(c *conn) {
	of := cs.open[c.address]
	if _, counted := of[c]; !counted {
		return
	}
	if delete(of, c); len(of) == 0 {
		delete(cs.open, c.address)
	}
	cs.all--
}

// closed counts c no more, and wakes who waits for room.
func (cs *connections) closed(c *conn) {
	cs.mu.Lock()
	cs.forget(c)
	cs.mu.Unlock()
	select {
	case cs.freed <- struct{}{}:
	default:
	}
}

// addressOf returns the client's address. Of IPv6 it is the network of a site: nobody has
// but one address there.
func addressOf(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		if site, err := a.Prefix(64); err == nil {
			return site.Addr()
		}
	}
	return a
}

// conn is one connection. Its fields are read by others while it is used.
type conn struct {
	net.Conn
	of      *connections
	address netip.Addr
	reading atomic.Bool  // in a Read
	awaited atomic.Int64 // when the deadline of reads was set, in nanoseconds; 0: there is none
	writing atomic.Int64 // when the Write began that is under way; 0: none is
	theirs  atomic.Bool  // somebody else sets deadlines of writes
	armed   time.Time    // when the deadline of writes was set last; of the one who writes
	once    sync.Once
}

// waiting returns since when the client is waited for, 0: it is not.
func (c *conn) waiting() int64 {
	if w := c.writing.Load(); w != 0 {
		return w
	}
	if !c.reading.Load() {
		return 0
	}
	return c.awaited.Load()
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Store(true)
	n, err := c.Conn.Read(p)
	c.reading.Store(false)
	return n, err
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	since := int64(0)
	if !t.IsZero() {
		since = c.of.now().UnixNano()
	}
	c.awaited.Store(since)
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.theirs.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Write implements net.Conn. Each part has a deadline of its own: long answers
// may take long as long as the client goes on taking them.
func (c *conn) Write(p []byte) (n int, err error) {
	now := c.of.now()
	defer c.writing.Store(0)
	for {
		c.writing.Store(now.UnixNano())
		if err := c.arm(now); err != nil {
			return n, err
		}
		part := min(len(p)-n, writeChunk)
		m, err := c.Conn.Write(p[n : n+part])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
		now = c.of.now()
	}
}

// arm sets the deadline of a write, unless that was done a moment ago.
func (c *conn) arm(now time.Time) error {
	if c.theirs.Load() {
		return nil
	}
	timeout := c.of.limits().write
	if now.Sub(c.armed) < timeout/8 {
		return nil
	}
	c.armed = now
	return c.Conn.SetWriteDeadline(now.Add(timeout))
}

// CloseWrite ends what is sent, so that the client can read it to its end before the connection is closed: net/http asks for it when it closes
// a connection whose client still sends.
func (c *conn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() { c.of.closed(c) })
	return c.Conn.Close()
}
