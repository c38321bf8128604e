package couchhttp

import (
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// Request is a request to CouchDB's API on its way: what the frame knows of it, and of what
// database it asks. It is the web.Call of the API.
type Request struct {
	web.Request
	API   *API
	Grant *auth.Grant // what let the caller in, for long answers; see stay

	preconditions *store.Preconditions // what let the request in, where other processes write to the store

	route *Route
	node  *web.Node[*Route]
	args  [web.MaxArgs]string

	DB    *store.Database // nil when the route has no {db} or is bare
	Scope store.Scope     // of the database, or of its {partition}; restricted where only a rule lets the caller into that

	Ruled *auth.Security // what lets the caller into partitions, where he sees a list of his own; nil elsewhere

	Rewrites int       // how often it was rewritten
	came     *came     // nil unless it was
	Wrote    store.Seq // the last sequence that the request's writes were given, 0 for none
}

// Arg returns the decoded segment that is at {name} in the route's pattern.
func (r *Request) Arg(name string) string {
	for i, n := range r.node.Names {
		if n == name {
			return r.args[i]
		}
	}
	return ""
}
