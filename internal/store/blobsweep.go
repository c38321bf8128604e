package store

import (
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// pendingBlob is a blob that the sweep looks at when its deadline has passed.
type pendingBlob struct{ deadline, number uint64 }

// readBlobs reads the next blobs whose deadline has passed.
func (p *sweeping) readBlobs(v kv.Snapshot) error {
	rg := kv.Prefix(keyspace.BlobPending.Key(p.d.number))
	rg.End = keyspace.BlobPending.Key(p.d.number, keyspace.U(uint64(max(0, p.now.Unix()))+1))
	it, err := v.Iterate(rg, kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if len(p.blobs) == sweepBlobsPage {
			p.more = true
			return nil
		}
		_, parts, err := keyspace.BlobPending.Decode(it.Key())
		if err != nil {
			return err
		}
		p.blobs = append(p.blobs, pendingBlob{parts[0].Num(), parts[1].Num()})
	}
	return it.Err()
}

// sweepBlob settles one due blob. Its head goes first, which every writer who might
// name the blob reads for update; the chunks, which nobody can find any more, follow,
// as many in a commit as there is room for.
//
// Of an upload that is not finished the pending row goes first, to the deadline 0,
// where no upload looks for it: each page of an upload, and its end, reads the row
// for update. Only what has this deadline is removed, so nothing is written after
// the removal, and no upload is acknowledged that it has met.
func (g *group) sweepBlob(b pendingBlob, room *int) error {
	value, err := g.tx.GetForUpdate(g.db.blobKey(b.number))
	there := err == nil
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	if there {
		head, err := decodeBlob(value)
		if err != nil {
			return err
		}
		if head.references > 0 {
			return g.tx.Delete(g.db.pendingKey(b.deadline, b.number))
		}
		if err := g.tx.Delete(g.db.blobKey(b.number)); err != nil {
			return err
		}
	} else if b.deadline != 0 {
		return errors.Join(g.tx.Delete(g.db.pendingKey(b.deadline, b.number)), g.putPending(0, b.number))
	}
	more, err := g.dropRange(g.db.blobLarge(b.number).rows(), room)
	if err != nil || !more {
		return errors.Join(err, g.tx.Delete(g.db.pendingKey(b.deadline, b.number)))
	}
	if b.deadline == 0 {
		return nil
	}
	return errors.Join(g.tx.Delete(g.db.pendingKey(b.deadline, b.number)), g.putPending(0, b.number))
}
