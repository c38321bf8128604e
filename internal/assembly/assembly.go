// Package assembly owns how a server is put together over an engine: the store, the indexes, the functions of design
// documents, the users, what works in the background, and the handlers of both APIs. The product, programs that embed it and
// the tests of the APIs have the same server.
//
// It must not know of listeners, directories and processes. Begin reading at Open.
package assembly

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
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
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/peers"
	"github.com/sectional/sectional/internal/peruser"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/tracing"
	"github.com/sectional/sectional/internal/web"
)

// Options say what a server is made of. Config is needed; the zero value of every other member is a server without it.
type Options struct {
	Config  *config.Config
	Version string       // of Sectional
	Log     *slog.Logger // nil: nothing is logged
	Tracer  *tracing.Tracer
	// Fetcher gets the keys of issuers of tokens; nil: configured keys alone are known.
	Fetcher auth.Fetcher
	// Store has what this server is among those of its engine, and what tests set. What admits writes, the indexes and what
	// the configuration says are set by Open, but where a test has set it.
	Store store.Options
	// Texts has the files and the sizes of full-text indexes.
	Texts text.Options
	// Idle switches off what works in the background. Tests run it themselves.
	Idle bool
	// Engine is the name of the engine for clients, "" for Pebble; Disk returns its figures and Health its state, see
	// couchhttp.Options.
	Engine string
	Disk   func() []web.Gauge
	Health func() string
	// DynamoDBOpen treats every request of the DynamoDB API as an administrator's.
	DynamoDBOpen bool
}

// Server is a server without listeners. Its members are not changed.
type Server struct {
	Config        *config.Config
	Log           *slog.Logger
	Scripts       *script.Pool
	Store         *store.Store
	Indexes       *index.Indexes
	Auth          *auth.Authenticator
	Rules         *admission.Rules
	Replicator    *schedule.Scheduler // starts with Start
	Subscriptions *subscribe.Service
	Peers         *peers.Peers // the other servers of the store; nil where it has none
	API           *couchhttp.API
	DynamoDB      *dynamoapi.API
	// Options are those that API was made with.
	Options couchhttp.Options

	users    *admission.Users
	peruser  *peruser.Service
	stopping func() // the sweeps of files of full-text indexes
	clock    clock
	done     chan struct{} // closed when feeds end
	ending   sync.Once     // of done
	stopped  sync.Once
}

// clock is the store's time, by which all parts of the server go: its machine's may be another than those of other servers.
// Until the store is open it is the machine's.
type clock struct{ of atomic.Pointer[store.Store] }

func (c *clock) now() time.Time {
	if s := c.of.Load(); s != nil {
		return s.Now()
	}
	return time.Now()
}

// Kinds are the kinds of index that there are, with what runs their functions; without it they can be read and checked, not
// built.
func Kinds(views *view.Kind, texts *text.Kind, places *geo.Kind) []index.Kind {
	return []index.Kind{field.Kind{}, views, texts, texts.Nouveau(), geo.Fields{}, places, secondary.Kind{}}
}

// Open puts a server together over an engine, which the caller closes after it. Errors: what kept a part from starting; then
// everything is closed that was open.
func Open(ctx context.Context, e kv.Engine, o Options) (s *Server, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s = &Server{Config: o.Config, Log: o.Log, users: &admission.Users{}, done: make(chan struct{})}
	defer func() {
		if err != nil {
			s, err = nil, errors.Join(err, s.Close())
		}
	}()
	if s.Scripts, err = openScripts(o.Config.Snapshot(), o.Log); err != nil {
		return s, err
	}
	views, texts, err := s.openStore(ctx, e, o)
	if err != nil {
		return s, err
	}
	return s, s.openAPIs(ctx, views, texts, o)
}

// openStore opens the store, with what its writers pass and the indexes that they keep.
func (s *Server) openStore(ctx context.Context, e kv.Engine, o Options) (views *view.Kind, texts *text.Kind, err error) {
	s.Auth = auth.New(auth.Options{Config: s.Config, Users: s.users, Now: s.clock.now, Log: s.Log, Fetcher: o.Fetcher})
	s.Rules = admission.New(admission.Options{Auth: s.Auth, Functions: s.Scripts, Cloudant: cloudantLimits(s.Config),
		TenantDesigns: tenantDesigns(s.Config), TenantDesignSize: tenantDesignSize(s.Config), Replications: config.Derive(s.Config, spec.ParseSettings).Value,
		Replicating: func(ctx context.Context, d *store.Database, who spec.Charge) (spec.Usage, error) {
			return s.Replicator.Usage(ctx, d, who)
		}})
	runner := mapjs.New(s.Scripts)
	views = view.New(viewjs.New(runner))
	t := o.Texts
	t.Clock, t.Functions, t.Log = s.clock.now, textjs.New(runner), s.Log
	t.Analyze = func(definition []byte) (text.Analyzers, error) { return analyze.New(definition) }
	t.AnalyzeNouveau = func(definition []byte) (text.Analyzers, error) { return analyze.Nouveau(definition) }
	texts = text.New(t)
	s.Indexes = index.New(index.Options{Kinds: Kinds(views, texts, geo.New(geojs.New(runner))), Clock: s.clock.now, Logger: s.Log, Idle: o.Idle})
	if s.Store, err = store.Open(ctx, e, s.storeOptions(o)); err != nil {
		return nil, nil, err
	}
	s.clock.of.Store(s.Store)
	if err := s.Indexes.Start(ctx, s.Store); err != nil {
		return nil, nil, err
	}
	if t.Files != "" {
		s.stopping = sweepTexts(texts, store.Whole(e), s.Log)
	}
	s.users.Use(s.Store)
	if s.Store.Shared() {
		s.Auth.Share(s.Store, s.Store.Secret("attempts"))
	}
	return views, texts, nil
}

// openAPIs starts what works on the store, and makes the handlers of requests.
func (s *Server) openAPIs(ctx context.Context, views *view.Kind, texts *text.Kind, o Options) error {
	if s.Store.Name() != "" {
		s.Peers = peers.New(s.Store)
	}
	s.Replicator = schedule.New(schedule.Options{Store: s.Store, Users: s.Auth, Config: s.Config, Node: admin.NodeName(s.Store), Now: s.Store.Now, Log: s.Log, Tracer: o.Tracer})
	s.Subscriptions = s.startSubscriptions(o)
	s.Options = couchhttp.Options{
		Store: s.Store, Auth: s.Auth, Rules: s.Rules, Scripts: s.Scripts, Config: s.Config, Indexes: s.Indexes, Views: views, Texts: texts, Log: s.Log, Replicator: s.Replicator, Peers: s.Peers,
		Subscriptions: s.Subscriptions, Version: o.Version, Done: s.done, Disk: o.Disk, Health: o.Health, Engine: o.Engine,
	}
	s.API = couchapi.New(s.Options)
	s.API.Metrics.Gauges(s.workGauges)
	if o.Tracer != nil {
		s.API.Tracer = o.Tracer
	}
	s.DynamoDB = s.NewDynamoDB(o.DynamoDBOpen)
	if err := s.API.MakeSystemDatabases(ctx); err != nil {
		return err
	}
	s.peruser = peruser.Start(peruser.Options{Store: s.Store, Config: s.Config, Log: s.Log})
	return nil
}

// NewDynamoDB makes a handler of the DynamoDB API; open treats every request as an administrator's.
func (s *Server) NewDynamoDB(open bool) *dynamoapi.API {
	return dynamoapi.New(dynamoapi.Options{
		Shared: s.API.Shared, Store: s.Store, Indexes: s.Indexes, Auth: s.Auth, Rules: s.Rules, Now: s.Store.Now, Open: open,
		Settings: func() *web.Settings { return &s.API.Settings.Value().Web },
		Access:   func() *auth.Security { return s.API.Settings.Value().DefaultAccess },
	})
}

// Start starts replications. Their addresses may be those of this server, so it has to answer by then. Errors: those of the
// store.
func (s *Server) Start() error { return s.Replicator.Start(s.API) }

// EndFeeds has feeds end, and those that are asked for afterwards.
func (s *Server) EndFeeds() { s.ending.Do(func() { close(s.done) }) }

// Stop ends everything that works on the store, and returns when it has ended. The store can be read afterwards.
func (s *Server) Stop() { s.stopped.Do(s.stop) }

func (s *Server) stop() {
	s.EndFeeds()
	if s.Replicator != nil {
		s.Replicator.Close() // replications ask the API
	}
	if s.API != nil {
		s.API.Wait()
	}
	if s.Subscriptions != nil {
		s.Subscriptions.Close()
	}
	if s.peruser != nil {
		s.peruser.Close()
	}
	if s.Auth != nil {
		s.Auth.Close()
	}
	s.users.Close()
	if s.stopping != nil {
		s.stopping()
	}
	if s.Indexes != nil {
		s.Indexes.Close() // its tasks use the store
	}
}

// Close stops the server and closes its store. Errors: the store's, of what it could not write any more.
func (s *Server) Close() (err error) {
	s.Stop()
	if s.Store != nil {
		err = s.Store.Close()
	}
	if s.Scripts != nil {
		_ = s.Scripts.Close() // what it says is in the log
	}
	return err
}
