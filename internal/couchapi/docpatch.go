package couchapi

import (
	"net/http"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// patchTries is how often a patch without a revision is tried again when
// others write the document meanwhile.
const patchTries = 64

// patchDocument answers PATCH, which CouchDB does not have: the body is a JSON
// merge patch (RFC 7396) of the document's own members. With a revision, named
// as in PUT, the patch goes over that revision or is a conflict; without one
// it goes over whatever the document is by then.
func patchDocument(r *request) error {
	id, err := r.writeID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		r.set("Allow", localMethods)
		return notAllowed(localMethods)
	}
	patch, named, err := r.patch(id)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		rev, err := r.applyPatch(id, named, patch)
		if dberr.Is(err, dberr.Conflict) && named.IsZero() && try < patchTries && r.ctx().Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		return r.answerWritten(id, rev, written{etag: true, location: true, status: http.StatusCreated})
	}
}

// patch reads the body: the patch of ordinary members, and the revision that
// the request names.
func (r *request) patch(id document.ID) ([]byte, document.Rev, error) {
	var none document.Rev
	if err := r.requireType("application/merge-patch+json"); err != nil {
		return nil, none, err
	}
	raw, err := r.readBody(nil)
	if err != nil {
		return nil, none, err
	}
	patch, special, err := document.Split(raw, document.BodyLimits{})
	if err != nil {
		return nil, none, err
	}
	if most := r.rules().MaxDocument; most > 0 && len(patch) > most {
		return nil, none, dberr.New(dberr.TooLarge, "document_too_large", "%s", string(id))
	}
	for _, m := range special {
		if m.Name != "_id" && m.Name != "_rev" {
			return nil, none, dberr.New(dberr.Invalid, "doc_validation", "A patch can't change the member %s", m.Name)
		}
	}
	d, err := couchwire.ParseDocument(raw, r.rules())
	if err != nil {
		return nil, none, err
	}
	if d.ID != "" && d.ID != id {
		return nil, none, badRequest("The patch is of another document")
	}
	rev, err := r.namedRev(d.Rev())
	return patch, rev, err
}

// applyPatch patches the named revision, or the winner, once.
func (r *request) applyPatch(id document.ID, named document.Rev, patch []byte) (document.Rev, error) {
	old, err := r.patchBase(id, named)
	if err != nil {
		return document.Rev{}, err
	}
	d := couchwire.Document{ID: id}
	if d.Body, err = document.MergePatch(old.Body, patch); err != nil {
		return document.Rev{}, err
	}
	if err := d.CheckSize(r.rules()); err != nil {
		return document.Rev{}, err
	}
	d.Attachments = stubs(old.Attachments)
	e := d.Edit(old.Rev)
	return r.storeEdit(&e)
}

// patchBase reads what is patched. It has to be live; a named revision that is
// not there is a conflict, as it is for PUT.
func (r *request) patchBase(id document.ID, named document.Rev) (old *store.Revision, err error) {
	err = r.scope.View(r.ctx(), func(rd *store.Reader) error {
		if old, err = rd.Winner(id); err != nil {
			return err
		}
		if named.IsZero() || named == old.Rev {
			return nil
		}
		doc, err := rd.Doc(id)
		if err != nil {
			return err
		}
		old, err = rd.Revision(doc, named)
		if dberr.Is(err, dberr.NotFound) {
			return errConflict
		}
		return err
	})
	return old, err
}

// stubs makes the attachments of a revision those of an edit that keeps them.
func stubs(atts []document.Attachment) []document.Attachment {
	out := make([]document.Attachment, len(atts))
	for i, a := range atts {
		out[i] = document.Attachment{Name: a.Name, RevPos: a.RevPos, Stub: true}
	}
	return out
}
