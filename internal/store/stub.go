package store

import (
	"errors"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// resolve returns an edit's attachments with stubs replaced by what they stand
// for: an attachment of that name of the parent or, for a replicated edit, of
// the nearest of its ancestors, or of a leaf, whose body is stored.
// Errors: Precondition missing_stub, also for an upload that has expired.
func (d *Database) resolve(s kv.Snapshot, t *document.Tree, e *pendingEdit, parent document.Rev) ([]document.Attachment, error) {
	if len(e.Attachments) == 0 {
		return nil, nil
	}
	atts := append([]document.Attachment(nil), e.Attachments...)
	stubs := map[string][]int{}
	for i := range atts {
		if atts[i].Stub {
			stubs[atts[i].Name] = append(stubs[atts[i].Name], i)
		} else if err := d.checkUpload(s, &atts[i]); err != nil {
			return nil, err
		}
	}
	for rev := range stubSources(t, e, parent) {
		if len(stubs) == 0 {
			break
		}
		if err := d.fillStubs(s, e.ID, rev, stubs, atts); err != nil {
			return nil, err
		}
	}
	for i := range atts {
		if atts[i].Stub {
			return nil, dberr.New(dberr.Precondition, "missing_stub", "Invalid attachment stub in %s for %s", string(e.shown), atts[i].Name)
		}
	}
	return atts, nil
}

// checkUpload looks for the blob that was uploaded for an attachment.
func (d *Database) checkUpload(s kv.Snapshot, a *document.Attachment) error {
	if a.Blob == 0 {
		return nil
	}
	_, err := s.Get(d.blobKey(a.Blob))
	if errors.Is(err, kv.ErrNotFound) {
		return dberr.New(dberr.Precondition, "missing_stub", "The upload of attachment %s has expired.", a.Name)
	}
	return err
}

// maxSources is how many leaves are looked at for the attachment that a stub
// means: writers wait meanwhile.
const maxSources = 100

// stubSources lists the revisions whose attachments a stub may mean. Each is read
// once for all stubs of an edit.
func stubSources(t *document.Tree, e *pendingEdit, parent document.Rev) iter.Seq[document.Rev] {
	return func(yield func(document.Rev) bool) {
		if e.Path == nil {
			if !parent.IsZero() {
				yield(parent)
			}
			return
		}
		for _, rev := range e.Path {
			if !yield(rev) {
				return
			}
		}
		leaves := t.Leaves()
		for _, l := range leaves[:min(len(leaves), maxSources)] {
			if !yield(l.Rev) {
				return
			}
		}
	}
}

// fillStubs fills in the stubs, places in atts by their names, that mean
// attachments of a revision, and takes them out of stubs.
func (d *Database) fillStubs(s kv.Snapshot, id document.ID, rev document.Rev, stubs map[string][]int, atts []document.Attachment) error {
	value, err := s.Get(d.bodyKey(id, rev))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := decodeBody(value)
	if err != nil {
		return err
	}
	for _, a := range b.attachments {
		var left []int
		for _, i := range stubs[a.Name] {
			if atts[i].RevPos == 0 || atts[i].RevPos == a.RevPos {
				atts[i] = a
			} else {
				left = append(left, i)
			}
		}
		if stubs[a.Name] = left; left == nil {
			delete(stubs, a.Name)
		}
	}
	return nil
}
