package legacy

import (
	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/documents"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// FunctionDocument returns a revision as functions see it, with as much of its
// history as CouchDB shows them.
func FunctionDocument(rev *couchwire.Revision, path []document.Rev) []byte {
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
func functionInput(r *couchhttp.Request, id document.ID) (doc input, err error) {
	if id == "" {
		return doc, nil
	}
	err = r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		l, err := documents.NewLoader(r, rd, id, &documents.ReadOptions{Revs: true, Conflicts: true})
		if err != nil {
			return err
		}
		f, err := l.Winner()
		if err == nil {
			doc = input{FunctionDocument(&f.Revision, f.Path), f.Rev.String()}
		}
		return err
	})
	if dberr.Is(err, dberr.NotFound) {
		return input{}, nil
	}
	return doc, err
}
