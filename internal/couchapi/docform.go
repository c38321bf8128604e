package couchapi

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// postForm answers POST to a document: a form with files, as browsers send it.
// It needs a Referer of this server, so that no page of another one can write
// with the credentials of a visitor.
func postForm(r *request) error {
	if err := r.checkReferer(); err != nil {
		return err
	}
	id, err := r.writeID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		return errLocalAtts
	}
	boundary, ok := couchwire.Boundary(r.Header("Content-Type"), "form-data")
	if !ok {
		return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be multipart/form-data")
	}
	if err := r.precheck(id); err != nil {
		return err
	}
	body, err := r.Reader(math.MaxInt64)
	if err != nil {
		return err
	}
	form, err := couchwire.ReadForm(body, boundary, r.Action.Body.Most, r.rules(), r.sink(id))
	if err != nil {
		return err
	}
	e, err := r.formEdit(id, form)
	if err != nil {
		return err
	}
	return r.answerWrite(e, written{etag: true, location: true})
}

func (r *request) checkReferer() error {
	referer := r.Header("Referer")
	if referer == "" {
		return badRequest("Referer header required.")
	}
	u, err := url.Parse(referer)
	host := r.Host()
	if err != nil || u.Host != host[strings.Index(host, "://")+3:] {
		return badRequest("Referer host must match.")
	}
	return nil
}

// formEdit makes the edit that a form asks for: the document it brings, or the
// revision it names, with the files added.
func (r *request) formEdit(id document.ID, form *couchwire.Posted) (*document.Edit, error) {
	var e document.Edit
	if form.Doc != nil {
		d, err := couchwire.ParseDocument(form.Doc, r.rules())
		if err != nil {
			return nil, err
		}
		if err := d.CheckComplete(); err != nil {
			return nil, err
		}
		d.ID = id
		if err := d.CheckSize(r.rules()); err != nil {
			return nil, err
		}
		rev, err := r.namedRev(d.Rev())
		if err != nil {
			return nil, err
		}
		e = d.Edit(rev)
	} else {
		rev, err := document.ParseRev(form.Rev)
		if err != nil {
			return nil, err
		}
		old, err := r.readVisible(id, rev)
		if err != nil {
			return nil, err
		}
		e = document.Edit{ID: id, Parent: rev, Body: old.Body, Attachments: stubs(old.Attachments)}
	}
	for _, a := range form.Attachments {
		e.Attachments = withAttachment(e.Attachments, a)
	}
	return &e, r.rules().CheckAttachments(e.Attachments)
}

// withAttachment puts an attachment in its place, over one of the same name.
func withAttachment(atts []document.Attachment, a document.Attachment) []document.Attachment {
	i, found := slices.BinarySearchFunc(atts, a.Name, func(b document.Attachment, name string) int {
		return strings.Compare(b.Name, name)
	})
	if found {
		atts[i] = a
		return atts
	}
	return slices.Insert(atts, i, a)
}
