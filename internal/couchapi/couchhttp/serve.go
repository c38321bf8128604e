package couchhttp

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/web"
)

// Replicator returns the scheduler.
func (r *Request) Replicator() (*schedule.Scheduler, error) {
	if r.API.Replicas == nil {
		return nil, dberr.New(dberr.Unavailable, "", "Replications can't be run at present.")
	}
	return r.API.Replicas, nil
}

// Options join the face to the rest of the server.
type Options struct {
	Store   *store.Store
	Auth    *auth.Authenticator
	Rules   *admission.Rules
	Scripts Scripts // runs design functions
	Config  *config.Config
	// Indexes are the indexes of all databases, those that Store was opened with.
	Indexes *index.Indexes
	Views   *view.Kind // one of their kinds
	Texts   *text.Kind // another
	// Subscriptions delivers changes to those who asked for them.
	Subscriptions *subscribe.Service
	// Replicator runs replications; nil: none are run.
	Replicator *schedule.Scheduler
	Log        *slog.Logger     // nil: no log
	Now        func() time.Time // nil: time.Now
	Version    string           // of Sectional
	// Done is closed when the server stops: feeds end then.
	Done <-chan struct{}
	// Health returns what `_up` says: "ok", "full" when the disk has no room for
	// writes, "stopped" when the storage engine has. nil: "ok".
	Health func() string
	// Disk returns the numbers of the storage engine for the metrics; may be nil.
	Disk func() []web.Gauge
}

// API is the handler of all requests.
type API struct {
	*web.Shared
	frame         *web.Frame
	Store         *store.Store
	Auth          *auth.Authenticator
	rules         *admission.Rules
	Scripts       Scripts
	Config        *config.Config
	Indexes       *index.Indexes
	Views         *view.Kind
	Texts         *text.Kind
	Replicas      *schedule.Scheduler
	Subscriptions *subscribe.Service
	Settings      *config.Derived[*settings]
	Version       string
	Began         time.Time

	routes *web.Table[*Route]
	Stats  counts
	Health func() string
	uuids  uuidMaker
}

var _ http.Handler = (*API)(nil)

// New makes the handler of the rows of a table.
func New(o Options, rows []Route) *API {
	a := &API{
		Shared: web.NewShared(o.Log, o.Now, o.Done), Store: o.Store, Auth: o.Auth, rules: o.Rules, Scripts: o.Scripts, Config: o.Config,
		Indexes: o.Indexes, Views: o.Views, Texts: o.Texts, Replicas: o.Replicator, Subscriptions: o.Subscriptions, Version: o.Version, Health: o.Health,
		Settings: config.Derive(o.Config, parseSettings),
	}
	a.Began = a.Now()
	counted := newClasses(a.Metrics)
	a.routes = NewTable(rows, counted)
	a.frame = web.NewFrame(a.Shared, web.Options{
		Settings: func() *web.Settings { return &a.Settings.Value().Web },
		Peer:     o.Auth.Client, IDHeader: "X-Couch-Request-Id", Unrouted: counted[classServer],
	})
	a.Metrics.Gauges(a.gauges)
	a.Metrics.Gauges(o.Disk)
	o.Config.Subscribe(func(*config.Snapshot) { o.Store.WakeDocWatches() }) // feeds ask whether they may go on
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r := &Request{API: a}
	a.frame.Serve(&r.Request, r, w, h)
}

// Wait waits for the background work that requests have started.
func (a *API) Wait() { a.Tasks.Wait() }

// Route implements web.Call. A POST may stand for another method.
func (r *Request) Route() {
	if r.HTTP.Method == http.MethodPost {
		if m := r.HTTP.Header["X-Http-Method-Override"]; m != nil {
			r.SetMethod(m[0])
		}
	}
	ExpandEndpoint(&r.Path)
	if r.node = r.API.routes.Find(&r.Path, &r.args); r.node == nil {
		return
	}
	if row, ok := r.node.Row(r.Method); ok {
		r.route, r.Action = row, row.action
	}
}

// Admit implements web.Call. Who may not see a path is told that before the methods that it has.
func (r *Request) Admit() error {
	if r.node == nil {
		return errNoDatabase // the pattern of last resort is a database's
	}
	if r.route == nil {
		if err := r.enter(r.node.Rows[0]); err != nil {
			return err
		}
		return NotAllowed(r.node.Allowed())
	}
	if err := r.checkOrigin(); err != nil {
		return err
	}
	return r.enter(r.route)
}

// Run implements web.Call.
func (r *Request) Run() error {
	if r.route.Run == nil {
		return NotImplemented(r.route.Missing)
	}
	if err := r.awaitSeq(); err != nil {
		return err
	}
	return r.route.Run(r)
}

var errNoDatabase = dberr.New(dberr.NotFound, "not_found", "Database does not exist.")

// enter checks the rights of a row and opens the database it works on, in
// CouchDB's order: server administration before existence, existence before
// membership.
func (r *Request) enter(row *Route) error {
	if err := r.checkServer(row); err != nil {
		return err
	}
	if row.Bare || !r.namesDatabase() {
		return nil
	}
	db, err := r.API.Store.Database(r.Ctx(), r.args[0])
	if err != nil {
		return err
	}
	r.DB, r.Scope = db, db.Whole()
	if err := r.checkDatabase(row); err != nil {
		return err
	}
	if err := r.narrow(); err != nil {
		return err
	}
	r.redact()
	return nil
}

func (r *Request) namesDatabase() bool {
	return len(r.node.Names) > 0 && r.node.Names[0] == "db"
}
