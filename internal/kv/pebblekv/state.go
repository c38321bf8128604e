package pebblekv

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// state is the database as one commit left it. It is shared by all that read
// it and closes its Pebble snapshot when the last of them is done.
type state struct {
	snap *pebble.Snapshot
	n    uint64 // the last commit it holds
	refs atomic.Int64
	idle idle
}

func newState(snap *pebble.Snapshot, n uint64) *state {
	s := &state{snap: snap, n: n}
	s.refs.Store(1)
	return s
}

// tryAcquire adds a reader unless the last one has just left.
func (s *state) tryAcquire() bool {
	for {
		r := s.refs.Load()
		if r == 0 {
			return false
		}
		if s.refs.CompareAndSwap(r, r+1) {
			return true
		}
	}
}

func (s *state) release() {
	if s.refs.Add(-1) == 0 {
		s.idle.forget()
		// A snapshot that is open once closes without error.
		_ = s.snap.Close()
	}
}

// noTxn is given to advance for a commit that is not a transaction.
const noTxn = math.MaxUint64

// states holds the applied and the durable state and who runs on the former.
type states struct {
	durable atomic.Pointer[state]

	mu struct {
		sync.Mutex
		applied *state
		running running
	}

	horizon struct {
		sync.Mutex
		sync.Cond
		n uint64 // the number of the durable state
	}
}

func (s *states) init(snap *pebble.Snapshot) {
	st := newState(snap, 0)
	st.tryAcquire()
	s.mu.applied = st
	s.durable.Store(st)
	s.horizon.L = &s.horizon.Mutex
}

// acquireDurable returns the state that views read; the caller releases it.
func (s *states) acquireDurable() *state {
	for {
		if st := s.durable.Load(); st.tryAcquire() {
			return st
		}
	}
}

// begin returns the newest applied state to a transaction; the caller ends it
// with end.
func (s *states) begin() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.mu.applied
	st.refs.Add(1) // states itself holds one reference, so it is not zero
	s.mu.running.add(st.n)
	return st
}

// forget closes the idle iterators of the states on which the next closures
// will begin. Older ones are closed with the last closure that runs on them.
func (s *states) forget() {
	durable := s.acquireDurable()
	s.mu.Lock()
	applied := s.mu.applied
	applied.refs.Add(1) // as in begin
	s.mu.Unlock()
	for _, st := range []*state{durable, applied} {
		st.idle.forget()
		st.release()
	}
}

// last returns the number of the applied state. The caller holds the commit
// mutex.
func (s *states) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.applied.n
}

func (s *states) end(st *state) {
	s.mu.Lock()
	s.mu.running.remove(st.n)
	s.mu.Unlock()
	st.release()
}

// advance makes st the applied state and returns the oldest state that a
// transaction still runs on; others reports whether there is any but the one
// that began at own. The caller holds the commit mutex and keeps a reference
// to st for publish.
func (s *states) advance(st *state, own uint64) (oldest uint64, others bool) {
	st.refs.Add(1)
	s.mu.Lock()
	old := s.mu.applied
	s.mu.applied = st
	oldest, others = s.mu.running.oldest(own)
	s.mu.Unlock()
	old.release()
	return oldest, others
}

// publish makes st the durable state unless a later one already is, and takes
// over the caller's reference.
func (s *states) publish(st *state) {
	s.horizon.Lock()
	old := st
	if st.n > s.horizon.n {
		s.horizon.n = st.n
		old = s.durable.Swap(st)
		s.horizon.Broadcast()
	}
	s.horizon.Unlock()
	old.release()
}

// waitDurable blocks until commit n is on disk or stopped reports that it
// never will be known to be.
func (s *states) waitDurable(n uint64, stopped func() error) error {
	s.horizon.Lock()
	defer s.horizon.Unlock()
	for s.horizon.n < n {
		if err := stopped(); err != nil {
			return err
		}
		s.horizon.Wait()
	}
	return nil
}

// wake lets waiters look again whether the engine was stopped.
func (s *states) wake() {
	s.horizon.Lock()
	defer s.horizon.Unlock()
	s.horizon.Broadcast()
}

// close gives up the engine's own references. Nothing runs any more.
func (s *states) close() {
	s.mu.applied.release()
	s.durable.Load().release()
}

// running counts the transactions that began at each commit number. Numbers
// are added in ascending order.
type running struct {
	starts []start
}

type start struct {
	n     uint64
	count int
}

func (r *running) add(n uint64) {
	if last := len(r.starts) - 1; last >= 0 && r.starts[last].n == n {
		r.starts[last].count++
		return
	}
	r.starts = append(r.starts, start{n: n, count: 1})
}

func (r *running) remove(n uint64) {
	for i := range r.starts {
		if r.starts[i].n != n {
			continue
		}
		if r.starts[i].count--; r.starts[i].count == 0 {
			r.starts = append(r.starts[:i], r.starts[i+1:]...)
		}
		return
	}
}

// oldest returns the smallest number, leaving out one transaction at own.
func (r *running) oldest(own uint64) (n uint64, ok bool) {
	for _, s := range r.starts {
		if s.n != own || s.count > 1 {
			return s.n, true
		}
	}
	return 0, false
}
