package pgkv

import "sync/atomic"

// counters are what the engine counts itself.
type counters struct {
	trips, commits, conflicts, unknown, retries atomic.Uint64
}

// Metrics are figures for monitoring. Counts grow from the time of Open, the others are
// levels.
type Metrics struct {
	Trips       uint64 // round trips of reads and commits
	Commits     uint64 // Updates that wrote
	Conflicts   uint64 // closures that were run again
	Unknown     uint64 // commits of which it is not known whether they happened
	Retries     uint64 // first trips that were made again, on another connection
	Connections int    // open ones
	Busy        int    // of those, in use
	Waits       uint64 // times that a call had to wait for a connection
}

// Metrics returns the figures of this moment.
func (e *Engine) Metrics() Metrics {
	views, writes := e.views.pool.Stat(), e.writes.pool.Stat()
	return Metrics{
		Trips:       e.stats.trips.Load(),
		Commits:     e.stats.commits.Load(),
		Conflicts:   e.stats.conflicts.Load(),
		Unknown:     e.stats.unknown.Load(),
		Retries:     e.stats.retries.Load(),
		Connections: int(views.TotalConns() + writes.TotalConns()),
		Busy:        int(views.AcquiredConns() + writes.AcquiredConns()),
		Waits:       e.views.waits.Load() + e.writes.waits.Load(),
	}
}
