package pebblekv

import (
	"errors"
	"sync/atomic"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// failure holds what stopped the engine, if anything did.
type failure struct {
	cause atomic.Pointer[error]
}

// fail stops the engine for good; only the first cause counts.
func (e *Engine) fail(cause error) {
	if e.failure.cause.CompareAndSwap(nil, &cause) {
		e.log.Error("the storage engine stopped: its log can't be written", "err", cause)
		e.states.wake()
	}
}

// Stopped reports whether the engine takes no writes any more, for good.
func (e *Engine) Stopped() bool { return e.stopped() != nil }

// stopped returns an Unavailable error if the engine was stopped.
func (e *Engine) stopped() error {
	if cause := e.failure.cause.Load(); cause != nil {
		return &dberr.Error{Op: "pebblekv.Update", Kind: dberr.Unavailable,
			Reason: "The storage engine has stopped after a disk failure.", Cause: errors.Join(kv.ErrStopped, *cause)}
	}
	return nil
}

// unknown returns an UnknownOutcome error if the engine was stopped: the commit
// had been handed to the log, and whether it arrived only a restart shows.
func (e *Engine) unknown() error {
	if cause := e.failure.cause.Load(); cause != nil {
		return &dberr.Error{Op: "pebblekv.Update", Kind: dberr.UnknownOutcome,
			Reason: "The disk failed during the commit; it may or may not have happened.", Cause: *cause}
	}
	return nil
}
