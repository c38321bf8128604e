package pebblekv

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A compaction takes a processor for seconds, and on a small machine that is half
// of what readers have. Its work can wait as long as the engine is not behind: so
// while many read it rests after every bit of work for restFor times as long, and
// readers keep most of the machine. It goes at full speed when nobody reads, when
// more has come than it carries (pressure.go), and on a disk without room.
// Flushes never rest: what they write is in memory.

// Compactions rest while more than readingRate Views begin in a second for each
// processor, and no more than sublevelsPaced tables lie over each other in level 0.
const (
	readingRate    = 400
	sublevelsPaced = 16
	restFor        = 3
)

// worked is the work after which a compaction looks whether to rest, and readsOver
// is the time over which readers are counted.
const (
	worked    = 2 * time.Millisecond
	readsOver = 20 * time.Millisecond
)

// pace tells compactions when to rest.
type pace struct {
	views atomic.Uint64 // begun so far

	counted struct {
		sync.Mutex
		at      time.Time
		views   uint64
		reading bool
	}
}

// reading reports whether many read now.
func (p *pace) reading(now time.Time) bool {
	c := &p.counted
	c.Lock()
	defer c.Unlock()
	if passed := now.Sub(c.at); passed >= readsOver {
		views := p.views.Load()
		c.reading = float64(views-c.views) > passed.Seconds()*readingRate*float64(runtime.GOMAXPROCS(0))
		c.at, c.views = now, views
	}
	return c.reading
}

// paced is one file's share of a compaction.
type paced struct {
	since time.Time // when the last rest ended
}

// rest returns how long the compaction that has written to its file rests now, 0
// mostly. It is called after each write.
func (e *Engine) rest(c *paced, now time.Time) time.Duration {
	if c.since.IsZero() {
		c.since = now
	}
	work := now.Sub(c.since)
	if work < worked {
		return 0
	}
	c.since = now
	if !e.pace.reading(now) || e.hasWork() {
		return 0
	}
	return restFor * min(work, 4*worked)
}

// hasWork reports whether compactions can't rest: too much is left to be done, or
// there is no room for it to wait.
func (e *Engine) hasWork() bool {
	pressure, sublevels := e.backlog()
	return pressure > 0 || sublevels > sublevelsPaced || e.space.tight.Load() || e.space.full.Load()
}
