package store

import (
	"bytes"
	"encoding/binary"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Winners walks the winning revisions of the documents of the span in byte order
// of their ids, tombstones included, which have no body. It is Docs for those
// who look at every document and at no tree. The Revision is reused between
// steps, and so are the bytes of its body and attachments: who keeps any, copies.
func (r *Reader) Winners(sp Span) iter.Seq2[*Revision, error] {
	return func(yield func(*Revision, error) bool) {
		rg := r.docRange(sp)
		if bytes.Compare(rg.Start, rg.End) >= 0 {
			return
		}
		if sp.Descending || r.redactor != nil {
			r.winnersByDocs(sp, yield)
			return
		}
		it, err := r.v.Iterate(rg, kv.IterOptions{})
		if err != nil {
			yield(nil, err)
			return
		}
		defer it.Close()
		w := winnerWalk{r: r, it: it, prefix: len(keyspace.Doc.Key(r.db.number)), all: r.seesAll()}
		if r.tenant {
			w.cut = len(r.partition) + 1
		}
		for range prefetchAfter {
			found, err := w.next()
			if err != nil {
				yield(nil, dberr.Wrap("store.Winners", err))
				return
			}
			if !found {
				return
			}
			rev := w.revision(string(w.id[w.cut:]), string(w.hash))
			if !yield(&rev, nil) {
				return
			}
		}
		w.prefetch(yield)
	}
}

// winnersByDocs walks by way of Docs: the other way, or what is redacted.
func (r *Reader) winnersByDocs(sp Span, yield func(*Revision, error) bool) {
	for e, err := range r.Docs(sp, true) {
		if err != nil {
			yield(nil, err)
			return
		}
		rev := e.Winner
		if rev == nil {
			rev = &Revision{ID: e.Doc.ID, Rev: e.Doc.Tree.Winner().Rev, Deleted: true}
		}
		if !yield(rev, nil) {
			return
		}
	}
}

// winnerWalk steps over heads and the bodies of winners. It makes no text of what
// it reads: a scan's caller needs one, a range of documents shares one.
type winnerWalk struct {
	r      *Reader
	it     kv.Iterator
	prefix int  // bytes before the id in a key
	cut    int  // bytes of a stored id that the scope does not show
	all    bool // there is nothing that the reader may not show
	placed bool // the iterator is on a row that has not been looked at

	// The document at hand, up to the next step.
	key  []byte // of the winner's body; id and hash lie in it
	id   []byte
	gen  uint32
	hash []byte
	dead bool
	body stored
}

// next reads the next document; false at the end.
func (w *winnerWalk) next() (found bool, err error) {
	for {
		if !w.placed && !w.it.Next() {
			return false, w.it.Err()
		}
		w.placed = false
		w.key = append(w.key[:0], w.it.Key()...)
		var sub []byte
		if w.id, sub, err = keyspace.BorrowText(w.key[w.prefix:]); err != nil {
			return false, err
		}
		if len(sub) != 2 || sub[1] != keyspace.SubHead { // another body: jump over the rest
			if !w.it.Seek(kv.PrefixEnd(w.key[:len(w.key)-len(sub)])) {
				return false, w.it.Err()
			}
			w.placed = true
			continue
		}
		if !w.all && !w.r.sees(document.ID(w.id)) {
			continue
		}
		value, err := w.it.Borrow()
		if err != nil {
			return false, err
		}
		h, _, err := borrowWinner(value)
		if err != nil {
			return false, err
		}
		w.dead, w.gen = h.dead, h.gen
		w.key[len(w.key)-1] = keyspace.SubBody
		w.key = append(binary.BigEndian.AppendUint32(w.key, w.gen), h.hash...)
		w.hash = w.key[len(w.key)-len(h.hash):]
		if w.body = (stored{}); w.dead {
			return true, nil
		}
		return true, w.readBody()
	}
}

// readBody reads the winner's body, which most often is the next row.
func (w *winnerWalk) readBody() (err error) {
	w.placed = w.it.Next()
	if w.placed && w.r.db.store.distant && bytes.Compare(w.it.Key(), w.key) < 0 {
		w.placed = w.it.Seek(w.key) // it has come with the rows before, as a rule
	}
	if !w.placed || !bytes.Equal(w.it.Key(), w.key) {
		if err = w.it.Err(); err == nil {
			w.body, err = w.r.db.readBody(w.r.v, document.ID(w.id), document.Rev{Gen: w.gen, Hash: string(w.hash)})
		}
		return err
	}
	w.placed = false
	value, err := w.it.Borrow()
	if err != nil {
		return err
	}
	if w.body, err = decodeBody(value); w.body.length > 0 && err == nil {
		w.body, err = w.r.db.openBody(w.r.v, document.ID(w.id), document.Rev{Gen: w.gen, Hash: string(w.hash)}, value)
	}
	return err
}

// revision is the document at hand, whose id and hash are given as texts.
func (w *winnerWalk) revision(id, hash string) Revision {
	return Revision{ID: document.ID(id), Rev: document.Rev{Gen: w.gen, Hash: hash}, Deleted: w.dead,
		Body: w.body.body, Attachments: w.body.attachments}
}
