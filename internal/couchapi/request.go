package couchapi

import (
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// request is a request to CouchDB's API on its way: what the frame knows of it, and of what
// database it asks. It is the web.Call of the API.
type request struct {
	web.Request
	api   *API
	grant *auth.Grant // what let the caller in, for long answers; see stay

	route *route
	node  *web.Node[*route]
	args  [web.MaxArgs]string

	db    *store.Database // nil when the route has no {db} or is bare
	scope store.Scope     // of the database, or of its {partition}; restricted where only a rule lets the caller into that

	ruled *auth.Security // what lets the caller into partitions, where he sees a list of his own; nil elsewhere

	rewrites int       // how often it was rewritten
	wrote    store.Seq // the last sequence that the request's writes were given, 0 for none
}

// arg returns the decoded segment that stands at {name} in the route's pattern.
func (r *request) arg(name string) string {
	for i, n := range r.node.Names {
		if n == name {
			return r.args[i]
		}
	}
	return ""
}
