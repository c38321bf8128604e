package store

import (
	"context"
	"errors"
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// owned is what the owner of a partition has defined in design documents of the
// partition's own (document.ID.OwnerDesign), at one version in the partition's
// row. It is read when it is asked for: a database may have thousands of owners.
type owned struct {
	version    uint64
	indexes    IndexSet // nil for no indexes
	validators []*Revision
}

// owners remembers the definitions of the owners that were asked for last. What
// it remembers is durable.
type owners struct {
	sync.Mutex
	by    map[document.Partition]*owned
	bytes int // of all of them, about
}

// rememberedOwners is how many owners' definitions of a database stay in memory,
// and rememberedBytes how much they take together.
const (
	rememberedOwners = 1000
	rememberedBytes  = 16 << 20
)

// sized is an IndexSet that tells about how many bytes it takes.
type sized interface{ Size() int }

// bytes is about what the definitions take in memory.
func (o *owned) bytes() (n int) {
	if s, ok := o.indexes.(sized); ok {
		n = s.Size()
	}
	for _, v := range o.validators {
		n += len(v.Body)
	}
	return n
}

// get returns what is remembered of an owner; nil for nothing.
func (o *owners) get(p document.Partition) *owned {
	o.Lock()
	defer o.Unlock()
	return o.by[p]
}

// put remembers what an owner has defined; nil for nothing.
func (o *owners) put(p document.Partition, d *owned) {
	o.Lock()
	defer o.Unlock()
	o.forget(p)
	if d == nil {
		return
	}
	if o.by == nil {
		o.by = map[document.Partition]*owned{}
	}
	o.bytes += d.bytes()
	for old := range o.by { // any will do: it can be read again
		if len(o.by) < rememberedOwners && o.bytes <= rememberedBytes {
			break
		}
		o.forget(old)
	}
	o.by[p] = d
}

// forget lets the definitions of an owner go. The owners are locked.
func (o *owners) forget(p document.Partition) {
	if d := o.by[p]; d != nil {
		o.bytes -= d.bytes()
		delete(o.by, p)
	}
}

// owned reads the definitions of a partition's owner at the snapshot; nil for none.
// Those of a partition that is being dropped are not seen any more.
func (r *Reader) owned(p document.Partition) (*owned, error) {
	if r.state(p) != partitionLive {
		return nil, nil
	}
	t, err := r.db.readPartition(r.v.Get(r.db.partitionKey(p)))
	if err != nil || t.designs == 0 {
		return nil, err
	}
	if o := r.db.owners.get(p); o != nil && o.version == t.designs {
		return o, nil
	}
	o := &owned{version: t.designs}
	if ix := r.db.store.o.Indexer; ix != nil {
		if o.indexes, err = ix.LoadOwned(r.v, r.db, p); err != nil {
			return nil, err
		}
	}
	if o.validators, err = r.db.loadValidators(r.v, designsOf(p)); err != nil {
		return nil, err
	}
	return o, nil
}

// OwnedIndexes returns the indexes of a partition's owner at this snapshot, nil for
// none.
func (r *Reader) OwnedIndexes(p document.Partition) (IndexSet, error) {
	o, err := r.owned(p)
	if err != nil || o == nil {
		return nil, err
	}
	return o.indexes, nil
}

// definitionsOf reads what the owner of a partition has defined now, and remembers
// it; nil for nothing.
func (d *Database) definitionsOf(ctx context.Context, p document.Partition) (o *owned, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		o, err = r.owned(p)
		return err
	})
	if err == nil {
		d.owners.put(p, o)
	}
	return o, err
}

// ownedIndexes returns the indexes of the owner of a document's partition as the
// group leaves them; nil for none.
func (g *group) ownedIndexes(p document.Partition) (IndexSet, error) {
	s, err := g.partition(p)
	if err != nil || s == nil || s.designs == 0 {
		return nil, err
	}
	if k, ok := g.indexSets[p]; ok {
		return k, nil
	}
	var k IndexSet
	if o := g.db.owners.get(p); o != nil && o.version == s.designs {
		k = o.indexes
	} else if ix := g.db.store.o.Indexer; ix != nil {
		if k, err = ix.LoadOwned(g.tx, g.db, p); err != nil {
			return nil, err
		}
	}
	if g.indexSets == nil {
		g.indexSets = map[document.Partition]IndexSet{}
	}
	g.indexSets[p] = k
	return k, nil
}

// redefineOwned returns the definitions of a partition's owner a new version. It is
// the commit's number, so that one from an earlier life of the partition is never
// met again.
func (g *group) redefineOwned(p document.Partition) error {
	s, err := g.partition(p)
	if err != nil || s == nil {
		return err
	}
	if s.designs < g.began {
		s.before = s.designs
	}
	s.designs, s.changed = g.lane.serial, true
	g.lane.serial++
	delete(g.indexSets, p)
	if g.owners == nil {
		g.owners = map[document.Partition]bool{}
	}
	g.owners[p] = true
	return nil
}

// movedOwned reports whether the definitions of the owner of an edit's partition are
// others than when it was admitted. Those that the request itself changed do not
// count, as with a database's.
func (g *group) movedOwned(e *pendingEdit) (bool, error) {
	s, err := g.partition(e.ID.Partition())
	if err != nil || s == nil {
		return false, err
	}
	now := s.designs
	if now >= g.began {
		now = s.before
	}
	return now != e.owned.at(), nil
}

// at is the version of the definitions; 0 of none.
func (o *owned) at() uint64 {
	if o == nil {
		return 0
	}
	return o.version
}

// underOwner finds out under which definitions of its partition's owner an edit
// is admitted: as remembered, and once that was wrong as they are.
func (w *write) underOwner(ctx context.Context, e *pendingEdit) (err error) {
	p := e.ID.Partition()
	if p == "" || !w.scope.db.partitioned {
		return nil
	}
	if !e.again {
		e.owned = w.scope.db.owners.get(p)
		return nil
	}
	e.owned, err = w.scope.db.definitionsOf(ctx, p)
	return err
}

// RedefineOwned says that the rows of the definitions of a partition's owner
// changed.
func (m LaneTxn) RedefineOwned(p document.Partition) error { return m.g.redefineOwned(p) }

// renewOwned lets the indexes of an owner begin anew that would not learn of all
// documents that went without a trace in the feed.
func (g *group) renewOwned(p document.Partition) error {
	return errors.Join(g.db.store.o.Indexer.Renew(g.tx, g.db, p), g.redefineOwned(p))
}
