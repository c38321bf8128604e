package pgkv

import (
	"log/slog"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// The limits. A row of the index must fit a third of a page: 2,704 bytes with its header, so
// that a key of more than storedKey bytes is kept as kv.LongKeys does. Values are far below what a field may have (1 GiB), and as large as the embedded
// engine's; a transaction is held in memory by both ends while it commits. An old
// snapshot keeps PostgreSQL from cleaning its tables.
const (
	storedKey   = 2600
	maxKey      = 24 << 10
	maxValue    = 8 << 20
	maxTxn      = 64 << 20
	maxAge      = time.Minute
	maxBlocking = 5 * time.Second
)

// longKeys is how keys are stored.
var longKeys = &kv.LongKeys{Stored: storedKey, Key: maxKey, Value: maxValue}

// Options say where the server is and how it is used. Everything but URL may be left zero.
type Options struct {
	URL         string           // as libpq takes it: postgres://user:password@host:port/database?…, or key=value
	Schema      string           // that the table is in; "": sectional
	Connections int              // most connections; 0: 32
	Age         time.Duration    // limit for snapshots and transactions; 0: a minute
	MaxBlocking time.Duration    // how long a transaction may stand still for whose locks others wait; 0: 5 seconds
	RetryFor    time.Duration    // how long a call waits for a server that is away; 0: 10 seconds
	Timeout     time.Duration    // how long one trip may take until the connection counts as lost; 0: a minute
	Commit      string           // synchronous_commit: on, remote_apply or remote_write; "": on
	Unsafe      bool             // take a server that has fsync off: for tests
	Now         func() time.Time // clock for ages; nil: time.Now
	Logger      *slog.Logger     // nil: slog.Default
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = "sectional"
	}
	if o.Connections == 0 {
		o.Connections = 32
	}
	if o.Age == 0 {
		o.Age = maxAge
	}
	if o.MaxBlocking == 0 {
		o.MaxBlocking = maxBlocking
	}
	if o.RetryFor == 0 {
		o.RetryFor = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Commit == "" {
		o.Commit = "on"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// standing is how long a transaction may stand still for which nobody waits.
func (o *Options) standing() time.Duration { return o.Age + 30*time.Second }

// writers is how many connections are for Updates.
func (o *Options) writers() int { return max(o.Connections/3, 2) }

// readers is how many connections are for Views and all else.
func (o *Options) readers() int { return max(o.Connections-o.writers(), 2) }
