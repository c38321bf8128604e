package store

import (
	"context"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// DatabasesWithRows lists the databases that have a row of one of the kinds, in the order of their
// names, and opens none of them: whoever has rows in databases finds them after a
// start, however many others there are.
func (s *Store) DatabasesWithRows(ctx context.Context, kinds ...*keyspace.Space) iter.Seq2[string, error] {
	return s.where(ctx, "", func(v kv.Snapshot, d *Database) (bool, error) {
		for _, kind := range kinds {
			if row, err := d.firstRow(v, kind); row != nil || err != nil {
				return err == nil, err
			}
		}
		return false, nil
	})
}

// where lists the databases from a name on of which holds says so at a snapshot.
func (s *Store) where(ctx context.Context, start string, holds func(v kv.Snapshot, d *Database) (bool, error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from, more := catalogueKey(start), true; more; {
			var found []string
			err := s.engine.View(ctx, func(v kv.Snapshot) (err error) {
				found, from, err = having(v, from, holds)
				return err
			})
			if err != nil {
				yield("", dberr.Wrap("store.Having", err))
				return
			}
			for _, name := range found {
				if !yield(name, nil) {
					return
				}
			}
			more = from != nil
		}
	}
}

// having looks at a page of the catalogue; next is where to go on, nil at the end.
func having(v kv.Snapshot, from []byte, holds func(kv.Snapshot, *Database) (bool, error)) (found []string, next []byte, err error) {
	it, err := v.Iterate(kv.Range{Start: from, End: kv.PrefixEnd(keyspace.Catalogue.Key(0))}, kv.IterOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	for n := 0; it.Next(); n++ {
		if n == namesPage {
			return found, append(next, it.Key()...), nil
		}
		value, err := it.Borrow()
		if err != nil {
			return nil, nil, err
		}
		e, err := decodeEntry(value)
		if err != nil {
			return nil, nil, err
		}
		_, parts, err := keyspace.Catalogue.Decode(it.Key())
		if err != nil {
			return nil, nil, err
		}
		name := parts[0].String()
		yes, err := holds(v, &Database{name: name, number: e.number, partitioned: e.partitioned})
		if err != nil {
			return nil, nil, err
		}
		if yes {
			found = append(found, name)
		}
	}
	return found, nil, it.Err()
}
