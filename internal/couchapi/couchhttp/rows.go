package couchhttp

import (
	"bytes"
	"io"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// Open returns the stored bytes of an attachment.
func (r *Request) Open(a *document.Attachment) io.Reader {
	return r.Scope.Download(r.Ctx(), *a, 0, a.Encoded)
}

// Outgoing returns a stored revision the form of answers.
func Outgoing(rev *store.Revision) couchwire.Revision {
	return couchwire.Revision{ID: rev.ID, Rev: rev.Rev, Deleted: rev.Deleted, Body: rev.Body, Attachments: rev.Attachments}
}

const (
	// PageRows is how many documents are looked at in one snapshot.
	PageRows = 500
	// PageBytes is the size of rows after which a page is sent. It must be
	// larger than web.SpillSize, which decides whether anything is sent at all.
	PageBytes = 2 * web.SpillSize
)

// MaxRepeatedRevs is how many revisions a request is answered of documents that it has named before, beyond one for each
// time: a few bytes of a body may ask for hundreds of them. What is named after that has the error TooManyRevisions.
const (
	MaxRepeatedRevs  = 10_000
	TooManyRevisions = "too_many_revisions"
)

// DocForm says how documents are shown in the rows of lists and feeds.
type DocForm struct {
	Include   bool
	Conflicts bool // tell conflicting revisions
	Data      bool // attachments with their bytes
	Encoding  bool // tell how attachments are encoded
}

// RowStream is an answer of rows that may hold documents. Rows are appended
// inside a view of a snapshot, in which nobody waits for a client, and no
// attachments are copied: a document whose attachments go out in full is held
// until the page is sent, and ends the page.
type RowStream struct {
	*web.Stream
	R       *Request
	Form    DocForm
	Pending *couchwire.Revision
	tail    string // what comes after Held
}

// Pages is a list that is written page by page.
type Pages interface {
	// Step appends the next page; over: it was the last one.
	Step() (over bool, err error)
	// To makes the stream to which pages are appended.
	To(s *web.Stream)
	// Release lets go of the snapshot that the pages are read at. It may be called several times.
	Release()
}

// To implements Pages.
func (w *RowStream) To(s *web.Stream) { w.Stream = s }

// Full reports whether the page must be sent before the next row.
func (w *RowStream) Full() bool { return w.Pending != nil || len(w.Buf) >= PageBytes }

// Document appends a document and tail. tree is looked at for conflicts alone and
// may be nil without them.
func (w *RowStream) Document(rev *store.Revision, tree *document.Tree, tail string) {
	out := Outgoing(rev)
	if w.Form.Conflicts && tree != nil {
		out.Conflicts = ConflictsOf(tree)
	}
	if w.Form.Data && len(rev.Attachments) > 0 {
		out.Body = bytes.Clone(out.Body) // the engine's bytes end with the snapshot
		w.Pending, w.tail = &out, tail
		return
	}
	w.Buf = couchwire.AppendDocument(w.Buf, &out, couchwire.Form{Encoding: w.Form.Encoding})
	w.Buf = append(w.Buf, tail...)
}

// Finish appends the document that is held, whose attachments stream from the
// store.
func (w *RowStream) Finish() error {
	if w.Pending == nil {
		return nil
	}
	err := couchwire.WriteDocument(w, w.Pending, couchwire.Form{Data: true, Encoding: w.Form.Encoding}, w.R.Open)
	w.Buf = append(w.Buf, w.tail...)
	w.Pending = nil
	return err
}

// ConflictsOf returns the leaves of a document that are neither its winner nor
// deleted.
func ConflictsOf(t *document.Tree) (revs []document.Rev) {
	for _, n := range t.Leaves()[1:] {
		if !n.Deleted {
			revs = append(revs, n.Rev)
		}
	}
	return revs
}
