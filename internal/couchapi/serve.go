package couchapi

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
)

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
	Disk func() []Gauge
}

// Gauge is a number that the storage engine tells of itself.
type Gauge struct {
	Name, Help string
	Counter    bool
	Value      float64
}

// API is the handler of all requests.
type API struct {
	store         *store.Store
	auth          *auth.Authenticator
	rules         *admission.Rules
	scripts       Scripts
	config        *config.Config
	indexes       *index.Indexes
	views         *view.Kind
	replicas      *schedule.Scheduler
	subscriptions *subscribe.Service
	settings      *config.Derived[*settings]
	log           *slog.Logger
	now           func() time.Time
	version       string
	done          <-chan struct{}
	began         time.Time

	routes  *node
	stats   *metrics
	health  func() string
	uuids   uuidMaker
	tasks   tasks
	ids     atomic.Uint64 // of requests
	bodies  bodyBudget
	patches turns
}

var _ http.Handler = (*API)(nil)

// New makes the handler.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Done == nil {
		o.Done = make(chan struct{})
	}
	a := &API{
		store: o.Store, auth: o.Auth, rules: o.Rules, scripts: o.Scripts, config: o.Config, indexes: o.Indexes, views: o.Views, replicas: o.Replicator, log: o.Log, now: o.Now,
		subscriptions: o.Subscriptions, version: o.Version, done: o.Done, began: o.Now(),
		settings: config.Derive(o.Config, readSettings),
		routes:   buildRoutes(allRoutes()),
	}
	o.Config.Subscribe(func(*config.Snapshot) { o.Store.WakeDocWatches() }) // feeds ask whether they may go on
	a.stats, a.health = newMetrics(a, o.Disk), o.Health
	var seed [8]byte
	rand.Read(seed[:]) // never fails
	a.ids.Store(binary.LittleEndian.Uint64(seed[:]))
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	// A feed that waits keeps this stack, so nothing large lies on it: no
	// literal of a request, no path by value.
	r := new(request)
	r.api, r.http, r.w, r.context, r.began = a, h, w, h.Context(), a.now()
	defer a.finish(r)
	r.watchBody()
	r.identify()
	r.methodOf()
	target, q := targetOf(h)
	r.path.split(target, r.plus())
	r.query = parseQuery(q)
	if done, err := r.answerCORS(); done || err != nil {
		if err != nil {
			r.fail(err)
		}
		return
	}
	if err := r.run(); err != nil {
		r.fail(err)
	} else if r.after != nil {
		r.after()
	}
}

// finish counts the request, and logs it where everything is logged.
func (a *API) finish(r *request) {
	r.release(r.held)
	a.stats.count(r)
	if !a.log.Enabled(r.context, slog.LevelDebug) {
		return
	}
	name := ""
	if r.caller != nil {
		name = r.caller.Name
	}
	a.log.LogAttrs(r.context, slog.LevelDebug, "request", slog.String("method", r.http.Method), slog.String("path", r.http.URL.Path),
		slog.Int("status", r.status), slog.Int64("bytes", r.sent), slog.Duration("took", a.now().Sub(r.began)),
		slog.String("user", name), slog.String("peer", r.peer()), slog.String("request", string(r.id[:])))
}

// run authenticates the caller, finds the row and lets its handler answer.
func (r *request) run() error {
	r.node = r.api.routes.find(&r.path, 0, &r.args, 0)
	if err := r.authenticate(); err != nil {
		return err
	}
	if r.node == nil {
		return errNoDatabase // the pattern of last resort is a database's
	}
	r.route = r.node.row(r.method)
	if r.route == nil {
		return r.refuseMethod()
	}
	if err := r.checkOrigin(); err != nil {
		return err
	}
	if err := r.enter(r.route); err != nil {
		return err
	}
	if r.route.run == nil {
		return notImplemented(r.route.missing)
	}
	if err := r.awaitSeq(); err != nil {
		return err
	}
	return r.route.run(r)
}

var errNoDatabase = dberr.New(dberr.NotFound, "not_found", "Database does not exist.")

// refuseMethod answers a method that no row of the path has. Who may not see
// the path is told that first.
func (r *request) refuseMethod() error {
	if err := r.enter(r.node.rows[0]); err != nil {
		return err
	}
	return notAllowed(r.node.allowed())
}

// enter checks the rights of a row and opens the database it works on, in
// CouchDB's order: server administration before existence, existence before
// membership.
func (r *request) enter(row *route) error {
	if err := r.checkServer(row); err != nil {
		return err
	}
	if row.bare || !r.namesDatabase() {
		return nil
	}
	db, err := r.api.store.Database(r.ctx(), r.args[0])
	if err != nil {
		return err
	}
	r.db, r.scope = db, db.Whole()
	if err := r.checkDatabase(row); err != nil {
		return err
	}
	if err := r.narrow(); err != nil {
		return err
	}
	r.redact()
	return nil
}

func (r *request) namesDatabase() bool {
	return len(r.node.names) > 0 && r.node.names[0] == "db"
}

// methodOf settles the method: HEAD is a GET whose body is not sent, and a
// POST may stand for another method.
func (r *request) methodOf() {
	r.method = r.http.Method
	if r.method == http.MethodPost {
		if m := r.http.Header["X-Http-Method-Override"]; m != nil {
			r.method = m[0]
		}
	}
	if r.method == http.MethodHead {
		r.method, r.head = http.MethodGet, true
	}
}

// identify gives the request the id of its log lines: the client's own if it
// is a decent one.
func (r *request) identify() {
	h := r.w.Header()
	h["Server"] = r.api.serverHeader()
	if own := r.http.Header["X-Couch-Request-Id"]; own != nil && decentID(own[0]) {
		copy(r.id[:], own[0])
		h["X-Couch-Request-Id"] = own[:1]
		return
	}
	// A counter with a random start, mixed so that ids of one server do not
	// look alike.
	const hex = "0123456789abcdef"
	n := r.api.ids.Add(1) * 0x9e3779b97f4a7c15
	for i := range r.id {
		r.id[i] = hex[n>>60]
		n <<= 4
	}
	r.set("X-Couch-Request-Id", string(r.id[:]))
}

func decentID(s string) bool {
	if s == "" || len(s) > 36 {
		return false
	}
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return true
}

func (a *API) serverHeader() []string { return a.settings.Value().server }

// remember puts the caller where Admission finds it.
func (r *request) remember(id *auth.Identity) {
	r.caller = &id.Caller
	r.context = admission.WithCaller(r.context, r.caller)
}
