package store

import (
	"context"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Having lists the databases that have a row of one of the kinds, in the order of their
// names, and opens none of them: whoever has rows in databases finds them after a
// start, however many others there are.
func (s *Store) Having(ctx context.Context, kinds ...*keyspace.Space) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from, more := catalogueKey(""), true; more; {
			var found []string
			err := s.engine.View(ctx, func(v kv.Snapshot) (err error) {
				found, from, err = having(v, from, kinds)
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
func having(v kv.Snapshot, from []byte, kinds []*keyspace.Space) (found []string, next []byte, err error) {
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
		d := Database{number: e.number}
		for _, kind := range kinds {
			row, err := d.firstRow(v, kind)
			if err != nil {
				return nil, nil, err
			}
			if row != nil {
				found = append(found, parts[0].String())
				break
			}
		}
	}
	return found, nil, it.Err()
}
