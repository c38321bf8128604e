package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// A conditional edit (document.Edit.Decide) is decided by its writer first, on the
// document as a snapshot has it, so that admission has something to judge. If the
// document moved by the time of the commit, it is decided anew there: fifty such edits
// of one document that wait are stored in one commit. That must neither pass by whoever
// judged the edit nor hold the commit up. So an edit is bound to what its writer
// decided on, and goes back to its writer when that moved, if more of it was
// judged than its id and its caller, or if deciding takes long. Writers with such
// edits of one document take turns, for else each would go back as often as there
// are others. So do all who decide on a large document in a database: each holds the
// document, what its Decide makes of it, and the new body, before it is known whether
// there is room for that.

// BodyAdmission is a power that an Admission may have: to say of which edits it
// judges no more than their ids and callers. Without it all edits are bound to what
// was admitted.
type BodyAdmission interface {
	// JudgesBody reports whether Admit looks at what an edit of this stored id
	// makes of the document, or changes it.
	JudgesBody(d *Database, id document.ID) bool
}

// How much of a commit conditional edits may take that are decided there.
const (
	slowDecision  = 5 * time.Millisecond  // longer: decided by the writer alone
	decidingTime  = 50 * time.Millisecond // of all in one commit
	largeDecision = 256 << 10             // bytes of a document that its writers alone decide on, one at a time
	decidingBytes = 4 << 20               // read and made by all in one commit
)

// deciding is what the conditional edits that were decided in a commit took of it.
type deciding struct {
	time  time.Duration
	bytes int
}

// decision is what a conditional edit decided last.
type decision struct {
	keep    bool
	refused error // nil for none
	late    bool  // in a commit, and not on what admission saw
}

// changes reports whether the edit is to be written, as far as it is known.
func (e *pendingEdit) changes() bool { return !e.keep && e.refused == nil }

// decide makes a conditional edit what it says of a document. A panic in it is its
// refusal.
func (s *Store) decide(e *pendingEdit, now document.Current) (took time.Duration) {
	var d document.Decision
	began := s.o.Clock()
	refused := s.guard("store.Decide", func() (err error) {
		d, err = e.Decide(now)
		return err
	})
	took = s.o.Clock().Sub(began)
	e.decision = decision{keep: d.Keep, refused: refused}
	e.Parent, e.Body, e.Deleted, e.Attachments = now.Rev, d.Body, d.Deleted, nil
	for i := 0; i < len(now.Attachments) && !d.Deleted && e.changes(); i++ {
		e.Attachments = append(e.Attachments, document.Attachment{Name: now.Attachments[i].Name, Stub: true})
	}
	e.bound = e.bound || took > slowDecision
	return took
}

// decideFirst decides a conditional edit before it is admitted.
func (w *write) decideFirst(ctx context.Context, e *pendingEdit, by *settings) error {
	e.bound = e.bound || w.binds(e, by)
	if w.assumeNew(e) {
		return nil
	}
	old, deleted, err := w.scope.db.pin(ctx, e, nil)
	if by := w.scope.redactor; by != nil && err == nil {
		old, deleted, err = w.scope.db.pin(ctx, e, by)
	}
	if errors.Is(err, errLarge) {
		e.large, e.bound, e.admitted = true, true, false
	}
	if err != nil && !refusal(err) {
		return err
	}
	if e.decision = (decision{refused: err}); err != nil {
		return nil
	}
	now := document.Current{Deleted: deleted}
	if old != nil {
		now = document.Current{Rev: old.Rev, Body: old.Body, Attachments: old.Attachments}
	}
	w.scope.db.store.decide(e, now)
	return nil
}

// assumeNew decides an edit whose document is most likely not there without looking, which the
// commit does in any case. What it refuses and what writes nothing is not decided so: that
// rests on what is there.
func (w *write) assumeNew(e *pendingEdit) bool {
	e.assumedNew = false
	if !e.New || e.bound || e.readmitted || !w.scope.db.blindWrites.may() {
		return false
	}
	w.scope.db.store.decide(e, document.Current{})
	if e.assumedNew = e.changes(); e.assumedNew {
		e.pin(0)
	}
	return e.assumedNew
}

// blindWrites says whether to guess: not for a while after one that was wrong, which has been
// decided in vain.
type blindWrites struct{ pause atomic.Int32 }

// blindPause is how many edits are not guessed after a wrong guess.
const blindPause = 64

func (g *blindWrites) may() bool {
	if g.pause.Load() <= 0 {
		return true
	}
	g.pause.Add(-1)
	return false
}

func (g *blindWrites) wrong() { g.pause.Store(blindPause) }

// binds reports whether an edit is to be judged by what it makes of its document, or
// decides on what its caller alone sees.
func (w *write) binds(e *pendingEdit, by *settings) bool {
	if e.Pinned || w.scope.redactor != nil || len(by.validators) > 0 || len(by.schemas) > 0 && !e.Conforms || e.tenant != nil && len(e.tenant.validators) > 0 {
		return true
	}
	a := w.scope.db.store.o.Admission
	b, ok := a.(BodyAdmission)
	return a != nil && (!ok || b.JudgesBody(w.scope.db, e.ID))
}

// redecide decides a conditional edit in the commit, where its document is not as
// admission saw it. errMoved if its writer has to.
func (g *group) redecide(s *docState, e *pendingEdit) error {
	if e.assumedNew {
		g.db.blindWrites.wrong()
		e.assumedNew = false
	}
	if e.Decide == nil || e.bound || g.deciding.time > decidingTime || g.deciding.bytes > decidingBytes {
		return errMoved
	}
	now, err := g.current(s)
	if err != nil {
		return err
	}
	if len(now.Body) > largeDecision {
		e.bound = true
		return errMoved
	}
	g.deciding.time += g.db.store.decide(e, now)
	g.deciding.bytes += len(now.Body) + len(e.Body)
	e.late, e.derived = true, nil
	e.prepareBody()
	return nil
}

// current reads the winner of a document as the group has it.
func (g *group) current(s *docState) (now document.Current, err error) {
	if s.tree.Empty() || s.marker != nil {
		return now, nil
	}
	w := s.tree.Winner()
	if now.Deleted = w.Deleted; w.Deleted {
		return now, nil
	}
	r := s.latest
	if r == nil || r.Rev != w.Rev {
		if r, err = g.winner(s.id, &s.tree); err != nil {
			return now, err
		}
	}
	return document.Current{Rev: r.Rev, Body: r.Body, Attachments: r.Attachments}, nil
}

// unchanged is the plan of a conditional edit that writes nothing.
func (g *group) unchanged(s *docState, e *pendingEdit) *plan {
	p := &plan{group: g, doc: s, edit: e}
	if !s.tree.Empty() {
		p.rev = s.tree.Winner().Rev
	}
	return p
}

// errLarge says that an edit decides on a large document, and has no turn for that yet.
var errLarge = errors.New("store: a decision on a large document takes its turn")

// largeTurn names the turn of those who decide on large documents. A tenant's have one of
// their own: the tenant's functions may take their time.
func (w *write) largeTurn(e *pendingEdit) docKey {
	const large = "\xff" // no document's id
	if e.tenant != nil {
		return docKey{w.scope.db.number, document.ID(large + e.ID.Partition())}
	}
	return docKey{w.scope.db.number, large}
}

// pin reads the winner of the document that an edit is about, nil for one that is
// not there, and remembers its sequence, so that the commit can tell whether it
// still is as admission saw it: as it did first. It is read as by shows it, nil for
// as it is. errLarge if a conditional edit is to wait first.
func (d *Database) pin(ctx context.Context, e *pendingEdit, by Redactor) (rev *Revision, deleted bool, err error) {
	err = d.Whole().RedactedBy(by).View(ctx, func(r *Reader) error {
		d, err := r.Doc(e.ID)
		if dberr.Is(err, dberr.NotFound) {
			e.pin(0)
			return nil
		}
		if err != nil {
			return err
		}
		e.pin(d.Seq)
		w := d.Tree.Winner()
		if e.Decide != nil && !e.large && w.External > largeDecision {
			return errLarge
		}
		if deleted = w.Deleted; !deleted {
			rev, err = r.Revision(d, w.Rev)
		}
		return err
	})
	return rev, deleted, err
}

// pin notes the sequence at which a document was read for admission. What was read
// of it first counts: whatever was read later is the same, or the edit goes back.
func (e *pendingEdit) pin(q Seq) {
	if e.pinned == nil {
		e.pinned = &q
	}
}
