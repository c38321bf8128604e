package documents

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

var errMissingRev = dberr.New(dberr.Conflict, "not_found", "missing_rev")

// putAttachment answers PUT of an attachment: its bytes go straight into the
// store, and then a revision of the document that has it.
func putAttachment(r *couchhttp.Request) error {
	id, err := attachmentID(r)
	if err != nil {
		return err
	}
	a := document.Attachment{Name: r.Arg("attachment"), ContentType: r.Header("Content-Type")}
	if err := couchwire.CheckAttachmentName(a.Name); err != nil {
		return err
	}
	if a.ContentType == "" {
		a.ContentType = "application/octet-stream"
	}
	if a.Encoding, err = contentEncoding(r); err != nil {
		return err
	}
	e, err := attachmentEdit(r, id)
	if err != nil {
		return err
	}
	if err := r.Rules().CheckAttachments(withAttachment(slices.Clone(e.Attachments), a)); err != nil {
		return err
	}
	if err := receive(r, &a, id); err != nil {
		return err
	}
	e.Attachments = withAttachment(e.Attachments, a)
	return answerWrite(r, e, written{location: true, name: a.Name, status: http.StatusCreated})
}

// deleteAttachment answers DELETE of an attachment.
func deleteAttachment(r *couchhttp.Request) error {
	id, err := attachmentID(r)
	if err != nil {
		return err
	}
	e, err := attachmentEdit(r, id)
	if err != nil {
		return err
	}
	name := r.Arg("attachment")
	i := slices.IndexFunc(e.Attachments, func(a document.Attachment) bool { return a.Name == name })
	if i < 0 {
		return errNoAttachment
	}
	e.Attachments = slices.Delete(e.Attachments, i, i+1)
	return answerWrite(r, e, written{status: http.StatusOK})
}

func attachmentID(r *couchhttp.Request) (document.ID, error) {
	id, err := r.WriteID()
	if err != nil {
		return "", err
	}
	if id.IsLocal() {
		return "", couchhttp.ErrLocalAtts
	}
	return id, precheck(r, id)
}

// contentEncoding reads the encoding in which an attachment is sent, and then
// stored.
func contentEncoding(r *couchhttp.Request) (string, error) {
	switch e := strings.ToLower(r.Header("Content-Encoding")); e {
	case "", "identity":
		return "", nil
	case couchwire.Gzip:
		return couchwire.Gzip, nil
	}
	return "", dberr.New(dberr.Unsupported, "bad_content_type", "Only gzip and identity content-encodings are supported")
}

// attachmentEdit makes the edit that writes the document of the path again as
// it is in the revision that the request names; without one the document is
// new.
func attachmentEdit(r *couchhttp.Request, id document.ID) (*document.Edit, error) {
	rev, err := namedRev(r, document.Rev{})
	if err != nil {
		return nil, err
	}
	if rev.IsZero() {
		return newDocument(r, id)
	}
	found, err := readVisible(r, id, rev)
	if dberr.Is(err, dberr.NotFound) {
		return nil, errMissingRev
	}
	if err != nil {
		return nil, err
	}
	return &document.Edit{ID: id, Parent: rev, Deleted: found.Deleted, Body: found.Body, Attachments: couchhttp.Stubs(found.Attachments)}, nil
}

// newDocument makes the edit for an attachment of a document that is not there
// yet. If it is, the conflict is told before the attachment is read.
func newDocument(r *couchhttp.Request, id document.ID) (*document.Edit, error) {
	err := r.Scope.View(r.Ctx(), func(rd *store.Reader) error {
		_, err := rd.Winner(id)
		return err
	})
	switch {
	case err == nil:
		return nil, couchhttp.ErrConflict
	case dberr.Is(err, dberr.NotFound):
		return &document.Edit{ID: id, Body: []byte("{}")}, nil
	}
	return nil, err
}

// receive reads the attachment that is the body of the request.
func receive(r *couchhttp.Request, a *document.Attachment, id document.ID) error {
	rules := r.Rules()
	if rules.MaxAttachment > 0 && r.HTTP.ContentLength > rules.MaxAttachment {
		return rules.AttachmentTooLarge(a.Name)
	}
	body := r.RawReader(r.API.Settings.Value().Web.MaxBody.Bytes)
	declared := couchwire.Declared{Length: r.HTTP.ContentLength}
	var bad error
	if header, trailer := r.Header("Content-Md5"), hasTrailer(r.HTTP, "Content-Md5"); header != "" || trailer {
		declared.Digest = func() (sum [16]byte) {
			if trailer {
				header = r.HTTP.Trailer.Get("Content-Md5")
			}
			raw, err := base64.StdEncoding.DecodeString(header)
			if err != nil || len(raw) != len(sum) {
				bad = couchhttp.BadRequest("Content-MD5 is not the base64 form of 16 bytes")
				return sum
			}
			return [16]byte(raw)
		}
	}
	if err := couchwire.Receive(a, body, declared, rules, sink(r, id)); err != nil {
		return err
	}
	return bad
}

func hasTrailer(h *http.Request, name string) bool {
	_, ok := h.Trailer[name]
	return ok
}
