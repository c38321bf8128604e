package jobs

import (
	"bytes"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Put puts a job into the queue, in the place of one with the same ID: whoever works on
// that finds that it has moved. It is due at j.Due and began now.
func (q *Queue) Put(tx kv.Txn, j Job) error {
	old, err := decode(j.ID, tx.GetForUpdate)
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	j.Began, j.holder, j.serial, j.due = q.o.Clock(), 0, old.serial, old.due
	return write(tx, &j)
}

// Ending is the checkpoint of a job that ends because there is nothing in a range. Nobody who writes there makes a conflict with
// whoever ends it, for he only ensures that it is there. So its worker writes this checkpoint first, and looks into the range in a
// later transaction: who writes after the first, and could not be seen by the second, ensures a job that is ending, which writes it.
const Ending = "\x00ending"

// Ensure puts a job into the queue unless it is there; then it makes it due at j.Due
// at the latest, though not before its Earliest. One that is ending goes on, in another state. It reports whether it wrote anything.
func (q *Queue) Ensure(tx kv.Txn, j Job) (changed bool, err error) {
	old, err := decode(j.ID, tx.GetForUpdate)
	if errors.Is(err, ErrGone) {
		j.Began = q.o.Clock()
		return true, write(tx, &j)
	}
	due := j.Due
	if due.Before(old.Earliest) {
		due = old.Earliest
	}
	if err == nil && old.Checkpoint == Ending {
		old.Checkpoint = ""
		return true, write(tx, &old)
	}
	if err != nil || !due.Before(old.Due) {
		return false, err
	}
	old.Due = due
	return true, put(tx, &old) // no other state: whoever is at it may go on
}

// Set puts a job into the queue, or moves it to when it is due, earlier or later; whoever
// is at it may go on. One that is due already stays where it is among those that are.
// It reports whether it wrote anything.
func (q *Queue) Set(tx kv.Txn, j Job) (changed bool, err error) {
	old, err := decode(j.ID, tx.GetForUpdate)
	if errors.Is(err, ErrGone) {
		j.Began = q.o.Clock()
		return true, write(tx, &j)
	}
	now := q.o.Clock()
	if err != nil || millis(old.Due) == millis(j.Due) || !old.Due.After(now) && !j.Due.After(now) {
		return false, err
	}
	old.Due = j.Due
	return true, put(tx, &old)
}

// Remove takes a job out of the queue, if it is there, whoever is at it.
func (q *Queue) Remove(tx kv.Txn, id ID) error {
	j, err := decode(id, tx.GetForUpdate)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return End(tx, &j)
}

// Lock reads a job for update, in the transaction that is to do a batch of it. seen is
// as the worker knows the job. Errors: ErrGone, ErrMoved.
func (q *Queue) Lock(tx kv.Txn, seen *Job) (Job, error) {
	j, err := decode(seen.ID, tx.GetForUpdate)
	if err == nil && (j.serial != seen.serial || j.holder != seen.holder || millis(j.Began) != millis(seen.Began)) {
		err = ErrMoved
	}
	return j, err
}

// Save writes what a batch made of a job that Lock gave.
func (q *Queue) Save(tx kv.Txn, j *Job) error {
	if q.o.Lease > 0 {
		j.until = q.o.Clock().Add(q.o.Lease)
	}
	return write(tx, j)
}

// End takes a job out of the queue.
func End(tx kv.Txn, j *Job) error {
	return errors.Join(tx.Delete(j.Key()), tx.Delete(j.dueKey(j.due)))
}

// EndAll takes the jobs of a kind for a database out of the queue.
func EndAll(tx kv.Txn, kind string, number uint64) error {
	var all []Job
	err := Each(tx, kind, func(j Job) error { all = append(all, j); return nil }, number)
	for i := range all {
		err = errors.Join(err, End(tx, &all[i]))
	}
	return err
}

// write writes a job in its next state.
func write(tx kv.Txn, j *Job) error {
	j.serial++
	return put(tx, j)
}

// put writes a job's row, and moves the one that says when it is due.
func put(tx kv.Txn, j *Job) error {
	if millis(j.due) != millis(j.Due) || j.due.IsZero() {
		if !j.due.IsZero() {
			if err := tx.Delete(j.dueKey(j.due)); err != nil {
				return err
			}
		}
		if err := tx.Put(j.dueKey(j.Due), []byte{dueVersion}); err != nil {
			return err
		}
		j.due = j.Due
	}
	return tx.Put(j.Key(), j.encode())
}

// Migrate brings all rows of the first version up to date: they had the time when the
// job was due, and the checkpoint. names are the databases by their numbers.
func Migrate(tx kv.Txn, names map[uint64]string) error {
	var old []Job
	err := kv.Each(tx, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
		_, parts, err := keyspace.Job.Decode(key)
		if err != nil || len(value) > 0 && value[0] == rowVersion {
			return err
		}
		u := packed.ReadVersion(value, oldVersion)
		j := Job{ID: decodeID(parts), Due: time.UnixMilli(int64(u.Uint())), Checkpoint: u.Text()}
		j.Began, j.Database = j.Due, names[j.Number]
		old = append(old, j)
		return u.Done()
	})
	for i := 0; i < len(old) && err == nil; i++ {
		err = put(tx, &old[i])
	}
	return err
}

// dueBefore is the order of time before there were pools.
var dueBefore = keyspace.Space{Name: "job-due", Code: 'g', System: true, Version: 1,
	Columns: []keyspace.Column{{Name: "time", Kind: keyspace.Uint}, {Name: "kind", Kind: keyspace.Text}, {Name: "number", Kind: keyspace.Uint}, {Name: "subject", Kind: keyspace.Text}}}

// migratedJobs is how many jobs a page of MigrateOrder moves.
const migratedJobs = 1000

// MigrateOrder moves a page of the rows of the order of time to where they lie by pools.
// from and next are keys of jobs.
func MigrateOrder(tx kv.Txn, from []byte) (next []byte, done bool, err error) {
	rg := kv.Prefix(keyspace.Job.Key(0))
	if from != nil {
		rg.Start = from
	}
	var page []Job
	err = kv.Each(tx, rg, func(key, value []byte) error {
		if len(page) == migratedJobs {
			next = bytes.Clone(key)
			return errEnough
		}
		j, err := Decode(key, value)
		page = append(page, j)
		return err
	})
	if done = err == nil; err != nil && !errors.Is(err, errEnough) {
		return nil, false, err
	}
	for _, j := range page {
		before := dueBefore.Key(0, keyspace.U(millis(j.Due)), keyspace.T(j.Kind), keyspace.U(j.Number), keyspace.T(j.Subject))
		if err := errors.Join(tx.Delete(before), tx.Put(j.dueKey(j.Due), []byte{dueVersion})); err != nil {
			return nil, false, err
		}
	}
	return next, done, nil
}

var errEnough = errors.New("jobs: enough rows")

// Check holds the rows of the queue against each other: each job has its row in the
// order of time, and no other is there. It returns what is wrong.
func Check(v kv.Snapshot) (bad []error, err error) {
	due := map[string]bool{}
	err = kv.Each(v, kv.Prefix(keyspace.JobDue.Key(0)), func(key, _ []byte) error {
		due[string(key)] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
		j, err := Decode(key, value)
		if err != nil {
			return err
		}
		if at := string(j.dueKey(j.Due)); due[at] {
			delete(due, at)
		} else {
			bad = append(bad, errOf("the job %q of database %d, %q, is not in the order of time", j.ID))
		}
		return nil
	})
	for key := range due {
		_, parts, err := keyspace.JobDue.Decode([]byte(key))
		if err != nil {
			return bad, err
		}
		bad = append(bad, errOf("a job %q of database %d, %q, is due and not there", decodeID(parts[2:])))
	}
	return bad, err
}

// Of returns all jobs of a database.
func Of(v kv.Snapshot, number uint64) (all []Job, err error) {
	err = kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
		j, err := Decode(key, value)
		if err == nil && j.Number == number {
			all = append(all, j)
		}
		return err
	})
	return all, err
}

// Carry puts a job of another queue into the queue of tx's store, where nobody is at it.
func Carry(tx kv.Txn, j Job) error {
	j.holder, j.until, j.serial, j.due = 0, time.Time{}, 0, time.Time{}
	return write(tx, &j)
}
