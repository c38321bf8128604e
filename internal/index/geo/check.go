package geo

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

var _ index.Checked = (*Kind)(nil)

// Check is index.Checked's: it makes the rows of every back-row again and holds them
// against those that are there. The function is not run.
func (*Kind) Check(r *store.Reader, x *index.Index) (found []error, err error) {
	l := layoutOf(r.Database().Number(), x)
	bad := func(key []byte, what string) {
		found = append(found, fmt.Errorf("database %s: index %d: %s %s", r.Database().Name(), x.Number, keyspace.Print(key), what))
	}
	named, there := 0, 0
	err = kv.Each(r.Snapshot(), kv.Prefix(keyspace.GeoBack.Key(l.db, keyspace.U(l.index))), func(key, value []byte) error {
		rows, err := l.recompute(key, value)
		if err != nil {
			bad(key, "can't be read")
			return nil
		}
		for _, row := range rows {
			named++
			got, err := r.Snapshot().Get(row.Key)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				bad(row.Key, "is missing")
			case err != nil:
				return err
			case !bytes.Equal(got, row.Value):
				bad(row.Key, "does not hold what its back-row says")
			}
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	rows := keyspace.GeoRow.Key(l.db, keyspace.U(l.index))
	err = kv.Each(r.Snapshot(), kv.Prefix(rows), func(_, _ []byte) error { there++; return nil })
	if err == nil && there > named {
		bad(rows, fmt.Sprintf("has %d rows, %d of which are of no document", there, there-named))
	}
	return found, err
}

// recompute makes the rows that a back-row lists, without itself.
func (l *layout) recompute(key, value []byte) ([]index.Row, error) {
	_, parts, err := keyspace.GeoBack.Decode(key)
	if err != nil {
		return nil, err
	}
	b, err := unpackBack(value)
	if err != nil {
		return nil, err
	}
	for i := range b.geometries {
		if b.geometries[i], err = place(b.geometries[i].json); err != nil {
			return nil, err
		}
	}
	rows := l.rows(nil, document.ID(parts[1].String()), &b)
	if len(rows) == 0 || !bytes.Equal(rows[len(rows)-1].Value, value) {
		return nil, errBack
	}
	return rows[:len(rows)-1], nil
}
