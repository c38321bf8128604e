// Package couchwire owns the forms in which CouchDB's clients and servers
// exchange documents: JSON documents with their reserved members, stubs and
// inline attachments, the bodies of the bulk requests, and the multipart
// bodies that carry attachments beside their document.
//
// It promises that what comes in is checked completely before anybody sees it,
// with CouchDB's texts where CouchDB has one, that bodies go out byte for byte
// as they are stored, and that no attachment is held in memory as a whole
// unless it came inline. It knows nothing of HTTP, of databases or of storage:
// the faces and the replicator hand it bytes and readers.
//
// Begin reading at ParseDocument (in) and AppendDocument (out).
package couchwire

import (
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// Rules are the limits and settings that hold for documents on their way in.
// The zero value limits nothing and compresses nothing.
type Rules struct {
	MaxID         int   // longest document id in bytes; 0 for no limit
	MaxDocument   int   // longest stored body in bytes; 0 for no limit
	MaxAttachment int64 // longest attachment in bytes; 0 for no limit
	// MaxAttachments is how many a document may have; 0 for no limit.
	MaxAttachments int
	MaxBulkDocs    int // most documents of a _bulk_docs request; 0 for no limit
	MaxBulkGet     int // most entries of a _bulk_get request; 0 for no limit
	// Compressible reports whether attachments of a content type are stored
	// with gzip; nil compresses none.
	Compressible func(contentType string) bool
}

func badRequest(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", reason, args...)
}

func invalidDoc(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "doc_validation", reason, args...)
}

func badMember(name string) error {
	return invalidDoc("Bad special document member: %s", name)
}

func invalidJSON() error { return document.ErrNotJSON }

// DocumentTooLarge refuses a document for its length: CouchDB's reason is the id,
// and ours says which limit it is.
func (r *Rules) DocumentTooLarge(id document.ID) error {
	return tooLarge("document_too_large", string(id), int64(r.MaxDocument), "max_document_size")
}

// AttachmentTooLarge refuses an attachment for its length.
func (r *Rules) AttachmentTooLarge(name string) error {
	return tooLarge("attachment_too_large", name, r.MaxAttachment, "max_attachment_size")
}

func tooLarge(code, what string, most int64, setting string) error {
	return dberr.Locate(&dberr.Error{Kind: dberr.TooLarge, Code: code, Reason: what}, "the limit is "+strconv.FormatInt(most, 10)+" bytes: [couchdb] "+setting)
}
