package server

import (
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/kv/pgkv"
	"github.com/sectional/sectional/internal/web"
)

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// gauges returns PostgreSQL's figures as this server sees them.
func (e shared) gauges() []web.Gauge { return sharedGauges(e.Metrics(), e.health()) }

func sharedGauges(m pgkv.Metrics, health string) []web.Gauge {
	return []web.Gauge{
		web.Level("storage_away", "1 if the PostgreSQL server does not answer.", truth(health == "away")),
		web.Level("storage_full", "1 if there is no room and writes are refused.", truth(health == "full")),
		web.Count("storage_commits_total", "Transactions that wrote.", float64(m.Commits)),
		web.Count("storage_conflicts_total", "Transactions that were run again.", float64(m.Conflicts)),
		web.Count("storage_trips_total", "Round trips to the PostgreSQL server.", float64(m.Trips)),
		web.Count("storage_unknown_total", "Commits of which it is not known whether they happened.", float64(m.Unknown)),
		web.Count("storage_retries_total", "Connections that were lost before anything was read by them.", float64(m.Retries)),
		web.Count("storage_connection_waits_total", "Times that a connection had to be waited for.", float64(m.Waits)),
		web.Level("storage_connections", "Connections to the PostgreSQL server.", float64(m.Connections)),
		web.Level("storage_connections_busy", "Those of them that are in use.", float64(m.Busy)),
	}
}

// gauges returns the engine's figures as the face shows them.
func (e embedded) gauges() []web.Gauge { return embeddedGauges(e.Metrics(), e.Pressure(), e.Left()) }

func embeddedGauges(m pebblekv.Metrics, pressure float64, left int64) []web.Gauge {
	return []web.Gauge{
		web.Count("storage_commits_total", "Transactions that wrote.", float64(m.Commits)),
		web.Count("storage_conflicts_total", "Transactions that were run again.", float64(m.Conflicts)),
		web.Level("storage_disk_bytes", "Bytes in the data directory.", float64(m.DiskBytes)),
		web.Level("storage_left_bytes", "Room that is left for files in the data directory, beyond what is kept free.", float64(left)),
		web.Level("storage_tables", "Table files.", float64(m.TableFiles)),
		web.Level("storage_read_amplification", "Tables that a read may have to look at.", float64(m.ReadAmplification)),
		web.Level("storage_log_bytes", "Bytes in the write-ahead log.", float64(m.WALBytes)),
		web.Count("storage_log_written_bytes_total", "Bytes written to the write-ahead log.", float64(m.WALBytesWritten)),
		web.Level("storage_memtable_bytes", "Bytes in tables in memory.", float64(m.MemTableBytes)),
		web.Level("storage_cache_bytes", "Bytes in the block cache.", float64(m.CacheBytes)),
		web.Count("storage_cache_hits_total", "Blocks found in the cache.", float64(m.CacheHits)),
		web.Count("storage_cache_misses_total", "Blocks not found in the cache.", float64(m.CacheMisses)),
		web.Level("storage_compaction_debt_bytes", "Bytes that wait to be compacted, estimated.", float64(m.CompactionDebtBytes)),
		web.Count("storage_compactions_total", "Compactions finished.", float64(m.Compactions)),
		web.Count("storage_compaction_written_bytes_total", "Bytes written by compactions.", float64(m.CompactionBytesWritten)),
		web.Count("storage_stalls_total", "Times that writes waited for compaction.", float64(m.WriteStalls)),
		web.Count("storage_stall_seconds_total", "Seconds that writes waited for compaction.", m.StallSeconds),
		web.Level("storage_longest_stall_seconds", "The longest time that writes waited for compaction.", m.LongestStallSeconds),
		web.Count("storage_gave_way_total", "Times that a large commit waited for compaction before writes had to.", float64(m.GaveWay)),
		web.Level("storage_pressure", "How far compaction is behind: 1 when all writes are about to wait.", pressure),
		web.Count("storage_background_errors_total", "Failures in the engine's background.", float64(m.BackgroundErrors)),
		web.Level("storage_full", "1 if there is no room and writes are refused.", truth(m.Full)),
		web.Level("storage_stopped", "1 if the engine takes no writes any more.", truth(m.Stopped)),
	}
}

// gauges returns how many connections there are, and may be.
func (cs *connections) gauges() []web.Gauge {
	cs.mu.Lock()
	open := cs.all
	cs.mu.Unlock()
	return []web.Gauge{
		web.Level("connections_open", "Connections of clients.", float64(open)),
		web.Level("connections_most", "Connections that there may be.", float64(cs.limits().all)),
		web.Count("connections_refused_total", "Connections for which there was no room.", float64(cs.refused.Load())),
		web.Count("connections_evicted_total", "Connections that were closed while their clients were waited for, to make room.", float64(cs.evicted.Load())),
	}
}
