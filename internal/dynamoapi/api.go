package dynamoapi

import (
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/sigv4"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// Options join the API to the rest of the server.
type Options struct {
	Shared *web.Shared // of all APIs
	Store  *store.Store
	// Indexes are those of all databases.
	Indexes *index.Indexes
	Auth    *auth.Authenticator
	Rules   *admission.Rules
	// Settings returns what the frame of all APIs goes by.
	Settings func() *web.Settings
	// Access returns the _security of a new table, which is that of any new database.
	Access func() *auth.Security
	// Now is the time by which signatures and iterators are judged, that of all servers of
	// a store; nil: the one of Shared.
	Now func() time.Time
	// Open takes every request for an administrator's, whatever signed it: for a server
	// that this machine alone can reach.
	Open bool
}

// API is the handler of all requests.
type API struct {
	Options
	frame       *web.Frame
	actions     map[string]*action
	definitions definitions
	signingKeys sigv4.Keys
}

var _ http.Handler = (*API)(nil)

// New makes the handler. It is made before the first request of any API.
func New(o Options) *API {
	a := &API{Options: o, signingKeys: sigv4.Keys{Secret: o.Auth.AccessSecret}}
	if o.Now == nil {
		a.Now = func() time.Time { return o.Shared.Now() }
	}
	class := o.Shared.Metrics.Class("dynamodb", false)
	a.actions = actionsBy(class)
	a.frame = web.NewFrame(o.Shared, web.Options{
		Settings: o.Settings, Peer: o.Auth.Client, IDHeader: "X-Amzn-Requestid", Unrouted: class,
	})
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r := &Request{api: a}
	a.frame.Serve(&r.Request, r, w, h)
}

// Sessions returns the handler of requests that are not signed: callers say who they are as
// they do to CouchDB's API, by a session's cookie or a password.
func (a *API) Sessions() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, h *http.Request) {
		r := &Request{api: a, session: true}
		a.frame.Serve(&r.Request, r, w, h)
	})
}
