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
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dynamoapi"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/geo/geojs"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/secondary"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/textjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/index/view/viewjs"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/peruser"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// Options say how to run. Data must be given.
type Options struct {
	Data     string // directory of everything the server keeps
	Config   string // the operator's ini file; empty: none
	Listen   string // address and port; empty: what the configuration says
	User     string // the administrator, and the password, as the environment
	Password string // names them; both or neither
	Demo     bool   // load the demo's databases
	DemoSize int    // 0: the default
	// DynamoDB is the address at which the DynamoDB API listens, "" for none; DynamoDBOpen
	// takes whoever asks there for an administrator.
	DynamoDB     string
	DynamoDBOpen bool
	Version      string
	Out          io.Writer      // for people: the address, the password, what to try
	Log          io.Writer      // for the log
	Progress     *progress.Line // shows how far the demo came
}

// localConfig is the file in the data directory that holds what is changed
// over HTTP, administrators among it.
const localConfig = "local.ini"

// assembly is a server put together, from the bottom up.
type assembly struct {
	o             Options
	log           *slog.Logger
	config        *config.Config
	engine        *pebblekv.Engine
	release       func() error // removes the file that says that the directory is in use
	control       *control
	scripts       *script.Pool
	store         *store.Store
	indexes       *index.Indexes
	users         *admission.Users
	replicator    *schedule.Scheduler
	subscriptions *subscribe.Service
	auth          *auth.Authenticator
	api           *couchhttp.API
	dynamo        *dynamoapi.API // nil where it does not listen
	peruser       *peruser.Service
	endSweeps     func()        // of files of full-text indexes
	done          chan struct{} // closed when the server stops: feeds end
	until         time.Time     // when all must have ended; zero as long as it serves
}

// Run serves until ctx ends, then lets what is in flight come to its end, cuts
// what takes too long, and takes everything down, in less than 5 seconds. It
// returns nil after such an end, and an error if something did not end: then the
// process has to.
func Run(ctx context.Context, o Options) (err error) {
	defer tuneMemory(os.Getenv)()
	o.Out, o.Log = o.Progress.Above(o.Out), o.Progress.Above(o.Log)
	a := &assembly{o: o, done: make(chan struct{})}
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

// open puts the parts together. The engine comes first: it holds the lock on
// the directory, so that a second process changes nothing.
func (a *assembly) open(ctx context.Context) (err error) {
	a.log = newLog(a.o.Log, slog.LevelInfo)
	if err = wantOriginal(a.o.Data); err != nil {
		return err
	}
	if err = keepPrivate(a.o.Data, a.log); err != nil {
		return err
	}
	if a.engine, err = pebblekv.Open(pebblekv.Options{Dir: a.o.Data, Logger: a.log, OpenFiles: storeFiles(descriptors())}); err != nil {
		return err
	}
	a.release = noteInUse(a.o.Data, a.log)
	if err = a.configure(); err != nil {
		return err
	}
	if a.scripts, err = openScripts(a.config.Snapshot(), a.log); err != nil {
		return err
	}
	a.users = &admission.Users{}
	a.auth = auth.New(auth.Options{Config: a.config, Users: a.users, Log: a.log, Fetcher: newFetcher(nil)})
	rules := admission.New(admission.Options{Auth: a.auth, Functions: a.scripts, Cloudant: cloudantLimits(a.config),
		TenantDesigns: tenantDesigns(a.config), TenantDesignSize: tenantDesignSize(a.config), Replications: config.Derive(a.config, spec.ParseSettings).Value})
	runner := mapjs.New(a.scripts)
	views := view.New(viewjs.New(runner))
	scratch, err := emptyScratch(a.o.Data)
	if err != nil {
		return err
	}
	texts := text.New(a.cacheTexts(text.Options{Functions: textjs.New(runner), Analyze: analyzers, AnalyzeNouveau: nouveauAnalyzers, Scratch: scratch}, a.config.Snapshot()))
	a.indexes = index.New(index.Options{Kinds: kinds(views, texts, geo.New(geojs.New(runner))), Logger: a.log})
	a.store, err = store.Open(ctx, a.engine, store.Options{
		Logger:         a.log,
		Admission:      rules,
		Indexer:        a.indexes,
		Followers:      []store.Follower{subscribe.Rows{}},
		KeepSuperseded: a.config.Snapshot().Duration("sectional", "keep_superseded", time.Second, 10*time.Minute),
		MaxPartition:   maxPartition(a.config),
		MaxConflicts:   maxConflicts(a.config),
		DesignLimits:   designLimits(a.config),
		MaxQueued:      maxQueued(a.config),
		DeletedTTL:     deletedTTL(a.config, a.log),
	})
	if err != nil {
		return err
	}
	if err := a.indexes.Start(ctx, a.store); err != nil {
		return err
	}
	a.endSweeps = sweepTexts(texts, a.engine, a.log)
	a.users.Use(a.store)
	a.replicator = schedule.New(schedule.Options{Store: a.store, Users: a.auth, Config: a.config, Node: admin.NodeName, Log: a.log})
	a.subscriptions = a.startSubscriptions(a.store)
	a.api = couchapi.New(couchhttp.Options{
		Store: a.store, Auth: a.auth, Rules: rules, Scripts: a.scripts, Config: a.config, Indexes: a.indexes, Views: views, Texts: texts, Log: a.log, Replicator: a.replicator,
		Subscriptions: a.subscriptions, Version: a.o.Version, Done: a.done, Disk: gauges(a.engine), Health: a.health,
	})
	a.openDynamoDB(rules)
	if err := a.api.MakeSystemDatabases(ctx); err != nil {
		return err
	}
	a.peruser = peruser.Start(peruser.Options{Store: a.store, Config: a.config, Log: a.log})
	a.openControl()
	return nil
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

// configure reads the configuration and makes sure of an administrator and of
// the secret for cookies.
func (a *assembly) configure() (err error) {
	overrides, err := listenOverrides(a.o.Listen)
	if err != nil {
		return err
	}
	a.config, err = config.Open(config.Options{
		File: a.o.Config, Local: filepath.Join(a.o.Data, localConfig), Overrides: overrides,
	})
	if err != nil {
		return err
	}
	a.setLogLevel()
	a.logWarnings()
	a.keepFree()
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

// keepFree makes the engine follow the settings of what of the disk is left free.
func (a *assembly) keepFree() {
	follow := func(s *config.Snapshot) {
		a.engine.KeepFree(pebblekv.Space{
			MinFree: s.Int("sectional", "min_free", 512<<20),
			Reserve: s.Int("sectional", "reserve", 64<<20),
		})
	}
	follow(a.config.Snapshot())
	a.config.Subscribe(follow)
}

// health returns what `_up` says of the engine.
func (a *assembly) health() string {
	switch {
	case a.engine.Stopped():
		return "stopped"
	case a.engine.Room() != nil:
		return "full"
	}
	return "ok"
}

// logLevels are CouchDB's names for how much is logged.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo, "warning": slog.LevelWarn, "warn": slog.LevelWarn,
	"error": slog.LevelError, "err": slog.LevelError, "critical": slog.LevelError, "crit": slog.LevelError,
	"alert": slog.LevelError, "emergency": slog.LevelError, "emerg": slog.LevelError, "none": slog.LevelError + 4,
}

// setLogLevel makes the logger follow [log] level. The engine was opened
// before the configuration was read and keeps the first one.
func (a *assembly) setLogLevel() {
	level := new(slog.LevelVar)
	follow := func(s *config.Snapshot) {
		if l, ok := logLevels[s.String("log", "level", "info")]; ok {
			level.Set(l)
		}
	}
	follow(a.config.Snapshot())
	a.config.Subscribe(follow)
	a.log = newLog(a.o.Log, level)
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

// Check reads all data in a directory and reports what is wrong with it, showing on
// the line how far it came. No server may be running on it.
func Check(ctx context.Context, data string, out io.Writer, line *progress.Line) (err error) {
	if _, err := os.Stat(data); err != nil {
		return fmt.Errorf("there is no data directory %s", data)
	}
	if err := wantOriginal(data); err != nil {
		return err
	}
	if err := checkData(ctx, data, false, line); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "All data in", data, "is sound.")
	return err
}

// checkData checks the data in a directory; with readOnly it leaves everything
// there as it is.
func checkData(ctx context.Context, data string, readOnly bool, line *progress.Line) (err error) {
	defer line.Clear()
	maskOthers()
	log := slog.New(slog.DiscardHandler)
	e, err := pebblekv.Open(pebblekv.Options{Dir: data, Logger: log, Age: 24 * time.Hour, ReadOnly: readOnly})
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
