package documents

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

var errNoAttachment = dberr.New(dberr.NotFound, "not_found", "Document is missing attachment")

// getAttachment answers GET and HEAD of an attachment.
func getAttachment(r *couchhttp.Request) error {
	if r.RedirectDesign() {
		return nil
	}
	if strings.HasPrefix(r.DocID(), "_local/") {
		return couchhttp.ErrLocalAtts
	}
	a, err := findAttachment(r)
	if err != nil {
		return err
	}
	r.API.Stats.DocReads.Add(1)
	r.Etag(base64.StdEncoding.EncodeToString(a.Digest[:]))
	if a.Encoding != "" {
		r.Vary("Accept-Encoding")
	}
	if notModified(r) {
		return nil
	}
	// What an attachment holds is not to run as a page of this server.
	if policy := r.API.Settings.Value().AttachmentPolicy; policy != "" {
		r.Set(couchhttp.PolicyHeader, policy)
	}
	if a.Encoding != "" {
		return sendEncoded(r, a)
	}
	r.Set("Accept-Ranges", "bytes")
	ranges, err := ranges(r, a)
	if err != nil {
		return err
	}
	switch {
	case ranges == nil:
		r.Set("Content-Md5", base64.StdEncoding.EncodeToString(a.Digest[:]))
		return sendBytes(r, http.StatusOK, a, span{0, a.Length})
	case len(ranges) == 1:
		r.Set("Content-Range", ranges[0].header(a.Length))
		return sendBytes(r, http.StatusPartialContent, a, ranges[0])
	}
	return sendRanges(r, a, ranges)
}

// findAttachment looks the attachment of the path up, in the winner or the
// revision that rev= names.
func findAttachment(r *couchhttp.Request) (*document.Attachment, error) {
	id, err := r.ReadID()
	if err != nil {
		return nil, err
	}
	var rev document.Rev
	if s, ok := r.Query.Get("rev"); ok {
		if rev, err = document.ParseRev(s); err != nil {
			return nil, err
		}
	}
	found, err := readVisible(r, id, rev)
	if err != nil {
		return nil, err
	}
	name := r.Arg("attachment")
	for i := range found.Attachments {
		if found.Attachments[i].Name == name {
			return &found.Attachments[i], nil
		}
	}
	return nil, errNoAttachment
}

// sendEncoded answers with an attachment that is stored with gzip: as it is if
// the client takes that, else unpacked. Ranges of it can't be had.
func sendEncoded(r *couchhttp.Request, a *document.Attachment) error {
	r.Set("Accept-Ranges", "none")
	if couchwire.Accepts(r.Header("Accept-Encoding"), couchwire.Gzip) {
		r.Set("Content-Encoding", couchwire.Gzip)
		return sendBytes(r, http.StatusOK, a, span{0, a.Encoded})
	}
	r.Set("Content-Type", a.ContentType)
	length := -1
	if a.Length != a.Encoded { // else nobody has said what unpacking gives
		length = int(a.Length)
	}
	if r.Head {
		r.Begin(http.StatusOK, length)
		return nil
	}
	unpacked, err := couchwire.Decoded(a, r.Open(a))
	if err != nil {
		return dberr.Wrap("documents.sendEncoded", err)
	}
	r.Begin(http.StatusOK, length)
	return r.Copy(unpacked)
}

// sendBytes answers with a range of an attachment's stored bytes.
func sendBytes(r *couchhttp.Request, status int, a *document.Attachment, s span) error {
	r.Set("Content-Type", a.ContentType)
	r.Begin(status, int(s.to-s.from))
	if r.Head {
		return nil
	}
	return r.Copy(r.Scope.Download(r.Ctx(), *a, s.from, s.to))
}

// sendRanges answers with several runs as multipart/byteranges.
func sendRanges(r *couchhttp.Request, a *document.Attachment, ranges []span) error {
	boundary, err := couchwire.NewBoundary(rand.Reader)
	if err != nil {
		return err
	}
	s := r.Stream(http.StatusPartialContent, `multipart/byteranges; boundary="`+boundary+`"`)
	parts := couchwire.NewParts(s, boundary)
	for _, sp := range ranges {
		if err := parts.Part("Content-Type", a.ContentType, "Content-Range", sp.header(a.Length)); err != nil {
			return err
		}
		if r.Head {
			continue
		}
		if _, err := io.Copy(s, r.Scope.Download(r.Ctx(), *a, sp.from, sp.to)); err != nil {
			return err
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	return s.End()
}
