package pebblekv

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Engine {
		return open(t, Options{FS: vfs.NewMem(), Now: now})
	})
}

// TestConformanceOfTables has every transaction become tables that can.
func TestConformanceOfTables(t *testing.T) {
	testrun.Sequential(t)
	var taken atomic.Int64
	t.Run("suite", func(t *testing.T) {
		kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Engine {
			e := open(t, Options{FS: vfs.NewMem(), Now: now, bulk: 1})
			t.Cleanup(func() { taken.Add(e.bulks.taken.Load()) })
			return e
		})
	})
	if n := taken.Load(); n < 100 {
		t.Errorf("%d transactions became tables", n)
	}
}

// open opens an engine in a memory file system or in a temporary directory.
func open(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Dir == "" {
		o.Dir = "data"
		if o.FS == nil {
			o.Dir = t.TempDir()
		}
	}
	e, err := Open(quiet(o))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return e
}

// quiet takes the log away, and the time that the engine waits for a failing disk.
func quiet(o Options) Options {
	o.Logger = slog.New(slog.DiscardHandler)
	if o.Now == nil {
		o.Now, o.pause = leaping()
	}
	return o
}

// leaping returns a clock that a pause moves on at once.
func leaping() (now func() time.Time, pause func(time.Duration, <-chan struct{})) {
	var leaps atomic.Int64
	return func() time.Time { return time.Now().Add(time.Duration(leaps.Load())) },
		func(d time.Duration, _ <-chan struct{}) { leaps.Add(int64(d)) }
}
