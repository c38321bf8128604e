package store

import (
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// BatchReader reads the winners of several documents in two calls of the engine:
// heads, and the bodies that they name.
type BatchReader struct {
	r     *Reader
	found []batchRow
	keys  [][]byte
	slots []int // of keys, in found
}

// batchRow is what was found of one document.
type batchRow struct {
	rev  Revision
	row  []byte // the value of the body's row
	gone bool   // there is no live document, or the reader may not show it
	read bool   // rev is complete
}

// batchReaders are those that were released, with their memory.
var batchReaders = sync.Pool{New: func() any { return &BatchReader{} }}

// NewBatchReader returns one to be released.
func NewBatchReader() *BatchReader { return batchReaders.Get().(*BatchReader) }

// Release returns the memory to the next user: what Winner gave must not be used
// any more.
func (b *BatchReader) Release() {
	clear(b.found)
	clear(b.keys)
	b.r = nil
	batchReaders.Put(b)
}

// Read reads the winners of ids at r, which Winner then returns. They may be in any
// order and there several times.
func (b *BatchReader) Read(r *Reader, ids []document.ID) error {
	b.r = r
	b.found = slices.Grow(b.found[:0], len(ids))[:len(ids)]
	b.keys, b.slots = b.keys[:0], b.slots[:0]
	var asks []Ask // where a call is a round trip
	for i, id := range ids {
		b.found[i] = batchRow{rev: Revision{ID: id}, gone: true}
		if r.Sees(id) {
			b.ask(i, r.db.headKey(r.Stored(id)))
			if r.db.store.distant {
				asks = append(asks, Ask{ID: id, Winner: true})
			}
		}
	}
	if asks != nil {
		if err := r.Fetch(asks); err != nil {
			return dberr.Wrap("store.BatchReader", err)
		}
	}
	heads, err := b.getMany()
	if err != nil {
		return dberr.Wrap("store.BatchReader", err)
	}
	asked := b.slots
	b.keys, b.slots = b.keys[:0], b.slots[len(b.slots):]
	for n, i := range asked {
		if err := b.head(i, heads[n]); err != nil {
			return dberr.Wrap("store.BatchReader", err)
		}
	}
	rows, err := b.getMany()
	for n, row := range rows {
		b.found[b.slots[n]].row = row
	}
	return dberr.Wrap("store.BatchReader", err)
}

// getMany reads the keys, which a distant engine has given before.
func (b *BatchReader) getMany() ([][]byte, error) {
	if b.r.db.store.distant {
		return kv.GetEach(b.keys, b.r.v.Get)
	}
	return b.r.v.GetMany(b.keys)
}

func (b *BatchReader) ask(i int, key []byte) {
	b.keys, b.slots = append(b.keys, key), append(b.slots, i)
}

// head takes the head of the i-th document, nil for none, and asks for the body of
// its winner.
func (b *BatchReader) head(i int, value []byte) error {
	if value == nil {
		return nil
	}
	h, _, err := decodeWinner(value)
	if err != nil || h.dead {
		return err
	}
	f := &b.found[i]
	f.rev.Rev, f.gone = h.winner, false
	b.ask(i, b.r.db.bodyKey(b.r.Stored(f.rev.ID), h.winner))
	return nil
}

// Winner returns the winner of the i-th of the ids, as Reader.Winner does, but for
// a deleted one, of which there is only the error. The bytes of its body and
// attachments are borrowed until the next Read.
func (b *BatchReader) Winner(i int) (*Revision, error) {
	f := &b.found[i]
	switch {
	case f.gone:
		return nil, errMissing
	case f.read:
		return &f.rev, nil
	}
	if f.row == nil {
		return nil, dberr.Wrap("store.BatchReader", kv.ErrNotFound)
	}
	body, err := b.r.db.openBody(b.r.v, b.r.Stored(f.rev.ID), f.rev.Rev, f.row)
	if err != nil {
		return nil, dberr.Wrap("store.BatchReader", err)
	}
	f.rev.Body, f.rev.Attachments = body.body, body.attachments
	if _, err := b.r.redact(&f.rev); err != nil {
		return nil, err
	}
	f.read = true
	return &f.rev, nil
}
