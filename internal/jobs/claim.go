package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// dueRow is a row of the order of time.
type dueRow struct {
	ID
	at uint64 // when its job is due, in milliseconds
}

// claim makes the job of a row this process's own, unless another's lease of it holds yet, or it
// is done or not due any more.
func (q *Queue) claim(ctx context.Context, row dueRow) (j Job, mine bool, err error) {
	stray := false
	err = q.o.Engine.View(ctx, func(v kv.Snapshot) (err error) {
		j, stray, err = row.look(v, v.Get)
		return err
	})
	if stray {
		return j, false, q.removeStray(ctx, row)
	}
	if errors.Is(err, ErrGone) {
		return j, false, nil
	}
	now := q.o.Clock()
	if err != nil || j.Due.After(now) {
		return j, false, err
	}
	if j.holder == q.o.Holder && (q.o.Lease == 0 || j.until.Sub(now) > q.o.Lease/2) {
		return j, true, nil
	}
	if j.holder != q.o.Holder && j.until.After(now) {
		return j, false, Later(min(j.until.Sub(now), q.look()))
	}
	seen := j
	err = q.o.Commit(ctx, func(tx kv.Txn) error {
		locked, err := q.Lock(tx, &seen)
		if err != nil {
			return err
		}
		locked.holder = q.o.Holder
		err = q.Save(tx, &locked)
		j = locked.Job
		return err
	})
	if errors.Is(err, ErrGone) || errors.Is(err, ErrMoved) {
		return j, false, nil
	}
	return j, err == nil, err
}

// look reads the job of a row, where get reads it. stray says that the row is there, and that the job is done or
// due at another time.
func (row dueRow) look(v kv.Snapshot, get func(key []byte) ([]byte, error)) (j Job, stray bool, err error) {
	j, err = decode(row.ID, get)
	if err == nil && millis(j.Due) == row.at || err != nil && !errors.Is(err, ErrGone) {
		return j, false, err
	}
	_, there := v.Get(row.key())
	if there != nil && !errors.Is(there, kv.ErrNotFound) {
		return j, false, there
	}
	return j, there == nil, err
}

func (row dueRow) key() []byte { return row.dueKey(time.UnixMilli(int64(row.at))) }

// removeStray removes a row of the order of time that has no job. If it stayed, it would be found again at once.
func (q *Queue) removeStray(ctx context.Context, row dueRow) error {
	stray := false
	err := q.o.Commit(ctx, func(tx kv.Txn) (err error) {
		if _, stray, err = row.look(tx, tx.GetForUpdate); !stray {
			if errors.Is(err, ErrGone) {
				err = nil
			}
			return err
		}
		return tx.Delete(row.key())
	})
	if err == nil && stray {
		q.strays.Add(1)
		q.o.Logger.Warn("a row of the queue of background work had no job and was removed", "kind", row.Kind, "database", row.Number, "subject", row.Subject)
	}
	return err
}
