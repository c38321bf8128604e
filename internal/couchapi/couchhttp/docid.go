package couchhttp

import (
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/web"
)

var (
	ErrMissing   = dberr.New(dberr.NotFound, "not_found", "missing")
	ErrDeleted   = dberr.New(dberr.NotFound, "not_found", "deleted")
	ErrConflict  = dberr.New(dberr.Conflict, "conflict", "Document update conflict.")
	errNameless  = dberr.New(dberr.Invalid, "bad_request", "Invalid _local document id.")
	errNoLocals  = dberr.New(dberr.Forbidden, "forbidden", "You are not allowed to access this db.")
	ErrLocalAtts = dberr.New(dberr.Invalid, "bad_request", "_local documents do not accept attachments.")
)

// BadRequest makes the error of a request that is malformed, with a reason.
func BadRequest(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", reason, args...)
}

// DocID returns the id that the path names, unchecked.
func (r *Request) DocID() string {
	id, at := r.Arg("id"), r.Below()
	if len(r.Path.Parts()) > at+1 && (r.Path.Parts()[at] == "_design" || r.Path.Parts()[at] == "_local") {
		return r.Path.Parts()[at] + "/" + id
	}
	return id
}

// ReadID returns the id of a document to be read. An id that no document can
// have is missing, except that a partitioned database refuses one that names
// no partition: no client meant that. At the endpoint of a partition those of
// others are refused, whether they exist or not.
func (r *Request) ReadID() (document.ID, error) {
	return r.FindID(r.DocID())
}

// FindID is ReadID for an id that the path does not name.
func (r *Request) FindID(s string) (document.ID, error) {
	id, err := document.ParseID(s, 0)
	if err != nil {
		return "", ErrMissing
	}
	if r.Scope.Partitioned() && id[0] != '_' && strings.IndexByte(s, ':') < 0 {
		return "", id.CheckPartitioned()
	}
	return id, r.Scope.CheckID(id)
}

// WriteID returns the id of a document to be written. The store checks what
// partitioned databases ask beyond.
func (r *Request) WriteID() (document.ID, error) {
	id, err := document.ParseID(r.DocID(), r.Rules().MaxID)
	if err == nil {
		err = r.Scope.CheckID(id)
	}
	if err == nil {
		err = r.mayWrite(id)
	}
	return id, err
}

// mayWrite refuses who may not write the document, before a body is read for it.
func (r *Request) mayWrite(id document.ID) error {
	if id.IsLocal() {
		return r.API.rules.AdmitLocal(r.Ctx(), r.Scope)
	}
	return r.API.rules.AdmitID(r.Ctx(), r.DB, r.Scope.Stored(id))
}

// Nameless answers /{db}/_local without a name.
func Nameless(*Request) error { return errNameless }

// NoLocalAttachments answers for attachments of local documents.
func NoLocalAttachments(*Request) error { return ErrLocalAtts }

// Rules are the settings for documents on their way in.
func (r *Request) Rules() *couchwire.Rules { return &r.API.Settings.Value().rules }

// RedirectDesign sends a client that wrote a design document's id as one segment
// to the address that has a slash.
func (r *Request) RedirectDesign() bool {
	at := r.Below()
	name, ok := strings.CutPrefix(r.Path.Parts()[at], "_design/")
	if !ok || name == "" {
		return false
	}
	target := r.Address(append([]string{"_design", name}, r.Path.Parts()[at+1:]...)...)
	if _, q := web.TargetOf(r.HTTP); q != "" {
		target += "?" + q
	}
	r.Set("Location", target)
	r.Begin(http.StatusMovedPermanently, 0)
	return true
}
