package kvtest

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Sharing is an engine that several stores of a test use, as if each were another process. It
// has none of the optional powers of other engines.
type Sharing struct {
	e     kv.Engine
	lossy bool
	clock func() time.Time // nil: it has none
	mu    struct {
		sync.Mutex
		hear map[*sharer]func([]byte)
	}
}

// NewSharing returns what gives each store an engine of its own, over e. Whoever opened e
// closes it, after the stores. Messages between them are lost unless tells is set.
func NewSharing(e kv.Engine, tells bool) *Sharing {
	s := &Sharing{e: e, lossy: !tells}
	s.mu.hear = map[*sharer]func([]byte){}
	return s
}

// NewShared is the engine of one of several stores over e, whose messages are lost.
func NewShared(e kv.Engine) kv.Engine { return NewSharing(e, false).Engine() }

// Lose has all messages be lost from here on.
func (s *Sharing) Lose() { s.lossy = true }

// Clock gives the engines a clock (kv.Clocked), before there is any.
func (s *Sharing) Clock(now func() time.Time) { s.clock = now }

// Engine returns the engine of one more store.
func (s *Sharing) Engine() kv.Engine { return &sharer{s.e, s} }

// sharer is the engine of one store.
type sharer struct {
	kv.Engine
	s *Sharing
}

var (
	_ kv.SharedEngine = (*sharer)(nil)
	_ kv.Messenger    = (*sharer)(nil)
	_ kv.ClockReader  = (*sharer)(nil)
)

// Time implements kv.Clocked.
func (e *sharer) Time(context.Context) (now time.Time, err error) {
	if e.s.clock != nil {
		now = e.s.clock()
	}
	return now, nil
}

// Shared implements kv.Sharer.
func (*sharer) Shared() bool { return true }

// Close implements kv.Engine; it does nothing.
func (*sharer) Close() error { return nil }

// Send implements kv.Messenger: the others hear it in the caller's goroutine.
func (e *sharer) Send(message []byte) {
	if e.s.lossy {
		return
	}
	for _, hear := range e.s.others(e) {
		hear(bytes.Clone(message))
	}
}

// others returns who hears what e tells.
func (s *Sharing) others(e *sharer) (all []func([]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o, hear := range s.mu.hear {
		if o != e {
			all = append(all, hear)
		}
	}
	return all
}

// Listen implements kv.Messenger.
func (e *sharer) Listen(hear func(message []byte)) (stop func()) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.s.mu.hear[e] = hear
	return func() {
		e.s.mu.Lock()
		defer e.s.mu.Unlock()
		delete(e.s.mu.hear, e)
	}
}
