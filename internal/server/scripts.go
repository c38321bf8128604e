package server

import (
	"log/slog"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

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
