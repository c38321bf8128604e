package assembly

import (
	"log/slog"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// storeOptions are the store's: what this server is, what admits its writes and keeps its indexes, and what the configuration
// says.
func (s *Server) storeOptions(o Options) store.Options {
	of := o.Store
	of.Logger, of.Tracer, of.Idle = s.Log, o.Tracer, of.Idle || o.Idle
	of.Admission, of.Indexer, of.Followers = s.Rules, s.Indexes, []store.Follower{subscribe.Rows{}}
	of.KeepSuperseded = s.Config.Snapshot().Duration("sectional", "keep_superseded", time.Second, 10*time.Minute)
	of.MaxPartition, of.MaxConflicts, of.MaxQueued = maxPartition(s.Config), maxConflicts(s.Config), maxQueued(s.Config)
	of.DesignLimits, of.DeletedTTL = designLimits(s.Config), deletedTTL(s.Config, s.Log)
	return of
}

// maxPartition returns the setting of that name as the store asks for it.
func maxPartition(c *config.Config) func() uint64 {
	size := config.Derive(c, func(s *config.Snapshot) uint64 {
		return uint64(max(0, s.Int("couchdb", "max_partition_size", 0)))
	})
	return size.Value
}

// maxConflicts returns how many conflicts a document may have, 0 for no limit.
func maxConflicts(c *config.Config) func() int {
	most := config.Derive(c, func(s *config.Snapshot) int { return int(max(0, s.Int("sectional", "max_conflicts", 10000))) })
	return most.Value
}

// maxQueued returns how many bytes of writes may wait, 0 for no limit.
func maxQueued(c *config.Config) func() int64 {
	most := config.Derive(c, func(s *config.Snapshot) int64 { return max(0, s.Int("sectional", "max_queued_writes", 128<<20)) })
	return most.Value
}

// deletedTTL returns the age at which tombstones are dropped where a database does
// not say. What is not a period counts as none.
func deletedTTL(c *config.Config, log *slog.Logger) func() time.Duration {
	age := config.Derive(c, func(s *config.Snapshot) time.Duration {
		text := s.String("couch_auto_purge_plugin", "deleted_document_ttl", "")
		if text == "" {
			return 0
		}
		p, err := store.ParsePeriod(text)
		if err != nil {
			log.Warn("[couch_auto_purge_plugin] deleted_document_ttl is not a period: tombstones are kept", "value", text)
		}
		return p.Length
	})
	return age.Value
}

// openScripts makes the pool in which design functions run, with the limits
// that the configuration gives when the server starts.
func openScripts(s *config.Snapshot, log *slog.Logger) (*script.Pool, error) {
	return script.New(script.Options{
		Limits: script.Limits{
			Time:   s.Duration("couchdb", "os_process_timeout", time.Millisecond, 5*time.Second),
			Memory: s.Int("quickjs", "memory_limit_bytes", 256<<20),
		},
		Children: int(s.Int("query_server_config", "os_process_limit", 0)),
		Idle:     s.Duration("query_server_config", "os_process_idle_limit", time.Second, 5*time.Minute),
		Logger:   log,
	})
}

// cloudantLimits reports whether [sectional] limits asks for Cloudant's.
func cloudantLimits(c *config.Config) func() bool {
	return config.Derive(c, func(s *config.Snapshot) bool {
		return s.String("sectional", "limits", "couchdb") == "cloudant"
	}).Value
}

// tenantDesigns reports whom [sectional] owner_design_docs lets write design documents
// of partitions; a word that is none of its values lets nobody.
func tenantDesigns(c *config.Config) func() admission.Writers {
	return config.Derive(c, func(s *config.Snapshot) admission.Writers {
		return admission.Writers(s.String("sectional", "owner_design_docs", "views"))
	}).Value
}

// tenantDesignSize returns how many bytes a design document of a partition may have, 0
// for no limit.
func tenantDesignSize(c *config.Config) func() int {
	return config.Derive(c, func(s *config.Snapshot) int { return int(max(0, s.Int("sectional", "owner_max_design_size", 65536))) }).Value
}

// designLimits returns how many design documents and indexes a partition may have.
func designLimits(c *config.Config) func() store.DesignLimits {
	return config.Derive(c, func(s *config.Snapshot) store.DesignLimits {
		return store.DesignLimits{
			Documents: int(max(0, s.Int("sectional", "owner_max_design_docs", 50))),
			Indexes:   int(max(0, s.Int("sectional", "owner_max_indexes", 50))),
		}
	}).Value
}
