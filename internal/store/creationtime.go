package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// CreationTime reports since when there is what the scope shows: since the database was
// made, or since its partition was last dropped. A replication that sees it change,
// to the millisecond, knows that what it wrote before has gone.
//
// A partition that was never dropped counts from the database's beginning, whether
// it holds anything or not: its first document must not look like a new database to
// the replication that brings it. A drop with tombstones does not count, for a feed
// reports those.
func (s Scope) CreationTime(ctx context.Context) (made time.Time, err error) {
	if made = s.db.created; s.partition == "" {
		return made, nil
	}
	err = s.View(ctx, func(r *Reader) error {
		value, err := r.v.Get(s.db.partitionDropKey(s.partition))
		made, err = s.db.droppedAt(value, err)
		return err
	})
	return made, err
}

func (d *Database) partitionDropKey(p document.Partition) []byte {
	return keyspace.PartitionDrop.Key(d.number, keyspace.T(string(p)))
}

// droppedAt decodes what a read of the row of a partition's last drop gave.
func (d *Database) droppedAt(value []byte, err error) (time.Time, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return d.created, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	u := packed.ReadVersion(value, rowVersion)
	at := time.UnixMilli(int64(u.Uint()))
	return at, u.Done()
}

// stampDrop notes that a partition is dropped, at a time that no drop before had.
func (g *group) stampDrop(p document.Partition) error {
	key := g.db.partitionDropKey(p)
	before, err := g.db.droppedAt(g.tx.GetForUpdate(key))
	if err != nil {
		return err
	}
	b := packed.Writer{}
	b.Byte(rowVersion)
	b.Uint(uint64(max(g.now.UnixMilli(), before.UnixMilli()+1)))
	return g.tx.Put(key, b)
}
