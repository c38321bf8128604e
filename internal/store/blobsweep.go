package store

import (
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// pendingBlob is a blob that the sweep looks at when its deadline has passed.
type pendingBlob struct {
	deadline, number uint64
	chunks           [][]byte // keys, as many as there was room for
	all              bool     // and no others are there, nor will be
}

// readBlobs reads the next blobs whose deadline has passed.
func (p *sweeping) readBlobs(v kv.Snapshot) error {
	rg := kv.Prefix(keyspace.BlobPending.Key(p.d.number))
	rg.End = keyspace.BlobPending.Key(p.d.number, keyspace.U(uint64(max(0, p.now.Unix()))+1))
	keys, err := keysIn(v, rg, sweepBlobsPage+1)
	if err != nil {
		return err
	}
	if p.more = p.more || len(keys) > sweepBlobsPage; p.more {
		keys = keys[:min(len(keys), sweepBlobsPage)]
	}
	room := dropBodyRows
	for _, key := range keys {
		_, parts, err := keyspace.BlobPending.Decode(key)
		if err != nil {
			return err
		}
		b := pendingBlob{deadline: parts[0].Num(), number: parts[1].Num()}
		if err := b.look(v, p.d, room); err != nil {
			return err
		}
		room -= len(b.chunks)
		p.blobs = append(p.blobs, b)
	}
	return nil
}

// look finds the chunks that go with a blob. Those of one that was uploaded never change;
// those of an upload are not added to once it has the deadline 0.
func (b *pendingBlob) look(v kv.Snapshot, d *Database, room int) error {
	value, err := v.Get(d.blobKey(b.number))
	there := err == nil
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	if there {
		if head, err := decodeBlob(value); err != nil || head.references > 0 {
			return err
		}
	}
	keys, err := keysIn(v, d.blobLarge(b.number).rows(), room+1)
	b.chunks, b.all = keys[:min(len(keys), room)], len(keys) <= room && (there || b.deadline == 0)
	return err
}

// sweepBlob settles one due blob. Its head goes first, which every writer who might
// name the blob reads for update; the chunks, which nobody can find any more, follow,
// as many in a commit as there is room for.
//
// Of an upload that is not finished the pending row goes first, to the deadline 0,
// where no upload looks for it: each page of an upload, and its end, reads the row
// for update. Only what has this deadline is removed, so nothing is written after
// the removal, and no upload is acknowledged that it has met.
func (g *group) sweepBlob(b *pendingBlob) error {
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
	for _, key := range b.chunks {
		if err := g.tx.Delete(key); err != nil {
			return err
		}
	}
	if b.all {
		return g.tx.Delete(g.db.pendingKey(b.deadline, b.number))
	}
	if b.deadline == 0 {
		return nil
	}
	return errors.Join(g.tx.Delete(g.db.pendingKey(b.deadline, b.number)), g.putPending(0, b.number))
}
