package server

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// pipeListener accepts connections that the test makes.
type pipeListener struct{ accepted chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipeListener) Close() error   { close(l.accepted); return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection that comes from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.address), 1))
}

// boundWorld is a listener with bounds and a clock of the test's.
type boundWorld struct {
	t      *testing.T
	of     *connections
	listen net.Listener
	in     pipeListener
	clock  atomic.Int64
}

func newBoundWorld(t *testing.T, limits connectionLimits) *boundWorld {
	w := &boundWorld{t: t, of: newConnections(func() connectionLimits { return limits }), in: pipeListener{make(chan net.Conn, 1)}}
	w.of.now = func() time.Time { return time.Unix(1000, w.clock.Load()) }
	w.listen = w.of.listen(w.in)
	return w
}

// pass lets time go by.
func (w *boundWorld) pass(d time.Duration) { w.clock.Add(int64(d)) }

// connect returns both ends of a new connection.
func (w *boundWorld) connect(address string) (server, client net.Conn) {
	w.t.Helper()
	near, far := net.Pipe()
	w.in.accepted <- from{near, address}
	server, err := w.listen.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	return server, far
}

// isClosed reports whether the other end of a connection has been closed.
func isClosed(t *testing.T, client net.Conn) bool {
	t.Helper()
	if err := client.SetReadDeadline(time.Now()); err != nil {
		return true
	}
	_, err := client.Read(make([]byte, 1))
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
}

// TestWhoWaitsLongestMakesRoom fills the bound with connections that are waited for and
// one that is at work.
func TestWhoWaitsLongestMakesRoom(t *testing.T) {
	w := newBoundWorld(t, connectionLimits{all: 3, each: 3, write: time.Minute})
	busy, busyClient := w.connect("10.0.0.1")
	go func() { _, _ = busyClient.Write([]byte("x")) }()
	if _, err := busy.Read(make([]byte, 1)); err != nil { // the request is there: it is not waited for
		t.Fatal(err)
	}
	w.pass(time.Second)
	first, firstClient := w.connect("10.0.0.1")
	w.pass(time.Second)
	_, secondClient := w.connect("10.0.0.1")
	w.pass(2 * time.Second)
	if err := first.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // another request of it is waited for
		t.Fatal(err)
	}
	w.pass(time.Second)
	_, third := w.connect("10.0.0.1")
	if !isClosed(t, secondClient) || isClosed(t, firstClient) || isClosed(t, busyClient) || isClosed(t, third) {
		t.Error("not the one that waited longest was closed")
	}
	w.pass(2 * time.Second)
	_, _ = w.connect("10.0.0.1")
	if !isClosed(t, firstClient) || isClosed(t, busyClient) {
		t.Error("not the one that waited longest was closed")
	}
}

// TestAddressesAreBounded closes what one address has too much, and nobody else's.
func TestAddressesAreBounded(t *testing.T) {
	w := newBoundWorld(t, connectionLimits{all: 10, each: 2, write: time.Minute})
	_, other := w.connect("2001:db8:1:1::1")
	w.pass(time.Minute)
	_, one := w.connect("2001:db8::1")
	w.pass(2 * time.Second)
	_, two := w.connect("2001:db8::2") // of the same site
	_, three := w.connect("2001:db8::3")
	if !isClosed(t, one) || isClosed(t, two) || isClosed(t, three) || isClosed(t, other) {
		t.Error("not the address's own was closed")
	}
	// Nobody of it has waited long enough by now, so the next is turned away.
	near, far := net.Pipe()
	w.in.accepted <- from{near, "2001:db8::4"}
	go func() { _, _ = w.listen.Accept() }()
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("it was let in: %v", err)
	}
	w.in.Close()
}

// TestFeedsAreNotEvicted keeps connections whose requests are being answered, though a
// Read of theirs waits for the client's leaving.
func TestFeedsAreNotEvicted(t *testing.T) {
	w := newBoundWorld(t, connectionLimits{all: 1, each: 1, write: time.Minute})
	feed, client := w.connect("10.0.0.1")
	if err := feed.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = feed.Read(make([]byte, 1)) }()
	w.pass(time.Hour)
	near, far := net.Pipe()
	w.in.accepted <- from{near, "10.0.0.1"}
	go func() { _, _ = w.listen.Accept() }()
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("there was room: %v", err)
	}
	if isClosed(t, client) {
		t.Error("the feed was closed")
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	w.in.Close()
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.all != 0 || len(w.of.open) != 0 {
		t.Errorf("%d connections are counted, none is open", w.of.all)
	}
}

// TestWritesGiveUp writes to a client that never reads.
func TestWritesGiveUp(t *testing.T) {
	w := newBoundWorld(t, connectionLimits{all: 1, each: 1, write: 20 * time.Millisecond})
	w.of.now = time.Now
	c, _ := w.connect("10.0.0.1")
	if _, err := c.Write(make([]byte, 10*writeChunk)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the write ended with %v", err)
	}
}

// TestLongWritesGoOn writes much to a client that reads all of it.
func TestLongWritesGoOn(t *testing.T) {
	w := newBoundWorld(t, connectionLimits{all: 1, each: 1, write: time.Minute})
	w.of.now = time.Now
	c, client := w.connect("10.0.0.1")
	sent := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, client)
		sent <- n
	}()
	n, err := c.Write(make([]byte, 10*writeChunk+1))
	if err != nil || n != 10*writeChunk+1 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := c.Close(); err != nil || <-sent != int64(n) {
		t.Error("not everything came", err)
	}
}

func TestConnectionLimits(t *testing.T) {
	for open, want := range map[int]connectionLimits{
		256:     {all: 256 - 85 - 51, each: 90},
		512:     {all: 512 - 170 - 102, each: 180},
		1 << 20: {all: maxConnections, each: maxConnections * 3 / 4},
		10:      {all: 8, each: 6},
	} {
		want.write = time.Minute
		c, err := config.Open(config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := parseConnectionLimits(c.Snapshot(), open); got != want {
			t.Errorf("with %d descriptors: %+v, want %+v", open, got, want)
		}
	}
	c, err := config.Open(config.Options{Overrides: []config.Setting{
		{Section: "sectional", Key: "max_connections", Value: "100"}, {Section: "sectional", Key: "max_connections_per_address", Value: "7"},
		{Section: "sectional", Key: "write_timeout", Value: "5"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := parseConnectionLimits(c.Snapshot(), 1<<20), (connectionLimits{100, 7, 5 * time.Second}); got != want {
		t.Errorf("as configured: %+v, want %+v", got, want)
	}
}

// TestAnswersEndBeforeTheConnection ends what is sent to a client who still sends.
func TestAnswersEndBeforeTheConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limits := connectionLimits{all: 1, each: 1, write: time.Minute}
	bound := newConnections(func() connectionLimits { return limits }).listen(l)
	defer bound.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := bound.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := io.WriteString(server, "no"); err != nil {
		t.Fatal(err)
	}
	if err := server.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = client.SetDeadline(time.Now().Add(time.Minute)) // it has a deadline by then
	if got, err := io.ReadAll(client); string(got) != "no" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := io.WriteString(client, "more"); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(io.LimitReader(server, 4)); string(got) != "more" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
