package pebblekv

import (
	"context"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Writes leave work behind: memtables to be flushed, and the tables of flushes,
// which lie over each other in level 0, to be merged into the levels below. When
// writes come faster than that for long, Pebble makes all of them wait, for
// seconds, until there is room. So the engine gives way before: the more there is
// left to do, the longer each large commit waits. Small ones, on which somebody
// waits, do not: they add little.

// pressing remembers how far behind the engine was a moment ago.
type pressing struct {
	sync.Mutex
	asked     time.Time
	value     float64
	sublevels int // of level 0
}

// pressingFor is how long an answer of Pressure holds: asking Pebble costs some
// tens of microseconds.
const pressingFor = 10 * time.Millisecond

// Pressure implements kv.Presser.
func (e *Engine) Pressure() float64 {
	if !e.open.TryRLock() {
		return 0 // closed
	}
	defer e.open.RUnlock()
	return e.pressure()
}

// pressure is Pressure for a call that has entered.
func (e *Engine) pressure() float64 {
	value, _ := e.backlog()
	return value
}

// backlog returns the pressure, and how many tables lie over each other in level 0.
func (e *Engine) backlog() (pressure float64, sublevels int) {
	p := &e.pressing
	p.Lock()
	defer p.Unlock()
	if now := time.Now(); now.Sub(p.asked) >= pressingFor {
		m := e.db.Metrics()
		p.asked, p.sublevels = now, int(m.Levels[0].Sublevels)
		p.value = pressureOf(p.sublevels, float64(m.MemTable.Size)/float64(e.memTable))
	}
	return p.value, p.sublevels
}

// pressureOf tells from how many tables of level 0 lie over each other, and from
// how many memtables what is not flushed would fill, how near Pebble is to making
// all writes wait. Their number would tell nothing: they begin small, and a large
// batch is one by itself.
func pressureOf(sublevels int, memTables float64) float64 {
	part := func(n, low, most float64) float64 { return min(max(0, (n-low)/(most-low)), 1) }
	return max(part(float64(sublevels), sublevelsLow, sublevelsMost), part(memTables, memTablesLow, memTablesMost))
}

// largeCommit is from how many bytes on a commit gives way.
const largeCommit = 128 << 10

// giveWay lets a large commit wait while the engine is behind. It is called before
// the commit mutex is taken.
func (e *Engine) giveWay(ctx context.Context, bytes int) {
	if bytes < largeCommit || e.pressure() == 0 {
		return
	}
	e.stats.gaveWay.Add(1)
	kv.GiveWay(ctx, e.pressure, bytes, e.wait)
}
