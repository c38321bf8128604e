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

	"github.com/sectional/sectional/internal/assembly"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/tracing"
)

// localConfig is the file in the data directory that holds what is changed
// over HTTP, administrators among it.
const localConfig = "local.ini"

// instance is a server that runs in this process.
type instance struct {
	*assembly.Server
	o              Options
	log            *slog.Logger
	config         *config.Config
	engine         engine
	release        func() error // removes the file that says that the directory is in use
	control        *control
	tracer         *tracing.Tracer // nil where nothing is traced
	stopPublishing func()          // the others of tasks
	dynamoAddress  string          // where the DynamoDB API listens; empty: nowhere of its own
	until          time.Time       // when all must have ended; zero as long as it serves
	draining       drainer
	secured        *secured // certificates of HTTPS; nil without it
	audit          *audit
	sizes          sizes
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
	a := &instance{o: o, sizes: memory}
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

// readConfiguration reads the configuration, and changes nothing.
func (a *instance) readConfiguration() error {
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
func (a *instance) configure() error {
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
func (a *instance) logWarnings() {
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
func (a *instance) followLog() {
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
func (a *instance) close() error {
	var errs []error
	if a.control != nil {
		errs = append(errs, a.control.close())
	}
	if a.engine != nil {
		defer time.AfterFunc(graceForDisk, a.engine.Abandon).Stop()
	}
	if a.stopPublishing != nil {
		a.stopPublishing()
	}
	if a.secured != nil {
		a.secured.acme.Close()
	}
	if a.Server != nil {
		errs = append(errs, a.Server.Close())
	}
	if a.tracer != nil {
		a.tracer.Close()
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
// it, showing on the line how far it came. No server may be running on it. Nothing is changed there.
func Check(ctx context.Context, data string, o EngineOptions, out io.Writer, line *progress.Line) (err error) {
	if o.Engine == enginePostgres {
		if err := checkData(ctx, data, o, line, nil); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, "All data of the PostgreSQL server is sound.")
		return err
	}
	if err := wantData(data); err != nil {
		return err
	}
	if err := checkData(ctx, data, o, line, nil); err != nil {
		return pebblekv.ReadError(data, err)
	}
	_, err = fmt.Fprintln(out, "All data in", data, "is sound.")
	return err
}

// checkData checks the data in a directory, where it leaves everything as it is. count, if there is one, is told how many
// documents each database that has any says to have.
func checkData(ctx context.Context, data string, o EngineOptions, line *progress.Line, count func(database string, documents uint64)) (err error) {
	defer line.Clear()
	maskOthers()
	log := slog.New(slog.DiscardHandler)
	e, err := openForCheck(ctx, data, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	indexes := index.New(index.Options{Kinds: assembly.Kinds(view.New(nil), text.New(text.Options{}), geo.New(nil)), Logger: log, Idle: true})
	defer indexes.Close()
	s, err := store.Open(ctx, e, store.Options{Logger: log, Idle: true, Indexer: indexes, Followers: []store.Follower{subscribe.Rows{}}, KeepFormat: true, Checking: showCheck(line, count)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Check(ctx)
}

// showCheck shows on the line how far a check has come.
func showCheck(line *progress.Line, count func(string, uint64)) func(string, store.Checked) {
	return func(database string, c store.Checked) {
		if count != nil && !c.Indexes {
			count(database, c.Of)
		}
		if c.Indexes {
			line.Show("checking the indexes of %s", database)
			return
		}
		line.Show("checking %s: %d of %d documents", database, c.Documents, c.Of)
	}
}
