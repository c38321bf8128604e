package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/kv/pgkv"
	"github.com/sectional/sectional/internal/web"
)

// The engines there are.
const (
	engineEmbedded = "embedded" // Pebble, in the data directory
	enginePostgres = "postgres" // a PostgreSQL server, which others may share
)

// EngineOptions say which engine keeps the data. What is "" is as the configuration says.
type EngineOptions struct {
	Engine   string // engineEmbedded or enginePostgres
	Postgres string // the URL of the server for the latter
	Memory   bool   // Pebble in memory: the data lives as long as the server
}

// unsafeVariable is the variable of the environment by which tests allow a PostgreSQL server that
// has fsync off.
const unsafeVariable = "SECTIONAL_TEST_FSYNC_OFF"

// CheckEngine looks at what was asked for.
func CheckEngine(o EngineOptions) error {
	switch {
	case o.Engine != "" && o.Engine != engineEmbedded && o.Engine != enginePostgres:
		return fmt.Errorf("--engine is %s or %s, not %s", engineEmbedded, enginePostgres, o.Engine)
	case o.Postgres != "" && o.Engine != enginePostgres:
		return errors.New("--postgres is the server for --engine postgres, which is not there")
	}
	return nil
}

// engine is what the server asks of an engine beside the contract.
type engine interface {
	kv.Engine
	gauges() []web.Gauge
	name() string            // as `_versions` says
	health() string          // what `_up` says of it
	follow(*config.Snapshot) // heed the settings, now and at each change
	Left() int64             // room for files in the data directory
	Abandon()                // have a Close that waits for the disk come to its end
}

// embedded is Pebble as an engine of the server.
type embedded struct{ *pebblekv.Engine }

func (e embedded) name() string { return "pebble" }

func (e embedded) health() string {
	switch {
	case e.Stopped():
		return "stopped"
	case e.Room() != nil:
		return "full"
	}
	return "ok"
}

// follow keeps free what the settings say.
func (e embedded) follow(s *config.Snapshot) {
	e.KeepFree(pebblekv.Space{
		MinFree: s.Int("sectional", "min_free", 512<<20),
		Reserve: s.Int("sectional", "reserve", 64<<20),
	})
}

// shared is PostgreSQL as an engine of the server. The data directory has only what is this
// machine's own, and copies; so it is locked here.
type shared struct {
	*pgkv.Engine
	lock io.Closer
}

func (e shared) name() string { return "postgresql" }
func (e shared) health() string {
	switch {
	case e.Away():
		return "away"
	case e.Full():
		return "full"
	}
	return "ok"
}

func (e shared) follow(*config.Snapshot) {}
func (e shared) Abandon()                {}

// Left implements engine: copies of segments that find no room are left out.
func (e shared) Left() int64 { return math.MaxInt64 }

// Close implements kv.Engine.
func (e shared) Close() error { return errors.Join(e.Engine.Close(), e.lock.Close()) }

// openEngine opens the engine that the options name, or the configuration.
func openEngine(ctx context.Context, data string, o EngineOptions, s *config.Snapshot, memory sizes, log *slog.Logger) (engine, error) {
	if o.Engine == "" && !o.Memory {
		o.Engine = s.String("engine", "name", engineEmbedded)
	}
	switch o.Engine {
	case engineEmbedded, "":
		settings := pebblekv.Options{Dir: data, Logger: log, OpenFiles: storeFiles(descriptors()), CacheBytes: memory.cache, MemTableMost: memory.memTable}
		if o.Memory {
			settings.FS = vfs.NewMem()
		}
		e, err := pebblekv.Open(settings)
		if err != nil {
			return nil, err
		}
		return embedded{e}, nil
	case enginePostgres:
		return openShared(ctx, data, o, s, log)
	}
	return nil, fmt.Errorf("[engine] name is %s or %s, not %s", engineEmbedded, enginePostgres, o.Engine)
}

// openShared takes the data directory and connects.
func openShared(ctx context.Context, data string, o EngineOptions, s *config.Snapshot, log *slog.Logger) (engine, error) {
	options := postgresOptions(o, s, log)
	if err := wantURL(options.URL); err != nil {
		return nil, err
	}
	lock, err := pebblekv.LockDirectory(data)
	if err != nil {
		return nil, err
	}
	e, err := pgkv.Open(ctx, options)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return shared{e, lock}, nil
}

// postgresOptions are the settings of [engine], and the URL that goes before the one there.
func postgresOptions(o EngineOptions, s *config.Snapshot, log *slog.Logger) pgkv.Options {
	url := o.Postgres
	if url == "" {
		url = s.String("engine", "url", "")
	}
	return pgkv.Options{
		URL:         url,
		Schema:      s.String("engine", "schema", ""),
		Connections: int(s.Int("engine", "connections", 32)),
		Commit:      s.String("engine", "synchronous_commit", ""),
		RetryFor:    s.Duration("engine", "patience", time.Second, 10*time.Second),
		Unsafe:      os.Getenv(unsafeVariable) != "",
		Logger:      log,
	}
}

// wantURL refuses to take some PostgreSQL server that nobody has named, which a client of PostgreSQL would look for on
// this machine.
func wantURL(url string) error {
	if url != "" || os.Getenv("PGHOST") != "" || os.Getenv("PGSERVICE") != "" {
		return nil
	}
	return errors.New("no PostgreSQL server configured: set it with --postgres postgres://USER@HOST/DATABASE, or in [engine] url, or in $PGHOST")
}

// openForCheck opens an engine whose snapshots live as long as a check takes. Without a name it is the
// one in the directory, where everything stays as it is.
func openForCheck(ctx context.Context, data string, o EngineOptions) (kv.Engine, error) {
	log := slog.New(slog.DiscardHandler)
	if o.Engine != enginePostgres {
		return pebblekv.Open(pebblekv.Options{Dir: data, Logger: log, Age: checkAge, ReadOnly: true})
	}
	c, err := config.Open(config.Options{})
	if err != nil {
		return nil, err
	}
	options := postgresOptions(o, c.Snapshot(), log)
	if err := wantURL(options.URL); err != nil {
		return nil, err
	}
	options.Age = checkAge
	return pgkv.Open(ctx, options)
}

// checkAge is how long a check may read one snapshot.
const checkAge = 24 * time.Hour
