package kv

import (
	"context"
	"slices"
	"sync"
)

// Locks are the locked keys of one process, for engines without a lock of their own
// that Update could take before its snapshot. The zero value has none locked.
type Locks struct {
	mu struct {
		sync.Mutex
		held map[string]*lockedKey
	}
}

// lockedKey is a key that somebody has locked or waits for.
type lockedKey struct {
	locked chan struct{} // holds one token while it is locked
	users  int           // who has it and who waits
}

// Lock locks keys, each for one caller at a time, and returns what unlocks them,
// which may be called more than once. Callers that name several cannot wait for one
// another in a circle. The error is ctx's, with nothing locked.
func (l *Locks) Lock(ctx context.Context, keys [][]byte) (unlock func(), err error) {
	if len(keys) == 0 {
		return func() {}, nil
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = string(key)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		k := l.enter(name)
		select {
		case k.locked <- struct{}{}:
		case <-ctx.Done():
			l.leave(name)
			l.unlock(names[:i])
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(func() { l.unlock(names) }), nil
}

func (l *Locks) enter(name string) *lockedKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.mu.held[name]
	if k == nil {
		if l.mu.held == nil {
			l.mu.held = map[string]*lockedKey{}
		}
		k = &lockedKey{locked: make(chan struct{}, 1)}
		l.mu.held[name] = k
	}
	k.users++
	return k
}

// leave forgets a key that nobody uses any more.
func (l *Locks) leave(name string) *lockedKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.mu.held[name]
	if k.users--; k.users == 0 {
		delete(l.mu.held, name)
	}
	return k
}

func (l *Locks) unlock(names []string) {
	for _, name := range names {
		<-l.leave(name).locked
	}
}
