package pebblekv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
)

// TestReading counts Views over a window of time.
func TestReading(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	few := uint64(readsOver.Seconds() * readingRate * float64(runtime.GOMAXPROCS(0)))
	for _, step := range []struct {
		views  uint64
		passed time.Duration
		want   bool
	}{
		{1000, 0, false},             // over all of time
		{10 * few, readsOver, true},  // many
		{0, readsOver / 2, true},     // the window is not over
		{0, readsOver / 2, false},    // none in it
		{few, readsOver, false},      // too few
		{few + 1, readsOver, true},   // enough
		{few, readsOver * 10, false}, // not for so long
	} {
		now = now.Add(step.passed)
		p.views.Add(step.views)
		if got := p.reading(now); got != step.want {
			t.Errorf("%+v: %v", step, got)
		}
	}
}

// TestCompactionRests compacts with and without readers, on a clock that moves with
// each look at it: the compaction rests only for readers, not for a backlog, and
// what it writes is the same.
func TestCompactionRests(t *testing.T) {
	for _, c := range []struct {
		name    string
		readers uint64 // Views in a millisecond
		behind  bool
		rests   bool
	}{{"readers", 1000, false, true}, {"nobody reads", 0, false, false}, {"behind", 1000, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			var clock, rests atomic.Int64
			var opened atomic.Pointer[Engine]
			e := open(t, Options{FS: vfs.NewMem(), Age: 1000 * time.Hour, tune: small,
				Now: func() time.Time {
					if e := opened.Load(); e != nil {
						e.pace.views.Add(c.readers)
					}
					return time.UnixMilli(clock.Add(1))
				},
				pause: func(d time.Duration, _ <-chan struct{}) {
					rests.Add(1)
					if d <= 0 || d > 4*worked*restFor {
						t.Errorf("a rest of %v", d)
					}
				}})
			defer e.Close()
			opened.Store(e)
			if c.behind {
				e.pressing.asked, e.pressing.value = time.Now().Add(time.Hour), 0.1 // it holds for an hour
			}
			fillAndCompact(t, e)
			if got := rests.Load() > 0; got != c.rests {
				t.Errorf("%d rests", rests.Load())
			}
		})
	}
}

// fillAndCompact writes rows, compacts them and reads them all.
func fillAndCompact(t *testing.T, e *Engine) {
	ctx := context.Background()
	value := func(n int) string { // does not compress
		out := make([]byte, 500)
		random := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range out {
			out[i] = byte(random.Uint32())
		}
		return string(out)
	}
	const rows = 2000
	for n := range rows {
		put := func(tx kv.Txn) error { return tx.Put(fmt.Appendf(nil, "%05d", n*7919%rows), []byte(value(n))) }
		if err := e.Update(ctx, put); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Compact(ctx, kv.Range{Start: []byte("0"), End: []byte("9")}); err != nil {
		t.Fatal(err)
	}
	err := e.View(ctx, func(s kv.Snapshot) error {
		for n := range rows {
			if got, err := s.Get(fmt.Appendf(nil, "%05d", n*7919%rows)); err != nil || string(got) != value(n) {
				return fmt.Errorf("row %d: %d bytes, %v", n, len(got), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
