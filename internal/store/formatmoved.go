package store

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// The step to format 7: what a database defined lay apart from what its tenants did, in
// kinds of row without a partition (keyspace.Moved). Its rows move to where those of
// tenants are, below the empty partition, with their values as they are.

// One page of the step moves so many rows, or rows of so many bytes, or looks at so many
// databases.
const (
	movedRows      = 1000
	movedBytes     = 1 << 20
	movedDatabases = 100
)

// moveDefinitions moves a page of the rows. The checkpoint is the key in the catalogue of
// the database to go on with: what has been moved of it is not there any more.
func moveDefinitions(tx kv.Txn, from []byte) (next []byte, done bool, err error) {
	r := kv.Prefix(keyspace.Catalogue.Key(0))
	if from != nil {
		r.Start = from
	}
	var databases []row
	err = eachUntil(tx, r, func(key, value []byte) bool {
		databases = append(databases, row{key, value})
		return len(databases) <= movedDatabases
	})
	page := movedPage{tx: tx}
	for i, d := range databases {
		if err != nil || i == movedDatabases {
			return d.key, false, err
		}
		var e entry
		if e, err = decodeEntry(d.value); err == nil {
			err = page.move(e.number)
		}
		if page.full() {
			return d.key, false, err
		}
	}
	return nil, true, err
}

// row is a row as read.
type row struct{ key, value []byte }

// eachUntil calls fn with rows, which it may keep, until it returns false.
func eachUntil(v kv.Snapshot, r kv.Range, fn func(key, value []byte) bool) error {
	it, err := v.Iterate(r, kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		if !fn(bytes.Clone(it.Key()), bytes.Clone(value)) {
			return nil
		}
	}
	return it.Err()
}

// movedPage moves rows in a transaction until it is full.
type movedPage struct {
	tx          kv.Txn
	rows, bytes int
}

func (p *movedPage) full() bool { return p.rows >= movedRows || p.bytes >= movedBytes }

// move moves rows of a database until the page is full.
func (p *movedPage) move(db uint64) error {
	for _, code := range slices.Sorted(maps.Keys(keyspace.Moved)) {
		before, now := keyspace.MovedPrefix(db, code)
		var rows []row
		if p.full() {
			return nil
		}
		err := eachUntil(p.tx, kv.Prefix(before), func(key, value []byte) bool {
			rows = append(rows, row{key, value})
			p.rows++
			p.bytes += len(key) + len(value)
			return !p.full()
		})
		for _, row := range rows {
			key := append(slices.Clip(now), row.key[len(before):]...)
			err = errors.Join(err, p.tx.Put(key, row.value), p.tx.Delete(row.key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
