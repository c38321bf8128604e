package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// sweepBlob settles one due blob. Its head goes first, in a transaction that
// every writer who might name the blob would collide with; the chunks of a
// large one, which nobody can find any more, follow.
//
// Of an upload that is not finished the pending row goes first, to the deadline 0,
// where no upload looks for it: each page of an upload, and its end, reads the row
// for update. Only what has this deadline is removed, so nothing is written behind
// the removal, and no upload is acknowledged that it has met.
func (d *Database) sweepBlob(ctx context.Context, deadline, n uint64) error {
	var large bool
	err := d.do(ctx, "store.sweepBlob", func(g *group) (err error) {
		large, err = g.sweepBlob(deadline, n)
		return err
	})
	if err != nil || !large {
		return err
	}
	if err := d.store.engine.Discard(ctx, kv.Prefix(keyspace.BlobChunk.Key(d.number, keyspace.U(n)))); err != nil {
		return err
	}
	return d.do(ctx, "store.sweepBlob", func(g *group) error { return g.tx.Delete(d.pendingKey(0, n)) })
}

// sweepBlob does what a commit can; large tells that the chunks are left, beside
// a pending row with the deadline 0.
func (g *group) sweepBlob(deadline, n uint64) (large bool, err error) {
	value, err := g.tx.GetForUpdate(g.db.blobKey(n))
	if errors.Is(err, kv.ErrNotFound) { // not finished, or swept but for its chunks
		return true, g.condemn(deadline, n)
	}
	if err != nil {
		return false, err
	}
	b, err := decodeBlob(value)
	switch {
	case err != nil:
		return false, err
	case b.references > 0:
		return false, g.tx.Delete(g.db.pendingKey(deadline, n))
	case b.length > uploadPage:
		return true, errors.Join(g.tx.Delete(g.db.blobKey(n)), g.condemn(deadline, n))
	}
	return false, errors.Join(g.dropChunks(n, b.length), g.tx.Delete(g.db.pendingKey(deadline, n)), g.tx.Delete(g.db.blobKey(n)))
}

// condemn moves a blob's pending row to the deadline 0.
func (g *group) condemn(deadline, n uint64) error {
	if deadline == 0 {
		return nil
	}
	return errors.Join(g.tx.Delete(g.db.pendingKey(deadline, n)), g.tx.Put(g.db.pendingKey(0, n), []byte{rowVersion}))
}

func (g *group) dropChunks(n, length uint64) error {
	for i := range (length + chunkSize - 1) / chunkSize {
		if err := g.tx.Delete(g.db.blobChunkKey(n, i)); err != nil {
			return err
		}
	}
	return nil
}
