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
		if sp.Descending {
			r.winnersDown(sp, yield)
			return
		}
		it, err := r.v.Iterate(rg, kv.IterOptions{})
		if err != nil {
			yield(nil, err)
			return
		}
		defer it.Close()
		w := winnerWalk{walk: walk{r: r, it: it}}
		for range aheadAfter {
			found, err := w.next()
			if err != nil {
				yield(nil, dberr.Wrap("store.Winners", err))
				return
			}
			if !found || !yield(&w.rev, nil) {
				return
			}
		}
		w.ahead(yield)
	}
}

// winnersDown walks the other way, by way of Docs.
func (r *Reader) winnersDown(sp Span, yield func(*Revision, error) bool) {
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

// winnerWalk steps over heads and the bodies of winners.
type winnerWalk struct {
	walk
	rev Revision
	key []byte // of the winner's body
}

// next reads the next document into w.rev; false at the end.
func (w *winnerWalk) next() (found bool, err error) {
	for {
		if !w.placed && !w.it.Next() {
			return false, w.it.Err()
		}
		w.placed = false
		id, sub, err := w.row()
		if err != nil {
			return false, err
		}
		if sub != keyspace.SubHead { // another body: jump over the rest
			if !w.it.Seek(w.beyond(id)) {
				return false, w.it.Err()
			}
			w.placed = true
			continue
		}
		if !w.r.sees(id) {
			continue
		}
		value, err := w.it.Lend()
		if err != nil {
			return false, err
		}
		h, _, err := decodeWinner(value)
		if err != nil {
			return false, err
		}
		w.rev = Revision{ID: id, Rev: h.winner, Deleted: h.dead}
		if h.dead {
			return true, nil
		}
		return true, w.body(id, h.winner)
	}
}

// body reads the winner's body, which most often is the next row.
func (w *winnerWalk) body(id document.ID, rev document.Rev) error {
	w.key = keyspace.Doc.AppendKey(w.key[:0], w.r.db.number, keyspace.T(string(id)), keyspace.U(keyspace.SubBody))
	w.key = append(binary.BigEndian.AppendUint32(w.key, rev.Gen), rev.Hash...)
	w.placed = w.it.Next()
	var b stored
	var err error
	if w.placed && bytes.Equal(w.it.Key(), w.key) {
		w.placed = false
		var value []byte
		if value, err = w.it.Lend(); err == nil {
			b, err = w.r.db.openBody(w.r.v, id, rev, value)
		}
	} else if err = w.it.Err(); err == nil {
		b, err = w.r.db.readBody(w.r.v, id, rev)
	}
	w.rev.Body, w.rev.Attachments = b.body, b.attachments
	return err
}
