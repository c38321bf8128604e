package kv

import (
	"context"
	"testing"
	"time"
)

// TestWaitFor has writes wait the longer the further the engine is behind.
func TestWaitFor(t *testing.T) {
	for _, c := range []struct {
		pressure float64
		bytes    int
		want     time.Duration
	}{
		{0, 64 << 20, 0},
		{1, wholeWrite, longestWait},
		{1, 10 * wholeWrite, longestWait},
		{1, wholeWrite / 2, longestWait / 2},
		{0.5, wholeWrite, longestWait / 4},
	} {
		if got := WaitFor(c.pressure, c.bytes); got != c.want {
			t.Errorf("at %v a write of %d bytes waits %v, want %v", c.pressure, c.bytes, got, c.want)
		}
	}
}

// TestGiveWay ends the wait when it was as long as the pressure asks, and with the context of its caller.
func TestGiveWay(t *testing.T) {
	steps := 0
	pressure := func() float64 { return max(0, 1-float64(steps)/4) }
	GiveWay(t.Context(), pressure, wholeWrite, func(context.Context, time.Duration) { steps++ })
	if steps != 3 { // at a quarter it would wait for 25 ms in all
		t.Errorf("it waited %d steps", steps)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	Pause(ctx, time.Hour)
	GiveWay(ctx, func() float64 { return 1 }, wholeWrite, func(context.Context, time.Duration) { t.Error("it waits for nobody") })
}
