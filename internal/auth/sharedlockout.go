package auth

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/sectional/sectional/internal/packed"
)

// Attempts keeps counts of wrong passwords for all servers of a store, in sets that have numbers.
type Attempts interface {
	// Attempts returns a set, nil if there is none.
	Attempts(ctx context.Context, set uint64) ([]byte, error)
	// ChangeAttempts makes a set what change returns for it, nil for none, in one transaction
	// with reading it. change may be called several times.
	ChangeAttempts(ctx context.Context, set uint64, change func(set []byte) ([]byte, error)) error
}

// Share has wrong passwords counted together with the other servers of a store. secret is what
// they have in common, and nobody else knows. No request may have come before.
func (a *Authenticator) Share(all Attempts, secret []byte) {
	a.shared = &sharedLockout{all: all, key: sha256.Sum256(secret), sets: len(a.lockout.state.sets)}
}

// sharedLockout is the lockout that several servers have in common: sets of the same kind, in rows
// of their store. Without it N servers behind a balancer would check N times as many guesses.
//
// A guess that is checked is a transaction before, and one that is right another one after: little
// beside the computation that checks it. A password that is remembered needs none. The table of each
// server stays before it, so that what is refused anyway asks nobody.
type sharedLockout struct {
	all  Attempts
	key  [32]byte
	sets int
}

// takeBackFor is how long it may take to take back what was counted.
const takeBackFor = 5 * time.Second

func (l *sharedLockout) attempt(t passwordAttempt) attempt {
	g := attemptIn(&l.key, l.sets, t)
	g.fingerprint &= 0xff // stored, more would help whoever reads the store to find out the password
	return g
}

// begin is that of a lockout. A guess that this server refuses is not checked, so it may raise the
// count of refused guesses, but takes none of those that may be checked.
func (l *sharedLockout) begin(ctx context.Context, s lockoutSettings, t passwordAttempt, refused bool, now time.Time) (wait time.Duration, err error) {
	g, at := l.attempt(t), now.UnixNano()
	err = l.all.ChangeAttempts(ctx, uint64(g.set), func(row []byte) ([]byte, error) {
		set, err := decodeAttempts(row)
		if err != nil {
			return nil, err
		}
		slot := set.place(s, g, at)
		switch {
		case slot == nil:
			wait = time.Duration(set.until - at)
		case refused && slot.count < s.threshold:
			wait = 0
			return row, nil // those that this server counted are on their way here
		default:
			wait, _ = slot.begin(s, g, at)
		}
		return set.encode(), nil
	})
	return wait, err
}

// takeBack is that of a lockout. Who asked may be gone.
func (l *sharedLockout) takeBack(ctx context.Context, s lockoutSettings, t passwordAttempt, now time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackFor)
	defer cancel()
	g, at := l.attempt(t), now.UnixNano()
	return l.all.ChangeAttempts(ctx, uint64(g.set), func(row []byte) ([]byte, error) {
		set, err := decodeAttempts(row)
		if slot := set.find(s, g, at); slot != nil {
			slot.count--
		}
		return set.encode(), err
	})
}

// wait is that of a lockout.
func (l *sharedLockout) wait(ctx context.Context, s lockoutSettings, t passwordAttempt, familiar bool, now time.Time) (time.Duration, error) {
	g := l.attempt(t)
	row, err := l.all.Attempts(ctx, uint64(g.set))
	if err != nil {
		return 0, err
	}
	set, err := decodeAttempts(row)
	return set.wait(s, g, familiar, now.UnixNano()), err
}

// attemptsVersion is that of the value of a row of attempts.
const attemptsVersion = 1

// encode returns the row of a set, whose times are Unix nanoseconds; nil for one without counts.
func (s *attemptSet) encode() []byte {
	p := packed.Writer{}
	p.Byte(attemptsVersion)
	p.Uint(uint64(s.floor))
	p.Uint(uint64(s.until))
	used := 0
	for _, slot := range s.slots {
		if slot.count > 0 {
			used++
			p.Uint(slot.tag)
			p.Uint(uint64(slot.since))
			p.Uint(uint64(slot.count))
			p.Uint(uint64(slot.refused))
			p.Byte(byte(slot.last))
		}
	}
	if used == 0 && s.floor == 0 {
		return nil
	}
	return p
}

func decodeAttempts(row []byte) (s attemptSet, err error) {
	if row == nil {
		return s, nil
	}
	u := packed.ReadVersion(row, attemptsVersion)
	s.floor, s.until = int32(u.UpTo(1<<20)), int64(u.Uint())
	for i := 0; i < attemptSlots && len(u.Rest()) > 0; i++ {
		s.slots[i] = attemptCount{tag: u.Uint(), since: int64(u.Uint()), count: int32(u.UpTo(1 << 20)), refused: int32(u.UpTo(familiarAttempts)), last: uint32(u.Byte())}
	}
	return s, u.Done()
}
