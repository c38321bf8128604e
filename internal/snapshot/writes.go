package snapshot

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// A batch goes to the store at these bounds, and so many batches may be on
// their way: while one is being synced others are applied and gathered.
const (
	batchEdits  = 16_000
	batchBytes  = 6 << 20
	batchesOpen = 2
)

// batch is edits that are written together.
type batch struct {
	edits []document.Edit
	bytes int
}

func (b *batch) take(e document.Edit) {
	b.bytes += len(e.Body) + 64*len(e.Path)
	for i := range e.Attachments {
		b.bytes += len(e.Attachments[i].Data)
	}
	b.edits = append(b.edits, e)
}

func (b *batch) full() bool { return len(b.edits) >= batchEdits || b.bytes >= batchBytes }

// writes are the batches on their way into the store. They may end in any
// order; up to which bookmark everything is on disk is told by the longest run of
// ended ones from the first on.
type writes struct {
	ctx     context.Context
	scope   store.Scope
	refused func(Refusal)
	open    chan struct{}
	group   sync.WaitGroup
	last    chan struct{} // closed when the batch added last, and all before it, have ended

	outcome struct {
		sync.Mutex
		durable string // bookmark
		refused int64
		failed  error
	}
}

func newWrites(ctx context.Context, s store.Scope, refused func(Refusal)) *writes {
	if refused == nil {
		refused = func(Refusal) {}
	}
	w := &writes{ctx: ctx, scope: s, refused: refused, open: make(chan struct{}, batchesOpen), last: make(chan struct{})}
	close(w.last)
	return w
}

// add writes a batch; bookmark is the one that was read last before it ended. It
// reports false when an earlier batch has failed.
func (w *writes) add(b batch, bookmark string) bool {
	if len(b.edits) == 0 {
		return true
	}
	w.open <- struct{}{}
	if w.failure() != nil {
		<-w.open
		return false
	}
	before, ended := w.last, make(chan struct{})
	w.last = ended
	w.group.Go(func() {
		defer close(ended)
		results, err := w.scope.Write(w.ctx, b.edits, store.WriteOptions{Load: true})
		<-w.open
		<-before
		w.settle(results, err, bookmark)
	})
	return true
}

func (w *writes) settle(results []store.Result, err error, bookmark string) {
	for i := range results {
		switch r := &results[i]; {
		case r.Err == nil:
		case passing(r.Err):
			err = cmp.Or(err, r.Err)
		default:
			w.refuse(Refusal{ID: r.ID, Rev: r.Rev, Err: r.Err})
		}
	}
	w.outcome.Lock()
	defer w.outcome.Unlock()
	switch {
	case w.outcome.failed != nil:
	case err != nil:
		w.outcome.failed = err
	default:
		w.outcome.durable = bookmark
	}
}

// passing reports whether an edit failed by what is wrong here and may pass, for
// which the API has no word but its kind's: no bookmark may say that it was refused.
func passing(err error) bool {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Kind {
	case dberr.Internal, dberr.Timeout, dberr.Unavailable, dberr.UnknownOutcome, dberr.SnapshotTooOld, dberr.Full:
		return e.Code == ""
	}
	return false
}

func (w *writes) refuse(r Refusal) {
	w.outcome.Lock()
	defer w.outcome.Unlock()
	w.outcome.refused++
	w.refused(r)
}

func (w *writes) failure() error {
	w.outcome.Lock()
	defer w.outcome.Unlock()
	return w.outcome.failed
}

// wait waits for all batches. It returns the bookmark up to which everything is on
// disk if one has failed, how many revisions were refused, and the first
// failure.
func (w *writes) wait() (durable string, refused int64, failed error) {
	w.group.Wait()
	return w.outcome.durable, w.outcome.refused, w.outcome.failed
}
