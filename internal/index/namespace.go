package index

import (
	"bytes"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// A namespace is where definitions belong: the scope of a whole database, or of a tenant
// (store.Scope.Namespace). The rows of each are a range of their own, so that a database
// with thousands of tenants never reads those of all, and a tenant's indexes hold the
// documents of the one partition, under the ids that the tenant sees.

// namespaceOf reports where the indexes of a design document belong, and its id there.
func namespaceOf(d *store.Database, id document.ID) (store.Scope, document.ID) {
	if p, own, ok := id.TenantDesign(); ok && d.Partitioned() {
		return d.Tenant(p), own
	}
	return d.Whole(), id
}

// Namespaces lists the database and those tenants of it that have indexes, at a reader's
// snapshot.
func Namespaces(r *store.Reader) ([]store.Scope, error) {
	d := r.Database()
	all := []store.Scope{d.Whole()}
	rows := kv.Prefix(keyspace.Index.Key(d.Number()))
	rows.Start = kv.PrefixEnd(d.Whole().Key(&keyspace.Index))
	for bytes.Compare(rows.Start, rows.End) < 0 {
		p, found, err := firstNamespace(r.Snapshot(), rows)
		if err != nil || !found {
			return all, err
		}
		all = append(all, d.Tenant(p))
		rows.Start = kv.PrefixEnd(d.Tenant(p).Key(&keyspace.Index))
	}
	return all, nil
}

// firstNamespace reads whose the first of some rows of indexes is.
func firstNamespace(v kv.Snapshot, rows kv.Range) (p document.Partition, found bool, err error) {
	it, err := v.Iterate(rows, kv.IterOptions{})
	if err != nil {
		return "", false, err
	}
	defer it.Close()
	if !it.Next() {
		return "", false, it.Err()
	}
	_, parts, err := keyspace.Index.Decode(it.Key())
	if err != nil {
		return "", false, err
	}
	return document.Partition(parts[0].String()), true, nil
}

func indexKey(ns store.Scope, n uint64) []byte { return ns.Key(&keyspace.Index, keyspace.U(n)) }

func signatureKey(ns store.Scope, signature string) []byte {
	return ns.Key(&keyspace.IndexSignature, keyspace.T(signature))
}

func useKey(ns store.Scope, design document.ID) []byte {
	return ns.Key(&keyspace.IndexUse, keyspace.T(string(design)))
}

// eachIndex walks the rows of a namespace's indexes.
func eachIndex(v kv.Snapshot, ns store.Scope, fn func(n uint64, rec *record) error) error {
	r := kv.Prefix(ns.Key(&keyspace.Index))
	r.Start = indexKey(ns, 1) // 0 is the counter of numbers
	return kv.Each(v, r, func(key, value []byte) error {
		_, parts, err := keyspace.Index.Decode(key)
		if err != nil {
			return err
		}
		var rec record
		if err := decode(value, &rec); err != nil {
			return err
		}
		return fn(parts[1].Num(), &rec)
	})
}

// eachUse walks the names that a namespace's design documents give to indexes.
func eachUse(v kv.Snapshot, ns store.Scope, fn func(design document.ID, us []use) error) error {
	return kv.Each(v, kv.Prefix(ns.Key(&keyspace.IndexUse)), func(key, value []byte) error {
		_, parts, err := keyspace.IndexUse.Decode(key)
		if err != nil {
			return err
		}
		var us []use
		if err := decode(value, &us); err != nil {
			return err
		}
		return fn(document.ID(parts[1].String()), us)
	})
}
