package couchhttp

import (
	"net/http"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
)

// came is what a request was before it was rewritten.
type came struct {
	wire     *http.Request // as the client sent it
	endpoint []string      // the segments of the endpoint below which it stays
	rule     bool          // by a rule, not by a function
}

// errLedOut refuses a rewritten request that leaves its endpoint.
var errLedOut = dberr.New(dberr.Forbidden, "forbidden", "A rewritten request stays below the path of its database.")

// Rewrite answers h in the place of the request, for the same caller. h comes from a rule of a
// design document, or from its function. Errors: those of h, and Forbidden where it leaves the
// endpoint by which the request came, or where a GET would write.
func (r *Request) Rewrite(h *http.Request, rule bool) error {
	c := &came{wire: r.HTTP, endpoint: slices.Clone(r.Path.Parts()[:r.Below()]), rule: rule}
	if r.came != nil {
		c.wire = r.came.wire
	}
	*r = Request{API: r.API, Request: r.Request, Rewrites: r.Rewrites + 1, came: c}
	r.Replace(h)
	return r.Go()
}

// checkLedOut refuses a rewritten request whose path, as it was routed, does not begin with that
// of its endpoint. Where secure_rewrites is off the rules of a database lead elsewhere, to read.
func (r *Request) checkLedOut() error {
	if r.came == nil {
		return nil
	}
	within, parts := r.came.endpoint, r.Path.Parts()
	switch {
	case len(parts) >= len(within) && slices.Equal(parts[:len(within)], within):
		return nil
	case r.came.rule && len(within) == 1 && !r.API.Settings.Value().SecureRewrites && r.route != nil && r.reads(r.route):
		return nil
	}
	return errLedOut
}

// onWire puts the request as it came in the place of the rewritten one, until restore is called:
// for what is judged by the headers that the client sent.
func (r *Request) onWire() (restore func()) {
	rewritten := r.HTTP
	if r.came != nil {
		r.HTTP = r.came.wire
	}
	return func() { r.HTTP = rewritten }
}
