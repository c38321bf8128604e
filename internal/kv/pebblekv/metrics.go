package pebblekv

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// counters are what the engine counts itself.
type counters struct {
	commits, conflicts, stalls, gaveWay, backgroundErrors, misuses atomic.Uint64
	stalledAt, stalled, longestStall                               atomic.Int64 // nanoseconds: when the last one began, how long all took, and one
}

// listener counts and logs what an operator should know of, and hears when tables
// have taken the place of memtables or other tables.
func (e *Engine) listener() *pebble.EventListener {
	log, c := e.log, &e.stats
	return &pebble.EventListener{
		FlushEnd:      e.flushed,
		CompactionEnd: e.compacted,
		BackgroundError: func(err error) {
			// Pebble tries again at once: log the 1st, 2nd, 4th, 8th …
			if n := c.backgroundErrors.Add(1); n&(n-1) == 0 {
				log.Error("the storage engine failed in the background", "times", n, "err", err.Error())
			}
		},
		WriteStallEnd: c.stallEnded,
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			c.stallBegan()
			log.Info("writes wait for compaction", "reason", info.Reason)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("damaged data", "path", info.Path, "err", info.Details)
		},
		PossibleAPIMisuse: func(info pebble.PossibleAPIMisuseInfo) {
			c.misuses.Add(1)
			log.Error("a key deleted once was not put exactly once", "info", info.String())
		},
	}
}

// stallBegan notes that all writes wait from now on. Pebble reports one stall at a
// time.
func (c *counters) stallBegan() {
	c.stalls.Add(1)
	c.stalledAt.Store(time.Now().UnixNano())
}

// stallEnded notes how long they waited.
func (c *counters) stallEnded() {
	took := time.Now().UnixNano() - c.stalledAt.Load()
	c.stalled.Add(took)
	c.longestStall.Store(max(c.longestStall.Load(), took))
}

// Metrics are figures for monitoring. Counts and byte totals named after a verb
// grow from the time of Open, the others are levels.
type Metrics struct {
	Commits, Conflicts       uint64 // Updates that wrote; closures that were rerun
	DiskBytes                uint64 // everything in the directory
	TableBytes, BlobBytes    uint64
	TableFiles               uint64
	L0Files, L0Sublevels     int64
	ReadAmplification        int
	WALBytes, WALFiles       uint64
	WALBytesWritten          uint64
	MemTableBytes            uint64
	MemTables                int64
	CacheBytes               int64
	CacheHits, CacheMisses   int64
	FilterHits, FilterMisses int64
	Tombstones               uint64
	Snapshots                int
	CompactionDebtBytes      uint64
	Compactions, Flushes     int64
	CompactionsRunning       int64
	CompactionBytesWritten   uint64
	CompactionSeconds        float64
	WriteStalls              uint64 // times that all writes had to wait
	StallSeconds             float64
	LongestStallSeconds      float64
	GaveWay                  uint64 // times that a large commit waited so that it does not come to that
	BackgroundErrors         uint64
	SingleDeleteMisuses      uint64
	Stopped                  bool // the engine takes no writes any more
	Full                     bool // the disk is full: writes are refused for now
}

// Metrics returns the figures of this moment.
func (e *Engine) Metrics() Metrics {
	m := e.db.Metrics()
	total := m.Total()
	return Metrics{
		Commits:                e.stats.commits.Load(),
		Conflicts:              e.stats.conflicts.Load(),
		DiskBytes:              m.DiskSpaceUsage(),
		TableBytes:             uint64(total.TablesSize),
		BlobBytes:              m.BlobFiles.LiveSize,
		TableFiles:             uint64(total.TablesCount),
		L0Files:                m.Levels[0].TablesCount,
		L0Sublevels:            int64(m.Levels[0].Sublevels),
		ReadAmplification:      m.ReadAmp(),
		WALBytes:               m.WAL.PhysicalSize,
		WALFiles:               uint64(m.WAL.Files),
		WALBytesWritten:        m.WAL.BytesWritten,
		MemTableBytes:          m.MemTable.Size + m.MemTable.ZombieSize,
		MemTables:              m.MemTable.Count + m.MemTable.ZombieCount,
		CacheBytes:             m.BlockCache.Size,
		CacheHits:              m.BlockCache.Hits,
		CacheMisses:            m.BlockCache.Misses,
		FilterHits:             m.Filter.Hits,
		FilterMisses:           m.Filter.Misses,
		Tombstones:             m.Keys.TombstoneCount,
		Snapshots:              m.Snapshots.Count,
		CompactionDebtBytes:    m.Compact.EstimatedDebt,
		Compactions:            m.Compact.Count,
		Flushes:                m.Flush.Count,
		CompactionsRunning:     m.Compact.NumInProgress,
		CompactionBytesWritten: total.TableBytesCompacted,
		CompactionSeconds:      m.Compact.Duration.Seconds(),
		WriteStalls:            e.stats.stalls.Load(),
		StallSeconds:           time.Duration(e.stats.stalled.Load()).Seconds(),
		LongestStallSeconds:    time.Duration(e.stats.longestStall.Load()).Seconds(),
		GaveWay:                e.stats.gaveWay.Load(),
		BackgroundErrors:       e.stats.backgroundErrors.Load(),
		SingleDeleteMisuses:    e.stats.misuses.Load(),
		Stopped:                e.stopped() != nil,
		Full:                   e.Room() != nil,
	}
}
