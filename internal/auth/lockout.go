package auth

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// lockoutSettings say what repeated failures lead to.
type lockoutSettings struct {
	mode      string // off, warn, enforce
	threshold int32
	lifetime  time.Duration
}

func parseLockoutSettings(s *config.Snapshot) lockoutSettings {
	return lockoutSettings{
		mode:      s.String(lockoutSection, "mode", "enforce"),
		threshold: int32(min(max(s.Int(lockoutSection, "threshold", 5), 1), 1<<20)),
		lifetime:  s.Duration(lockoutSection, "max_lifetime", time.Millisecond, 5*time.Minute),
	}
}

const lockoutSection = "chttpd_auth_lockout"

func (s lockoutSettings) on() bool { return s.mode == "warn" || s.mode == "enforce" }

// familiarAttempts is how many different guesses may be refused before even a
// password that is remembered from the same network is refused with them. Without
// an end, to be let in by it would be a way to guess on.
const familiarAttempts = 100

// lockout counts guesses of passwords by network, name and salt: a new password
// ends the lock-out. A guess is counted before it is checked, and taken back if
// it was right, so that any number at once are no more than one after the other.
// A count lives from its first guess for the configured time.
//
// The counts lie in a table of fixed size and are found by a keyed hash, so that
// nobody's names take memory and nobody can aim at another one's count. A key
// has the slots of one set to lie in. When all of them are in use, the lowest
// count makes room, and the set notes how high it was: who comes to the set
// while that would have lasted begins there. So nothing is forgotten, whatever
// comes; under a flood of names some may begin with guesses of others. A network
// reaches a part of the sets only, so that one address can't do that to all.
type lockout struct {
	key   [32]byte
	began time.Time
	until atomic.Int64 // when the last lock-out ends
	state struct {
		sync.Mutex
		sets []attemptSet
	}
}

const (
	attemptSlots = 8  // of a set
	attemptParts = 16 // of the table: a network reaches one of them
)

type attemptSet struct {
	slots [attemptSlots]attemptCount
	// Whoever was dropped had no more than floor, which counts until its time.
	floor int32
	until int64 // in nanoseconds since the table began, as all times here
}

type attemptCount struct {
	tag     uint64
	since   int64  // the first guess
	count   int32  // 0: the slot is free
	refused int32  // different guesses since the threshold was reached
	last    uint32 // the fingerprint of the last of them
}

// attempt is an attempt to show that one knows a password, as it is counted in a table.
type attempt struct {
	tag         uint64
	set         int
	fingerprint uint32 // tells one password from another
}

func newLockout(objects int, now time.Time) *lockout {
	l := &lockout{began: now}
	rand.Read(l.key[:]) // never fails
	part := min(max(objects/(attemptParts*attemptSlots), 1), 1<<16)
	l.state.sets = make([]attemptSet, part*attemptParts)
	return l
}

// attemptIn returns what is counted for an attempt in a table of so many sets, whose key is given.
func attemptIn(key *[32]byte, sets int, t passwordAttempt) attempt {
	network := networkOf(t.peer)
	at := keyed(key, network)
	all := keyed(key, t.what, network, t.name, t.salt)
	part := uint64(sets / attemptParts)
	set := binary.BigEndian.Uint64(at[:])%attemptParts*part + binary.BigEndian.Uint64(all[8:])%part
	secret := keyed(key, t.what, t.name, t.salt, t.secret)
	return attempt{tag: binary.BigEndian.Uint64(all[:]), set: int(set), fingerprint: binary.BigEndian.Uint32(secret[:])}
}

// attempt is attemptIn for this table.
func (l *lockout) attempt(t passwordAttempt) attempt { return attemptIn(&l.key, len(l.state.sets), t) }

// at returns a moment as the table has it: by the clock that nobody sets back.
func (l *lockout) at(now time.Time) int64 { return int64(now.Sub(l.began)) }

// quiet reports whether nobody is locked out.
func (l *lockout) quiet(now time.Time) bool { return l.at(now) >= l.until.Load() }

// begin counts a guess that is to be checked. Where the threshold is reached it
// returns how long that lasts yet, and counts the guess as refused; counted is false
// for one that changes no count.
func (l *lockout) begin(s lockoutSettings, g attempt, now time.Time) (wait time.Duration, counted bool) {
	l.state.Lock()
	defer l.state.Unlock()
	set, at := &l.state.sets[g.set], l.at(now)
	slot := set.place(s, g, at)
	if slot == nil {
		return time.Duration(set.until - at), false
	}
	wait, counted = slot.begin(s, g, at)
	l.note(s, slot)
	return wait, counted
}

// note notes until when a slot's lock-out lasts, if it is one.
func (l *lockout) note(s lockoutSettings, slot *attemptCount) {
	if slot.count >= s.threshold {
		l.until.Store(max(l.until.Load(), slot.since+int64(s.lifetime)))
	}
}

// takeBack ends the count of a guess that was right, or was not checked.
func (l *lockout) takeBack(s lockoutSettings, g attempt, now time.Time) {
	l.state.Lock()
	defer l.state.Unlock()
	if slot := l.state.sets[g.set].find(s, g, l.at(now)); slot != nil {
		slot.count--
	}
}

// adopt takes over a lock-out that lasts for wait yet.
func (l *lockout) adopt(s lockoutSettings, g attempt, wait time.Duration, now time.Time) {
	l.state.Lock()
	defer l.state.Unlock()
	at := l.at(now)
	slot := l.state.sets[g.set].place(s, g, at)
	if slot == nil {
		return
	}
	slot.count, slot.since = max(slot.count, s.threshold), at-int64(s.lifetime-wait)
	l.note(s, slot)
}

// wait returns how long a password that is remembered is refused yet. One that is
// remembered from this network is familiar.
func (l *lockout) wait(s lockoutSettings, g attempt, familiar bool, now time.Time) time.Duration {
	l.state.Lock()
	defer l.state.Unlock()
	return l.state.sets[g.set].wait(s, g, familiar, l.at(now))
}

// wait is that of a lockout, for the guesses of a set.
func (s *attemptSet) wait(c lockoutSettings, g attempt, familiar bool, at int64) time.Duration {
	slot := s.find(c, g, at)
	switch {
	case slot == nil && !familiar && s.floorAt(at) >= c.threshold:
		return time.Duration(s.until - at)
	case slot == nil || slot.count < c.threshold || familiar && slot.refused < familiarAttempts:
		return 0
	}
	return slot.left(c, at)
}

// place returns the slot of a key, which gets one if it has none. It is nil where the set had to
// drop counts that had reached the threshold: as long as these last, it may have been one of them.
func (s *attemptSet) place(c lockoutSettings, g attempt, at int64) *attemptCount {
	if slot := s.find(c, g, at); slot != nil {
		return slot
	}
	if s.floorAt(at) >= c.threshold {
		return nil
	}
	return s.add(c, g, at)
}

// begin is that of a lockout, for a slot.
func (g *attemptCount) begin(c lockoutSettings, of attempt, at int64) (wait time.Duration, counted bool) {
	if g.count < c.threshold {
		g.count++
		return 0, true
	}
	if g.last != of.fingerprint && g.refused < familiarAttempts {
		g.refused++
		g.last, counted = of.fingerprint, true
	}
	return g.left(c, at), counted
}

// find returns the slot of a key, nil if it has none. Slots whose time is over are
// freed on the way.
func (s *attemptSet) find(c lockoutSettings, g attempt, at int64) (found *attemptCount) {
	for i := range s.slots {
		slot := &s.slots[i]
		if slot.count > 0 && slot.left(c, at) <= 0 {
			*slot = attemptCount{}
		}
		if slot.count > 0 && slot.tag == g.tag {
			found = slot
		}
	}
	return found
}

// add gives a key a slot: a free one, or that with the lowest count, the oldest
// of them.
func (s *attemptSet) add(c lockoutSettings, g attempt, at int64) *attemptCount {
	least := &s.slots[0]
	for i := range s.slots {
		slot := &s.slots[i]
		if slot.count < least.count || slot.count == least.count && slot.since < least.since {
			least = slot
		}
	}
	floor := s.floorAt(at)
	if least.count > 0 {
		s.floor, s.until = max(floor, least.count), max(s.until, least.since+int64(c.lifetime))
	}
	*least = attemptCount{tag: g.tag, since: at, count: floor}
	return least
}

func (s *attemptSet) floorAt(at int64) int32 {
	if at >= s.until {
		s.floor = 0
	}
	return s.floor
}

// left returns how long a count lasts yet.
func (g *attemptCount) left(s lockoutSettings, at int64) time.Duration {
	return s.lifetime - time.Duration(max(0, at-g.since))
}
