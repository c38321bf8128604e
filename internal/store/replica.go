package store

import (
	"bytes"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Replica is a document as a replica needs it: the tree with nothing left in
// chunks, and every leaf with its body and attachments, read when it is asked for.
type Replica struct {
	ID     document.ID
	Tree   document.Tree
	Leaves []document.Node // of Tree

	r      *Reader
	doc    *Doc
	winner *Revision // read with the head; nil: not yet
}

// Replicas walks the documents of the span in byte order of their ids, as
// replicas need them; Descending is overlooked. Of a partition that is being
// collected it shows what the feed shows: the tombstones that stay. The Replica is
// reused between steps.
func (r *Reader) Replicas(sp Span) iter.Seq2[*Replica, error] {
	return func(yield func(*Replica, error) bool) {
		rg := r.docRange(sp)
		if bytes.Compare(rg.Start, rg.End) >= 0 {
			return
		}
		it, err := r.v.Iterate(rg, kv.IterOptions{})
		if err != nil {
			yield(nil, err)
			return
		}
		defer it.Close()
		w := walk{r: r, it: it, bodies: true, tombstones: true}
		d := Replica{r: r}
		for {
			e, err := w.forward()
			if err == nil && e.Doc != nil {
				err = d.fill(e)
			}
			if err != nil {
				yield(nil, dberr.Wrap("store.Replicas", err))
				return
			}
			if e.Doc == nil || !yield(&d, nil) {
				return
			}
		}
	}
}

// fill makes d the document of a walk's step.
func (d *Replica) fill(e Entry) error {
	if err := d.r.Load(e.Doc); err != nil {
		return err
	}
	d.ID, d.Tree, d.doc, d.winner = e.Doc.ID, e.Doc.Tree, e.Doc, e.Winner
	d.Leaves = d.Tree.Leaves()
	return nil
}

// Leaf reads the i-th of the Leaves. The winner is borrowed until the walk's next
// step.
func (d *Replica) Leaf(i int) (*Revision, error) {
	rev := d.Leaves[i].Rev
	if d.winner != nil && d.winner.Rev == rev {
		return d.winner, nil
	}
	l, err := d.r.Revision(d.doc, rev)
	return l, dberr.Wrap("store.Replicas", err)
}

// Shared reports whether more than one revision has the attachment's bytes.
func (r *Reader) Shared(a *document.Attachment) (bool, error) {
	value, err := r.v.Get(r.db.blobKey(a.Blob))
	if err != nil {
		return false, dberr.Wrap("store.Shared", err)
	}
	b, err := decodeBlob(value)
	return b.references > 1, err
}
