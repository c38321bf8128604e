package kvtest

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// What stores ask engines for beside the contract; of an engine without it, as if it were
// not asked.
var (
	_ kv.Pipeliner        = (*shortLocks)(nil)
	_ kv.SizeReporter     = (*shortLocks)(nil)
	_ kv.Compacter        = (*shortLocks)(nil)
	_ kv.PressureReporter = (*shortLocks)(nil)
	_ kv.SpaceReporter    = (*shortLocks)(nil)
	_ kv.SharedEngine     = (*shortLocks)(nil)
	_ kv.Messenger        = (*shortLocks)(nil)
	_ kv.ClockReader      = (*shortLocks)(nil)
)

// DiskSize implements kv.Measurer.
func (e *shortLocks) DiskSize(r kv.Range) (uint64, error) {
	if m, ok := e.Engine.(kv.SizeReporter); ok {
		return m.DiskSize(r)
	}
	return 0, nil
}

// Compact implements kv.Compacter.
func (e *shortLocks) Compact(ctx context.Context, r kv.Range) error {
	if c, ok := e.Engine.(kv.Compacter); ok {
		return c.Compact(ctx, r)
	}
	return nil
}

// Pressure implements kv.Presser.
func (e *shortLocks) Pressure() float64 {
	if p, ok := e.Engine.(kv.PressureReporter); ok {
		return p.Pressure()
	}
	return 0
}

// Room implements kv.Roomer.
func (e *shortLocks) Room() error {
	if r, ok := e.Engine.(kv.SpaceReporter); ok {
		return r.Room()
	}
	return nil
}

// Shared implements kv.Sharer.
func (e *shortLocks) Shared() bool { return kv.IsShared(e.Engine) }

// Send implements kv.Messenger.
func (e *shortLocks) Send(message []byte) {
	if m, ok := e.Engine.(kv.Messenger); ok {
		m.Send(message)
	}
}

// Listen implements kv.Messenger.
func (e *shortLocks) Listen(hear func(message []byte)) (stop func()) {
	if m, ok := e.Engine.(kv.Messenger); ok {
		return m.Listen(hear)
	}
	return func() {}
}

// Time implements kv.Clocked.
func (e *shortLocks) Time(ctx context.Context) (now time.Time, err error) {
	if c, ok := e.Engine.(kv.ClockReader); ok {
		return c.Time(ctx)
	}
	return now, nil
}
