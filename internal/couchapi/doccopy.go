package couchapi

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// copyDocument answers COPY: the document of the path is written again under
// the id, and over the revision, that the Destination header names.
func copyDocument(r *request) error {
	from, err := r.readID()
	if err != nil {
		return err
	}
	to, parent, err := r.destination()
	if err != nil {
		return err
	}
	source, err := r.copySource(from)
	if err != nil {
		return err
	}
	if to.IsLocal() {
		d := couchwire.Document{ID: to, Body: source.Body}
		n, err := r.storeLocal(&d, parent)
		if err != nil {
			return err
		}
		return r.answerWritten(to, localRev(n), written{etag: true, location: true, status: http.StatusCreated})
	}
	e := document.Edit{ID: to, Parent: parent, Deleted: source.Deleted, Body: source.Body}
	if e.Attachments, err = r.copyAttachments(from, to, source.Attachments); err != nil {
		return err
	}
	return r.answerWrite(&e, written{etag: true, location: true, status: http.StatusCreated})
}

// destination reads the Destination header: an escaped id and, after a
// question mark, the revision to write over.
func (r *request) destination() (document.ID, document.Rev, error) {
	h := r.HTTP.Header["Destination"]
	if h == nil {
		return "", document.Rev{}, badRequest("Destination header is mandatory for COPY.")
	}
	if strings.HasPrefix(h[0], "http://") || strings.HasPrefix(h[0], "https://") {
		return "", document.Rev{}, badRequest("Destination URL must be relative.")
	}
	name, query, hasRev := strings.Cut(h[0], "?")
	var rev document.Rev
	if hasRev {
		_, value, _ := strings.Cut(query, "=")
		var err error
		if rev, err = document.ParseRev(value); err != nil {
			return "", rev, err
		}
	}
	id, err := document.ParseID(web.Unquote(name, r.api.settings.Value().web.Plus), r.rules().MaxID)
	if err == nil {
		err = r.scope.CheckID(id)
	}
	return id, rev, err
}

// copySource reads what is to be copied, as far as the caller may see it.
func (r *request) copySource(id document.ID) (*store.Revision, error) {
	if id.IsLocal() {
		l, err := r.readLocal(id)
		if err != nil {
			return nil, err
		}
		return &store.Revision{ID: id, Body: l.Body}, nil
	}
	s, hasRev := r.Query.Get("rev")
	if !hasRev {
		return r.readVisible(id, document.Rev{})
	}
	rev, err := document.ParseRev(s)
	if err != nil {
		return nil, err
	}
	return r.readVisible(id, rev)
}

// readVisible reads a revision, the winner if rev is zero, as far as the caller
// may see it.
func (r *request) readVisible(id document.ID, rev document.Rev) (found *store.Revision, err error) {
	err = r.scope.View(r.Ctx(), func(rd *store.Reader) error {
		if rev.IsZero() {
			found, err = rd.Winner(id)
		} else {
			var doc *store.Doc
			if doc, err = rd.Doc(id); err == nil {
				found, err = rd.Revision(doc, rev)
			}
		}
		return err
	})
	return found, err
}

// copyAttachments returns the attachments for a copy: the same blobs, or copies
// of them where documents may not share them, in two partitions.
func (r *request) copyAttachments(from, to document.ID, atts []document.Attachment) ([]document.Attachment, error) {
	out := make([]document.Attachment, len(atts))
	for i, a := range atts {
		if r.scope.Partitioned() && from.Partition() != to.Partition() {
			up, err := r.scope.Upload(r.Ctx(), to, r.open(&a), store.Upload{Encoded: a.Encoding != ""})
			if err != nil {
				return nil, dberr.Wrap("couchapi.copyAttachments", err)
			}
			a.Blob = up.Blob
		}
		out[i] = a
	}
	return out, nil
}
