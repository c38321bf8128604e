package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// A transaction that replaces or removes a cut row without having read it leaves its pieces:
// a view does with the rows of what it no longer emits. Each database that has pieces has a job
// that looks now and then which of them no row names, by the rows of keyspace.RowCut, of
// which there is one for each value.

// piecesEvery is how often it is looked.
const piecesEvery = 6 * time.Hour

// sweptCuts is how many values are looked at together: what their rows have now is read,
// which may be as long as a row is.
const sweptCuts = 32

// needsPieces makes sure, in a transaction that cuts a row, of the job of its database.
func (s *Store) needsPieces(tx kv.Txn, key []byte) error {
	_, number := keyspace.DatabaseOf(key)
	_, err := s.jobs.Ensure(tx, jobs.Job{ID: piecesOf(number), Due: s.o.Clock().Add(piecesEvery)})
	return err
}

func piecesOf(number uint64) jobs.ID { return jobs.ID{Kind: jobPieces, Number: number} }

// hurryPieces has the pieces of what was removed looked for at once, if there are any.
func (g *group) hurryPieces() error {
	_, err := jobs.Get(g.tx, piecesOf(g.db.number))
	if errors.Is(err, jobs.ErrGone) {
		return nil
	}
	if err == nil {
		err = g.ensureJob(jobs.Job{ID: piecesOf(g.db.number), Due: g.now})
	}
	return err
}

// leftCut is a value in pieces that its row does not name.
type leftCut struct {
	row   []byte
	stamp string
	count int
}

// sweepPieces removes the pieces of a database that no row names.
func (s *Store) sweepPieces(ctx context.Context, j jobs.Job) error {
	rg := kv.Prefix(keyspace.RowCut.Key(j.Number))
	for rg.Start != nil {
		var left []leftCut
		err := s.base.View(ctx, func(v kv.Snapshot) (err error) {
			left, rg.Start, err = leftCuts(v, rg)
			return err
		})
		if err == nil && len(left) > 0 {
			err = s.commit(ctx, func(tx kv.Txn) error { return dropLeft(entries(tx).(kv.Txn), left) })
		}
		if err != nil {
			return err
		}
		s.rest(ctx)
	}
	ending := jobs.Job{}
	err := s.commit(ctx, func(tx kv.Txn) (err error) {
		ending, err = s.afterPieces(tx, &j, false)
		return err
	})
	if err == nil && ending.Checkpoint == jobs.Ending {
		err = s.commit(ctx, func(tx kv.Txn) error {
			_, err := s.afterPieces(tx, &ending, true)
			return err
		})
	}
	if errors.Is(err, jobs.ErrGone) || errors.Is(err, jobs.ErrMoved) {
		return nil
	}
	return err
}

// leftCuts looks at the first values of a range, and returns those that no row names, and
// where to go on; nil: nowhere.
func leftCuts(v kv.Snapshot, rg kv.Range) (left []leftCut, next []byte, err error) {
	it, err := v.Iterate(rg, kv.IterOptions{Want: sweptCuts + 1})
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	for it.Next() {
		if len(left) == sweptCuts {
			next = bytes.Clone(it.Key())
			break
		}
		c, err := leftCutAt(it)
		if err != nil {
			return nil, nil, err
		}
		left = append(left, c)
	}
	if err := it.Err(); err != nil {
		return nil, nil, err
	}
	left, err = unnamed(left, v.GetMany)
	return left, next, err
}

func leftCutAt(it kv.Iterator) (c leftCut, err error) {
	value, err := it.Borrow()
	if err != nil {
		return c, err
	}
	n, err := packed.ReadNumber(value)
	if err != nil {
		return c, err
	}
	c.count = int(n)
	c.row, c.stamp, err = keyspace.DecodeCut(it.Key())
	return c, err
}

// unnamed returns those of cuts that their rows, read by get as they are stored, do not name.
func unnamed(cuts []leftCut, get func([][]byte) ([][]byte, error)) (left []leftCut, err error) {
	if len(cuts) == 0 {
		return nil, nil
	}
	rows := make([][]byte, len(cuts))
	for i := range cuts {
		rows[i] = cuts[i].row
	}
	values, err := get(rows)
	for i := 0; i < len(values) && err == nil; i++ {
		named := false
		if named, err = names(rows[i], values[i], cuts[i].stamp); !named {
			left = append(left, cuts[i])
		}
	}
	return left, err
}

// names reports whether a row, with a value as it is stored, names a stamp.
func names(row, value []byte, stamp string) (bool, error) {
	if !isCut(row, value) {
		return false, nil
	}
	c, err := decodeCut(value)
	return c.stamp == stamp, err
}

// dropLeft removes pieces that no row names by now either. Who writes such a row again
// makes this run again.
func dropLeft(tx kv.Txn, left []leftCut) error {
	left, err := unnamed(left, tx.GetManyForUpdate)
	for i := 0; i < len(left) && err == nil; i++ {
		err = dropCut(tx, left[i].row, left[i].stamp, left[i].count)
	}
	return err
}

// afterPieces puts the job off, or if nothing is in pieces any more notes that it is ending, and ends it when it is called again
// (jobs.Ending). It returns the job as it leaves it.
func (s *Store) afterPieces(tx kv.Txn, seen *jobs.Job, again bool) (j jobs.Job, err error) {
	locked, err := s.jobs.Lock(tx, seen)
	if err != nil {
		return j, err
	}
	keys, err := keysIn(tx, kv.Prefix(keyspace.RowCut.Key(locked.Number)), 1)
	switch {
	case err != nil:
		return locked.Job, err
	case len(keys) > 0:
		locked.Checkpoint, locked.Due = "", s.o.Clock().Add(piecesEvery)
	case again:
		return locked.Job, jobs.End(tx, &locked)
	default:
		locked.Checkpoint = jobs.Ending
	}
	err = s.jobs.Save(tx, &locked)
	return locked.Job, err
}
