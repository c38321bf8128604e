package store

import (
	"bytes"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Replica is a document as a replica needs it: the tree with nothing left in
// chunks, and every leaf with its body and attachments.
type Replica struct {
	ID     document.ID
	Tree   document.Tree
	Leaves []Revision // in the order of Tree.Leaves
}

// Replicas walks the documents of the span in byte order of their ids, as
// replicas need them; Descending is overlooked. Of a partition that is being
// buried it shows what the feed shows: the tombstones that stay. The Replica and
// its Leaves are reused between steps.
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
		w := walk{r: r, it: it, bodies: true, buried: true}
		var d Replica
		for {
			e, err := w.forward()
			if err == nil && e.Doc != nil {
				err = d.fill(r, e)
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
func (d *Replica) fill(r *Reader, e Entry) error {
	if err := r.Load(e.Doc); err != nil {
		return err
	}
	d.ID, d.Tree, d.Leaves = e.Doc.ID, e.Doc.Tree, d.Leaves[:0]
	for _, l := range d.Tree.Leaves() {
		if e.Winner != nil && e.Winner.Rev == l.Rev {
			d.Leaves = append(d.Leaves, *e.Winner)
			continue
		}
		rev, err := r.Revision(e.Doc, l.Rev)
		if err != nil {
			return dberr.Wrap("store.Replicas", err)
		}
		d.Leaves = append(d.Leaves, *rev)
	}
	return nil
}

// Shared tells whether more than one revision has the attachment's bytes.
func (r *Reader) Shared(a *document.Attachment) (bool, error) {
	value, err := r.v.Get(r.db.blobKey(a.Blob))
	if err != nil {
		return false, dberr.Wrap("store.Shared", err)
	}
	b, err := decodeBlob(value)
	return b.references > 1, err
}
