package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/sectional/sectional/internal/dberr"
)

// passwords verifies passwords and remembers the right ones.
//
// A right password is remembered under a keyed hash of the name, the password
// and the stored verifier, with a key of this process. So there is nothing to
// forget: after a change of the password the verifier differs, and the old
// entry is never asked for again. It costs a microsecond where a computation
// costs a tenth of a second. Wrong passwords are not remembered.
//
// Computations run one at a time per processor but one, so that a flood of
// wrong passwords leaves a processor to everybody else; callers that ask for
// the same computation share it, and beyond a queue the answer is Unavailable.
type passwords struct {
	key     [32]byte
	flight  singleflight.Group
	slots   chan struct{}
	waiting chan struct{}

	known struct {
		sync.RWMutex
		young, old map[credential]struct{}
		half       int // young entries at which old ones are dropped
	}
}

type credential [sha256.Size]byte

const queueLength = 256

func newPasswords(size int) *passwords {
	p := &passwords{
		slots:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		waiting: make(chan struct{}, queueLength),
	}
	rand.Read(p.key[:]) // never fails
	p.known.half = max(1, size/2)
	p.known.young = map[credential]struct{}{}
	return p
}

// verify reports whether the password is the one v was made of.
func (p *passwords) verify(ctx context.Context, v Verifier, name, password string) (bool, error) {
	c := p.credential(v, name, password)
	if p.remembered(c) {
		return true, nil
	}
	for {
		right, err, _ := p.flight.Do(string(c[:]), func() (any, error) { return p.compute(ctx, v, password) })
		if err == nil {
			if right.(bool) {
				p.remember(c)
			}
			return right.(bool), nil
		}
		// The one whose computation was shared may have gone away; it is
		// repeated for those who have not.
		if ctx.Err() != nil || !isContextError(err) {
			return false, dberr.Wrap("auth.verify", err)
		}
	}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (p *passwords) compute(ctx context.Context, v Verifier, password string) (bool, error) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return false, dberr.New(dberr.Unavailable, "service_unavailable", "Too many passwords to check, try again.")
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return v.matches(password)
}

// credential hashes the key and all that decides, each part with its length
// before it. The hash never leaves the process, so nobody can extend it, which
// is what an HMAC's second pass would prevent.
func (p *passwords) credential(v Verifier, name, password string) credential {
	buf := append(make([]byte, 0, 320), p.key[:]...)
	for _, part := range []string{name, password, v.Scheme, v.PRF, v.Salt, v.Key} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(part)))
		buf = append(buf, part...)
	}
	buf = binary.BigEndian.AppendUint64(buf, uint64(v.Iterations))
	return sha256.Sum256(buf)
}

func (p *passwords) remembered(c credential) bool {
	p.known.RLock()
	_, young := p.known.young[c]
	_, old := p.known.old[c]
	p.known.RUnlock()
	if old && !young {
		p.remember(c)
	}
	return young || old
}

// remember keeps c among the young; when those are many, they become the old
// ones and what was old is dropped. So what is in use stays.
func (p *passwords) remember(c credential) {
	p.known.Lock()
	defer p.known.Unlock()
	if len(p.known.young) >= p.known.half {
		p.known.old, p.known.young = p.known.young, map[credential]struct{}{}
	}
	p.known.young[c] = struct{}{}
}
