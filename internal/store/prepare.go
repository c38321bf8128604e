package store

import (
	"bytes"
	"context"
	"crypto/md5"

	"github.com/sectional/sectional/internal/document"
)

// prepared is what can be worked out about an edit before the commit, when no
// other writer waits for it: the body row and the revision of an edit without
// attachments.
type prepared struct {
	rev    document.Rev // valid if the edit's parent turns out to be Edit.Parent
	value  []byte
	chunks [][]byte
}

// prepare does an edit's work ahead of the commit. Large inline attachments
// become blobs; stubs that can't be resolved fail the whole call, as CouchDB
// does.
func (s Scope) prepare(ctx context.Context, e *pendingEdit) error {
	if e.prepareBody(); len(e.Attachments) == 0 || e.Decide != nil {
		return nil // the commit reads the winner that a conditional edit takes its stubs from
	}
	e.Attachments = append([]document.Attachment(nil), e.Attachments...)
	stubs := false
	for i := range e.Attachments {
		a := &e.Attachments[i]
		stubs = stubs || a.Stub
		if err := s.prepareAttachment(ctx, e.ID, a); err != nil {
			return err
		}
	}
	if stubs {
		return s.checkStubs(ctx, e)
	}
	return nil
}

// prepareBody makes the body row and the revision of an edit without attachments.
func (e *pendingEdit) prepareBody() {
	e.prepared = prepared{}
	if e.Body == nil {
		e.Body = []byte("{}")
	}
	if len(e.Attachments) > 0 {
		return
	}
	e.prepared.value, e.prepared.chunks = bodyValue(e.Body, nil)
	if e.Path == nil {
		e.prepared.rev = document.NewRev(e.Parent, e.Deleted, e.Body, nil)
	}
}

// prepareAttachment fills in what inline bytes decide, and moves large ones
// into a blob.
func (s Scope) prepareAttachment(ctx context.Context, id document.ID, a *document.Attachment) error {
	if a.Stub || a.Blob != 0 {
		return nil
	}
	if a.Data == nil {
		a.Data = []byte{}
	}
	a.Digest, a.Encoded = md5.Sum(a.Data), int64(len(a.Data))
	if a.Encoding == "" {
		a.Length = a.Encoded
	}
	if len(a.Data) <= chunkSize {
		return nil
	}
	up, err := s.db.upload(ctx, id, bytes.NewReader(a.Data), Upload{Encoded: a.Encoding != ""})
	if err != nil {
		return err
	}
	a.Blob, a.Data = up.Blob, nil
	return nil
}

// checkStubs refuses an edit whose stubs name attachments that the document
// does not have. The commit looks again.
func (s Scope) checkStubs(ctx context.Context, e *pendingEdit) error {
	return s.db.Whole().View(ctx, func(r *Reader) error {
		d, at, err := r.standing(e.ID)
		if err != nil {
			return err
		}
		if dropped, err := r.dropped(d, at, e); err != nil || dropped {
			return err
		}
		parent := e.Parent
		if e.Path == nil {
			if parent, err = d.Tree.Parent(e.Parent, e.Deleted); err != nil {
				return nil // the commit will tell this edit about its conflict
			}
		}
		_, err = s.db.resolve(r.v, &d.Tree, e, parent)
		return err
	})
}

// size is about how many bytes the edit will write.
func (e *pendingEdit) size() int {
	n := len(e.Body) + 256
	for i := range e.Attachments {
		n += len(e.Attachments[i].Data) + 128
	}
	return n
}
