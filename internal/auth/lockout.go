package auth

import (
	"container/list"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// lockoutSettings say what repeated failures lead to.
type lockoutSettings struct {
	mode      string // off, warn, enforce
	threshold int
	lifetime  time.Duration
	objects   int
}

func readLockoutSettings(s *config.Snapshot) lockoutSettings {
	const section = "chttpd_auth_lockout"
	return lockoutSettings{
		mode:      s.String(section, "mode", "off"),
		threshold: int(s.Int(section, "threshold", 5)),
		lifetime:  s.Duration(section, "max_lifetime", time.Millisecond, 5*time.Minute),
		objects:   int(s.Int(section, "max_objects", 10000)),
	}
}

// attempt names what failures are counted by. The salt is part of it: a new
// password ends the lock-out.
type attempt struct {
	peer, name, salt string
}

// lockout counts failed logins. A count lives from its first failure for the
// configured time; of too many counts the one least recently used is dropped.
type lockout struct {
	state struct {
		sync.Mutex
		counts map[attempt]*list.Element
		order  *list.List // of *failures, the most recently used first
	}
}

type failures struct {
	attempt attempt
	count   int
	since   time.Time
}

func newLockout() *lockout {
	l := &lockout{}
	l.state.counts = map[attempt]*list.Element{}
	l.state.order = list.New()
	return l
}

// reached reports whether the threshold is reached.
func (l *lockout) reached(s lockoutSettings, a attempt, now time.Time) bool {
	if !s.on() || a.peer == "" {
		return false
	}
	l.state.Lock()
	defer l.state.Unlock()
	f := l.live(s, a, now)
	return f != nil && f.count >= s.threshold
}

// failed counts one failure.
func (l *lockout) failed(s lockoutSettings, a attempt, now time.Time) {
	if !s.on() || a.peer == "" {
		return
	}
	l.state.Lock()
	defer l.state.Unlock()
	if f := l.live(s, a, now); f != nil {
		f.count++
		return
	}
	l.state.counts[a] = l.state.order.PushFront(&failures{attempt: a, count: 1, since: now})
	for len(l.state.counts) > max(1, s.objects) {
		l.drop(l.state.order.Back())
	}
}

func (s lockoutSettings) on() bool { return s.mode == "warn" || s.mode == "enforce" }

// live gives the count of a unless its time is over, with the lock held.
func (l *lockout) live(s lockoutSettings, a attempt, now time.Time) *failures {
	e := l.state.counts[a]
	if e == nil {
		return nil
	}
	f := e.Value.(*failures)
	if now.Sub(f.since) >= s.lifetime {
		l.drop(e)
		return nil
	}
	l.state.order.MoveToFront(e)
	return f
}

// drop forgets a count, with the lock held.
func (l *lockout) drop(e *list.Element) {
	delete(l.state.counts, l.state.order.Remove(e).(*failures).attempt)
}
