package store

import (
	"context"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// writeRun is edits on their way into a commit.
type writeRun struct {
	*request
	edits []*pendingEdit
}

// resolveRun waits for a run. If the commit fails by what is in the edits, because it
// is over a limit of the engine or makes us panic, each is committed by itself, so
// that it is the outcome of the one that is to blame.
func (d *Database) resolveRun(r writeRun) error {
	err := r.wait()
	if !ofTheEdit(err) {
		return err
	}
	for _, e := range r.edits {
		if !e.open {
			continue
		}
		one := []*pendingEdit{e}
		if len(r.edits) > 1 {
			// Not ended by the caller's leaving: edits before this one are stored.
			ctx := context.WithValue(context.WithoutCancel(d.store.ctx), preconditionsKey{}, r.preconditions)
			err = d.submit(ctx, "store.Write", e.size(), func(g *group) error { return apply(g, one) })
		}
		if ofTheEdit(err) {
			e.rev, e.seq, e.err, err = document.Rev{}, 0, err, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofTheEdit reports whether a commit failed by what is in an edit.
func ofTheEdit(err error) bool { return dberr.Is(err, dberr.TooLarge) || dberr.Panicked(err) }

func (w *write) results() []Result {
	rs := make([]Result, len(w.edits))
	for i, e := range w.edits {
		rs[i] = Result{ID: e.shown, Rev: e.rev, Seq: e.seq, Err: e.err}
		if e.Path != nil {
			rs[i].Rev = e.Path[0]
		}
	}
	return rs
}
