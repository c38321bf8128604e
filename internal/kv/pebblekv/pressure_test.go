package pebblekv

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
)

// TestPressure checks how far behind the engine is by what lies in it.
func TestPressure(t *testing.T) {
	for _, c := range []struct {
		sublevels       int
		memTables, want float64
	}{
		{0, 1, 0},
		{sublevelsLow, memTablesLow, 0},
		{(sublevelsLow + sublevelsMost) / 2, 1, 0.5},
		{sublevelsMost, 1, 1},
		{sublevelsMost + 10, 1, 1},
		{0, memTablesMost, 1},
		{(sublevelsLow + sublevelsMost) / 2, memTablesMost, 1},
	} {
		if got := pressureOf(c.sublevels, c.memTables); got != c.want {
			t.Errorf("%d tables over each other, %v memtables: %v, want %v", c.sublevels, c.memTables, got, c.want)
		}
	}
}

// TestPressureOfNew loads a new engine, whose memtables begin small: that there are
// many of them is no reason to wait.
func TestPressureOfNew(t *testing.T) {
	e := open(t, Options{FS: vfs.NewMem()})
	defer e.Close()
	for n := range 8 {
		err := e.Update(context.Background(), func(tx kv.Txn) error { return tx.Put(fmt.Append(nil, n), make([]byte, 1<<20)) })
		if err != nil {
			t.Fatal(err)
		}
		e.pressing.asked = time.Time{}
		if p := e.Pressure(); p > 0 {
			t.Errorf("after %d MB: %v", n+1, p)
		}
	}
}

// TestGivesWay lets tables pile up in an engine that compacts nothing: large
// commits wait, small ones do not, and Pebble never has to stop writes.
func TestGivesWay(t *testing.T) {
	e := open(t, Options{FS: vfs.NewMem(), tune: func(p *pebble.Options) { p.DisableAutomaticCompactions = true }})
	defer e.Close()
	var waited time.Duration
	e.wait = func(_ context.Context, d time.Duration) { waited += d }
	put := func(bytes int) time.Duration {
		t.Helper()
		waited = 0
		e.pressing.asked = time.Time{} // a moment has passed
		err := e.Update(context.Background(), func(tx kv.Txn) error { return tx.Put([]byte("key"), make([]byte, bytes)) })
		if err != nil {
			t.Fatal(err)
		}
		return waited
	}
	var before float64
	for n := range sublevelsMost - 1 {
		if err := e.db.Flush(); err != nil {
			t.Fatal(err)
		}
		e.pressing.asked = time.Time{}
		p := e.Pressure()
		if p < before || p > 0 != (n > sublevelsLow) {
			t.Fatalf("%d tables over each other: %v after %v", n, p, before)
		}
		before = p
		if w := put(2 << 20); w > 0 != (p > 0) {
			t.Fatalf("at %v a large commit waited %v", p, w)
		}
		if w := put(100); w > 0 {
			t.Fatalf("at %v a small commit waited %v", p, w)
		}
	}
	if m := e.Metrics(); m.GaveWay == 0 || m.WriteStalls > 0 {
		t.Errorf("gave way %d times, stalled %d times", m.GaveWay, m.WriteStalls)
	}
}
