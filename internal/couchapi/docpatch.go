package couchapi

import (
	"mime"
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
// merge patch (RFC 7396) of the document's own members, with operators beside
// it. With a revision, named as in PUT, the patch goes over that revision or is
// a conflict; without one it goes over whatever the document is by then.
func patchDocument(r *request) error {
	id, err := r.writeID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		r.Set("Allow", localMethods)
		return notAllowed(localMethods)
	}
	p, err := r.patch(id)
	if err != nil {
		return err
	}
	rev, err := p.store(r)
	if err != nil {
		return err
	}
	return r.answerWritten(id, rev, written{etag: true, location: true, status: http.StatusCreated})
}

// patching is a patch on its way.
type patching struct {
	id     document.ID
	named  document.Rev // zero: whatever the document is
	patch  *document.Patch
	upsert bool // it makes the document where there is none
}

// store patches the document, and without a revision does so again when others
// have written it meanwhile. Such patches of one document take turns: else of a
// hundred that come at once each would be tried up to a hundred times.
func (p *patching) store(r *request) (rev document.Rev, err error) {
	if !p.named.IsZero() {
		return p.apply(r)
	}
	leave, err := r.api.patches.take(r.Ctx(), r.db.Name()+"/"+string(r.scope.Stored(p.id)))
	if err != nil {
		return rev, err
	}
	defer leave()
	for range patchTries {
		rev, err = p.apply(r)
		if !dberr.Is(err, dberr.Conflict) || r.Ctx().Err() != nil {
			break
		}
	}
	return rev, err
}

// patch reads the body: the patch of ordinary members, and the revision that
// the request names.
func (r *request) patch(id document.ID) (*patching, error) {
	const merge = "application/merge-patch+json"
	if err := r.requireType(merge); err != nil {
		return nil, err
	}
	raw, err := r.Body(nil)
	if err != nil {
		return nil, err
	}
	body, special, err := document.Split(raw, document.BodyLimits{})
	if err != nil {
		return nil, err
	}
	if most := r.rules().MaxDocument; most > 0 && len(body) > most {
		return nil, r.rules().DocumentTooLarge(id)
	}
	for _, m := range special {
		if m.Name != "_id" && m.Name != "_rev" {
			return nil, dberr.New(dberr.Invalid, "doc_validation", "A patch can't change the member %s", m.Name)
		}
	}
	d, err := couchwire.ParseDocument(raw, r.rules())
	if err != nil {
		return nil, err
	}
	if d.ID != "" && d.ID != id {
		return nil, badRequest("The patch is of another document")
	}
	p := &patching{id: id}
	if p.named, err = r.namedRev(d.Rev()); err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(r.Header("Content-Type"))
	if p.patch, err = document.ParsePatch(body, kind != merge); err != nil {
		return nil, err
	}
	value, _ := r.Query.Get("upsert")
	if p.upsert = value == "true"; !p.upsert && !p.patch.Uses() {
		return p, nil
	}
	// What an operator meets, and whether a document is there, shows in the answer.
	return p, r.requireReader()
}

// apply patches the named revision, or the winner, once.
func (p *patching) apply(r *request) (rev document.Rev, err error) {
	old, err := r.patchBase(p.id, p.named)
	d := couchwire.Document{ID: p.id}
	switch {
	case err == nil:
		d.Body, err = p.patch.Apply(old.Body)
	case p.upsert && dberr.Is(err, dberr.NotFound) && p.named.IsZero():
		old = &store.Revision{}
		d.Body, err = p.patch.Insert()
	}
	if err != nil {
		return rev, err
	}
	if err := d.CheckSize(r.rules()); err != nil {
		return rev, err
	}
	d.Attachments = stubs(old.Attachments)
	e := d.Edit(old.Rev)
	return r.storeEdit(&e)
}

// patchBase reads what is patched. It has to be live; a named revision that is
// not there is a conflict, as it is for PUT.
func (r *request) patchBase(id document.ID, named document.Rev) (old *store.Revision, err error) {
	err = r.scope.View(r.Ctx(), func(rd *store.Reader) error {
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
