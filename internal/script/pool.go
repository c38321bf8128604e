package script

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/slots"
)

// Pool owns the children in which functions run. Its methods may be called at the same time. Each call takes a child for
// itself: while as many work as may, a call waits, but not for long, since a child beyond that number is started for it
// then (see package slots). So a function that hangs for its whole allowance holds up
// nobody else. Map, which builds indexes, has slots of its own, so that a validator need not wait for a build.
type Pool struct {
	o           Options
	slots       *slots.Slots
	tenants     *slots.Slots // for functions of tenants: their share, whatever their number
	quarantined quarantine
	attempted   func(allowance time.Duration) // called for each part that a child is asked to do; for tests

	mu struct {
		sync.Mutex
		closed bool
		idle   []*process // the longest unused first
		busy   map[*process]struct{}
	}
	calls  sync.WaitGroup // running calls, and the reaper
	closed chan struct{}

	started, panics atomic.Uint64
}

// Counts are what a pool has counted since it was made.
type Counts struct {
	Started uint64 // children
	Panics  uint64 // children that a panic or a fatal error of their program ended: a fault of the interpreter, whatever the function
}

// Counts returns what the pool has counted.
func (p *Pool) Counts() Counts { return Counts{Started: p.started.Load(), Panics: p.panics.Load()} }

// New makes a pool. Children are started when they are needed.
func New(o Options) (*Pool, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, dberr.Wrap("script.New", err)
	}
	p := &Pool{o: o, attempted: func(time.Duration) {}, closed: make(chan struct{})}
	p.slots = slots.New(slotKinds, o.Children, o.Overflow)
	p.tenants = slots.New(slotKinds, max(1, o.Children/2), o.Overflow)
	p.mu.busy = map[*process]struct{}{}
	p.calls.Go(p.reap)
	return p, nil
}

// Close ends all children and waits for running calls, which fail. The error says that children panicked since New: each was logged
// then, and tests fail by it.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.mu.closed {
		p.mu.Unlock()
		return nil
	}
	p.mu.closed = true
	idle := p.mu.idle
	p.mu.idle = nil
	for c := range p.mu.busy {
		c.kill(limitDeath)
	}
	p.mu.Unlock()
	close(p.closed)
	p.slots.Close()
	p.tenants.Close()
	for _, c := range idle {
		p.end(c)
	}
	p.calls.Wait()
	if n := p.panics.Load(); n > 0 {
		return fmt.Errorf("script: %d children panicked", n)
	}
	return nil
}

// errClosed is what calls on a closed pool get.
var errClosed = dberr.New(dberr.Unavailable, "", "The server is shutting down.")

// child returns an idle child, one that knows the realm if there is one, or starts one. Those that build indexes and those that
// do anything else are not mixed: they differ in how much of the processor they get.
func (p *Pool) child(name string, d duty) (*process, error) {
	p.mu.Lock()
	if p.mu.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	at := -1
	for i, c := range p.mu.idle {
		if c.duty == d && (at < 0 || c.holds(name) || !p.mu.idle[at].holds(name)) {
			at = i
		}
	}
	if at >= 0 {
		c := p.mu.idle[at]
		p.mu.idle = append(p.mu.idle[:at], p.mu.idle[at+1:]...)
		p.mu.busy[c] = struct{}{}
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := start(p.o, d)
	if err != nil {
		return nil, dberr.Wrap("script.start", err)
	}
	p.started.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.busy[c] = struct{}{}
	if p.mu.closed {
		c.kill(limitDeath) // Close has not seen it
	}
	return c, nil
}

// PanicMessage is the line in the log about a child that panicked.
const PanicMessage = "a child for functions panicked"

// end ends a child. A panic is counted and logged, whether or not the call that met it is tried again.
func (p *Pool) end(c *process) (panicked bool) {
	c.end()
	if !c.panicked() {
		return false
	}
	p.panics.Add(1)
	p.o.Logger.LogAttrs(context.Background(), slog.LevelError, PanicMessage, slog.String("database", c.ran.Database),
		slog.String("design", c.ran.Design), slog.String("output", c.errors.String()))
	return true
}

// drop ends a child that is of no use any more.
func (p *Pool) drop(c *process) (panicked bool) {
	panicked = p.end(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.busy, c)
	return panicked
}

// keep takes back a child that did its work.
func (p *Pool) keep(c *process) {
	if c.killed.Load() != 0 || c.spent() || resident(c.cmd.Process.Pid) > p.o.Limits.Memory/2 {
		p.drop(c) // a late kill hit it, it comes last, or it has grown: that memory is not needed from now on
		return
	}
	c.idle = time.Now()
	p.mu.Lock()
	if p.mu.closed || p.idleLike(c) >= p.o.Children {
		p.mu.Unlock()
		p.drop(c)
		return
	}
	delete(p.mu.busy, c)
	p.mu.idle = append(p.mu.idle, c)
	p.mu.Unlock()
}

// idleLike counts the idle children that do what c does. p.mu is locked.
func (p *Pool) idleLike(c *process) (n int) {
	for _, other := range p.mu.idle {
		if other.duty == c.duty {
			n++
		}
	}
	return n
}

// reap ends children that nobody has used for a while.
func (p *Pool) reap() {
	ticker := time.NewTicker(max(p.o.Idle/2, 1))
	defer ticker.Stop()
	for {
		select {
		case <-p.closed:
			return
		case now := <-ticker.C:
			for _, c := range p.unused(now.Add(-p.o.Idle)) {
				p.end(c)
			}
		}
	}
}

// isClosed reports whether Close was called.
func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.closed
}

// unused takes the children out that were idle since before a time.
func (p *Pool) unused(before time.Time) (old []*process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.mu.idle) > 0 && p.mu.idle[0].idle.Before(before) {
		old = append(old, p.mu.idle[0])
		p.mu.idle = p.mu.idle[1:]
	}
	return old
}
