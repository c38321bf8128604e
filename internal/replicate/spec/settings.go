package spec

import (
	"time"

	"github.com/sectional/sectional/internal/config"
)

// Settings are what the section [replicator] says of single replications: what
// they may reach, and what counts where they say nothing themselves.
type Settings struct {
	EndpointProtocols []string
	ProxyProtocols    []string
	NoCheckpoints     bool
	NoBulkGet         bool
	CheckpointEvery   time.Duration
	Timeout           time.Duration
	Batch             int
	Workers           int
	Connections       int
	Retries           int
	// UserJobs is how many replications a user may have, and UserBytes how long the texts that ask for them may be together; 0: no limit.
	UserJobs  int
	UserBytes int64
}

// ParseSettings parses them, with CouchDB's names and values.
func ParseSettings(s *config.Snapshot) *Settings {
	const section = "replicator"
	read := func(name string, l limit, or int64) int { return l.clip(s.Int(section, name, or)) }
	span := func(name string, or int64) time.Duration {
		d := s.Duration(section, name, time.Millisecond, time.Duration(or)*time.Millisecond)
		return time.Duration(milliseconds.clip(d.Milliseconds())) * time.Millisecond
	}
	list := func(name string, or ...string) []string {
		if l := s.List(section, name); l != nil {
			return l
		}
		return or
	}
	return &Settings{
		EndpointProtocols: list("valid_endpoint_protocols", "http", "https"),
		ProxyProtocols:    list("valid_proxy_protocols", "http", "https", "socks5"),
		NoCheckpoints:     !s.Bool(section, "use_checkpoints", true),
		NoBulkGet:         !s.Bool(section, "use_bulk_get", true),
		CheckpointEvery:   span("checkpoint_interval", 30_000),
		Timeout:           span("connection_timeout", 30_000),
		Batch:             read("worker_batch_size", batches, 500),
		Workers:           read("worker_processes", workers, 4),
		Connections:       read("http_connections", connections, 20),
		Retries:           read("retries_per_request", retries, 5),
		UserJobs:          int(max(0, min(s.Int(section, "max_jobs_per_user", 100), 1_000_000))),
		UserBytes:         max(0, s.Int(section, "max_bytes_per_user", 8_000_000)),
	}
}

// limit bounds a figure: whoever may ask for replications must not thereby take
// the server's memory or connections.
type limit struct{ min, max int64 }

var (
	batches      = limit{1, 5000}
	workers      = limit{1, 32}
	connections  = limit{1, 200}
	retries      = limit{0, 100}
	milliseconds = limit{100, 3_600_000}
)

func (l limit) clip(n int64) int { return int(max(l.min, min(n, l.max))) }

func (s *Settings) defaults() *Replication {
	return &Replication{
		NoCheckpoints: s.NoCheckpoints, NoBulkGet: s.NoBulkGet, CheckpointEvery: s.CheckpointEvery, Timeout: s.Timeout,
		Batch: s.Batch, Workers: s.Workers, Connections: s.Connections, Retries: s.Retries,
	}
}
