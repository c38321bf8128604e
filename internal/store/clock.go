package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Servers that share an engine have clocks of their own, which may be minutes apart, and
// much goes by the time: leases, what expires, how long superseded bodies, tokens and
// dropped databases are kept. If each went by its own, a lease would end for one before it
// does for its owner, and what is promised to be readable for ten minutes would be gone
// at once. So all go by the engine's clock, where it has one: it is asked now and then, and
// between two questions the time goes on by this machine's clock.

// engineClock tells the time.
type engineClock struct {
	engine  kv.ClockReader // nil: the machine's clock is the store's
	machine func() time.Time
	last    atomic.Pointer[reading]
}

// reading is what the engine's clock and the machine's showed at one moment.
type reading struct{ engine, machine time.Time }

// at is what the engine's clock shows when the machine's shows a time. Whoever sets the
// machine's clock meanwhile changes nothing: time.Now has a monotonic one beside it.
func (r *reading) at(machine time.Time) time.Time { return r.engine.Add(machine.Sub(r.machine)) }

// longestWay is how long an answer may have taken that is believed where another is known:
// it is as old as half of that, or not.
const longestWay = time.Second

func newEngineClock(e kv.Engine, machine func() time.Time) *engineClock {
	c := &engineClock{machine: machine}
	c.engine, _ = e.(kv.ClockReader)
	return c
}

// now is the time.
func (c *engineClock) now() time.Time {
	if r := c.last.Load(); r != nil {
		return r.at(c.machine())
	}
	return c.machine()
}

// ask asks the engine. What is known is kept as long as it may be right: the answer is of
// some moment while it was on its way.
func (c *engineClock) ask(ctx context.Context) error {
	if c.engine == nil {
		return nil
	}
	before := c.machine()
	said, err := c.engine.Time(ctx)
	if err != nil || said.IsZero() {
		return err
	}
	way := c.machine().Sub(before)
	if r := c.last.Load(); r != nil && (way > longestWay || !said.Before(r.at(before)) && !said.After(r.at(before.Add(way)))) {
		return nil
	}
	c.last.Store(&reading{said, before.Add(way / 2)})
	return nil
}

// Now is the store's time: that of all servers of its engine.
func (s *Store) Now() time.Time { return s.o.Clock() }
