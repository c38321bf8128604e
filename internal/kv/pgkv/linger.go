package pgkv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// lingers is how long a View's transaction may stay open after it.
const lingers = 20 * time.Millisecond

// newConnPool opens a pool of so many connections. patience is how long somebody waits for one while backends keep some.
func newConnPool(ctx context.Context, config *pgxpool.Config, size int, patience time.Duration, end func(*session)) (*connPool, error) {
	config = config.Copy()
	config.MaxConns = int32(size)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &connPool{pool: pool, slots: make(chan struct{}, size), retryFor: patience, end: end}, nil
}

// connPool has the connections of Views that have ended, whose transactions are still open: the next View ends
// the last one's transaction in the trip with which it begins its own, so that under load a View of one
// read takes one trip, not two. What nobody takes is ended after a moment: an old snapshot keeps PostgreSQL
// from cleaning up.
//
// Whoever has a slot has a connection, from here or of the pool, which has as many: those that linger are
// taken first, so that the pool is never out of them.
type connPool struct {
	pool  *pgxpool.Pool
	slots chan struct{}
	end   func(*session)
	waits atomic.Uint64 // for a slot
	kept  atomic.Int64  // slots that backends keep which wait for the standby

	retryFor time.Duration

	mu struct {
		sync.Mutex
		waiting []lingering // the longest first
		ending  bool        // somebody ends those that have waited long enough
	}
}

type lingering struct {
	s     *session
	since time.Time
}

// take returns a connection; it waits for one in ctx.
func (l *connPool) take(ctx context.Context) (*session, error) {
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	if s := l.last(); s != nil {
		s.slot = l.slots
		return s, nil
	}
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &session{conn: conn, slot: l.slots}, nil
}

// acquire takes a slot.
func (l *connPool) acquire(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
		return nil
	default:
	}
	l.waits.Add(1)
	tick := time.NewTicker(l.retryFor)
	defer tick.Stop()
	for {
		select {
		case l.slots <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if l.kept.Load() > 0 {
				return errBlocking()
			}
		}
	}
}

// last takes the connection that came last, nil if there is none.
func (l *connPool) last() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.mu.waiting) - 1
	if last < 0 {
		return nil
	}
	s := l.mu.waiting[last].s
	l.mu.waiting = l.mu.waiting[:last]
	return s
}

// leave takes back a connection in whose transaction nothing has failed.
func (l *connPool) leave(s *session) {
	slot := s.slot
	s.slot = nil
	l.mu.Lock()
	l.mu.waiting = append(l.mu.waiting, lingering{s, time.Now()})
	begin := !l.mu.ending
	l.mu.ending = true
	l.mu.Unlock()
	<-slot
	if begin {
		time.AfterFunc(lingers, l.sweep)
	}
}

// sweep ends what has waited long enough, and comes again while anything waits.
func (l *connPool) sweep() {
	l.mu.Lock()
	n := 0
	for n < len(l.mu.waiting) && time.Since(l.mu.waiting[n].since) >= lingers {
		n++
	}
	over := append([]lingering(nil), l.mu.waiting[:n]...)
	l.mu.waiting = append(l.mu.waiting[:0], l.mu.waiting[n:]...)
	if l.mu.ending = len(l.mu.waiting) > 0; l.mu.ending {
		time.AfterFunc(lingers, l.sweep)
	}
	l.mu.Unlock()
	for _, w := range over {
		l.end(w.s)
	}
}

// close ends all that lingers. Nobody takes or leaves any more.
func (l *connPool) close() {
	l.mu.Lock()
	over := l.mu.waiting
	l.mu.waiting = nil
	l.mu.Unlock()
	for _, w := range over {
		l.end(w.s)
	}
	l.pool.Close()
}
