package store

import (
	"context"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Design documents define for a namespace: the database, or a tenant of it, who is a
// database of his own. Each namespace has a version of what is defined there, which
// changes with it: the database's in the lane head, where settings count too, a
// tenant's in the partition's row. Below, a tenant is named by the partition and the
// database by none.

// definitions are what the design documents of a namespace define, at one version.
type definitions struct {
	version    uint64
	indexes    IndexSet    // nil for no indexes
	validators []*Revision // design documents with a validation function; nil for none
	schemas    []*Revision // those that say of what form documents are; nil for none
}

// sized is an IndexSet that says about how many bytes it takes.
type sized interface{ Size() int }

// bytes is about what the definitions take in memory.
func (o *definitions) bytes() (n int) {
	if s, ok := o.indexes.(sized); ok {
		n = s.Size()
	}
	for _, v := range o.validators {
		n += len(v.Body)
	}
	for _, v := range o.schemas {
		n += len(v.Body)
	}
	return n
}

// at is the version of the definitions; 0 of none.
func (o *definitions) at() uint64 {
	if o == nil {
		return 0
	}
	return o.version
}

// Namespace is the scope of a tenant, or of the whole database for none.
func (d *Database) Namespace(tenant document.Partition) Scope {
	if tenant == "" {
		return d.Whole()
	}
	return d.Tenant(tenant)
}

// loadDefinitions reads what is defined in a namespace at v.
func (s Scope) loadDefinitions(v kv.Snapshot, version uint64) (f definitions, err error) {
	f.version = version
	if ix := s.db.store.o.Indexer; ix != nil {
		if f.indexes, err = ix.Load(v, s); err != nil {
			return f, err
		}
	}
	f.validators, f.schemas, err = s.loadValidators(v)
	return f, err
}

// remembered is what the process knows of a namespace's definitions, which may be those
// of another version; nil for nothing.
func (s Scope) remembered() *definitions {
	if p := s.Tenant(); p != "" {
		return s.db.tenants.get(p)
	}
	return &s.db.settings.Load().definitions
}

// definitions reads those of the reader's namespace at the snapshot; nil for none.
// Those of a partition that is being dropped are not seen any more.
func (r *Reader) definitions() (*definitions, error) {
	p := r.Tenant()
	if p == "" && r.remember && r.known != nil {
		return r.known, nil
	}
	if p == "" {
		l, err := r.lane()
		if err != nil {
			return nil, err
		}
		return r.definitionsAt(l.version)
	}
	if r.state(p) != partitionLive {
		return nil, nil
	}
	t, err := r.db.decodePartitionRow(r.v.Get(r.db.partitionKey(p)))
	if err != nil || t.designs == 0 {
		return nil, err
	}
	return r.definitionsAt(t.designs)
}

// DefinitionsVersion returns the version of what the database itself defines at the snapshot,
// in design documents and settings: each change of one gives it another. What somebody
// remembers of them is right for its version. NotFound for a database that is not there.
func (r *Reader) DefinitionsVersion() (uint64, error) {
	l, err := r.lane()
	if err != nil {
		return 0, err
	}
	return l.version, nil
}

func (r *Reader) definitionsAt(version uint64) (*definitions, error) {
	ns := r.db.Namespace(r.Tenant())
	if f := ns.remembered(); f != nil && f.version == version {
		return f, nil
	}
	f, err := ns.loadDefinitions(r.v, version)
	return &f, err
}

// definitionsOf reads what a tenant has defined now, and remembers it; nil for nothing.
func (d *Database) definitionsOf(ctx context.Context, p document.Partition) (f *definitions, err error) {
	err = d.Tenant(p).View(ctx, func(r *Reader) error {
		f, err = r.definitions()
		return err
	})
	if err == nil {
		d.tenants.put(p, f)
	}
	return f, err
}

// underTenant finds out under which definitions of its tenant an edit
// is admitted: as remembered, and once that was wrong as they are.
func (w *write) underTenant(ctx context.Context, e *pendingEdit) (err error) {
	p := e.ID.Partition()
	if p == "" || !w.scope.db.partitioned {
		return nil
	}
	if !e.readmitted {
		e.tenant = w.scope.db.tenants.get(p)
		return nil
	}
	e.tenant, err = w.scope.db.definitionsOf(ctx, p)
	return err
}

// indexSets are the indexes that hold a document: the database's, and those of its
// tenant, who knows it by another id (namespaces); nil for none.
type indexSets [2]IndexSet

// namespaces are those in which the documents of a partition lie, as in indexSets.
func (d *Database) namespaces(p document.Partition) [2]Scope { return [2]Scope{d.Whole(), d.Tenant(p)} }

func (ks indexSets) none() bool { return ks == indexSets{} }

// slow reports whether there is something to derive beforehand.
func (ks indexSets) slow() bool { return isSlow(ks[0]) || isSlow(ks[1]) }

func isSlow(k IndexSet) bool { return k != nil && k.Slow() }

// indexesOf returns the indexes that hold the documents of a partition, "" for those of
// none, as the group leaves them.
func (g *group) indexesOf(p document.Partition) (ks indexSets, err error) {
	if ks[0], err = g.indexes("", g.lane.version); err != nil {
		return ks, err
	}
	s, err := g.partition(p)
	if err == nil && s != nil && s.designs != 0 {
		ks[1], err = g.indexes(p, s.designs)
	}
	return ks, err
}

// indexes returns the indexes of a namespace, at a version of its definitions, once for a
// group.
func (g *group) indexes(tenant document.Partition, version uint64) (k IndexSet, err error) {
	if k, ok := g.indexSets[tenant]; ok {
		return k, nil
	}
	ns := g.db.Namespace(tenant)
	if f := ns.remembered(); f != nil && f.version == version {
		k = f.indexes
	} else if f := g.known.of(g.db, tenant); f != nil && f.version == version {
		k = f.indexes
	} else if k, err = g.indexesHere(ns); err != nil {
		return nil, err
	}
	g.indexSets[tenant] = k
	return k, nil
}

// indexesHere reads the indexes of a namespace, if the commit itself has changed what is
// defined there, or nobody could read them before it.
func (g *group) indexesHere(ns Scope) (IndexSet, error) {
	ix := g.db.store.o.Indexer
	if ix == nil {
		return nil, nil
	}
	if !g.redefined[ns.Tenant()] {
		if err := g.known.creates(g.db, ns.Tenant()); err != nil {
			return nil, err
		}
	}
	return ix.Load(g.tx, ns)
}

// redefine gives the definitions of a namespace a new version. It does so at once: edits
// of the requests that follow in the group are admitted again. A tenant's is the commit's
// number, so that one from an earlier life of the partition is never met again.
func (g *group) redefine(ns Scope) error {
	if ns.Tenant() == "" {
		g.lane.version++
		g.stale = true
	} else {
		s, err := g.partition(ns.Tenant())
		if err != nil || s == nil {
			return err
		}
		if s.designs < g.began {
			s.before = s.designs
		}
		s.designs, s.changed = g.lane.serial, true
		g.lane.serial++
	}
	g.redefined[ns.Tenant()] = true
	return nil
}

// redefineBy is redefine if a document that changed is a design document.
func (g *group) redefineBy(s *docState) error {
	if s.id.IsDesign() {
		return g.redefine(g.db.Whole())
	}
	if p, _, ok := s.id.TenantDesign(); ok {
		return g.redefine(g.db.Tenant(p))
	}
	return nil
}

// renew lets those indexes of a namespace begin anew that would not learn of all documents
// that went without a trace in the feed.
func (g *group) renew(ns Scope, indexes IndexSet) error {
	delete(g.indexSets, ns.Tenant())
	if err := g.db.store.o.Indexer.Renew(g.tx, ns, indexes); err != nil {
		return err
	}
	return g.redefine(ns)
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
