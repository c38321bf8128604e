package couchhttp

import (
	"bytes"
	"context"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

// Scripts runs the functions of design documents that requests call. See
// script.Pool, whose methods they are.
type Scripts interface {
	Filter(ctx context.Context, realm script.Realm, name string, docs [][]byte, req []byte) ([]bool, error)
	ViewFilter(ctx context.Context, realm script.Realm, docs [][]byte) ([]bool, error)
	Update(ctx context.Context, realm script.Realm, name string, doc, req []byte) (written []byte, answer script.Response, err error)
	Show(ctx context.Context, realm script.Realm, name string, doc, req []byte) (script.Response, error)
	List(ctx context.Context, realm script.Realm, l *script.List) error
	Rewrite(ctx context.Context, realm script.Realm, req []byte) ([]byte, error)
}

// errNoScripts is what a face without Scripts answers.
var errNoScripts = dberr.New(dberr.Unavailable, "", "Design functions can't be run at present.")

// DesignFunctions is a design document whose functions a request calls.
type DesignFunctions struct {
	*store.Revision
}

// DesignNamed reads the design document of a name, without "_design/".
func (r *Request) DesignNamed(name string) (DesignFunctions, error) {
	id, err := document.ParseID("_design/"+name, r.API.Settings.Value().MaxID)
	if err != nil {
		return DesignFunctions{}, err
	}
	var d DesignFunctions
	err = r.Scope.Namespace().Unredacted().View(r.Ctx(), func(rd *store.Reader) error { // whoever may call a function need not see it
		rev, err := rd.Winner(id)
		if err != nil {
			return err
		}
		rev.Body = bytes.Clone(rev.Body)
		d.Revision = rev
		return nil
	})
	return d, err
}

// Function finds a member of the document by its way; the error names the
// first step that is missing, as CouchDB does.
func (d DesignFunctions) Function(way ...string) (value []byte, err error) {
	value = d.Body
	for _, name := range way {
		next, ok := []byte(nil), false
		if jsonscan.KindOf(value) == jsonscan.Object {
			next, ok = jsonscan.Member(value, name)
		}
		if !ok {
			return nil, missingKey(name)
		}
		value = next
	}
	return value, nil
}

func missingKey(name string) error {
	return dberr.New(dberr.NotFound, "not_found", "missing json key: %s", name)
}

// Realm returns the JavaScript world of the document's functions.
func (r *Request) Realm(d DesignFunctions) (script.Realm, error) {
	if r.API.Scripts == nil {
		return script.Realm{}, errNoScripts
	}
	return admission.Realm(r.Scope.Namespace(), d.Revision)
}
