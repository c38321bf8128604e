package web

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/tracing"
	"github.com/sectional/sectional/internal/worktime"
)

// Request is a request on its way: what was asked, by whom, and the answer so far. It is a part of the value that is
// the request's Call.
type Request struct {
	HTTP   *http.Request
	Method string // as SetMethod has it
	Head   bool   // a GET whose body is not sent
	Path   Path
	Query  Query
	Action Action // what the frame knows of the row; set by Call.Route
	// Database is the one that the request names, for the log; Read what a query has read.
	Database string
	Subject  string // what an act is about beside that, for the audit log
	Read     Reading
	Caller   *auth.Caller // set by Call.Authenticate
	Began    time.Time
	// Raw is the body that ReadBody read, where errors may point into it; nil for none.
	Raw []byte
	// After is begun once the request is answered; nil for nothing.
	After func()

	frame *Frame
	call  Call
	w     http.ResponseWriter
	// context is the request's with the caller in it. It is kept here, against
	// the habit, because http.Request can only take one by being copied.
	context  context.Context
	span     tracing.Span    // of the request, the zero value if it is not traced
	wish     *tracing.Wish   // that it be traced, of a client of whom it is not known yet who it is
	clock    *bodyClock      // of its body; nil if it has none
	work     *worktime.Watch // nil if nobody looks how long it works
	bodyTime time.Duration
	charged  int64  // bytes of memory that its body is charged for; see Hold
	room     amount // what it has of the memory of all bodies: for held, and what it expects
	party    party  // whose share that is
	status   int    // of the answer, 0 before it began
	instead  bool   // the answer is the one to an error in the place of an error that was withheld
	sent     int64  // bytes of the body
	counted  bool   // by the limit of its user's requests
	out      *Stream
	id       string
	crowded  bool      // its query has more than MaxParameters, and was not read
	values   [5]string // of the answer's headers that differ from request to request; see Set
	used     int       // of values
}

// Action is what the frame knows of the row that a request came to.
type Action struct {
	Name  string // of the row in the log, such as a method and a pattern
	Class *Class // under which it is counted
	Body  BodyCost
	// Unlimited requests are not counted by RateLimits: balancers and collectors of metrics ask them.
	Unlimited bool
	// Operation says that Name is an operation of the DynamoDB API, and the database a table.
	Operation bool
	Audited   bool // it changes what administrators answer for: the audit log is told
	// Bounded requests read what they name, or a page, and nothing else: how long they work needs no bound of its own.
	Bounded bool
}

// Reading is what a query has read, and how, for the log of slow ones: nothing of what it asked for, and
// nothing of what documents hold.
type Reading struct {
	Design, Index         string // the index's name, "" for no query
	Plan                  string // more of how it was read; "" where there is nothing to choose
	Partition             string // "" for all of them
	Keys, Documents, Rows int    // rows of the index and documents looked at, and rows answered; 0 where nobody counts
}

// IsSlow reports whether the request has taken so long that its reading is logged.
func (r *Request) IsSlow() bool {
	slow := r.frame.options.Settings().SlowQuery
	return slow > 0 && r.frame.Now().Sub(r.Began) >= slow
}

// Ctx is the context of the request; the caller is in it.
func (r *Request) Ctx() context.Context { return r.context }

// Frame returns the frame that the request runs in.
func (r *Request) Frame() *Frame { return r.frame }

// SetCaller notes who asks, in the context too.
func (r *Request) SetCaller(c *auth.Caller) {
	r.Caller = c
	r.context = auth.WithCaller(r.context, c)
}

// SetContext puts another context in the place of the request's, which that is made of.
func (r *Request) SetContext(ctx context.Context) { r.context = ctx }

// SetMethod settles the method: HEAD is a GET whose body is not sent.
func (r *Request) SetMethod(method string) {
	r.Method, r.Head = method, method == http.MethodHead
	if r.Head {
		r.Method = http.MethodGet
	}
}

// MethodShown returns the method as the client knows it.
func (r *Request) MethodShown() string {
	if r.Head {
		return http.MethodHead
	}
	return r.Method
}

// Replace puts another request in the place of this one, which it stands for: who asks, what he is charged for and
// when it began stay. The Call is to be as new and to be taken through its steps by Go again.
func (r *Request) Replace(h *http.Request) {
	*r = Request{HTTP: h, Caller: r.Caller, Began: r.Began, frame: r.frame, call: r.call, w: r.w, context: r.context, span: r.span, wish: r.wish,
		work: r.work, clock: r.clock, bodyTime: r.bodyTime, charged: r.charged, room: r.room, party: r.party, id: r.id, counted: r.counted}
	r.parse()
}

// Header returns a header of the request.
func (r *Request) Header(name string) string { return r.HTTP.Header.Get(name) }

// Target returns the request's target as it came on the wire.
func (r *Request) Target() string {
	path, query := TargetOf(r.HTTP)
	if query != "" {
		path += "?" + query
	}
	return path
}

// Peer returns the address of the client, without the port: whom the connection
// comes from, or whom a trusted proxy speaks for.
func (r *Request) Peer() string {
	host, _, err := net.SplitHostPort(r.HTTP.RemoteAddr)
	if err != nil {
		host = r.HTTP.RemoteAddr
	}
	if r.frame.options.Peer == nil {
		return host
	}
	return r.frame.options.Peer(host, r.HTTP.Header["X-Forwarded-For"])
}

// Host returns scheme and host as the client wrote them, for Location.
func (r *Request) Host() string {
	s := r.frame.options.Settings()
	if h := r.Header(s.ForwardedHost); h != "" {
		return r.scheme() + "://" + h
	}
	return r.scheme() + "://" + r.HTTP.Host
}

// scheme is the client's, which a proxy may tell.
func (r *Request) scheme() string {
	s := r.frame.options.Settings()
	if r.Header(s.ForwardedSSL) == "on" {
		return "https"
	}
	if p := r.Header(s.ForwardedProto); p == "https" || p == "http" {
		return p
	}
	if r.HTTP.TLS != nil {
		return "https"
	}
	return "http"
}

// ID is the name of the request in the log.
func (r *Request) ID() string { return r.id }

// identify gives the request the id of its log lines: the client's own if it
// is a decent one.
func (r *Request) identify() {
	h, name := r.w.Header(), r.frame.options.IDHeader
	h["Server"] = r.frame.options.Settings().Server
	if own := r.HTTP.Header[name]; own != nil && decentID(own[0]) {
		r.id, h[name] = own[0], own[:1]
		return
	}
	// A counter with a random start, mixed so that ids of one server do not
	// look alike.
	const hex = "0123456789abcdef"
	n := r.frame.ids.Add(1) * 0x9e3779b97f4a7c15
	var id [10]byte
	for i := range id {
		id[i] = hex[n>>60]
		n <<= 4
	}
	r.id = string(id[:])
	r.Set(name, r.id)
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
