package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Chunks of a blob are there only beside its row or, while it is uploaded or
// removed, beside a pending row. Check reports others, and Compact removes them.

// orphanedBlobs returns the numbers of blobs of which there are chunks and no other row.
func (d *Database) orphanedBlobs(v kv.Snapshot) (lost []uint64, err error) {
	pending, err := d.pendingBlobs(v)
	if err != nil {
		return nil, err
	}
	err = d.EachLarge(v, &keyspace.BlobChunk, func(parts []keyspace.Part) error {
		n := parts[0].Num()
		_, err := v.Get(d.blobKey(n))
		if errors.Is(err, kv.ErrNotFound) {
			if err = nil; !pending[n] {
				lost = append(lost, n)
			}
		}
		return err
	})
	return lost, err
}

// pendingBlobs returns the numbers of the blobs that have a pending row.
func (d *Database) pendingBlobs(v kv.Snapshot) (map[uint64]bool, error) {
	pending := map[uint64]bool{}
	err := kv.Each(v, kv.Prefix(keyspace.BlobPending.Key(d.number)), func(key, _ []byte) error {
		_, parts, err := keyspace.BlobPending.Decode(key)
		if err == nil {
			pending[parts[1].Num()] = true
		}
		return err
	})
	return pending, err
}

// dropOrphanedBlobs leaves the chunks that belong to nothing to the sweep.
func (d *Database) dropOrphanedBlobs(ctx context.Context) (err error) {
	var lost []uint64
	err = d.store.engine.View(ctx, func(v kv.Snapshot) error {
		lost, err = d.orphanedBlobs(v)
		return err
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	return d.submit(ctx, "store.condemnLost", 64*len(lost), func(g *group) error {
		for _, n := range lost {
			if err := g.putPending(0, n); err != nil {
				return err
			}
		}
		return nil
	})
}
