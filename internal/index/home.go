package index

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// home is where definitions belong: to a database, or to one partition of it whose
// owner wrote them. An owner's definitions lie in rows of their own, so that a
// database with thousands of owners never reads those of all, and their indexes
// hold the documents of the one partition, under the ids that the owner sees.
type home struct {
	db    uint64
	owner document.Partition // "" for the database
}

// homeOf tells where the indexes of a design document belong, and its id there.
func homeOf(d *store.Database, id document.ID) (home, document.ID) {
	if p, own, ok := id.OwnerDesign(); ok && d.Partitioned() {
		return home{d.Number(), p}, own
	}
	return home{db: d.Number()}, id
}

// home is where an index belongs.
func (x *Index) home(d *store.Database) home { return home{d.Number(), x.Owner} }

// scope is what the indexes of a home are made of.
func (h home) scope(d *store.Database) store.Scope {
	if h.owner == "" {
		return d.Whole()
	}
	return d.OwnedBy(h.owner)
}

// redefine says that definitions of the home changed.
func (h home) redefine(m store.LaneTxn) error {
	if h.owner == "" {
		m.Redefine()
		return nil
	}
	return m.RedefineOwned(h.owner)
}

// rows is a kind of row of definitions: one for databases, one for owners.
type rows struct{ whole, owned *keyspace.Space }

var (
	indexRows     = rows{&keyspace.Index, &keyspace.OwnerIndex}
	signatureRows = rows{&keyspace.IndexSignature, &keyspace.OwnerSignature}
	useRows       = rows{&keyspace.IndexUse, &keyspace.OwnerUse}
)

// key returns the key of a row of the home, or what the keys of all begin with.
func (k rows) key(h home, parts ...keyspace.Part) []byte {
	if h.owner == "" {
		return k.whole.Key(h.db, parts...)
	}
	return k.owned.Key(h.db, append([]keyspace.Part{keyspace.T(string(h.owner))}, parts...)...)
}

// last is the last part of a key of the home's rows.
func (k rows) last(h home, key []byte) (keyspace.Part, error) {
	space := k.whole
	if h.owner != "" {
		space = k.owned
	}
	_, parts, err := space.Decode(key)
	if err != nil {
		return keyspace.Part{}, err
	}
	return parts[len(parts)-1], nil
}

func (h home) indexKey(n uint64) []byte { return indexRows.key(h, keyspace.U(n)) }

func (h home) signatureKey(signature string) []byte {
	return signatureRows.key(h, keyspace.T(signature))
}

func (h home) useKey(design document.ID) []byte { return useRows.key(h, keyspace.T(string(design))) }

// eachIndex walks the rows of the home's indexes.
func (h home) eachIndex(v kv.Snapshot, fn func(n uint64, rec *record) error) error {
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

// eachUse walks the names that the home's design documents give to indexes.
func (h home) eachUse(v kv.Snapshot, fn func(design document.ID, us []use) error) error {
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
