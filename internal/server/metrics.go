package server

import (
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/web"
)

// gauges returns the engine's figures as the face shows them.
func gauges(e *pebblekv.Engine) func() []web.Gauge {
	return func() []web.Gauge {
		m := e.Metrics()
		level := func(name, help string, v float64) web.Gauge {
			return web.Gauge{Name: name, Help: help, Value: v}
		}
		count := func(name, help string, v float64) web.Gauge {
			return web.Gauge{Name: name, Help: help, Value: v, Counter: true}
		}
		stopped, full := 0.0, 0.0
		if m.Stopped {
			stopped = 1
		}
		if m.Full {
			full = 1
		}
		return []web.Gauge{
			count("storage_commits_total", "Transactions that wrote.", float64(m.Commits)),
			count("storage_conflicts_total", "Transactions that were run again.", float64(m.Conflicts)),
			level("storage_disk_bytes", "Bytes in the data directory.", float64(m.DiskBytes)),
			level("storage_tables", "Table files.", float64(m.TableFiles)),
			level("storage_read_amplification", "Tables that a read may have to look at.", float64(m.ReadAmplification)),
			level("storage_log_bytes", "Bytes in the write-ahead log.", float64(m.WALBytes)),
			count("storage_log_written_bytes_total", "Bytes written to the write-ahead log.", float64(m.WALBytesWritten)),
			level("storage_memtable_bytes", "Bytes in tables in memory.", float64(m.MemTableBytes)),
			level("storage_cache_bytes", "Bytes in the block cache.", float64(m.CacheBytes)),
			count("storage_cache_hits_total", "Blocks found in the cache.", float64(m.CacheHits)),
			count("storage_cache_misses_total", "Blocks not found in the cache.", float64(m.CacheMisses)),
			level("storage_compaction_debt_bytes", "Bytes that wait to be compacted, estimated.", float64(m.CompactionDebtBytes)),
			count("storage_compactions_total", "Compactions finished.", float64(m.Compactions)),
			count("storage_compaction_written_bytes_total", "Bytes written by compactions.", float64(m.CompactionBytesWritten)),
			count("storage_stalls_total", "Times that writes waited for compaction.", float64(m.WriteStalls)),
			count("storage_stall_seconds_total", "Seconds that writes waited for compaction.", m.StallSeconds),
			level("storage_longest_stall_seconds", "The longest time that writes waited for compaction.", m.LongestStallSeconds),
			count("storage_gave_way_total", "Times that a large commit waited for compaction before writes had to.", float64(m.GaveWay)),
			level("storage_pressure", "How far compaction is behind: 1 when all writes are about to wait.", e.Pressure()),
			count("storage_background_errors_total", "Failures in the engine's background.", float64(m.BackgroundErrors)),
			level("storage_full", "1 if the disk has no room and writes are refused.", full),
			level("storage_stopped", "1 if the engine takes no writes any more.", stopped),
		}
	}
}
