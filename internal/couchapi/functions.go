package couchapi

import (
	"bytes"
	"context"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/couchwire"
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

// designFunctions is a design document whose functions a request calls.
type designFunctions struct {
	*store.Revision
}

// designNamed reads the design document of a name, without "_design/".
func (r *request) designNamed(name string) (designFunctions, error) {
	id, err := document.ParseID("_design/"+name, r.api.settings.Value().maxID)
	if err != nil {
		return designFunctions{}, err
	}
	var d designFunctions
	err = r.scope.Namespace().Unredacted().View(r.Ctx(), func(rd *store.Reader) error { // whoever may call a function need not see it
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

// function finds a member of the document by its way; the error names the
// first step that is missing, as CouchDB does.
func (d designFunctions) function(way ...string) (value []byte, err error) {
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

// realm returns the JavaScript world of the document's functions.
func (r *request) realm(d designFunctions) (script.Realm, error) {
	if r.api.scripts == nil {
		return script.Realm{}, errNoScripts
	}
	return admission.Realm(r.scope.Namespace(), d.Revision)
}

// functionDocument returns a revision as functions see it, with as much of its
// history as CouchDB shows them.
func functionDocument(rev *couchwire.Revision, path []document.Rev) []byte {
	rev.Path = path[:min(len(path), admission.ShownRevisions)]
	return couchwire.AppendDocument(make([]byte, 0, len(rev.Body)+256), rev, couchwire.Form{})
}

// input is the document that a function is called for.
type input struct {
	json []byte // nil for none
	rev  string
}

// functionInput reads the document that a show or update function is called
// for, if there is one that the caller may see.
func (r *request) functionInput(id document.ID) (doc input, err error) {
	if id == "" {
		return doc, nil
	}
	err = r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := r.loader(rd, id, &readOptions{revs: true, conflicts: true})
		if err != nil {
			return err
		}
		f, err := l.winner()
		if err == nil {
			doc = input{functionDocument(&f.Revision, f.Path), f.Rev.String()}
		}
		return err
	})
	if dberr.Is(err, dberr.NotFound) {
		return input{}, nil
	}
	return doc, err
}
