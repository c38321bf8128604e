package couchapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/store"
)

// maxArgs bounds the {…} of one route.
const maxArgs = 6

// request is a request on its way: what was asked, by whom, of what, and the
// answer so far. Endpoints read it and answer through its methods.
type request struct {
	api    *API
	http   *http.Request
	w      http.ResponseWriter
	method string // after X-HTTP-Method-Override; HEAD is "GET" with head set
	head   bool
	path   path
	query  query
	caller *auth.Caller
	grant  *auth.Grant // what let the caller in, for long answers; see stay
	// context is the request's with the caller in it. It is kept here, against
	// the habit, because http.Request can only take one by being copied.
	context context.Context

	route *route
	node  *node
	args  [maxArgs]string

	db    *store.Database // nil when the route has no {db} or is bare
	scope store.Scope     // of the database, or of its {partition}; restricted where only a rule lets the caller into that

	ruled *auth.Security // what lets the caller into partitions, where he sees a list of his own; nil elsewhere

	began    time.Time
	bodyTime time.Duration
	raw      []byte // the body, where errors may point into it; nil for none
	held     int64  // bytes of memory that its body is charged for; see hold
	status   int    // of the answer, 0 before it began
	sent     int64  // bytes of the body
	out      *stream
	after    func()    // what is begun once the request is answered; nil for nothing
	rewrites int       // how often it was rewritten
	wrote    store.Seq // the last sequence that the request's writes were given, 0 for none
	id       [10]byte
	values   [5]string // of the answer's headers that differ from request to request; see set
	used     int       // of values
}

// ctx is the context of the request; the caller is in it.
func (r *request) ctx() context.Context { return r.context }

// arg returns the decoded segment that stands at {name} in the route's pattern.
func (r *request) arg(name string) string {
	for i, n := range r.node.names {
		if n == name {
			return r.args[i]
		}
	}
	return ""
}

// header returns a request header.
func (r *request) header(name string) string { return r.http.Header.Get(name) }

// host returns scheme and host as the client wrote them, for Location.
func (r *request) host() string {
	s := r.api.settings.Value()
	if h := r.header(s.forwardedHost); h != "" {
		return r.scheme() + "://" + h
	}
	return r.scheme() + "://" + r.http.Host
}

// scheme is the client's, which a proxy may tell.
func (r *request) scheme() string {
	s := r.api.settings.Value()
	if r.header(s.forwardedSSL) == "on" {
		return "https"
	}
	if p := r.header(s.forwardedProto); p == "https" || p == "http" {
		return p
	}
	if r.http.TLS != nil {
		return "https"
	}
	return "http"
}

// plus says what "+" stands for in a path.
func (r *request) plus() plusMeans { return r.api.settings.Value().plus }
