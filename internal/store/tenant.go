package store

import (
	"context"
	"errors"
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// tenantDefinitions is what a tenant has defined in design documents of the
// partition's own (document.ID.TenantDesign), at one version in the partition's
// row. It is read when it is asked for: a database may have thousands of tenants.
type tenantDefinitions struct {
	version    uint64
	indexes    IndexSet // nil for no indexes
	validators []*Revision
}

// tenants remembers the definitions of the tenants that were asked for last. What
// it remembers is durable.
type tenants struct {
	sync.Mutex
	by    map[document.Partition]*tenantDefinitions
	bytes int // of all of them, about
}

// rememberedTenants is how many tenants' definitions of a database stay in memory,
// and rememberedBytes how much they take together.
const (
	rememberedTenants = 1000
	rememberedBytes   = 16 << 20
)

// sized is an IndexSet that tells about how many bytes it takes.
type sized interface{ Size() int }

// bytes is about what the definitions take in memory.
func (o *tenantDefinitions) bytes() (n int) {
	if s, ok := o.indexes.(sized); ok {
		n = s.Size()
	}
	for _, v := range o.validators {
		n += len(v.Body)
	}
	return n
}

// get returns what is remembered of a tenant; nil for nothing.
func (o *tenants) get(p document.Partition) *tenantDefinitions {
	o.Lock()
	defer o.Unlock()
	return o.by[p]
}

// put remembers what a tenant has defined; nil for nothing.
func (o *tenants) put(p document.Partition, d *tenantDefinitions) {
	o.Lock()
	defer o.Unlock()
	o.forget(p)
	if d == nil {
		return
	}
	if o.by == nil {
		o.by = map[document.Partition]*tenantDefinitions{}
	}
	o.bytes += d.bytes()
	for old := range o.by { // any will do: it can be read again
		if len(o.by) < rememberedTenants && o.bytes <= rememberedBytes {
			break
		}
		o.forget(old)
	}
	o.by[p] = d
}

// forget lets the definitions of a tenant go. The tenants are locked.
func (o *tenants) forget(p document.Partition) {
	if d := o.by[p]; d != nil {
		o.bytes -= d.bytes()
		delete(o.by, p)
	}
}

// tenantDefinitions reads the definitions of a tenant at the snapshot; nil for none.
// Those of a partition that is being dropped are not seen any more.
func (r *Reader) tenantDefinitions(p document.Partition) (*tenantDefinitions, error) {
	if r.state(p) != partitionLive {
		return nil, nil
	}
	t, err := r.db.readPartition(r.v.Get(r.db.partitionKey(p)))
	if err != nil || t.designs == 0 {
		return nil, err
	}
	if o := r.db.tenants.get(p); o != nil && o.version == t.designs {
		return o, nil
	}
	o := &tenantDefinitions{version: t.designs}
	if ix := r.db.store.o.Indexer; ix != nil {
		if o.indexes, err = ix.LoadTenant(r.v, r.db, p); err != nil {
			return nil, err
		}
	}
	if o.validators, err = r.db.loadValidators(r.v, designsOf(p)); err != nil {
		return nil, err
	}
	return o, nil
}

// TenantIndexes returns the indexes of a tenant at this snapshot, nil for
// none.
func (r *Reader) TenantIndexes(p document.Partition) (IndexSet, error) {
	o, err := r.tenantDefinitions(p)
	if err != nil || o == nil {
		return nil, err
	}
	return o.indexes, nil
}

// definitionsOf reads what a tenant has defined now, and remembers
// it; nil for nothing.
func (d *Database) definitionsOf(ctx context.Context, p document.Partition) (o *tenantDefinitions, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		o, err = r.tenantDefinitions(p)
		return err
	})
	if err == nil {
		d.tenants.put(p, o)
	}
	return o, err
}

// tenantIndexes returns the indexes of the tenant of a document as the
// group leaves them; nil for none.
func (g *group) tenantIndexes(p document.Partition) (IndexSet, error) {
	s, err := g.partition(p)
	if err != nil || s == nil || s.designs == 0 {
		return nil, err
	}
	if k, ok := g.indexSets[p]; ok {
		return k, nil
	}
	var k IndexSet
	if o := g.db.tenants.get(p); o != nil && o.version == s.designs {
		k = o.indexes
	} else if ix := g.db.store.o.Indexer; ix != nil {
		if k, err = ix.LoadTenant(g.tx, g.db, p); err != nil {
			return nil, err
		}
	}
	if g.indexSets == nil {
		g.indexSets = map[document.Partition]IndexSet{}
	}
	g.indexSets[p] = k
	return k, nil
}

// redefineTenant returns the definitions of a tenant a new version. It is
// the commit's number, so that one from an earlier life of the partition is never
// met again.
func (g *group) redefineTenant(p document.Partition) error {
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
	if g.tenants == nil {
		g.tenants = map[document.Partition]bool{}
	}
	g.tenants[p] = true
	return nil
}

// tenantMoved reports whether the definitions of the tenant of an edit are
// others than when it was admitted. Those that the request itself changed do not
// count, as with a database's.
func (g *group) tenantMoved(e *pendingEdit) (bool, error) {
	s, err := g.partition(e.ID.Partition())
	if err != nil || s == nil {
		return false, err
	}
	now := s.designs
	if now >= g.began {
		now = s.before
	}
	return now != e.tenant.at(), nil
}

// at is the version of the definitions; 0 of none.
func (o *tenantDefinitions) at() uint64 {
	if o == nil {
		return 0
	}
	return o.version
}

// underTenant finds out under which definitions of its tenant an edit
// is admitted: as remembered, and once that was wrong as they are.
func (w *write) underTenant(ctx context.Context, e *pendingEdit) (err error) {
	p := e.ID.Partition()
	if p == "" || !w.scope.db.partitioned {
		return nil
	}
	if !e.again {
		e.tenant = w.scope.db.tenants.get(p)
		return nil
	}
	e.tenant, err = w.scope.db.definitionsOf(ctx, p)
	return err
}

// RedefineTenant says that the rows of the definitions of a tenant
// changed.
func (m LaneTxn) RedefineTenant(p document.Partition) error { return m.g.redefineTenant(p) }

// renewTenant lets the indexes of a tenant begin anew that would not learn of all
// documents that went without a trace in the feed.
func (g *group) renewTenant(p document.Partition) error {
	return errors.Join(g.db.store.o.Indexer.Renew(g.tx, g.db, p), g.redefineTenant(p))
}
