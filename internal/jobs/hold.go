package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Hold runs fn unless another process that shares the store is at the same: for what has
// an order of its own, and needs the queue's leases alone. The ID is that of a job of a
// pool that nobody works on. Where this process has the store for itself nothing is
// written. ErrElsewhere when another is at it, or has taken it over because this one
// could not keep its lease.
func (q *Queue) Hold(ctx context.Context, id ID, fn func(ctx context.Context) error) error {
	if q.o.Lease == 0 {
		return fn(ctx)
	}
	j, err := q.take(ctx, id)
	if err != nil {
		return err
	}
	if err = q.leased(ctx, j, fn); errors.Is(err, ErrElsewhere) {
		return err
	}
	return errors.Join(err, q.letGo(context.WithoutCancel(ctx), id))
}

// never is when a job is due that is held and not worked on.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// take makes a job this process's own, whether it is there or not.
func (q *Queue) take(ctx context.Context, id ID) (j Job, err error) {
	err = q.o.Commit(ctx, func(tx kv.Txn) (err error) {
		now := q.o.Clock()
		if j, err = decode(id, tx.GetForUpdate); errors.Is(err, ErrGone) {
			j, err = Job{ID: id, Due: never, Began: now}, nil
		}
		if err == nil && j.holder != q.o.Holder && j.until.After(now) {
			err = ErrElsewhere
		}
		if err != nil {
			return err
		}
		j.holder = q.o.Holder
		return q.Save(tx, &j)
	})
	return j, err
}

// letGo takes a job of this process out of the queue.
func (q *Queue) letGo(ctx context.Context, id ID) error {
	return q.o.Commit(ctx, func(tx kv.Txn) error {
		now, err := decode(id, tx.GetForUpdate)
		if errors.Is(err, ErrGone) || err == nil && now.holder != q.o.Holder {
			return nil
		}
		if err != nil {
			return err
		}
		return q.End(tx, &now)
	})
}
