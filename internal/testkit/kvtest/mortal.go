package kvtest

import (
	"context"
	"sync/atomic"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Mortal is the engine of one process, which dies at some moment: what it has begun then is
// not committed, or is and nobody is told.
type Mortal struct {
	kv.Engine
	dead atomic.Bool
}

// Die ends the process.
func (e *Mortal) Die() { e.dead.Store(true) }

// Dead reports whether the process has died.
func (e *Mortal) Dead() bool { return e.dead.Load() }

func (e *Mortal) check() error {
	if e.Dead() {
		return &dberr.Error{Kind: dberr.Unavailable, Reason: "The process is dead.", Cause: kv.ErrStopped}
	}
	return nil
}

// alive runs fn if the process lives, and believes what it returns if it still does.
func (e *Mortal) alive(fn func() error) error {
	if err := e.check(); err != nil {
		return err
	}
	err := fn()
	if dead := e.check(); dead != nil {
		return dead
	}
	return err
}

// View implements kv.Engine.
func (e *Mortal) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.alive(func() error { return e.Engine.View(ctx, fn) })
}

// Update implements kv.Engine.
func (e *Mortal) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.alive(func() error {
		return e.Engine.Update(ctx, func(tx kv.Txn) error { return e.alive(func() error { return fn(tx) }) }, locked...)
	})
}

// Discard implements kv.Engine.
func (e *Mortal) Discard(ctx context.Context, r kv.Range) error {
	return e.alive(func() error { return e.Engine.Discard(ctx, r) })
}
