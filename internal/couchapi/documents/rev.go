package documents

import (
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
)

// namedRev returns the revision that a write names: in its body, as rev= or as
// If-Match. Those that are given must agree. Zero for none.
func namedRev(r *couchhttp.Request, body document.Rev) (document.Rev, error) {
	rev := body
	if s, ok := r.Query.Get("rev"); ok {
		q, err := document.ParseRev(s)
		if err != nil {
			return rev, err
		}
		if !body.IsZero() && q != body {
			return rev, couchhttp.BadRequest("Document rev from request body and query string have different values")
		}
		rev = q
	}
	if h := r.HTTP.Header["If-Match"]; h != nil {
		m, err := document.ParseRev(strings.Trim(h[0], `"`))
		if err != nil {
			return rev, err
		}
		if !rev.IsZero() && m != rev {
			return rev, couchhttp.BadRequest("Document rev and etag have different values")
		}
		rev = m
	}
	return rev, nil
}
