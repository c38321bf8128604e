package index

import (
	"cmp"
	"context"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/tracing"
)

// Bounds of what a first build of a following kind writes at once: rows enough for
// the engine to write them as sorted tables (decision 0029), unless the functions
// are so slow that too much would be lost with the process.
const (
	freshRows  = 40_000
	freshBytes = 8 << 20
	freshFor   = time.Second
)

// addFresh adds all documents to an index of a following kind that is being built
// for the first time. While some of their rows are being written, the next
// documents are mapped.
func (t *task) addFresh(ctx context.Context, k Asynchronous, p *Progress) (err error) {
	var written chan error // of the write under way; nil if there is none
	var to Progress        // what that leads to
	wait := func() error {
		if written == nil {
			return nil
		}
		err := <-written
		if written = nil; err == nil {
			*p = to
		}
		return err
	}
	defer func() {
		if e := wait(); err == nil {
			err = e
		}
	}()
	for at := *p; at.Phase == phaseDocuments; at = to {
		within, span := tracing.Work(ctx, "index.batch")
		batches, next, failed := t.mapFresh(within, k, at)
		if err := wait(); err != nil {
			span.End(err)
			return err
		}
		span.Text("db.namespace", t.d.Name())
		span.Number("sectional.documents", int64(next.Done-at.Done))
		if len(batches) > 0 {
			from := at
			to, written = next, make(chan error, 1)
			go func() {
				err := dberr.Guard(t.x.o.Logger, "index.write", func() error { return t.write(within, batches, &from, next) })
				span.End(cmp.Or(failed, err))
				if err == nil {
					t.note(next, next.UpTo) // now: what is mapped meanwhile may take long
				}
				written <- err
			}()
		} else {
			span.End(failed)
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// mapFresh maps as many documents after at as are written at once, and reports how
// far that comes. What came before an error is there all the same.
func (t *task) mapFresh(ctx context.Context, k Asynchronous, at Progress) (batches []Batch, next Progress, err error) {
	next = at
	began, rows, bytes := time.Now(), 0, 0
	for next.Phase == phaseDocuments && rows < freshRows && bytes < freshBytes && time.Since(began) < freshFor {
		g, err := t.page(ctx, &next)
		if err != nil {
			return batches, next, err
		}
		to := g.next(next, t.x.clock().Unix())
		if !g.end {
			t.prefetchNext(ctx, to)
		}
		b, err := t.derive(ctx, k, g.docs, true, &to)
		if err != nil {
			return batches, next, err
		}
		next, batches = to, append(batches, b)
		n, size := b.Size()
		rows, bytes = rows+n, bytes+size
	}
	return batches, next, nil
}

// derive has the kind map documents, and counts in next what it could not map. Too
// many for which the function had to be stopped break the index, whether they come
// in one batch or one by one.
func (t *task) derive(ctx context.Context, k Asynchronous, docs []Change, fresh bool, next *Progress) (Batch, error) {
	b, err := k.Map(ctx, t.d, t.ix, docs, fresh)
	if err != nil {
		return nil, err
	}
	next.Skipped += b.Skipped()
	if next.Stopped += b.Stopped(); next.Stopped >= script.MaxStopped {
		return nil, &Broken{}
	}
	return b, nil
}

// write commits what was mapped together with the progress.
func (t *task) write(ctx context.Context, batches []Batch, p *Progress, next Progress) error {
	err := t.d.Commit(ctx, func(tx kv.Txn) error {
		if err := move(tx, t.d.Number(), t.ix.Number, p, &next); err != nil {
			return err
		}
		for _, b := range batches {
			if err := b.Apply(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		*p = next
	}
	return err
}

// follow brings an index of a following kind up to a snapshot taken now, or
// does one batch on the way there; it reports what it has reached.
func (t *task) follow(ctx context.Context, k Asynchronous, p *Progress) (reached store.Sequences, end bool, err error) {
	ctx, span := tracing.Work(ctx, "index.batch")
	defer func() { span.End(err) }()
	docs, to, end, err := t.catchUpPage(ctx, p)
	span.Text("db.namespace", t.d.Name())
	span.Number("sectional.documents", int64(len(docs)))
	if err != nil || len(docs) == 0 {
		return to, end, err
	}
	next := *p
	next.UpTo, next.Done, next.Updated = to, p.Done+uint64(len(docs)), t.x.clock().Unix()
	b, err := t.derive(ctx, k, docs, false, &next)
	if err != nil {
		return to, end, err
	}
	return to, end, t.write(ctx, []Batch{b}, p, next)
}

// catchUpPage reads what changed since the progress's sequences, as much as makes a
// batch.
func (t *task) catchUpPage(ctx context.Context, p *Progress) (docs []Change, to store.Sequences, end bool, err error) {
	err = t.ns.View(ctx, func(r *store.Reader) (err error) {
		docs, to, end, err = t.ix.after(r, p.UpTo, pageLimit{pageDocs, pageBytes})
		return err
	})
	return docs, to, end, err
}

// pageLimit is how much is read of the feed: documents, and bytes of their bodies.
type pageLimit struct{ docs, bytes int }

// after reads what changed after sequences in the namespace of a reader, and up to where
// that is; end is false if there is more.
func (x *Index) after(r *store.Reader, from store.Sequences, most pageLimit) (docs []Change, to store.Sequences, end bool, err error) {
	now, err := r.Sequences()
	if err != nil {
		return nil, from, false, err
	}
	to = store.Sequences{Seq: from.Seq, Removals: from.Removals}
	bytes := 0
	for c, err := range r.WithWinners(r.Changes(from.Seq, false), store.Ahead{Docs: most.docs, Bytes: most.bytes}) {
		if err != nil {
			return nil, to, false, err
		}
		to.Seq = c.Seq
		if !x.holds(r, c.ID) {
			continue
		}
		change, err := entry(r, c)
		if err != nil {
			return nil, to, false, err
		}
		if change.Rev != nil {
			bytes += len(change.Rev.Body)
		}
		docs = append(docs, change)
		if len(docs) >= most.docs || bytes >= most.bytes {
			return docs, to, false, nil
		}
	}
	if docs, end, err = x.removals(r, docs, from, &to, 2*most.docs); err != nil || !end {
		return docs, to, false, err
	}
	return docs, now, true, nil
}

// removals adds the documents that went without a trace in the feed; end is false
// when there are more than go into a batch.
func (x *Index) removals(r *store.Reader, docs []Change, from store.Sequences, to *store.Sequences, most int) (_ []Change, end bool, err error) {
	for step, err := range r.Removals(from.Removals) {
		if err != nil {
			return docs, false, err
		}
		if to.Removals = step.Seq; step.ID == "" {
			continue // an index that had not passed what was forgotten began anew then
		}
		if !x.holds(r, step.ID) {
			continue // a tenant's design document, which may be there again
		}
		change, err := nowIs(r, step.ID)
		if err != nil {
			return docs, false, err
		}
		if docs = append(docs, change); len(docs) >= most {
			return docs, false, nil
		}
	}
	return docs, true, nil
}

// entry reads the document of an entry of the feed.
func entry(r *store.Reader, c *store.Change) (change Change, err error) {
	switch change = (Change{ID: c.ID, Seq: c.Seq}); {
	case c.Deleted:
	case len(c.Leaves) > 1:
		return nowIs(r, c.ID)
	default:
		change.Rev, err = r.Changed(c.ID, c.Leaves[0], false)
	}
	return change, err
}

// nowIs reads what a document is now.
func nowIs(r *store.Reader, id document.ID) (Change, error) {
	doc, err := r.Doc(id)
	if dberr.Is(err, dberr.NotFound) {
		return Change{ID: id}, nil
	}
	if err != nil || doc.Tree.Winner().Deleted {
		return Change{ID: id}, err
	}
	rev, err := r.Revision(doc, doc.Tree.Winner().Rev)
	if err != nil {
		return Change{}, err
	}
	return changeOf(doc, rev), nil
}

// changeOf returns a document with its winner as a change.
func changeOf(doc *store.Doc, winner *store.Revision) Change {
	c := Change{ID: doc.ID, Seq: doc.Seq, Rev: winner}
	for _, leaf := range doc.Tree.Leaves()[1:] {
		if leaf.Deleted {
			c.DeletedConflicts = append(c.DeletedConflicts, leaf.Rev)
		} else {
			c.Conflicts = append(c.Conflicts, leaf.Rev)
		}
	}
	return c
}
