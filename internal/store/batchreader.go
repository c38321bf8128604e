package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// BatchReader reads the winners of several documents, whichever order their ids are
// given in. One iterator goes from document to document in the order of ids:
// from a head it is one step to the body, where Winner looks for both.
type BatchReader struct {
	r     *Reader
	order []int
	found []batchRow
	data  []byte // values of body rows
	key   []byte
}

// batchRow is what was found of one document.
type batchRow struct {
	rev  Revision
	row  []byte // the value of the body's row
	gone bool   // there is no live document, or the reader may not show it
	read bool   // rev is complete
}

// batchReaders are those that were released, with their memory.
var batchReaders = sync.Pool{New: func() any { return &BatchReader{data: make([]byte, 0, 32<<10)} }}

// mostReleased is how much memory for bodies is kept for the next user.
const mostReleased = 256 << 10

// NewBatchReader returns one to be released.
func NewBatchReader() *BatchReader { return batchReaders.Get().(*BatchReader) }

// Release returns the memory to the next user: what Winner gave must not be used
// any more.
func (b *BatchReader) Release() {
	clear(b.found)
	b.r = nil
	if cap(b.data) <= mostReleased {
		batchReaders.Put(b)
	}
}

// Read reads the winners of ids at r, which Winner then gives. They may be there
// several times. Large bodies are left for Winner to read.
func (b *BatchReader) Read(r *Reader, ids []document.ID) error {
	b.r, b.data = r, b.data[:0]
	b.found = slices.Grow(b.found[:0], len(ids))[:len(ids)]
	b.order = b.order[:0]
	for i, id := range ids {
		b.found[i] = batchRow{rev: Revision{ID: id}, gone: true}
		if r.Sees(id) {
			b.order = append(b.order, i)
		}
	}
	slices.SortFunc(b.order, func(i, j int) int { return strings.Compare(string(ids[i]), string(ids[j])) })
	it, err := r.v.Iterate(r.docRange(Span{}), kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for n, i := range b.order {
		if n > 0 && ids[b.order[n-1]] == ids[i] {
			b.found[i] = b.found[b.order[n-1]]
			continue
		}
		if err := b.find(it, &b.found[i]); err != nil {
			return dberr.Wrap("store.BatchReader", err)
		}
	}
	return nil
}

// find reads one document's head and the row of its winner's body.
func (b *BatchReader) find(it kv.Iterator, f *batchRow) error {
	db, id := b.r.db, b.r.Stored(f.rev.ID)
	b.key = keyspace.Doc.AppendKey(b.key[:0], db.number, keyspace.T(string(id)), keyspace.U(keyspace.SubHead))
	if !it.Seek(b.key) || !bytes.Equal(it.Key(), b.key) {
		return it.Err()
	}
	value, err := it.Borrow()
	if err != nil {
		return err
	}
	h, _, err := decodeWinner(value)
	if err != nil || h.dead {
		return err
	}
	f.rev.Rev, f.gone = h.winner, false
	b.key = appendBodyKey(b.key[:0], db.number, id, h.winner)
	if !it.Next() || !bytes.Equal(it.Key(), b.key) {
		return it.Err() // bodies of other revisions are before it
	}
	if value, err = it.Borrow(); err != nil {
		return err
	}
	at := len(b.data)
	b.data = append(b.data, value...)
	f.row = b.data[at:len(b.data):len(b.data)]
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
	var body stored
	var err error
	if f.row != nil {
		body, err = b.r.db.openBody(b.r.v, b.r.Stored(f.rev.ID), f.rev.Rev, f.row)
	} else {
		body, err = b.r.db.readBody(b.r.v, b.r.Stored(f.rev.ID), f.rev.Rev)
	}
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

// appendBodyKey appends the key of a revision's body row.
func appendBodyKey(dst []byte, db uint64, id document.ID, rev document.Rev) []byte {
	dst = keyspace.Doc.AppendKey(dst, db, keyspace.T(string(id)), keyspace.U(keyspace.SubBody))
	return append(binary.BigEndian.AppendUint32(dst, rev.Gen), rev.Hash...)
}
