package couchapi

import (
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

var (
	errMissing   = dberr.New(dberr.NotFound, "not_found", "missing")
	errDeleted   = dberr.New(dberr.NotFound, "not_found", "deleted")
	errConflict  = dberr.New(dberr.Conflict, "conflict", "Document update conflict.")
	errNameless  = dberr.New(dberr.Invalid, "bad_request", "Invalid _local document id.")
	errNoLocals  = dberr.New(dberr.Forbidden, "forbidden", "You are not allowed to access this db.")
	errLocalAtts = dberr.New(dberr.Invalid, "bad_request", "_local documents do not accept attachments.")
)

func badRequest(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", reason, args...)
}

// docID returns the id that the path names, unchecked.
func (r *request) docID() string {
	id, at := r.arg("id"), r.below()
	if len(r.Path.Parts()) > at+1 && (r.Path.Parts()[at] == "_design" || r.Path.Parts()[at] == "_local") {
		return r.Path.Parts()[at] + "/" + id
	}
	return id
}

// readID returns the id of a document to be read. An id that no document can
// have is missing, except that a partitioned database refuses one that names
// no partition: no client meant that. At the endpoint of a partition those of
// others are refused, whether they exist or not.
func (r *request) readID() (document.ID, error) {
	return r.findID(r.docID())
}

func (r *request) findID(s string) (document.ID, error) {
	id, err := document.ParseID(s, 0)
	if err != nil {
		return "", errMissing
	}
	if r.scope.Partitioned() && id[0] != '_' && strings.IndexByte(s, ':') < 0 {
		return "", id.CheckPartitioned()
	}
	return id, r.scope.CheckID(id)
}

// writeID returns the id of a document to be written. The store checks what
// partitioned databases ask beyond.
func (r *request) writeID() (document.ID, error) {
	id, err := document.ParseID(r.docID(), r.rules().MaxID)
	if err == nil {
		err = r.scope.CheckID(id)
	}
	if err == nil {
		err = r.mayWrite(id)
	}
	return id, err
}

// mayWrite refuses who may not write the document, before a body is read for it.
func (r *request) mayWrite(id document.ID) error {
	if id.IsLocal() {
		return r.api.rules.AdmitLocal(r.Ctx(), r.scope)
	}
	return r.api.rules.AdmitID(r.Ctx(), r.db, r.scope.Stored(id))
}

// nameless answers /{db}/_local without a name.
func nameless(*request) error { return errNameless }

// noLocalAttachments answers for attachments of local documents.
func noLocalAttachments(*request) error { return errLocalAtts }
