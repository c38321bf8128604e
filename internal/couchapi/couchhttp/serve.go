package couchhttp

import (
	"cmp"
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
	"github.com/sectional/sectional/internal/peers"
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
	// Peers are the other servers of the store; nil: there are none.
	Peers *peers.Peers
	// Replicator runs replications; nil: none are run.
	Replicator *schedule.Scheduler
	Log        *slog.Logger     // nil: no log
	Now        func() time.Time // nil: time.Now
	Version    string           // of Sectional
	// Done is closed when the server stops: feeds end then.
	Done <-chan struct{}
	// Health returns what `_up` says: "ok", "full" when the disk has no room for
	// writes, "stopped" when the storage engine has, "away" when the server that keeps the
	// data does not answer, "draining" when the server is about to stop. nil: "ok".
	Health func() string
	// Engine is the name of the engine that keeps the data; "" for Pebble.
	Engine string
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
	peers         *peers.Peers
	Subscriptions *subscribe.Service
	Settings      *config.Derived[*settings]
	Version       string
	Engine        string // the name of the engine that keeps the data
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
		Indexes: o.Indexes, Views: o.Views, Texts: o.Texts, Replicas: o.Replicator, peers: o.Peers, Subscriptions: o.Subscriptions, Version: o.Version, Engine: cmp.Or(o.Engine, "pebble"), Health: o.Health,
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
	a.frame.Serve(&r.Request, r, w, a.peers.Enter(h))
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
	if r.namesDatabase() {
		r.Database = r.args[0]
	}
	if row, ok := r.node.Row(r.Method); ok {
		r.route, r.Action = row, row.action
		r.noteAct()
	}
}

// Admit implements web.Call. What the request is let in by may be out of date where other
// processes write to the store: it is looked at here, before a body is taken or anything
// is changed, or together with what the endpoint reads or writes first.
func (r *Request) Admit() error {
	if err := r.admit(); err != nil || r.route.Reads && r.small() {
		return err
	}
	return r.preconditions.Confirm(r.Ctx())
}

// smallBody is up to how many bytes a body may be taken, and kept, for somebody who was let in
// by what is remembered. It has room for some hundred documents.
const smallBody = 1 << 20

// small reports whether the request has no body, or a small one, which is kept then as long
// as it may turn out that the request has to be let in again. Nobody knows what a body that is packed
// becomes, nor how much follows one of an unknown length.
func (r *Request) small() bool {
	if r.Method == http.MethodGet {
		return true
	}
	if n := r.HTTP.ContentLength; n < 0 || n > smallBody || r.HTTP.Header["Content-Encoding"] != nil {
		return false
	}
	if r.preconditions.Open() {
		r.KeepBody()
	}
	return true
}

// ShouldRetry implements web.Recaller: whoever was refused, or met what is no more, may have been
// so by what is out of date.
func (r *Request) ShouldRetry(err error) bool {
	if !r.preconditions.IsStale(r.Ctx(), err) {
		return false
	}
	r.DB, r.Scope, r.Ruled, r.Grant = nil, store.Scope{}, nil, nil
	return true
}

// admit checks who may come in. Who may not see a path is told that before the methods that it has.
func (r *Request) admit() error {
	if err := r.checkLedOut(); err != nil {
		return err
	}
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
	if r.Caller.By != nil && !r.reads(row) {
		return errOnlyReads
	}
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

// errOnlyReads refuses writes in the name of another, which that user would have to answer for.
var errOnlyReads = dberr.New(dberr.Forbidden, "forbidden", "As another user one can only read.")

// reads reports whether the endpoint of a row changes nothing that users see.
func (r *Request) reads(row *Route) bool {
	switch row.Class {
	case ClassQuery, ClassLookup, ClassFeed:
		return true
	case ClassWrite:
		return false
	}
	return r.Method == http.MethodGet
}

func (r *Request) namesDatabase() bool {
	return len(r.node.Names) > 0 && r.node.Names[0] == "db"
}
