package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Words are what the row of something that is held says, for the other processes to read.
// Each function may be nil, and may be called several times.
type Words struct {
	// Taken looks at what the row says when it is to be taken: "" where there was none. An
	// error leaves it as it is, and is Hold's.
	Taken func(words string) error
	// Now is what it says from then on, and with each renewal of the lease.
	Now func() string
	// Left is what it goes on to say when fn has returned err; "": there is no row then.
	Left func(err error) string
}

// Hold runs fn unless another process that shares the store is at the same: for what has
// an order of its own, and needs the queue's leases alone. The ID is that of a job of a
// pool that nobody works on. Where this process has the store for itself nothing is
// written, and there are no words. ErrElsewhere when another is at it, or has taken it over
// because this one could not keep its lease.
func (q *Queue) Hold(ctx context.Context, id ID, w Words, fn func(ctx context.Context) error) error {
	if q.o.Lease == 0 {
		return fn(ctx)
	}
	j, err := q.take(ctx, id, w)
	if err != nil {
		return err
	}
	if err = q.leased(ctx, j, w.Now, fn); errors.Is(err, ErrElsewhere) {
		return err
	}
	left := ""
	if w.Left != nil {
		left = w.Left(err)
	}
	return errors.Join(err, q.letGo(context.WithoutCancel(ctx), id, left))
}

// never is when a job is due that is held and not worked on.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// take makes a job this process's own, whether it is there or not.
func (q *Queue) take(ctx context.Context, id ID, w Words) (j Job, err error) {
	err = q.o.Commit(ctx, func(tx kv.Txn) (err error) {
		now := q.o.Clock()
		if j, err = decode(id, tx.GetForUpdate); errors.Is(err, ErrGone) {
			j, err = Job{ID: id, Due: never, Began: now}, nil
		}
		if err == nil && j.holder != q.o.Holder && j.until.After(now) {
			err = ErrElsewhere
		}
		if err == nil && w.Taken != nil {
			err = w.Taken(j.Checkpoint)
		}
		if err != nil {
			return err
		}
		j.holder = q.o.Holder
		if w.Now != nil {
			j.Checkpoint = w.Now()
		}
		taken := Locked{j}
		err = q.Save(tx, &taken)
		j = taken.Job
		return err
	})
	return j, err
}

// letGo takes a job of this process out of the queue, or leaves its row with the words, for
// whoever takes it next.
func (q *Queue) letGo(ctx context.Context, id ID, left string) error {
	return q.o.Commit(ctx, func(tx kv.Txn) error {
		now, err := decode(id, tx.GetForUpdate)
		if errors.Is(err, ErrGone) || err == nil && now.holder != q.o.Holder {
			return nil
		}
		if err != nil {
			return err
		}
		if left == "" {
			return end(tx, &now)
		}
		now.Checkpoint, now.until = left, q.o.Clock()
		return write(tx, &now)
	})
}

// Delete takes out of the queue what somebody has held and holds no more.
func (q *Queue) Delete(ctx context.Context, id ID) error {
	return q.o.Commit(ctx, func(tx kv.Txn) error {
		now, err := decode(id, tx.GetForUpdate)
		if errors.Is(err, ErrGone) || err == nil && now.until.After(q.o.Clock()) {
			return nil
		}
		if err != nil {
			return err
		}
		return end(tx, &now)
	})
}

// Holder tells who works on the job, or did last, and until when it does without a further
// batch.
func (j *Job) Holder() (holder uint64, until time.Time) { return j.holder, j.until }

// left is for how long a worker may go on under a lease: it ends before others may begin.
func (q *Queue) left(until time.Time) time.Duration {
	return until.Sub(q.o.Clock()) - q.o.Lease/8
}
