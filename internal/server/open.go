package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/geo/geojs"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/text/textjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/index/view/viewjs"
	"github.com/sectional/sectional/internal/peruser"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

// open puts the parts together. The engine comes before all that writes: it holds the
// lock on the directory, so that a second process changes nothing.
func (a *assembly) open(ctx context.Context) (err error) {
	a.log = newLog(a.o.Log, slog.LevelInfo, nil)
	if err = wantOwn(a.o.Data); err != nil {
		return err
	}
	if err = wantOriginal(a.o.Data); err != nil {
		return err
	}
	if err = a.readConfiguration(); err != nil {
		return err
	}
	a.followLog()
	if err = keepPrivate(a.o.Data, a.log); err != nil {
		return err
	}
	if a.engine, err = openEngine(ctx, a.o.Data, a.o.Store, a.config.Snapshot(), a.sizes, a.log); err != nil {
		return err
	}
	a.release = noteInUse(a.o.Data, a.log)
	if err = a.configure(); err != nil {
		return err
	}
	if a.tracer, err = openTracer(a, a.config.Snapshot()); err != nil {
		return err
	}
	if a.scripts, err = openScripts(a.config.Snapshot(), a.log); err != nil {
		return err
	}
	texts, views, rules, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	return a.openAPIs(ctx, texts, views, rules)
}

// openStore opens the store on the engine, with what its writers pass and the indexes that they keep.
func (a *assembly) openStore(ctx context.Context) (texts *text.Kind, views *view.Kind, rules *admission.Rules, err error) {
	a.users = &admission.Users{}
	a.auth = auth.New(auth.Options{Config: a.config, Users: a.users, Now: a.clock.now, Log: a.log, Fetcher: newFetcher(nil)})
	rules = admission.New(admission.Options{Auth: a.auth, Functions: a.scripts, Cloudant: cloudantLimits(a.config),
		TenantDesigns: tenantDesigns(a.config), TenantDesignSize: tenantDesignSize(a.config), Replications: config.Derive(a.config, spec.ParseSettings).Value})
	runner := mapjs.New(a.scripts)
	views = view.New(viewjs.New(runner))
	scratch, err := emptyScratch(a.o.Data)
	if err != nil {
		return nil, nil, nil, err
	}
	texts = text.New(a.cacheTexts(text.Options{Clock: a.clock.now, Functions: textjs.New(runner), Analyze: analyzers, AnalyzeNouveau: nouveauAnalyzers, Scratch: scratch}, a.config.Snapshot()))
	a.indexes = index.New(index.Options{Kinds: kinds(views, texts, geo.New(geojs.New(runner))), Clock: a.clock.now, Logger: a.log})
	o := store.Options{
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
		Tracer:         a.tracer,
	}
	if err := a.joinServers(&o); err != nil {
		return nil, nil, nil, err
	}
	if a.store, err = store.Open(ctx, a.tracedEngine(), o); err != nil {
		return nil, nil, nil, err
	}
	a.clock.of.Store(a.store)
	if err := a.indexes.Start(ctx, a.store); err != nil {
		return nil, nil, nil, err
	}
	a.endSweeps = sweepTexts(texts, store.Whole(a.engine), a.log)
	a.users.Use(a.store)
	if a.store.Shared() {
		a.auth.Share(a.store, a.store.Secret("attempts"))
	}
	return texts, views, rules, nil
}

// openAPIs starts what works on the store, and makes the handlers of requests.
func (a *assembly) openAPIs(ctx context.Context, texts *text.Kind, views *view.Kind, rules *admission.Rules) error {
	a.joinPeers()
	a.replicator = schedule.New(schedule.Options{Store: a.store, Users: a.auth, Config: a.config, Node: admin.NodeName(a.store), Now: a.store.Now, Log: a.log, Tracer: a.tracer})
	a.subscriptions = a.startSubscriptions(a.store)
	a.api = couchapi.New(couchhttp.Options{
		Store: a.store, Auth: a.auth, Rules: rules, Scripts: a.scripts, Config: a.config, Indexes: a.indexes, Views: views, Texts: texts, Log: a.log, Replicator: a.replicator, Peers: a.peers,
		Subscriptions: a.subscriptions, Version: a.o.Version, Done: a.done, Disk: a.engine.gauges, Health: a.draining.health(a.engine.health), Engine: a.engine.name(),
	})
	a.audit = newAudit(a.config, a.log)
	a.api.Acts, a.api.ReadActs = a.audit.tell, a.audit.page
	if err := a.takeActs(ctx); err != nil {
		a.log.Error("acts of commands could not be brought to the audit log", "error", err)
	}
	a.api.Metrics.Gauges(a.workGauges)
	a.traceRequests()
	a.openDynamoDB(rules)
	if err := a.api.MakeSystemDatabases(ctx); err != nil {
		return err
	}
	a.peruser = peruser.Start(peruser.Options{Store: a.store, Config: a.config, Log: a.log})
	a.openControl()
	return nil
}
