package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// sweepSuperseded removes the bodies of a few commits' superseded revisions that were
// superseded before the given time; it reports whether there may be more.
func (d *Database) sweepSuperseded(ctx context.Context, before time.Time) (more bool, err error) {
	keys, revs, err := d.dueSuperseded(ctx, before)
	if err != nil || len(keys) == 0 {
		return false, err
	}
	return true, d.submit(ctx, "store.sweepSuperseded", 256*len(revs), func(g *group) error {
		for _, b := range revs {
			if err := g.sweepRev(b); err != nil {
				return err
			}
		}
		for _, key := range keys {
			if err := g.tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

// sweepRev removes a superseded revision's body, unless it is a leaf again (a
// stemmed revision may come back by replication).
func (g *group) sweepRev(b supersededRev) error {
	s, err := g.doc(b.id)
	if err != nil {
		return err
	}
	if _, leaf, _ := s.tree.Node(b.rev); leaf {
		return nil
	}
	return g.dropBody(b.id, b.rev)
}

// sweepPage is about how many superseded revisions one commit removes.
const sweepPage = 500

func (d *Database) dueSuperseded(ctx context.Context, before time.Time) (keys [][]byte, revs []supersededRev, err error) {
	r := kv.Prefix(keyspace.Superseded.Key(d.number))
	r.End = keyspace.Superseded.Key(d.number, keyspace.U(uint64(before.UnixMilli())))
	err = d.store.engine.View(ctx, func(v kv.Snapshot) error {
		keys, revs = nil, nil
		first, err := d.firstEntry(v)
		if err != nil {
			return err
		}
		err = kv.Each(v, r, func(key, value []byte) error {
			if len(revs) >= sweepPage {
				return errEnough
			}
			if kept, err := first.names(key); err != nil || kept {
				return cmp.Or(err, errEnough)
			}
			keys = append(keys, append([]byte(nil), key...))
			u := packed.ReadVersion(value, rowVersion)
			for n := u.Uint(); n > 0 && !u.Failed(); n-- {
				revs = append(revs, supersededRev{document.ID(u.Text()), readRev(&u)})
			}
			return u.Done()
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return keys, revs, err
}

// errEnough ends a walk over rows early.
var errEnough = errors.New("store: enough")

// Compact removes all superseded bodies, orphaned blobs and chunks of blobs that are not
// there now, and makes the
// engine give back the space of what was overwritten and removed, if it can.
func (d *Database) Compact(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = d.sweepSuperseded(ctx, d.store.o.Clock().Add(time.Millisecond)); err != nil {
			return err
		}
	}
	if err := d.condemnLost(ctx); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = d.sweepBlobs(ctx); err != nil {
			return err
		}
	}
	if c, ok := d.store.engine.(kv.Compacter); ok {
		return c.Compact(ctx, kv.Prefix(keyspace.Database(d.number)))
	}
	return nil
}
