package store

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// A document that is purged, or collected for its age, or goes with its partition,
// leaves no trace in the feed. For the indexes that follow the feed there is a row
// that says so: one for those of the database, and one for those of the tenant of the
// document's partition, which are apart so that a tenant's index never reads what
// others removed.
//
// Rows go when all indexes have passed them. A database's indexes are never far
// behind; a tenant's may not be asked for months. So there are at most
// maxTenantRemovals rows for a tenant: where more would be, the indexes begin anew,
// under new numbers, and one row without an id says that the others are lost.

// maxTenantRemovals is how many removals are noted for a tenant's indexes.
const maxTenantRemovals = 1000

// Removal is a document that was removed.
type Removal struct {
	ID  document.ID // as the scope shows it; "": many went, nobody knows which
	Seq uint64      // the Sequences.Removals at which it happened
}

// Removals walks the documents that were removed without a tombstone after a sequence:
// purged and collected ones and those of dropped partitions. They may have come back.
// Scopes are the whole database, and a tenant.
func (r *Reader) Removals(since uint64) iter.Seq2[Removal, error] {
	return func(yield func(Removal, error) bool) {
		if since == math.MaxUint64 {
			return
		}
		rg := kv.Prefix(r.removalKey())
		rg.Start = r.removalKey(keyspace.U(since + 1))
		it, err := r.v.Iterate(rg, kv.IterOptions{})
		if err != nil {
			yield(Removal{}, err)
			return
		}
		defer it.Close()
		for it.Next() {
			step, err := r.removal(it)
			if !yield(step, err) || err != nil {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(Removal{}, err)
		}
	}
}

func (s Scope) removal(it kv.Iterator) (Removal, error) {
	_, parts, err := keyspace.Removal.Decode(it.Key())
	if err != nil {
		return Removal{}, err
	}
	value, err := it.Value()
	if err != nil {
		return Removal{}, err
	}
	u := packed.ReadVersion(value, rowVersion)
	id := document.ID(u.Text())
	if id != "" && u.Err() == nil {
		id = s.shown(id)
	}
	return Removal{ID: id, Seq: parts[1].Num()}, u.Done()
}

// removalKey returns the key of a removal, or what the keys of all begin with.
func (s Scope) removalKey(serial ...keyspace.Part) []byte {
	return s.Key(&keyspace.Removal, serial...)
}

// noteRemoval notes a removal that leaves no trace in the feed, for the indexes that
// follow it.
func (g *group) noteRemoval(id document.ID) error {
	ks, err := g.indexesOf(id.Partition())
	if err != nil {
		return err
	}
	if ks[0] != nil && ks[0].Follows() {
		if err := g.putRemoval(g.db.Whole(), id); err != nil {
			return err
		}
	}
	if ks[1] != nil && ks[1].Follows() {
		return g.noteTenantRemoval(g.db.Tenant(id.Partition()), ks[1], id)
	}
	return nil
}

// noteTenantRemoval notes a removal for the indexes of a tenant, or that they begin anew.
func (g *group) noteTenantRemoval(ns Scope, indexes IndexSet, id document.ID) error {
	s, err := g.partition(ns.Tenant())
	if err != nil || s.state != partitionLive {
		return err
	}
	key := ns.removalKey(keyspace.U(g.lane.serial))
	noted := g.removals[ns.Tenant()]
	if len(noted) < maxTenantRemovals {
		if g.removals != nil {
			g.removals[ns.Tenant()] = append(noted, key)
		}
		return g.putRemoval(ns, id)
	}
	for _, key := range noted {
		if err := g.tx.Delete(key); err != nil {
			return err
		}
	}
	g.removals[ns.Tenant()] = [][]byte{key}
	return errors.Join(g.putRemoval(ns, ""), g.renew(ns, indexes))
}

// knowRemovals notes the keys of the removals that are noted for tenants' indexes, as a
// snapshot had them before the commit. There may be more by now, and they are counted too
// few, or some have gone, and they are counted too many: the bound need not be kept to the
// row.
func (g *group) knowRemovals(found *removing) {
	if g.removals == nil {
		g.removals = map[document.Partition][][]byte{}
	}
	for p, keys := range found.removals {
		if g.removals[p] == nil {
			g.removals[p] = slices.Clip(keys)
		}
	}
}

func (g *group) putRemoval(s Scope, id document.ID) error {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Text(string(id))
	key := s.removalKey(keyspace.U(g.lane.serial))
	g.lane.serial++ // each row has a number of its own
	return g.tx.Put(key, p)
}

// SweepRemovals forgets the scope's removals up to a position that every follower has
// passed.
func (s Scope) SweepRemovals(ctx context.Context, upTo uint64) error {
	for {
		var keys [][]byte
		err := s.View(ctx, func(r *Reader) error {
			keys = keys[:0]
			for step, err := range r.Removals(0) {
				if err != nil {
					return err
				}
				if step.Seq > upTo || len(keys) == sweepRemovalsPage {
					return nil
				}
				keys = append(keys, s.removalKey(keyspace.U(step.Seq)))
			}
			return nil
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.db.Commit(ctx, func(tx kv.Txn) error {
			for _, key := range keys {
				if err := tx.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// sweepRemovalsPage is how many removals one transaction forgets.
const sweepRemovalsPage = 1000
