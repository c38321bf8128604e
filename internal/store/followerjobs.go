package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
)

// What packages above the store have to do with the queue of jobs.

// Queue makes the queue of a pool of jobs, which are worked on by do, so many side by
// side. Its Work is the caller's to run; commits wake it.
func (s *Store) Queue(pool string, workers func() int, do func(ctx context.Context, j jobs.Job) error) *jobs.Queue {
	q := s.newQueue(pool, workers, do)
	s.pools.Store(pool, q)
	return q
}

// JobCounts returns the figures of all pools of jobs, in the order of their names; it reads a bounded number of rows of each.
func (s *Store) JobCounts(ctx context.Context) (all []jobs.Counts, err error) {
	queues := []*jobs.Queue{s.jobs}
	s.pools.Range(func(_, q any) bool { queues = append(queues, q.(*jobs.Queue)); return true })
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		all = all[:0]
		for _, q := range queues {
			c, err := q.Counts(v)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b jobs.Counts) int { return strings.Compare(a.Pool, b.Pool) })
	return all, err
}

// wakeJobs has the queue of a pool look whether something is due.
func (s *Store) wakeJobs(pool string) {
	if pool == "" {
		s.jobs.Wake()
	} else if q, ok := s.pools.Load(pool); ok {
		q.(*jobs.Queue).Wake()
	}
}

// Job is a job of the database that a package above the store owns.
func (d *Database) Job(kind, subject string, due time.Time) jobs.Job {
	return d.job(kind, subject, due)
}

// OfJob opens the database of a job; NotFound, and the job is ended, if that is gone.
func (s *Store) OfJob(ctx context.Context, j jobs.Job) (*Database, error) {
	d, err := s.Database(ctx, j.Database)
	if err == nil && d.number != j.Number {
		err = errNoDatabase
	}
	if dberr.Is(err, dberr.NotFound) {
		return nil, errors.Join(err, s.EndJob(ctx, j))
	}
	return d, err
}

// EndJob takes a job out of the queue, unless somebody has gone on with it.
func (s *Store) EndJob(ctx context.Context, seen jobs.Job) error {
	err := s.commit(ctx, func(tx kv.Txn) error {
		j, err := s.jobs.Lock(tx, &seen)
		if err != nil {
			return err
		}
		return jobs.End(tx, &j)
	})
	if errors.Is(err, jobs.ErrGone) || errors.Is(err, jobs.ErrMoved) {
		return nil
	}
	return err
}

// PutJob puts a job of the database into the queue, due now unless it says when, in a
// transaction of the caller's, who wakes the queue of its pool when that is durable.
func (d *Database) PutJob(tx kv.Txn, j jobs.Job) error {
	if j.Due.IsZero() {
		j.Due = d.store.o.Clock()
	}
	return d.store.jobs.Put(tx, j)
}

// WakeJobs has the queue of a pool look whether something is due.
func (d *Database) WakeJobs(pool string) { d.store.wakeJobs(pool) }

// Hold runs fn unless another process that shares the engine is at the same, as
// jobs.Queue.Hold does: jobs.ErrElsewhere. The kind is of a pool without a queue.
func (s *Store) Hold(ctx context.Context, kind, subject string, w jobs.Words, fn func(ctx context.Context) error) error {
	return s.jobs.Hold(ctx, jobs.ID{Kind: kind, Subject: subject}, w, fn)
}

// Jobs calls fn with the jobs of a kind, at a snapshot.
func (s *Store) Jobs(ctx context.Context, kind string, fn func(jobs.Job) error) error {
	var all []jobs.Job
	err := s.engine.View(ctx, func(v kv.Snapshot) error {
		all = all[:0]
		return jobs.Each(v, kind, func(j jobs.Job) error { all = append(all, j); return nil })
	})
	for i := 0; i < len(all) && err == nil; i++ {
		err = fn(all[i])
	}
	return err
}

// EnsureJob puts a job into the queue, due now unless it says when, or makes it due earlier.
func (m LaneTxn) EnsureJob(j jobs.Job) error {
	if j.Due.IsZero() {
		j.Due = m.g.now
	}
	return m.g.ensureJob(j)
}

// EndJob takes a job out of the queue, as its worker has seen it; nothing happens if
// somebody has gone on with it.
func (m LaneTxn) EndJob(seen jobs.Job) error {
	return m.settle(seen, func(_ *jobs.Queue, j *jobs.Locked) error { return jobs.End(m.g.tx, j) })
}

// PutOffJob makes a job due again after a while, as its worker has seen it, with a
// checkpoint; nothing happens if somebody has gone on with it.
func (m LaneTxn) PutOffJob(seen jobs.Job, after time.Duration, checkpoint string) error {
	return m.settle(seen, func(q *jobs.Queue, j *jobs.Locked) error {
		j.Due, j.Checkpoint = m.g.now.Add(after), checkpoint
		m.g.wakes(j.ID)
		return q.Save(m.g.tx, j)
	})
}

func (m LaneTxn) settle(seen jobs.Job, fn func(*jobs.Queue, *jobs.Locked) error) error {
	q := m.g.db.store.jobs
	j, err := q.Lock(m.g.tx, &seen)
	if errors.Is(err, jobs.ErrGone) || errors.Is(err, jobs.ErrMoved) {
		return nil
	}
	if err != nil {
		return err
	}
	return fn(q, &j)
}

// SetJob puts a job into the queue, or moves it to when it is due, earlier or later.
func (m LaneTxn) SetJob(j jobs.Job) error {
	changed, err := m.g.db.store.jobs.Set(m.g.tx, j)
	if changed {
		m.g.wakes(j.ID)
	}
	return err
}

// RemoveJob takes a job out of the queue if it is there.
func (m LaneTxn) RemoveJob(kind, subject string) error {
	return jobs.Remove(m.g.tx, m.g.db.job(kind, subject, time.Time{}).ID)
}
