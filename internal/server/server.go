package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dynamoapi"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/peers"
	"github.com/sectional/sectional/internal/peruser"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/tracing"
)

// localConfig is the file in the data directory that holds what is changed
// over HTTP, administrators among it.
const localConfig = "local.ini"

// assembly is a server put together, from the bottom up.
type assembly struct {
	o             Options
	log           *slog.Logger
	config        *config.Config
	engine        engine
	release       func() error // removes the file that says that the directory is in use
	control       *control
	tracer        *tracing.Tracer // nil where nothing is traced
	scripts       *script.Pool
	store         *store.Store
	clock         storeClock
	indexes       *index.Indexes
	users         *admission.Users
	replicator    *schedule.Scheduler
	subscriptions *subscribe.Service
	peers         *peers.Peers // nil where the store has no other servers
	endTelling    func()       // the others of tasks
	auth          *auth.Authenticator
	api           *couchhttp.API
	dynamo        *dynamoapi.API
	dynamoAddress string // where it listens; empty: nowhere of its own
	peruser       *peruser.Service
	endSweeps     func()        // of files of full-text indexes
	done          chan struct{} // closed when the server stops: feeds end
	until         time.Time     // when all must have ended; zero as long as it serves
	draining      drainer
	secured       *secured // certificates of HTTPS; nil without it
	audit         *audit
	sizes         sizes
}

// Run serves until ctx ends, drains as long as the configuration says, then lets what
// is in flight come to its end, cuts what takes too long, and takes everything down, in
// less than 5 seconds. It
// returns nil after such an end, and an error if something did not end: then the
// process has to.
func Run(ctx context.Context, o Options) (err error) {
	memory := machineSizes()
	if !o.Embedded {
		defer tuneMemory(os.Getenv, memory.ceiling())()
		maskOthers()
	}
	o.Out, o.Log = o.Progress.Above(o.Out), o.Progress.Above(o.Log)
	a := &assembly{o: o, sizes: memory, done: make(chan struct{})}
	defer func() { err = errors.Join(err, a.closeInTime()) }()
	if err := a.open(ctx); err != nil {
		return err
	}
	ls, err := a.listen()
	if err != nil {
		return err
	}
	if err := a.makeUpAdmin(); err != nil {
		return errors.Join(err, closeAll(ls))
	}
	return a.serve(ctx, ls)
}

// kinds are the kinds of index that there are.
func kinds(views *view.Kind, texts *text.Kind, places *geo.Kind) []index.Kind {
	return []index.Kind{field.Kind{}, views, texts, texts.Nouveau(), geo.Fields{}, places, secondary.Kind{}}
}

// analyzers makes the analyzers of a full-text index.
func analyzers(definition []byte) (text.Analyzers, error) { return analyze.New(definition) }

// nouveauAnalyzers makes those of one of Nouveau's.
func nouveauAnalyzers(definition []byte) (text.Analyzers, error) { return analyze.Nouveau(definition) }

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
// not say. What is no period counts as none.
func deletedTTL(c *config.Config, log *slog.Logger) func() time.Duration {
	age := config.Derive(c, func(s *config.Snapshot) time.Duration {
		text := s.String("couch_auto_purge_plugin", "deleted_document_ttl", "")
		if text == "" {
			return 0
		}
		p, err := store.ParsePeriod(text)
		if err != nil {
			log.Warn("[couch_auto_purge_plugin] deleted_document_ttl is no period: tombstones are kept", "value", text)
		}
		return p.Length
	})
	return age.Value
}

// readConfiguration reads the configuration, and changes nothing.
func (a *assembly) readConfiguration() error {
	overrides, err := listenOverrides(a.o.Listen)
	if err != nil {
		return err
	}
	a.config, err = config.Open(config.Options{
		File: a.o.Config, Local: filepath.Join(a.o.Data, localConfig), Overrides: slices.Concat(a.o.Settings, overrides), Defaults: a.sizes.settings(),
	})
	return err
}

// configure makes sure of an administrator and of the secret for cookies.
func (a *assembly) configure() error {
	if err := a.takeConfiguration(); err != nil {
		return err
	}
	a.logWarnings()
	a.engine.follow(a.config.Snapshot())
	a.config.Subscribe(a.engine.follow)
	if err := a.ensureAdmin(); err != nil {
		return err
	}
	return auth.EnsureSecret(a.config)
}

// logWarnings logs which settings have no effect: now, and those that come with a
// change.
func (a *assembly) logWarnings() {
	var told sync.Map
	follow := func(s *config.Snapshot) {
		now := s.Warnings()
		for _, w := range now {
			if _, before := told.LoadOrStore(w, true); !before {
				a.log.Warn(w)
			}
		}
		told.Range(func(w, _ any) bool {
			if !slices.Contains(now, w.(string)) {
				told.Delete(w)
			}
			return true
		})
	}
	follow(a.config.Snapshot())
	a.config.Subscribe(follow)
}

// logLevels are CouchDB's names for how much is logged.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo, "warning": slog.LevelWarn, "warn": slog.LevelWarn,
	"error": slog.LevelError, "err": slog.LevelError, "critical": slog.LevelError, "crit": slog.LevelError,
	"alert": slog.LevelError, "emergency": slog.LevelError, "emerg": slog.LevelError, "none": slog.LevelError + 4,
}

// followLog makes the logger follow the configuration: how much is logged, and in which form.
func (a *assembly) followLog() {
	level := new(slog.LevelVar)
	follow := func(s *config.Snapshot) {
		if l, ok := logLevels[s.String("log", "level", "info")]; ok {
			level.Set(l)
		}
	}
	follow(a.config.Snapshot())
	a.config.Subscribe(follow)
	json := config.Derive(a.config, func(s *config.Snapshot) bool { return s.String("log", "format", "text") == "json" })
	a.log = newLog(a.o.Log, level, json.Value)
}

// graceForDisk is how long writes under way may wait for the disk when the server
// is taken down; what was acknowledged is on it.
const graceForDisk = 2 * time.Second

// close takes down what open put up, the other way round.
func (a *assembly) close() error {
	var errs []error
	if a.control != nil {
		errs = append(errs, a.control.close())
	}
	if a.engine != nil {
		defer time.AfterFunc(graceForDisk, a.engine.Abandon).Stop()
	}
	if a.endTelling != nil {
		a.endTelling()
	}
	if a.secured != nil {
		a.secured.acme.Close()
	}
	if a.replicator != nil {
		a.replicator.Close() // replications ask the API
	}
	if a.api != nil {
		a.api.Wait()
	}
	if a.subscriptions != nil {
		a.subscriptions.Close()
	}
	if a.peruser != nil {
		a.peruser.Close()
	}
	if a.auth != nil {
		a.auth.Close()
	}
	if a.users != nil {
		a.users.Close()
	}
	if a.endSweeps != nil {
		a.endSweeps()
	}
	if a.indexes != nil {
		a.indexes.Close() // its tasks use the store
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.tracer != nil {
		a.tracer.Close()
	}
	if a.scripts != nil {
		errs = append(errs, a.scripts.Close())
	}
	if a.engine != nil {
		errs = append(errs, a.engine.Close())
	}
	if a.release != nil {
		errs = append(errs, a.release())
	}
	return errors.Join(errs...)
}

// Check reads all data in a directory, or of a PostgreSQL server, and reports what is wrong with
// it, showing on the line how far it came. No server may be running on it.
func Check(ctx context.Context, data string, o EngineOptions, out io.Writer, line *progress.Line) (err error) {
	if o.Engine == enginePostgres {
		if err := checkData(ctx, data, o, false, line); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, "All data of the PostgreSQL server is sound.")
		return err
	}
	if err := wantData(data); err != nil {
		return err
	}
	if err := checkData(ctx, data, o, false, line); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "All data in", data, "is sound.")
	return err
}

// checkData checks the data in a directory; with readOnly it leaves everything
// there as it is.
func checkData(ctx context.Context, data string, o EngineOptions, readOnly bool, line *progress.Line) (err error) {
	defer line.Clear()
	maskOthers()
	log := slog.New(slog.DiscardHandler)
	e, err := openForCheck(ctx, data, o, readOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	indexes := index.New(index.Options{Kinds: kinds(view.New(nil), text.New(text.Options{}), geo.New(nil)), Logger: log, Idle: true})
	defer indexes.Close()
	s, err := store.Open(ctx, e, store.Options{Logger: log, Idle: true, Indexer: indexes, Followers: []store.Follower{subscribe.Rows{}}, KeepFormat: true, Checking: showCheck(line)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Check(ctx)
}

// showCheck shows on the line how far a check has come.
func showCheck(line *progress.Line) func(string, store.Checked) {
	return func(database string, c store.Checked) {
		if c.Indexes {
			line.Show("checking the indexes of %s", database)
			return
		}
		line.Show("checking %s: %d of %d documents", database, c.Documents, c.Of)
	}
}
