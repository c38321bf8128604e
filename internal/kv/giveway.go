package kv

import (
	"context"
	"time"
)

// A write of wholeWrite bytes waits for longestWait when the engine has no room left; smaller ones wait less.
const (
	wholeWrite  = 2 << 20
	longestWait = 400 * time.Millisecond
	// waitStep is how often one that waits looks whether there is room again: a flush takes a tenth of a second, and a
	// load that slept past its end would fall to half of what the disk takes.
	waitStep = 10 * time.Millisecond
)

// WaitFor is how long a write of so many bytes waits at a pressure (PressureReporter). The square keeps the wait short while
// there is much room.
func WaitFor(pressure float64, bytes int) time.Duration {
	size := min(float64(bytes)/wholeWrite, 1)
	return time.Duration(pressure * pressure * size * float64(longestWait))
}

// GiveWay waits before a write of so many bytes while the engine is behind, until ctx is done at most.
func GiveWay(ctx context.Context, pressure func() float64, bytes int, wait func(context.Context, time.Duration)) {
	for waited := time.Duration(0); waited < WaitFor(pressure(), bytes) && ctx.Err() == nil; waited += waitStep {
		wait(ctx, waitStep)
	}
}

// Pause waits for a time, or until ctx is done.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
