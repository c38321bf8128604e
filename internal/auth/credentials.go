package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"runtime"
	"strconv"
	"strings"
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
// wrong passwords leaves a processor to everybody else, and in turn by where
// they come from; callers from one network that ask for the same share it.
type passwords struct {
	*turns
	key    [32]byte
	flight singleflight.Group
	derive func(v Verifier, password string) (string, error)

	known    memory // right passwords
	familiar memory // the same, each with a network where it was right
}

type credential [sha256.Size]byte

func newPasswords(size int) *passwords {
	p := &passwords{turns: newTurns(max(1, runtime.GOMAXPROCS(0)-1)), derive: Verifier.derive}
	rand.Read(p.key[:]) // never fails
	p.known.half, p.familiar.half = max(1, size/2), max(1, size/2)
	return p
}

// verify reports whether a password is right, by check where that is not known
// yet: once for all who ask for the same from the same network at once.
func (p *passwords) verify(ctx context.Context, c credential, network string, check func() (bool, error)) (bool, error) {
	for {
		right, err, _ := p.flight.Do(string(c[:])+network, func() (any, error) { return check() })
		if err == nil {
			if right.(bool) {
				p.remember(c, network)
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

// compute checks a password at full cost, when it is the network's turn. A wrong
// one costs as much as the configuration says whatever v is, so that it tells
// neither whether there is such a user nor how the password was hashed.
func (p *passwords) compute(ctx context.Context, h hashing, v Verifier, password string, c credential, network string) (bool, error) {
	done, err := p.take(ctx, network)
	if err != nil {
		return false, err
	}
	defer done()
	if p.known.has(c) {
		return true, nil // somebody elsewhere was first
	}
	spent := 0
	if v.usable() {
		key, err := p.derive(v, password)
		if err != nil || same(strings.ToLower(v.Key), key) {
			return err == nil, err
		}
		spent = v.Iterations
	}
	if rest := h.iterations - spent; rest > 0 {
		_, err = p.derive(Verifier{Scheme: schemePBKDF2, PRF: h.prf, Iterations: rest, Salt: "0123456789abcdef0123456789abcdef"}, password)
	}
	return false, err
}

// hash makes the verifier of a new password, when it is the network's turn.
func (p *passwords) hash(ctx context.Context, h hashing, network, password, salt string) (Verifier, error) {
	done, err := p.take(ctx, network)
	if err != nil {
		return Verifier{}, dberr.Wrap("auth.hash", err)
	}
	defer done()
	v := h.verifier(salt)
	v.Key, err = p.derive(v, password)
	return v, dberr.Wrap("auth.hash", err)
}

// credential hashes all that decides whether a password is right.
func (p *passwords) credential(v Verifier, name, password string) credential {
	return keyed(&p.key, name, password, v.Scheme, v.PRF, v.Salt, v.Key, strconv.Itoa(v.Iterations))
}

// remembered reports whether a password was right before, and whether it was
// from this network.
func (p *passwords) remembered(c credential, network string) (known, familiar bool) {
	if !p.known.has(c) {
		return false, false
	}
	return true, p.familiar.has(p.at(c, network))
}

func (p *passwords) remember(c credential, network string) {
	p.known.add(c)
	p.familiar.add(p.at(c, network))
}

func (p *passwords) at(c credential, network string) credential {
	return keyed(&p.key, string(c[:]), network)
}

// keyed hashes parts, each with its length before it. The hash never leaves the
// process, so nobody can extend it, which is what an HMAC's second pass would
// prevent.
func keyed(key *[32]byte, parts ...string) credential {
	buf := append(make([]byte, 0, 320), key[:]...)
	for _, part := range parts {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(part)))
		buf = append(buf, part...)
	}
	return sha256.Sum256(buf)
}

// memory is a set of bounded size in which what is in use stays.
type memory struct {
	half  int // young entries at which old ones are dropped
	state struct {
		sync.RWMutex
		young, old map[credential]struct{}
	}
}

func (m *memory) has(c credential) bool {
	m.state.RLock()
	_, young := m.state.young[c]
	_, old := m.state.old[c]
	m.state.RUnlock()
	if old && !young {
		m.add(c)
	}
	return young || old
}

// add keeps c among the young; when those are many, they become the old ones
// and what was old is dropped.
func (m *memory) add(c credential) {
	m.state.Lock()
	defer m.state.Unlock()
	if m.state.young == nil || len(m.state.young) >= m.half {
		m.state.old, m.state.young = m.state.young, map[credential]struct{}{}
	}
	m.state.young[c] = struct{}{}
}
