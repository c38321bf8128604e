package kvtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Fault is what goes wrong with one call of an engine.
type Fault uint8

const (
	NoFault    Fault = iota
	Refused          // nothing is done, Unavailable is returned
	FailRead         // the closure's first read fails with Unavailable
	Rerun            // the closure runs once more than needed
	LostCommit       // an Update does not commit, UnknownOutcome is returned
	LostAnswer       // an Update commits, UnknownOutcome is returned
	LateCommit       // an Update returns UnknownOutcome, and commits if it still can before the next call but one
)

// Rates are the shares of calls that get each fault, in percent.
type Rates map[Fault]int

// Faults is an engine whose calls fail on command. Calls of View, Update and
// Discard are counted from 1 on, and so are reads (Get, GetMany, the two for
// update, Iterate, moves and Value) within closures. A fault that can't befall a call (Rerun of
// a View, a lost commit of a Discard) leaves it alone.
type Faults struct {
	kv.Engine
	mu struct {
		sync.Mutex
		calls, reads int
		at           map[int]Fault
		readsAt      map[int]bool
		rates        Rates
		rand         Rand
		late         []*lateCommit
	}
}

// lateCommit is a transaction that has not arrived yet.
type lateCommit struct {
	due   int           // the call before which it does
	land  chan struct{} // closed to let it
	ended chan struct{} // closed when it has, or could not
}

func (l *lateCommit) arrive() {
	close(l.land)
	<-l.ended
}

// NewFaults wraps e; at first nothing fails.
func NewFaults(e kv.Engine) *Faults {
	f := &Faults{Engine: e}
	f.mu.at, f.mu.readsAt = make(map[int]Fault), make(map[int]bool)
	return f
}

// Fail makes the n-th call from now on (1 is the next) fail.
func (f *Faults) Fail(n int, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.at[f.mu.calls+n] = fault
}

// FailRead makes the n-th read from now on fail.
func (f *Faults) FailRead(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.readsAt[f.mu.reads+n] = true
}

// Randomly makes calls fail at the given rates, the same ones for each run with
// this seed; nil rates stop it.
func (f *Faults) Randomly(seed uint64, rates Rates) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rand, f.mu.rates = NewRand(seed), rates
}

// Calls returns the number of calls so far.
func (f *Faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.calls
}

// Reads returns the number of reads so far.
func (f *Faults) Reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.reads
}

// call counts a call and returns its fault. Commits that are due arrive before.
func (f *Faults) call() Fault {
	fault := f.count()
	f.arrive(false)
	return fault
}

// arrive lets the late commits arrive that are due, or all.
func (f *Faults) arrive(all bool) {
	f.mu.Lock()
	var due []*lateCommit
	f.mu.late = slices.DeleteFunc(f.mu.late, func(l *lateCommit) bool {
		now := all || l.due <= f.mu.calls
		if now {
			due = append(due, l)
		}
		return now
	})
	f.mu.Unlock()
	for _, l := range due {
		l.arrive()
	}
}

// Close implements kv.Engine.
func (f *Faults) Close() error {
	f.arrive(true)
	return f.Engine.Close()
}

func (f *Faults) count() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.calls++
	if fault, ok := f.mu.at[f.mu.calls]; ok {
		delete(f.mu.at, f.mu.calls)
		return fault
	}
	if f.mu.rates == nil {
		return NoFault
	}
	roll := f.mu.rand.IntN(100)
	for fault := Refused; fault <= LateCommit; fault++ {
		if roll -= f.mu.rates[fault]; roll < 0 {
			return fault
		}
	}
	return NoFault
}

// read counts a read and reports its fault.
func (f *Faults) read() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.reads++
	if f.mu.readsAt[f.mu.reads] {
		return errInjected
	}
	return nil
}

var (
	errInjected error = dberr.New(dberr.Unavailable, "", "an injected failure")
	errLost     error = dberr.New(dberr.UnknownOutcome, "", "an injected loss of the answer")
	errRetry          = errors.New("kvtest: the run is thrown away")
)

// View implements kv.Engine.
func (f *Faults) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	fault := f.call()
	if fault == Refused {
		return errInjected
	}
	return f.Engine.View(ctx, func(s kv.Snapshot) error {
		return fn(&faultySnapshot{s: s, f: f, fail: fault == FailRead})
	})
}

// Update implements kv.Engine.
func (f *Faults) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	fault := f.call()
	run := func(t kv.Txn) error {
		return fn(&faultyTxn{faultySnapshot: faultySnapshot{s: t, f: f, fail: fault == FailRead}, t: t})
	}
	switch fault {
	case Refused:
		return errInjected
	case Rerun:
		// What the extra run says counts for nothing, even a refusal.
		if err := f.thrownAway(ctx, run, locked); dberr.Is(err, dberr.SnapshotTooOld) || ctx.Err() != nil {
			return err
		}
	case LostCommit:
		if err := f.thrownAway(ctx, run, locked); err != errRetry {
			return err
		}
		return errLost
	case LateCommit:
		return f.late(ctx, run)
	}
	err := f.Engine.Update(ctx, run, locked...)
	if err == nil && fault == LostAnswer {
		return errLost
	}
	return err
}

// late runs the closure and leaves its commit to arrive later. It holds no locks until
// then, as somebody whose connection is lost, and is not run again.
func (f *Faults) late(ctx context.Context, run func(kv.Txn) error) error {
	l := &lateCommit{land: make(chan struct{}), ended: make(chan struct{})}
	ran := make(chan error, 2)
	go func() {
		defer close(l.ended)
		first := true
		ran <- f.Engine.Update(ctx, func(t kv.Txn) error {
			if !first {
				return errRetry
			}
			first = false
			err := run(t)
			if err == nil {
				ran <- errLost
				<-l.land
			}
			return err
		})
	}()
	err := <-ran
	if err == errLost {
		f.mu.Lock()
		defer f.mu.Unlock()
		l.due = f.mu.calls + 2
		f.mu.late = append(f.mu.late, l)
	}
	return err
}

// thrownAway runs the closure without committing; errRetry says that it would
// have been committed.
func (f *Faults) thrownAway(ctx context.Context, run func(kv.Txn) error, locked [][]byte) error {
	return f.Engine.Update(ctx, func(t kv.Txn) error {
		if err := run(t); err != nil {
			return err
		}
		return errRetry
	}, locked...)
}

// Discard implements kv.Engine.
func (f *Faults) Discard(ctx context.Context, r kv.Range) error {
	if f.call() == Refused {
		return errInjected
	}
	return f.Engine.Discard(ctx, r)
}

// faultySnapshot counts reads; fail makes the next one fail.
type faultySnapshot struct {
	s    kv.Snapshot
	f    *Faults
	fail bool
}

func (s *faultySnapshot) read() error {
	if err := s.f.read(); err != nil {
		return err
	}
	if s.fail {
		s.fail = false
		return errInjected
	}
	return nil
}

// Get implements kv.Snapshot.
func (s *faultySnapshot) Get(key []byte) ([]byte, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	return s.s.Get(key)
}

// GetMany implements kv.Snapshot.
func (s *faultySnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	return s.s.GetMany(keys)
}

// Read implements kv.Snapshot. It is one read.
func (s *faultySnapshot) Read(r kv.Reads) (kv.Found, error) {
	if err := s.read(); err != nil {
		return kv.Found{}, err
	}
	f, err := s.s.Read(r)
	for i, it := range f.Walks {
		f.Walks[i] = &faultyIterator{Iterator: it, s: s}
	}
	return f, err
}

// Iterate implements kv.Snapshot.
func (s *faultySnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	it, err := s.s.Iterate(r, o)
	if err != nil {
		return nil, err
	}
	return &faultyIterator{Iterator: it, s: s}, nil
}

// faultyTxn is a faultySnapshot that can be written to.
type faultyTxn struct {
	faultySnapshot
	t kv.Txn
}

// GetForUpdate implements kv.Txn.
func (t *faultyTxn) GetForUpdate(key []byte) ([]byte, error) {
	if err := t.read(); err != nil {
		return nil, err
	}
	return t.t.GetForUpdate(key)
}

// GetManyForUpdate implements kv.Txn.
func (t *faultyTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	if err := t.read(); err != nil {
		return nil, err
	}
	return t.t.GetManyForUpdate(keys)
}

// Put implements kv.Txn.
func (t *faultyTxn) Put(key, value []byte) error { return t.t.Put(key, value) }

// Delete implements kv.Txn.
func (t *faultyTxn) Delete(key []byte) error { return t.t.Delete(key) }

// DeleteOnce implements kv.Txn.
func (t *faultyTxn) DeleteOnce(key []byte) error { return t.t.DeleteOnce(key) }

// faultyIterator fails for good at the first failing read.
type faultyIterator struct {
	kv.Iterator
	s   *faultySnapshot
	err error
}

func (it *faultyIterator) move(move func() bool) bool {
	if it.err == nil {
		it.err = it.s.read()
	}
	return it.err == nil && move()
}

// Next implements kv.Iterator.
func (it *faultyIterator) Next() bool { return it.move(it.Iterator.Next) }

// Seek implements kv.Iterator.
func (it *faultyIterator) Seek(key []byte) bool {
	return it.move(func() bool { return it.Iterator.Seek(key) })
}

// Value implements kv.Iterator.
func (it *faultyIterator) Value() ([]byte, error) {
	if err := it.s.read(); err != nil {
		return nil, err
	}
	return it.Iterator.Value()
}

// Borrow implements kv.Iterator.
func (it *faultyIterator) Borrow() ([]byte, error) {
	if err := it.s.read(); err != nil {
		return nil, err
	}
	return it.Iterator.Borrow()
}

// Err implements kv.Iterator.
func (it *faultyIterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.Iterator.Err()
}
