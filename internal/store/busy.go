package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// busy holds back what the engine has no room for: the writes that wait are
// bounded in bytes, and large ones give way while the engine is behind with what
// was written. The naive way is to queue everything. Then a disk that is slow, or
// full, or behind with compaction, shows as requests that are silent for a minute,
// and as memory that grows until the server is killed. A client that is told at
// once to come again loses less.
type busy struct {
	waiting atomic.Int64  // bytes of writes whose outcome is open
	turn    chan struct{} // holds the one large write that gives way
}

const (
	defaultQueued = 128 << 20
	// smallShare is how much more may wait of small writes: one eighth.
	smallShare = 8
	// highPressure is when large writes begin to go one at a time.
	highPressure = 0.5
	// turnWait is how long a write waits for its turn before it is refused.
	turnWait = 10 * time.Second
)

func newBusy() busy { return busy{turn: make(chan struct{}, 1)} }

// errBusy is what a write is told of which nothing is stored.
func errBusy(wait time.Duration) error {
	return dberr.New(dberr.Unavailable, "", "The server has as many writes waiting as it can hold. Try again later.").After(wait)
}

// hold counts a write of so many bytes among those that wait, until release is
// called. Unavailable, with a time to wait, when that would be too many; one that
// is alone is never too large.
func (s *Store) hold(size int) (release func(), err error) {
	n, most := int64(size), s.o.MaxQueued()
	if size <= smallBytes {
		most += most / smallShare
	}
	if waiting := s.busy.waiting.Add(n); most > 0 && waiting > most && waiting > n {
		s.busy.waiting.Add(-n)
		return nil, errBusy(time.Second)
	}
	return func() { s.busy.waiting.Add(-n) }, nil
}

// Writing reports whether writes of documents are on their way into commits, in any
// database: work that nobody waits for leaves the processors to them.
func (s *Store) Writing() bool { return s.busy.waiting.Load() > 0 }

// holding is what a write holds of the bytes that may wait.
type holding struct {
	store   *Store
	bytes   int
	release func() // nil before the first
}

// hold counts as many bytes as the edits of writes have now, instead of what was
// counted before; but what has begun is not refused any more. Errors: as Store.hold's.
func (h *holding) hold(ws []*write) (err error) {
	n, began := 0, false
	for _, w := range ws {
		n += size(w.edits)
		began = began || w.began
	}
	if n <= h.bytes || began {
		return nil
	}
	h.end()
	if h.release, err = h.store.hold(n); err == nil {
		h.bytes = n
	}
	return err
}

// end gives back what is held.
func (h *holding) end() {
	if h.release != nil {
		h.release()
	}
	h.bytes, h.release = 0, nil
}

// giveWay lets a large write wait before it is queued while the engine is behind,
// one at a time and the longer the further it is behind. With refusable it gives
// up after a while: Unavailable, with a time to wait.
func (s *Store) giveWay(ctx context.Context, size int, refusable bool) error {
	p, ok := s.base.(kv.PressureReporter)
	if !ok || size <= smallBytes || p.Pressure() < highPressure {
		return nil
	}
	timeout := (<-chan time.Time)(nil)
	if refusable {
		t := time.NewTimer(turnWait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case s.busy.turn <- struct{}{}:
	case <-timeout:
		return errBusy(5 * time.Second)
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.busy.turn }()
	kv.GiveWay(ctx, func() float64 {
		if pressure := p.Pressure(); pressure >= highPressure {
			return pressure
		}
		return 0
	}, size, kv.Pause)
	return ctx.Err()
}
