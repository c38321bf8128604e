package store

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// Redactor says what a caller may see of the documents of a scope. It is a
// pointer, for scopes are compared.
type Redactor interface {
	// Redact returns the body of a revision as the caller may see it; it may be that
	// of rev, and does not change it. Errors: NotFound for a document that looks as
	// though it were not there, Forbidden for one that may not be read.
	Redact(rev *Revision) (body []byte, err error)
}

// RedactedBy is the scope for a caller who does not see all of its documents: every
// body that its readers give has gone through by, whichever way it is read, and
// documents that by withholds are not found. Writing is not touched: what a write
// replaces is read whole.
//
// What does not show bodies is not redacted: feeds tell of every change, totals
// count every document, and rows of indexes hold what their functions saw.
func (s Scope) RedactedBy(by Redactor) Scope {
	s.redactor = by
	return s
}

// Redacted reports whether readers of the scope may not give all there is.
func (s Scope) Redacted() bool { return s.redactor != nil }

// Unredacted is the scope for what the server reads to act by, and shows nobody:
// the design document whose function is called.
func (s Scope) Unredacted() Scope {
	s.redactor = nil
	return s
}

// redact makes a revision what the caller may see of it.
func (r *Reader) redact(rev *Revision) (*Revision, error) {
	if r.redactor == nil {
		return rev, nil
	}
	body, err := r.redactor.Redact(rev)
	if err != nil {
		return nil, err
	}
	rev.Body = body
	return rev, nil
}

// checkVisible returns the error of a document that is not to be shown, judged by its
// winner; nil for all others.
func (r *Reader) checkVisible(id document.ID, winner document.Rev, deleted bool) error {
	if r.redactor == nil {
		return nil
	}
	b, err := r.db.readBody(r.v, r.Stored(id), winner)
	if err != nil {
		return dberr.Wrap("store.withheld", err)
	}
	_, err = r.redactor.Redact(&Revision{ID: id, Rev: winner, Deleted: deleted, Body: b.body, Attachments: b.attachments})
	return err
}

// passesOver reports whether a walk leaves out the document of a stored id, whose
// head is value, because it is withheld.
func (r *Reader) passesOver(id document.ID, value []byte) (bool, error) {
	if r.redactor == nil {
		return false, nil
	}
	h, _, err := decodeWinner(value)
	if err != nil {
		return false, err
	}
	err = r.checkVisible(r.shown(id), h.winner, h.dead)
	if isRedacted(err) {
		return true, nil
	}
	return false, err
}

// isRedacted tells the errors of a Redactor from those of the store.
func isRedacted(err error) bool {
	return dberr.Is(err, dberr.NotFound) || dberr.Is(err, dberr.Forbidden)
}
