package couchapi

import (
	"bytes"
	"io"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

const (
	// pageRows is how many documents are looked at in one snapshot.
	pageRows = 500
	// pageBytes is the size of rows after which a page is sent. It must be
	// larger than web.SpillSize, which decides whether anything is sent at all.
	pageBytes = 2 * web.SpillSize
)

// docForm says how documents stand in the rows of lists and feeds.
type docForm struct {
	include   bool
	conflicts bool // tell conflicting revisions
	data      bool // attachments with their bytes
	encoding  bool // tell how attachments are encoded
}

// rowStream is an answer of rows that may hold documents. Rows are appended
// inside a snapshot, which must not stay open while a client reads or while
// attachments are copied: a document whose attachments go out in full is held
// until the page is sent, and ends the page.
type rowStream struct {
	*web.Stream
	r    *request
	form docForm
	held *couchwire.Revision
	tail string // what stands behind held
}

// pages is a list that is written page by page.
type pages interface {
	// step appends the next page; over: it was the last one.
	step() (over bool, err error)
	// to makes the stream to which pages are appended.
	to(s *web.Stream)
}

func (w *rowStream) to(s *web.Stream) { w.Stream = s }

// full reports whether the page must be sent before the next row.
func (w *rowStream) full() bool { return w.held != nil || len(w.Buf) >= pageBytes }

// document appends a document and tail. tree is looked at for conflicts alone and
// may be nil without them.
func (w *rowStream) document(rev *store.Revision, tree *document.Tree, tail string) {
	out := outgoing(rev)
	if w.form.conflicts && tree != nil {
		out.Conflicts = conflictsOf(tree)
	}
	if w.form.data && len(rev.Attachments) > 0 {
		out.Body = bytes.Clone(out.Body) // the engine's bytes end with the snapshot
		w.held, w.tail = &out, tail
		return
	}
	w.Buf = couchwire.AppendDocument(w.Buf, &out, couchwire.Form{Encoding: w.form.encoding})
	w.Buf = append(w.Buf, tail...)
}

// finish appends the document that is held, whose attachments stream from the
// store.
func (w *rowStream) finish() error {
	if w.held == nil {
		return nil
	}
	open := func(a *document.Attachment) io.Reader { return w.r.scope.Download(w.r.Ctx(), *a, 0, a.Encoded) }
	err := couchwire.WriteDocument(w, w.held, couchwire.Form{Data: true, Encoding: w.form.encoding}, open)
	w.Buf = append(w.Buf, w.tail...)
	w.held = nil
	return err
}

// conflictsOf returns the leaves of a document that are neither its winner nor
// deleted.
func conflictsOf(t *document.Tree) (revs []document.Rev) {
	for _, n := range t.Leaves()[1:] {
		if !n.Deleted {
			revs = append(revs, n.Rev)
		}
	}
	return revs
}
