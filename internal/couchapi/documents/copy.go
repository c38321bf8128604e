package documents

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// copyDocument answers COPY: the document of the path is written again under
// the id, and over the revision, that the Destination header names.
func copyDocument(r *couchhttp.Request) error {
	from, err := r.ReadID()
	if err != nil {
		return err
	}
	to, parent, err := destination(r)
	if err != nil {
		return err
	}
	source, err := copySource(r, from)
	if err != nil {
		return err
	}
	if to.IsLocal() {
		d := couchwire.Document{ID: to, Body: source.Body}
		n, err := r.StoreLocal(&d, parent)
		if err != nil {
			return err
		}
		return answerWritten(r, to, couchhttp.LocalRev(n), written{etag: true, location: true, status: http.StatusCreated})
	}
	e := document.Edit{ID: to, Parent: parent, Deleted: source.Deleted, Body: source.Body}
	if e.Attachments, err = copyAttachments(r, from, to, source.Attachments); err != nil {
		return err
	}
	return answerWrite(r, &e, written{etag: true, location: true, status: http.StatusCreated})
}

// destination reads the Destination header: an escaped id and, after a
// question mark, the revision to write over.
func destination(r *couchhttp.Request) (document.ID, document.Rev, error) {
	h := r.HTTP.Header["Destination"]
	if h == nil {
		return "", document.Rev{}, couchhttp.BadRequest("Destination header is mandatory for COPY.")
	}
	if strings.HasPrefix(h[0], "http://") || strings.HasPrefix(h[0], "https://") {
		return "", document.Rev{}, couchhttp.BadRequest("Destination URL must be relative.")
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
	id, err := document.ParseID(web.Unquote(name, r.API.Settings.Value().Web.Plus), r.Rules().MaxID)
	if err == nil {
		err = r.Scope.CheckID(id)
	}
	return id, rev, err
}

// copySource reads what is to be copied, as far as the caller may see it.
func copySource(r *couchhttp.Request, id document.ID) (*store.Revision, error) {
	if id.IsLocal() {
		l, err := readLocal(r, id)
		if err != nil {
			return nil, err
		}
		return &store.Revision{ID: id, Body: l.Body}, nil
	}
	s, hasRev := r.Query.Get("rev")
	if !hasRev {
		return readVisible(r, id, document.Rev{})
	}
	rev, err := document.ParseRev(s)
	if err != nil {
		return nil, err
	}
	return readVisible(r, id, rev)
}

// readVisible reads a revision, the winner if rev is zero, as far as the caller
// may see it.
func readVisible(r *couchhttp.Request, id document.ID, rev document.Rev) (found *store.Revision, err error) {
	err = r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
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
func copyAttachments(r *couchhttp.Request, from, to document.ID, atts []document.Attachment) ([]document.Attachment, error) {
	out := make([]document.Attachment, len(atts))
	for i, a := range atts {
		if r.Scope.Partitioned() && from.Partition() != to.Partition() {
			up, err := r.Scope.Upload(r.Ctx(), to, r.Open(&a), store.Upload{Encoded: a.Encoding != ""})
			if err != nil {
				return nil, dberr.Wrap("documents.copyAttachments", err)
			}
			a.Blob = up.Blob
		}
		out[i] = a
	}
	return out, nil
}
