package index

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// namespace is where definitions belong: to a database, or to one partition of it whose
// tenant wrote them. A tenant's definitions lie in rows of their own, so that a
// database with thousands of tenants never reads those of all, and their indexes
// hold the documents of the one partition, under the ids that the tenant sees.
type namespace struct {
	db     uint64
	tenant document.Partition // "" for the database
}

// namespaceOf tells where the indexes of a design document belong, and its id there.
func namespaceOf(d *store.Database, id document.ID) (namespace, document.ID) {
	if p, own, ok := id.TenantDesign(); ok && d.Partitioned() {
		return namespace{d.Number(), p}, own
	}
	return namespace{db: d.Number()}, id
}

// namespace is where an index belongs.
func (x *Index) namespace(d *store.Database) namespace { return namespace{d.Number(), x.Tenant} }

// scope is what the indexes of a namespace are made of.
func (h namespace) scope(d *store.Database) store.Scope {
	if h.tenant == "" {
		return d.Whole()
	}
	return d.Tenant(h.tenant)
}

// redefine says that definitions of the namespace changed.
func (h namespace) redefine(m store.LaneTxn) error {
	if h.tenant == "" {
		m.Redefine()
		return nil
	}
	return m.RedefineTenant(h.tenant)
}

// rows is a kind of row of definitions: one for databases, one for tenants.
type rows struct{ whole, tenant *keyspace.Space }

var (
	indexRows     = rows{&keyspace.Index, &keyspace.TenantIndex}
	signatureRows = rows{&keyspace.IndexSignature, &keyspace.TenantSignature}
	useRows       = rows{&keyspace.IndexUse, &keyspace.TenantUse}
)

// key returns the key of a row of the namespace, or what the keys of all begin with.
func (k rows) key(h namespace, parts ...keyspace.Part) []byte {
	if h.tenant == "" {
		return k.whole.Key(h.db, parts...)
	}
	return k.tenant.Key(h.db, append([]keyspace.Part{keyspace.T(string(h.tenant))}, parts...)...)
}

// last is the last part of a key of the namespace's rows.
func (k rows) last(h namespace, key []byte) (keyspace.Part, error) {
	space := k.whole
	if h.tenant != "" {
		space = k.tenant
	}
	_, parts, err := space.Decode(key)
	if err != nil {
		return keyspace.Part{}, err
	}
	return parts[len(parts)-1], nil
}

func (h namespace) indexKey(n uint64) []byte { return indexRows.key(h, keyspace.U(n)) }

func (h namespace) signatureKey(signature string) []byte {
	return signatureRows.key(h, keyspace.T(signature))
}

func (h namespace) useKey(design document.ID) []byte {
	return useRows.key(h, keyspace.T(string(design)))
}

// eachIndex walks the rows of the namespace's indexes.
func (h namespace) eachIndex(v kv.Snapshot, fn func(n uint64, rec *record) error) error {
	r := kv.Prefix(indexRows.key(h))
	r.Start = h.indexKey(1) // 0 is the counter of numbers
	return kv.Each(v, r, func(key, value []byte) error {
		last, err := indexRows.last(h, key)
		if err != nil {
			return err
		}
		var rec record
		if err := decode(value, &rec); err != nil {
			return err
		}
		return fn(last.Num(), &rec)
	})
}

// eachUse walks the names that the namespace's design documents give to indexes.
func (h namespace) eachUse(v kv.Snapshot, fn func(design document.ID, us []use) error) error {
	return kv.Each(v, kv.Prefix(useRows.key(h)), func(key, value []byte) error {
		last, err := useRows.last(h, key)
		if err != nil {
			return err
		}
		var us []use
		if err := decode(value, &us); err != nil {
			return err
		}
		return fn(document.ID(last.String()), us)
	})
}
