package store

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// What the servers of a store share to get certificates by ACME. What is in the rows is for
// package certificates to say; here they are bytes. They hold private keys, as other rows hold the
// store's secret and the hashes of passwords: whoever can read the engine's files has them.

// errNotWritten is the error of a change of such a row when the engine does not tell what became
// of it.
var errNotWritten = dberr.New(dberr.Unavailable, "", "The storage engine does not answer.").After(time.Second)

// ACMERow returns a row of a kind by its name, nil if there is none.
func (s *Store) ACMERow(ctx context.Context, kind, name string) (row []byte, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		row, err = rowOrNone(v.Get(acmeKey(kind, name)))
		return err
	})
	return row, dberr.Wrap("store.ACMERow", err)
}

// ACMERows returns all rows of a kind by their names.
func (s *Store) ACMERows(ctx context.Context, kind string) (rows map[string][]byte, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		rows = map[string][]byte{}
		return kv.Each(v, kv.Prefix(keyspace.ACME.Key(0, keyspace.T(kind))), func(key, value []byte) error {
			_, parts, err := keyspace.ACME.Decode(key)
			if err == nil {
				rows[parts[1].String()] = value
			}
			return err
		})
	})
	return rows, dberr.Wrap("store.ACMERows", err)
}

// ChangeACMERow makes a row what change returns for it, nil for none. change may be called several
// times. Errors: those of change, and Unavailable, also when it can't be found out soon whether
// the row was changed.
func (s *Store) ChangeACMERow(ctx context.Context, kind, name string, change func(row []byte) ([]byte, error)) error {
	lost, err := s.changeRow(ctx, acmeKey(kind, name), change)
	if lost {
		return errNotWritten
	}
	return dberr.Wrap("store.ChangeACMERow", err)
}

func acmeKey(kind, name string) []byte {
	return keyspace.ACME.Key(0, keyspace.T(kind), keyspace.T(name))
}
