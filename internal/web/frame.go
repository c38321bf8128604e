package web

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/tracing"
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

	// Complete puts the last headers into that of an answer, right before it goes out with a status. It
	// may withhold it.
	Complete(status int)
	// Render returns how an error looks, and may set headers that go with it.
	Render(err error) Failure
}

// Retryer is a Call that may have to begin again: it lets requests in by what it
// remembers, and that may turn out to be out of date.
type Retryer interface {
	// ShouldRetry reports whether that is so, after the steps up to Run ended with err, which may
	// be nil. Nothing has been answered then.
	ShouldRetry(err error) bool
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
	// MaxWrites bounds the bytes of bodies that wait to be written.
	MaxWrites int64
	// BodyTimeout is in what time each next bodyStride bytes of a body have to come.
	BodyTimeout time.Duration
	// WorkTime is how long a request may work without sending anything; 0: as long as it takes.
	WorkTime time.Duration
	// LogRequests logs every request, and not only where everything is logged. SlowQuery is how long a query
	// takes that is logged with what it read; 0: none is.
	LogRequests bool
	SlowQuery   time.Duration
	Rates       RateLimits
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
	// Audit is told of acts of administrators; nil: nobody is. It is set before the first request.
	Audit func(AuditEntry)
	// ReadActs returns so many acts at most, the newest, or those before a page (AuditPage.Next); nil: there are none to be read. The error is that
	// there can't be such a page, or that of reading them. It is set before the first request.
	ReadActs func(before string, most int) (AuditPage, error)
	// Tracer traces requests; nil: none are. It is set before the first request.
	Tracer *tracing.Tracer
	budget bodyMemory
	rates  rates
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

// ChargedBytes returns how much memory is charged for bodies at this moment.
func (s *Shared) ChargedBytes() int64 { return s.budget.taken() }

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
	if f.Tracer != nil {
		r.context, r.span, r.wish = f.Tracer.Request(r.context, h.Header["Traceparent"])
	}
	f.serve(r)
	r.linger()
}

// serve is Serve up to the end of the answer.
func (f *Frame) serve(r *Request) {
	f.Metrics.inFlight.Add(1)
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
	if r.crowded = CountParameters(q) > MaxParameters; r.crowded {
		q = ""
	}
	r.Query = ParseQuery(q)
}

// errParameters is what a request with more parameters gets.
var errParameters = dberr.New(dberr.Invalid, "bad_request", "A query can have %d parameters.", MaxParameters)

// Go takes the request through the steps of its Call, again if need be.
func (r *Request) Go() error {
	r.call.Route()
	if r.crowded {
		r.Caller = &auth.Caller{}
		return errParameters
	}
	r.watchWork()
	began, caller := r.context, r.Caller
	if err := r.limitAddress(); err != nil {
		r.Caller = &auth.Caller{}
		return err
	}
	for again := 0; ; again++ {
		err := r.attempt()
		c, may := r.call.(Retryer)
		if !may || r.status != 0 || again == maxRetries || !c.ShouldRetry(err) {
			return r.inTime(err)
		}
		r.context, r.Caller, r.After, r.Raw = r.span.In(began), caller, nil, nil
		r.dropStream()
		r.dropHeaders()
		r.rewind()
		if err := pauseRetry(r.context, again+1); err != nil {
			return err
		}
	}
}

// redacted is what Withhold panics with.
type redacted struct{ err error }

// Withhold ends the request before its answer goes out, with an error instead; of the answer nothing is left. It is
// for Call.Complete, and does not return, but for the answer to an error that came in the place of another: that goes out.
func (r *Request) Withhold(err error) {
	if r.instead {
		return
	}
	r.dropHeaders()
	panic(redacted{err})
}

// catchRedacted is deferred by who takes a step that may be withheld: err is the error instead.
func catchRedacted(err *error) {
	switch v := recover().(type) {
	case nil:
	case redacted:
		*err = v.err
	default:
		panic(v)
	}
}

// attempt takes the steps, of which one may be withheld.
func (r *Request) attempt() (err error) {
	defer catchRedacted(&err)
	return r.steps()
}

// dropHeaders forgets what the steps have put into the answer's header.
func (r *Request) dropHeaders() {
	for name := range r.w.Header() {
		if name != "Server" && name != r.frame.options.IDHeader && name != "Vary" && !strings.HasPrefix(name, "Access-Control-") {
			delete(r.w.Header(), name)
		}
	}
}

// steps are those after Route.
func (r *Request) steps() error {
	if err := r.traced("authenticate", r.call.Authenticate); err != nil {
		return err
	}
	if err := r.Known(); err != nil {
		return err
	}
	if err := r.traced("admit", r.call.Admit); err != nil {
		return err
	}
	return r.call.Run()
}

// finish counts the request, and logs it.
func (f *Frame) finish(r *Request) {
	r.work.End()
	r.releaseAll()
	f.Metrics.inFlight.Add(-1)
	took := f.Now().Sub(r.Began)
	class := r.Action.Class
	if class == nil {
		class = f.options.Unrouted
	}
	f.Metrics.count(class, r.HTTP.Method, r.status, took)
	f.log(r, took, class)
	r.endTrace()
}
