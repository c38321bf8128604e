package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// What the servers of a store have counted together of wrong passwords. What the rows hold is
// authentication's; here they are bytes.

// Attempts returns a set of counts, nil if there is none.
func (s *Store) Attempts(ctx context.Context, set uint64) (row []byte, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		row, err = rowOrNone(v.Get(attemptsKey(set)))
		return err
	})
	return row, dberr.Wrap("store.Attempts", err)
}

// errNotCounted is the error of a count when the engine does not tell what became of it.
var errNotCounted = dberr.New(dberr.Unavailable, "", "Passwords can't be checked at present, since the storage engine does not answer.").After(time.Second)

// ChangeAttempts makes a set of counts what change returns for it, nil for none. change may be called
// several times. Errors: those of change, ErrStale when the caller was let in by what is no more, and
// Unavailable, also when it can't be found out soon whether the set was changed.
func (s *Store) ChangeAttempts(ctx context.Context, set uint64, change func(row []byte) ([]byte, error)) error {
	lost, err := s.changeRow(ctx, attemptsKey(set), change)
	if lost {
		return errNotCounted
	}
	return dberr.Wrap("store.ChangeAttempts", err)
}

func attemptsKey(set uint64) []byte { return keyspace.Attempts.Key(0, keyspace.U(set)) }

// changeRow makes a row what change returns for it, nil for none. change may be called several
// times. lost: there is an error, and the engine does not tell soon what became of the change.
func (s *Store) changeRow(ctx context.Context, key []byte, change func(row []byte) ([]byte, error)) (lost bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = s.pipeline(ctx, func(tx kv.Txn) error {
		row, err := rowOrNone(tx.GetForUpdate(key))
		if err != nil {
			return err
		}
		changed, err := change(row)
		switch {
		case err != nil || bytes.Equal(changed, row):
			return err
		case changed == nil:
			return tx.Delete(key)
		}
		return tx.Put(key, changed)
	}, func() {}, func(error) { lost = true; cancel() }, key)
	return lost && err != nil, err
}

// rowOrNone is the row that a read returned, nil for none.
func rowOrNone(row []byte, err error) ([]byte, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	return row, err
}
