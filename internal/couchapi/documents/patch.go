package documents

import (
	"mime"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// patchDocument answers PATCH, which CouchDB does not have: the body is a JSON
// merge patch (RFC 7396) of the document's own members, with operators beside
// it. With a revision, named as in PUT, the patch goes over that revision or is
// a conflict; without one it goes over whatever the document is by then.
func patchDocument(r *couchhttp.Request) error {
	id, err := r.WriteID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		r.Set("Allow", localMethods)
		return couchhttp.NotAllowed(localMethods)
	}
	p, err := patch(r, id)
	if err != nil {
		return err
	}
	rev, err := p.store(r)
	if err != nil {
		return err
	}
	return answerWritten(r, id, rev, written{etag: true, location: true, status: http.StatusCreated})
}

// patching is a patch on its way.
type patching struct {
	id     document.ID
	named  document.Rev // zero: whatever the document is
	patch  *document.Patch
	upsert bool // it makes the document where there is none
}

// store patches the document: the winner as it is when the patch is stored, or the
// named revision.
func (p *patching) store(r *couchhttp.Request) (document.Rev, error) {
	e := document.Edit{ID: p.id, Parent: p.named}
	if p.named.IsZero() {
		rules := r.Rules()
		e.Decide = func(now document.Current) (document.Decision, error) {
			body, err := p.apply(now, rules)
			return document.Decision{Body: body}, err
		}
		return r.StoreEdit(&e)
	}
	old, err := patchBase(r, p.id, p.named)
	if err != nil {
		return document.Rev{}, err
	}
	if e.Body, err = p.apply(document.Current{Rev: old.Rev, Body: old.Body}, r.Rules()); err != nil {
		return document.Rev{}, err
	}
	e.Attachments = couchhttp.Stubs(old.Attachments)
	return r.StoreEdit(&e)
}

// patch reads the body: the patch of ordinary members, and the revision that
// the request names.
func patch(r *couchhttp.Request, id document.ID) (*patching, error) {
	const merge = "application/merge-patch+json"
	if err := r.RequireType(merge); err != nil {
		return nil, err
	}
	raw, err := r.Body(nil)
	if err != nil {
		return nil, err
	}
	body, special, err := document.Split(raw)
	if err != nil {
		return nil, err
	}
	if most := r.Rules().MaxDocument; most > 0 && len(body) > most {
		return nil, r.Rules().DocumentTooLarge(id)
	}
	for _, m := range special {
		if m.Name != "_id" && m.Name != "_rev" {
			return nil, dberr.New(dberr.Invalid, "doc_validation", "A patch can't change the member %s", m.Name)
		}
	}
	d, err := couchwire.ParseDocument(raw, r.Rules())
	if err != nil {
		return nil, err
	}
	if d.ID != "" && d.ID != id {
		return nil, couchhttp.BadRequest("The patch is of another document")
	}
	p := &patching{id: id}
	if p.named, err = namedRev(r, d.Rev()); err != nil {
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
	return p, r.RequireReader()
}

// apply makes the new body of a document.
func (p *patching) apply(now document.Current, rules *couchwire.Rules) (body []byte, err error) {
	switch {
	case now.Exists():
		body, err = p.patch.Apply(now.Body)
	case p.upsert:
		body, err = p.patch.Insert()
	case now.Deleted:
		err = couchhttp.ErrDeleted
	default:
		err = couchhttp.ErrMissing
	}
	if err != nil {
		return nil, err
	}
	d := couchwire.Document{ID: p.id, Body: body}
	return body, d.CheckSize(rules)
}

// patchBase reads the revision that a patch names. The document has to be live; a
// revision that is not there is a conflict, as it is for PUT.
func patchBase(r *couchhttp.Request, id document.ID, named document.Rev) (old *store.Revision, err error) {
	err = r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		if old, err = rd.Winner(id); err != nil || named == old.Rev {
			return err
		}
		doc, err := rd.Doc(id)
		if err != nil {
			return err
		}
		old, err = rd.Revision(doc, named)
		if dberr.Is(err, dberr.NotFound) {
			return couchhttp.ErrConflict
		}
		return err
	})
	return old, err
}
