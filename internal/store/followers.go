package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// What follows a database is a job of the package that owns it: when documents change,
// the commit sees to it that the job is in the queue, which costs it one row read, and
// one written for the first of many changes. So nobody waits in a goroutine, nothing has to be looked for
// after a start, and a database that nobody follows pays nothing.

// Following is how a database is followed.
type Following struct {
	Kind  string        // of the job that a change makes necessary; "" for none
	After time.Duration // how long changes may come together before it is due
}

// Follower is a package above the store that follows databases, with rows of its own in
// them. Its kinds of row are declared in keyspace, where it also says that those of a
// partition go when that is dropped.
type Follower interface {
	// Follows says at v how it follows a database. When that changes, LaneTxn.Redefine
	// tells.
	Follows(v kv.Snapshot, d *Database) (Following, error)
	// Check holds its rows in the reader's database against the documents and gives
	// what is wrong.
	Check(r *Reader) ([]error, error)
	// Kinds are the kinds of its jobs, which go with a database.
	Kinds() []string
}

// loadFollowing reads how the database is followed by others than indexes.
func (d *Database) loadFollowing(v kv.Snapshot, set *settings) error {
	for _, f := range d.store.o.Followers {
		how, err := f.Follows(v, d)
		if err != nil {
			return err
		}
		if how.Kind != "" {
			set.following = append(set.following, how)
		}
	}
	return nil
}

// needFollowers notes the jobs that changed documents make necessary.
func (g *group) needFollowers() {
	set := g.db.settings.Load()
	for _, f := range set.following {
		g.needs(f.Kind, g.now.Add(f.After))
	}
	if set.indexes == nil {
		return
	}
	if f := set.indexes.Following(); f.Kind != "" {
		g.needs(f.Kind, g.now.Add(f.After))
	}
}

// Queue makes the queue of a pool of jobs, which are worked on by do, so many side by
// side. Its Work is the caller's to run; commits wake it.
func (s *Store) Queue(pool string, workers func() int, do func(ctx context.Context, j jobs.Job) error) *jobs.Queue {
	q := s.newQueue(pool, workers, do)
	s.pools.Store(pool, q)
	return q
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
		return s.jobs.End(tx, &j)
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
func (s *Store) Hold(ctx context.Context, kind, subject string, fn func(ctx context.Context) error) error {
	return s.jobs.Hold(ctx, jobs.ID{Kind: kind, Subject: subject}, fn)
}

// EnsureJobs puts jobs of databases into the queue, due now, unless they are there.
func (s *Store) EnsureJobs(ctx context.Context, all []jobs.Job) error {
	if len(all) == 0 {
		return nil
	}
	return s.commit(ctx, func(tx kv.Txn) (err error) {
		for _, j := range all {
			j.Due = s.o.Clock()
			_, ensureErr := s.jobs.Ensure(tx, j)
			err = errors.Join(err, ensureErr)
		}
		return err
	})
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
	return m.settle(seen, func(q *jobs.Queue, j *jobs.Job) error { return q.End(m.g.tx, j) })
}

// PutOffJob makes a job due again after a while, as its worker has seen it, with a
// checkpoint; nothing happens if somebody has gone on with it.
func (m LaneTxn) PutOffJob(seen jobs.Job, after time.Duration, checkpoint string) error {
	return m.settle(seen, func(q *jobs.Queue, j *jobs.Job) error {
		j.Due, j.Checkpoint = m.g.now.Add(after), checkpoint
		m.g.wakes(j.ID)
		return q.Save(m.g.tx, j)
	})
}

func (m LaneTxn) settle(seen jobs.Job, fn func(*jobs.Queue, *jobs.Job) error) error {
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
	return m.g.db.store.jobs.Remove(m.g.tx, m.g.db.job(kind, subject, time.Time{}).ID)
}

// Now is the time of the commit.
func (m LaneTxn) Now() time.Time { return m.g.now }

// Moved reports whether documents of a scope changed after q. It may report so for one
// that changes in the commit itself and did not after all.
func (m LaneTxn) Moved(sc Scope, q Seq) (bool, error) {
	for _, s := range m.g.order {
		if sc.contains(s.id) {
			return true, nil
		}
	}
	p, err := m.g.partition(sc.partition)
	if p == nil || err != nil {
		return m.g.lane.seq > q, err
	}
	return p.seq > q, nil
}

// Drops reports whether the partition of a scope is being dropped.
func (m LaneTxn) Drops(sc Scope) (bool, error) {
	p, err := m.g.partition(sc.partition)
	return p != nil && p.state == partitionDropping, err
}

// UpdateLane is Database.UpdateLane for what belongs to a scope: Conflict if its partition
// is being dropped. fn may refuse before it has written anything; that is the caller's
// error then, and no fault.
func (s Scope) UpdateLane(ctx context.Context, size int, fn func(m LaneTxn) (refused, err error)) error {
	var refused error
	err := s.db.submit(ctx, "store.UpdateLane", size, func(g *group) error {
		p, err := g.partition(s.partition)
		if err != nil {
			return err
		}
		if p != nil && p.state == partitionDropping {
			refused = errDropping
			return nil
		}
		refused, err = fn(LaneTxn{g})
		return err
	})
	if err == nil {
		err = refused
	}
	return err
}

// Drops reports whether a partition is being dropped, with its rows of all kinds.
func (r *Reader) Drops(p document.Partition) bool {
	return p != "" && r.state(p) == partitionDropping
}

// Once runs fn unless it has been run for this version of what is named, from 1 up.
func (s *Store) Once(ctx context.Context, name string, version uint64, fn func() error) error {
	known := uint64(0)
	err := s.engine.View(ctx, func(v kv.Snapshot) (err error) {
		known, err = counter(v.Get(metaKey(name)))
		return err
	})
	if err == nil && known != version {
		if err = fn(); err == nil {
			err = s.commit(ctx, func(tx kv.Txn) error { return tx.Put(metaKey(name), packed.Number(version)) })
		}
	}
	return dberr.Wrap("store.Once", err)
}

// Ran reports whether something has been run by Once.
func Ran(v kv.Snapshot, name string) (bool, error) {
	n, err := counter(v.Get(metaKey(name)))
	return n > 0, err
}

// HasJob reports whether there is a job of the database.
func (r *Reader) HasJob(kind, subject string) (bool, error) {
	_, err := jobs.Get(r.v, r.db.job(kind, subject, time.Time{}).ID)
	if errors.Is(err, jobs.ErrGone) {
		return false, nil
	}
	return err == nil, err
}
