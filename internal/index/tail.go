package index

import (
	"context"

	"github.com/sectional/sectional/internal/store"
)

// Bounds of what queries take in themselves, in memory: more is the index's to take in.
const (
	tailDocs   = 100
	tailBytes  = 256 << 10     // in one piece
	tailSteps  = 10 * tailDocs // changes of documents that may have changed again
	tailPieces = 8
)

// Tail is what an index has not taken in at a snapshot, in pieces: a query that comes
// after a write finds what the one before it made of the changes before, and only those
// that came since are its own.
//
// Nothing in it is true for longer than the index's progress is where it was: then it is
// forgotten, as the index has these changes itself.
type Tail struct {
	Changes []Change // of this piece, which came after those Before
	Before  *Tail    // nil for none
	Derived any      // what the kind made of Changes; nil for nothing yet
	index   *Index
	from    store.Sequences // what the index has taken in
	to      store.Sequences // up to where the changes are
	docs    int             // in all pieces
	pieces  int
	own     bool // it depends on what one reader may see
}

// Tail reads what an index has not taken in at r's snapshot, for a kind that can answer as
// if it had; nil if that is too much, or the index is not readable. r is of the index's
// namespace.
//
// Whoever asks for it needs the index up to date: the background keeps it close then.
func (x *Indexes) Tail(r *store.Reader, ix *Index) (*Tail, error) {
	t := x.task(r.Database(), ix)
	defer x.release(t)
	t.asks()
	if ix.State != Readable {
		return nil, nil
	}
	p, err := ix.Progress(r.Snapshot(), r.Database().Number())
	if err != nil || p.Phase != phaseFeed {
		return nil, err
	}
	now, err := r.Sequences()
	if err != nil || uint64(now.Seq) > uint64(p.UpTo.Seq)+tailSteps {
		return nil, err
	}
	none := Tail{index: ix, from: p.UpTo, to: p.UpTo}
	if kept := t.keepTail(p.UpTo, now); kept != nil && !r.Hides() {
		tail, err := kept.more(r)
		if err != nil || tail == nil || tail == kept || tail.pieces <= tailPieces {
			return tail, err
		}
	}
	return none.more(r)
}

// more returns the tail with what came after it, if that is not too much. Of a partition
// that is being dropped the reader gives nothing.
func (t *Tail) more(r *store.Reader) (*Tail, error) {
	docs, to, all, err := t.index.after(r, t.to, pageLimit{tailDocs + 1 - t.docs, tailBytes})
	switch {
	case err != nil || !all:
		return nil, err
	case len(docs) == 0:
		return t, nil
	}
	next := &Tail{Changes: docs, index: t.index, from: t.from, to: to, docs: t.docs + len(docs), pieces: t.pieces + 1, own: r.Hides()}
	if t.pieces > 0 {
		next.Before = t
	}
	return next, nil
}

// keepTail returns a tail that others made of the changes after what the index has taken in, as
// far as they are in a snapshot; nil for none.
func (t *task) keepTail(from, now store.Sequences) *Tail {
	t.state.Lock()
	tail := t.state.tail
	t.state.Unlock()
	for tail != nil && (tail.from != from || tail.to.Seq > now.Seq || tail.to.Removals > now.Removals) {
		tail = tail.Before
	}
	return tail
}

// Keep remembers a tail of which everything was made for the queries after this one, until
// the index has taken it in.
func (x *Indexes) Keep(d *store.Database, tail *Tail) {
	if tail.own || tail.pieces == 0 {
		return
	}
	t := x.task(d, tail.index)
	defer x.release(t)
	t.state.Lock()
	defer t.state.Unlock()
	if old := t.state.tail; (!t.state.known || t.state.progress.UpTo == tail.from) && (old == nil || old.from != tail.from || old.to.Seq <= tail.to.Seq) {
		t.state.tail = tail
	}
}

// Tail is Indexes.Tail for the index that answers, at a snapshot of View; nil too for one
// that the background does not keep close: its queries would make the same again and again.
func (s *Session) Tail(r *store.Reader) (*Tail, error) {
	if s.Answers.Manual || s.Answers.Tenant != "" {
		return nil, nil
	}
	return s.indexes.Tail(r, s.Answers)
}

// Keep is Indexes.Keep.
func (s *Session) Keep(tail *Tail) { s.indexes.Keep(s.scope.Database(), tail) }

// TakeIn has the index that the name means take in what queries have answered from already:
// who asks what the index has is not told of less. From what others answered that share the
// store nobody here knows, so it takes in all there is.
func (s *Session) TakeIn(ctx context.Context) error {
	if s.indexes.store.Shared() && s.Index.State == Readable && !s.Index.Manual {
		return s.indexes.CatchUp(ctx, s.scope.Database(), s.Index, s.UpTo)
	}
	t := s.indexes.task(s.scope.Database(), s.Index)
	t.state.Lock()
	tail := t.state.tail
	t.state.Unlock()
	s.indexes.release(t)
	if tail == nil {
		return nil
	}
	return s.indexes.CatchUp(ctx, s.scope.Database(), s.Index, tail.to)
}
