package index

import (
	"context"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// addFresh adds one page of documents to an index of a following kind that is
// being built for the first time.
func (t *task) addFresh(ctx context.Context, k Following, p *Progress) error {
	g, err := t.page(ctx, p)
	if err != nil {
		return err
	}
	next := g.next(*p, t.x.clock().Unix())
	if !g.end {
		t.readAhead(ctx, next)
	}
	return t.apply(ctx, k, g.docs, true, p, next)
}

// apply maps changed documents and commits their rows together with the
// progress.
func (t *task) apply(ctx context.Context, k Following, docs []Change, fresh bool, p *Progress, next Progress) error {
	batch, err := k.Map(ctx, t.d, t.ix, docs, fresh)
	if err != nil {
		return err
	}
	next.Skipped += batch.Skipped()
	err = t.d.Commit(ctx, func(tx kv.Txn) error {
		if err := move(tx, t.d.Number(), t.ix.Number, p, &next); err != nil {
			return err
		}
		return batch.Apply(tx)
	})
	if err == nil {
		*p = next
	}
	return err
}

// follow brings an index of a following kind up to a snapshot taken now, or
// does one batch on the way there; it tells what it has reached.
func (t *task) follow(ctx context.Context, k Following, p *Progress) (reached store.Mark, end bool, err error) {
	docs, to, end, err := t.catchUpPage(ctx, p)
	if err != nil || len(docs) == 0 {
		return to, end, err
	}
	next := *p
	next.Mark, next.Done, next.Updated = to, p.Done+uint64(len(docs)), t.x.clock().Unix()
	return to, end, t.apply(ctx, k, docs, false, p, next)
}

// catchUpPage reads what changed since the progress's mark, as much as makes a
// batch.
func (t *task) catchUpPage(ctx context.Context, p *Progress) (docs []Change, to store.Mark, end bool, err error) {
	designs, scope := t.ix.designs(), t.home.scope(t.d)
	err = scope.View(ctx, func(r *store.Reader) error {
		docs, end = docs[:0], false
		now, err := r.Mark()
		if err != nil {
			return err
		}
		to = store.Mark{Seq: p.Mark.Seq, Gone: p.Mark.Gone}
		bytes := 0
		for c, err := range r.Changes(p.Mark.Seq, false) {
			if err != nil {
				return err
			}
			to.Seq = c.Seq
			if scope.Designs(c.ID) && !designs {
				continue
			}
			change, err := entry(r, c)
			if err != nil {
				return err
			}
			if change.Rev != nil {
				bytes += len(change.Rev.Body)
			}
			docs = append(docs, change)
			if len(docs) >= pageDocs || bytes >= pageBytes {
				return nil
			}
		}
		if t.home.owner == "" { // an owner's index begins anew instead (Indexes.Renew)
			if docs, end, err = removals(r, docs, p, &to); err != nil || !end {
				return err
			}
		}
		to, end = now, true
		return nil
	})
	return docs, to, end, err
}

// removals adds the documents that went without a trace in the feed; end is false
// when there are more than go into a batch.
func removals(r *store.Reader, docs []Change, p *Progress, to *store.Mark) (_ []Change, end bool, err error) {
	for step, err := range r.Gone(p.Mark.Gone) {
		if err != nil {
			return docs, false, err
		}
		to.Gone = step.Place
		change, err := nowIs(r, step.ID)
		if err != nil {
			return docs, false, err
		}
		if docs = append(docs, change); len(docs) >= 2*pageDocs {
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

// changeOf gives a document with its winner as a change.
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
