package store

import (
	"context"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// clockGuard judges the clock for the work that removes what is old. The naive way
// is to believe it: a machine that wakes up with a clock years ahead then
// removes everything that says when it expires before anybody looks. So the
// time of the last round is remembered, also over restarts; a clock that is
// more than clockLeap ahead of it (a server that was down looks the same) has
// to stay so for clockHold until it is believed. Meanwhile nothing expires and
// the log says why. A clock that goes back makes things expire later, no more.
type clockGuard struct {
	mu         sync.Mutex
	known      bool      // last has been read
	last       time.Time // of the last round whose clock was believed; zero for none
	saved      time.Time // last as stored
	aheadSince time.Time // when the clock was first seen ahead; zero when it is not
	seen       time.Time // the clock at the last round that was held
}

const (
	clockLeap = time.Hour
	clockHold = 10 * time.Minute
	clockSave = 10 * time.Minute // how often the time is stored
)

// metaClock is the meta row that holds the time of the last round.
const metaClock = "clock"

// trusts reports whether what is old at now may be removed.
func (s *Store) trusts(ctx context.Context, now time.Time) (bool, error) {
	c := &s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.refreshClock(ctx); err != nil {
		return false, err
	}
	switch {
	case c.last.IsZero() || ahead(c.last, now) <= clockLeap:
		c.aheadSince, c.last = time.Time{}, now
		return true, nil
	case c.aheadSince.IsZero() || ahead(c.seen, now) > clockLeap || now.Before(c.aheadSince):
		s.o.Logger.Warn("the clock is ahead of where it was last seen: nothing expires until it has stayed so", "ahead", ahead(c.last, now), "hold", clockHold)
		c.aheadSince, c.seen = now, now
		return false, nil
	case now.Sub(c.aheadSince) < clockHold:
		c.seen = now
		return false, nil
	}
	s.o.Logger.Info("the clock has stayed ahead and is believed", "ahead", ahead(c.last, now))
	c.aheadSince, c.last = time.Time{}, now
	return true, nil
}

// believed is the time for work that removes what is old: the clock's, or while
// that is not believed the time when it last was.
func (s *Store) believed(ctx context.Context) (time.Time, error) {
	now := s.o.Clock()
	c := &s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.refreshClock(ctx); err != nil {
		return now, err
	}
	if c.last.IsZero() || ahead(c.last, now) <= clockLeap {
		return now, nil
	}
	return c.last, nil
}

// refreshClock reads the time of the last round once. c.mu is locked.
func (s *Store) refreshClock(ctx context.Context) error {
	c := &s.clock
	if c.known {
		return nil
	}
	var seconds uint64
	err := s.engine.View(ctx, func(v kv.Snapshot) (err error) {
		seconds, err = counter(v.Get(metaKey(metaClock)))
		return err
	})
	if err != nil {
		return err
	}
	if seconds > 0 {
		c.last = time.Unix(int64(seconds), 0)
		c.saved = c.last
	}
	c.known = true
	return nil
}

// ahead is how far the wall clock has moved between two readings; the
// difference of two times would leave out what the clock was set to meanwhile.
func ahead(from, to time.Time) time.Duration { return to.Round(0).Sub(from.Round(0)) }

// watchClock remembers the time when the clock was believed, also over a restart if
// anything gets old, or did before.
func (s *Store) watchClock(ctx context.Context) error {
	now := s.o.Clock()
	if trusted, err := s.trusts(ctx, now); err != nil || !trusted {
		return err
	}
	c := &s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := ahead(c.saved, now); !c.saved.IsZero() && d >= 0 && d < clockSave {
		return nil
	}
	if c.saved.IsZero() {
		aging, err := s.any(ctx, kv.Prefix(keyspace.Job.Key(0, keyspace.T(jobDue))), kv.Prefix(keyspace.Job.Key(0, keyspace.T(jobCollect))))
		if err != nil || !aging {
			return err
		}
	}
	err := s.commit(ctx, func(tx kv.Txn) error {
		return tx.Put(metaKey(metaClock), packed.Number(uint64(max(now.Unix(), 0))))
	})
	if err == nil {
		c.saved = now
	}
	return err
}
