// Package kvtest holds what shows that an engine keeps the kv contract, and
// what tests of higher layers use.
//
// Run is the conformance suite; each engine's tests call it. NewModel is the
// contract as a small engine in memory. NewChecked wraps an engine and reports
// misuse of it, NewFaults wraps one and injects failures, lost answers and
// reruns, NewRemote wraps one as if it lay across a network and counts round trips. Only tests import this package; it must not know any engine.
package kvtest

import (
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Clock is a clock that stands still until it is moved.
type Clock struct {
	mu struct {
		sync.Mutex
		now time.Time
	}
}

// NewClock returns a clock that shows some moment.
func NewClock() *Clock {
	c := &Clock{}
	c.mu.now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return c
}

// Now returns the time shown.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.now
}

// Advance moves the clock on by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.now = c.mu.now.Add(d)
}

// Open makes an empty engine that takes the time for ages from now. The suite
// closes it.
type Open func(t *testing.T, now func() time.Time) kv.Engine

// Run runs the conformance suite. Every case gets an engine of its own, within
// a checking wrapper.
func Run(t *testing.T, open Open) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			e := NewChecked(t, open(t, clock.Now))
			defer func() {
				if err := e.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			c.run(env{T: t, e: e, clock: clock})
		})
	}
}

// testCase is one rule of the contract.
type testCase struct {
	name string
	run  func(env)
}

func cases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{readCases(), rangeCases(), togetherCases(), writeCases(), isolationCases(), lockCases(), limitCases(), randomCases()} {
		all = append(all, group...)
	}
	return all
}
