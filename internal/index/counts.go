package index

import (
	"time"

	"github.com/sectional/sectional/internal/store"
)

// Counts are figures of what this process does with indexes that follow the feeds of their databases, so that those of
// several servers of a store can be added up. Tenants' indexes, and those that nobody keeps up to date, catch up when
// they are asked, and are not among what lags.
type Counts struct {
	Building int // builds under way
	Behind   int // indexes that changes wait for, of the databases that this process has lately been at
	// Changes is how many wait, Most of them for one index.
	Changes, Max uint64
}

// backlog is how far an index was from the end of its feed when the background looked at it last.
type backlog struct {
	changes uint64
	at      time.Time
	busy    bool // the background is at it
}

const (
	// staleBehind is after how long it is no longer known how far an index is that nobody was at: another
	// server may be. What fails is tried again within a minute.
	staleBehind = 2 * time.Minute
	// maxBehindKept is how many are remembered.
	maxBehindKept = 10_000
)

// lags notes how far an index is from the end of its feed; busy says that the background is at it.
func (x *Indexes) lags(d *store.Database, ix *Index, changes uint64, busy bool) {
	key := taskKey{d.Number(), ix.Number}
	x.tasks.Lock()
	defer x.tasks.Unlock()
	if changes == 0 && !busy {
		delete(x.tasks.behind, key)
		return
	}
	now := x.clock()
	if _, known := x.tasks.behind[key]; !known && len(x.tasks.behind) >= maxBehindKept {
		if x.dropStale(now); len(x.tasks.behind) >= maxBehindKept {
			return // they say enough
		}
	}
	x.tasks.behind[key] = backlog{changes, now, busy}
}

// dropStale forgets what is not known any more. x.tasks is locked.
func (x *Indexes) dropStale(now time.Time) {
	for key, b := range x.tasks.behind {
		if !b.busy && now.Sub(b.at) > staleBehind {
			delete(x.tasks.behind, key)
		}
	}
}

// left returns how many changes an index has not taken in that is to come to sequences; 0 as long as nobody knows.
func (t *task) left(to store.Sequences) uint64 {
	t.state.Lock()
	defer t.state.Unlock()
	if !t.state.known || to.Seq <= t.state.reached.Seq {
		return 0
	}
	return uint64(to.Seq - t.state.reached.Seq)
}

// Counts returns the figures. It reads no row.
func (x *Indexes) Counts() (c Counts) {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	x.dropStale(x.clock())
	c.Building = len(x.tasks.building)
	for _, b := range x.tasks.behind {
		if b.changes > 0 {
			c.Behind++
			c.Changes += b.changes
			c.Max = max(c.Max, b.changes)
		}
	}
	return c
}
