package kvtest

import (
	"context"
	"sync"

	"github.com/sectional/sectional/internal/kv"
)

// Pausing is the engine of a process that stands still before one of its transactions, for as
// long as others take: no transaction of another goroutine of it begins either. It has none of
// the optional powers of other engines.
type Pausing struct {
	kv.Engine
	mu struct {
		sync.Mutex     // held while others run
		left       int // transactions until then; 0 for never
		others     func()
	}
}

// NewPausing returns an engine over e that does not pause yet.
func NewPausing(e kv.Engine) *Pausing { return &Pausing{Engine: e} }

// PauseBefore has others run before the nth transaction from now, 1 for the next; 0 for never.
// It returns when none run any more. They don't use the engine.
func (e *Pausing) PauseBefore(n int, others func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.left, e.mu.others = n, others
}

// View implements kv.Engine.
func (e *Pausing) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	e.pause()
	return e.Engine.View(ctx, fn)
}

// Update implements kv.Engine.
func (e *Pausing) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	e.pause()
	return e.Engine.Update(ctx, fn, locked...)
}

func (e *Pausing) pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.left == 0 {
		return
	}
	if e.mu.left--; e.mu.left == 0 {
		e.mu.others()
	}
}
