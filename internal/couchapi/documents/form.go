package documents

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// postForm answers POST to a document: a form with files, as browsers send it.
// It needs a Referer of this server, so that no page of another one can write
// with the credentials of a visitor.
func postForm(r *couchhttp.Request) error {
	if err := checkReferer(r); err != nil {
		return err
	}
	id, err := r.WriteID()
	if err != nil {
		return err
	}
	if id.IsLocal() {
		return couchhttp.ErrLocalAtts
	}
	boundary, ok := couchwire.Boundary(r.Header("Content-Type"), "form-data")
	if !ok {
		return dberr.New(dberr.Unsupported, "bad_content_type", "Content-Type must be multipart/form-data")
	}
	if err := precheck(r, id); err != nil {
		return err
	}
	body, err := r.Reader(math.MaxInt64)
	if err != nil {
		return err
	}
	form, err := couchwire.ReadForm(body, boundary, r.Action.Body.Max, r.Rules(), sink(r, id))
	if err != nil {
		return err
	}
	e, err := formEdit(r, id, form)
	if err != nil {
		return err
	}
	return answerWrite(r, e, written{etag: true, location: true})
}

func checkReferer(r *couchhttp.Request) error {
	referer := r.Header("Referer")
	if referer == "" {
		return couchhttp.BadRequest("Referer header required.")
	}
	u, err := url.Parse(referer)
	host := r.Host()
	if err != nil || u.Host != host[strings.Index(host, "://")+3:] {
		return couchhttp.BadRequest("Referer host must match.")
	}
	return nil
}

// formEdit makes the edit that a form asks for: the document it brings, or the
// revision it names, with the files added.
func formEdit(r *couchhttp.Request, id document.ID, form *couchwire.Posted) (*document.Edit, error) {
	var e document.Edit
	if form.Doc != nil {
		d, err := couchwire.ParseDocument(form.Doc, r.Rules())
		if err != nil {
			return nil, err
		}
		if err := d.CheckComplete(); err != nil {
			return nil, err
		}
		d.ID = id
		if err := d.CheckSize(r.Rules()); err != nil {
			return nil, err
		}
		rev, err := namedRev(r, d.Rev())
		if err != nil {
			return nil, err
		}
		e = d.Edit(rev)
	} else {
		rev, err := document.ParseRev(form.Rev)
		if err != nil {
			return nil, err
		}
		old, err := readVisible(r, id, rev)
		if err != nil {
			return nil, err
		}
		e = document.Edit{ID: id, Parent: rev, Body: old.Body, Attachments: couchhttp.Stubs(old.Attachments)}
	}
	for _, a := range form.Attachments {
		e.Attachments = withAttachment(e.Attachments, a)
	}
	return &e, r.Rules().CheckAttachments(e.Attachments)
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
