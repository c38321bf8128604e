package lists

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
)

// finding finds an index of one kind by its names, for a request that may query; nil if
// there is none.
type finding func(r *couchhttp.Request, design, name string) (*index.Session, error)

// asked is what every request to an index begins with.
type asked struct {
	session *index.Session            // nil if there is no such index
	design  couchhttp.DesignFunctions // what there is instead, without a session
	members []document.Member         // of the body, if the request has one
}

// askedFor finds the index that the request's arguments name, and reads its body.
func askedFor(r *couchhttp.Request, find finding, name string) (a asked, err error) {
	if a.session, err = find(r, r.Arg("ddoc"), r.Arg(name)); err != nil {
		return a, err
	}
	if a.session == nil {
		if a.design, err = designOfViews(r, r.Arg("ddoc")); err != nil {
			return a, err
		}
	}
	if r.Method == http.MethodPost {
		a.members, err = viewBody(r)
	}
	return a, err
}

// onIndex calls fn with a session, and with a new one when the index was dropped
// meanwhile, some times.
func onIndex[T any](r *couchhttp.Request, s *index.Session, find finding, fn func(*index.Session) (T, error)) (T, error) {
	for try := 0; ; try++ {
		r.Read.Design, r.Read.Index = string(s.Design), s.Name
		of, err := fn(s)
		if !errors.Is(err, index.ErrGone) || try == 3 {
			return of, err
		}
		if s, err = find(r, strings.TrimPrefix(string(s.Design), "_design/"), s.Name); err != nil {
			return of, err
		}
		if s == nil {
			return of, index.ErrGone
		}
	}
}
