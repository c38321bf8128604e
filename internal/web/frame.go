package web

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/auth"
)

// Call is a request as its API sees it. The frame calls the methods in this order, each once, in the
// goroutine of the request; the first error ends it.
type Call interface {
	// Route finds what the request asks for, and sets the request's Action. What is not there is Admit's
	// to tell: who may not come in need not know.
	Route()
	// Authenticate finds out who asks, and sets the request's Caller.
	Authenticate() error
	// Admit reports whether the caller may ask that. The body has not been read.
	Admit() error
	// Run answers by the methods of Request.
	Run() error

	// Complete puts the last headers into that of an answer, right before it goes out with a status.
	Complete(status int)
	// Render returns how an error looks, and may set headers that go with it.
	Render(err error) Failure
}

// Options are what one API asks of its frame.
type Options struct {
	// Settings returns the values of the configuration at this moment. It is called often.
	Settings func() *Settings
	// Peer returns the address of a client: whom the connection comes from, or, if that is a trusted
	// proxy, whom the values of X-Forwarded-For name. nil: whom the connection comes from.
	Peer func(host string, forwarded []string) string
	// IDHeader is the header that names a request, in canonical form: the client's own name for it, or the frame's.
	IDHeader string
	// Unrouted is the class of requests whose Call sets none.
	Unrouted *Class
}

// Settings are the values of the configuration that the frame looks at.
type Settings struct {
	// MaxBody bounds a body as it is sent, and unpacked; MaxMemory the memory for those of all requests.
	MaxBody, MaxMemory Limit
	// BodyTimeout is in what time each next bodyStride bytes of a body have to come.
	BodyTimeout time.Duration
	CORS        auth.CORSPolicies
	Plus        PlusMeans // what "+" stands for in paths
	Server      []string  // the value of the header Server
	// Headers in which proxies tell how they were asked: for which host, by which scheme, and "on" for https.
	ForwardedHost, ForwardedProto, ForwardedSSL string
}

// Limit is a number of bytes, and the setting by which an operator changes it.
type Limit struct {
	Bytes   int64
	Setting string
}

// Shared is what the APIs of one server have in common.
type Shared struct {
	Log     *slog.Logger
	Now     func() time.Time
	Done    <-chan struct{} // closed when the server stops: feeds end then
	Metrics *Metrics
	Tasks   Tasks
	budget  bodyBudget
}

// NewShared makes it. nil stands for no log, time.Now and a server that does not stop.
func NewShared(log *slog.Logger, now func() time.Time, done <-chan struct{}) *Shared {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	if done == nil {
		done = make(chan struct{})
	}
	s := &Shared{Log: log, Now: now, Done: done, Metrics: newMetrics()}
	s.Tasks.shared = s
	return s
}

// HeldBytes returns how much memory is charged for bodies at this moment.
func (s *Shared) HeldBytes() int64 { return s.budget.held.Load() }

// Frame takes the requests of one API through their steps.
type Frame struct {
	*Shared
	options Options
	ids     atomic.Uint64 // of requests
}

// NewFrame makes the frame of an API.
func NewFrame(s *Shared, o Options) *Frame {
	f := &Frame{Shared: s, options: o}
	var seed [8]byte
	rand.Read(seed[:]) // never fails
	f.ids.Store(binary.LittleEndian.Uint64(seed[:]))
	return f
}

// Serve answers a request. r is a new one, a part of what call is, so that both are made at once: a feed that waits keeps
// this stack, so nothing large lies on it.
func (f *Frame) Serve(r *Request, call Call, w http.ResponseWriter, h *http.Request) {
	r.frame, r.call, r.w, r.context, r.Began = f, call, w, h.Context(), f.Now()
	r.HTTP = h
	defer f.finish(r)
	r.watchBody()
	r.identify()
	r.parse()
	if r.answerCORS() {
		return
	}
	if err := r.Go(); err != nil {
		r.Fail(err)
	} else if r.After != nil {
		r.After()
	}
}

// parse takes apart what HTTP holds.
func (r *Request) parse() {
	target, q := TargetOf(r.HTTP)
	r.SetMethod(r.HTTP.Method)
	r.Path.Split(target, r.frame.options.Settings().Plus)
	r.Query = ParseQuery(q)
}

// Go takes the request through the steps of its Call.
func (r *Request) Go() error {
	r.call.Route()
	if err := r.call.Authenticate(); err != nil {
		return err
	}
	if err := r.call.Admit(); err != nil {
		return err
	}
	return r.call.Run()
}

// finish counts the request, and logs it where everything is logged.
func (f *Frame) finish(r *Request) {
	r.Release(r.held)
	took := f.Now().Sub(r.Began)
	class := r.Action.Class
	if class == nil {
		class = f.options.Unrouted
	}
	f.Metrics.count(class, r.HTTP.Method, r.status, took)
	if !f.Log.Enabled(r.context, slog.LevelDebug) {
		return
	}
	name := ""
	if r.Caller != nil {
		name = r.Caller.Name
	}
	f.Log.LogAttrs(r.context, slog.LevelDebug, "request", slog.String("method", r.HTTP.Method), slog.String("path", r.HTTP.URL.Path),
		slog.Int("status", r.status), slog.Int64("bytes", r.sent), slog.Duration("took", took),
		slog.String("user", name), slog.String("peer", r.Peer()), slog.String("request", string(r.id[:])))
}
