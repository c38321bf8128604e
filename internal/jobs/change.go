package jobs

import (
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
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
func Remove(tx kv.Txn, id ID) error {
	j, err := decode(id, tx.GetForUpdate)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return end(tx, &j)
}

// Locked is a job as a transaction has read it for update. No other can be written back or ended: a row in the order of
// time may have been moved since a worker has seen the job.
type Locked struct{ Job }

// Lock reads a job for update, in the transaction that is to do a batch of it. seen is
// as the worker knows the job. Errors: ErrGone, ErrMoved.
func (q *Queue) Lock(tx kv.Txn, seen *Job) (Locked, error) {
	j, err := decode(seen.ID, tx.GetForUpdate)
	if err == nil && (j.serial != seen.serial || j.holder != seen.holder || millis(j.Began) != millis(seen.Began)) {
		err = ErrMoved
	}
	return Locked{j}, err
}

// Save writes what a batch made of a job.
func (q *Queue) Save(tx kv.Txn, j *Locked) error {
	if q.o.Lease > 0 {
		j.until = q.o.Clock().Add(q.o.Lease)
	}
	return write(tx, &j.Job)
}

// End takes a job out of the queue.
func End(tx kv.Txn, j *Locked) error { return end(tx, &j.Job) }

// end takes a job out of the queue that was read in the transaction.
func end(tx kv.Txn, j *Job) error {
	return errors.Join(tx.Delete(j.Key()), tx.Delete(j.dueKey(j.due)))
}

// EndAll takes the jobs of a kind for a database out of the queue.
func EndAll(tx kv.Txn, kind string, number uint64) error {
	var all []Job
	err := Each(tx, kind, func(j Job) error { all = append(all, j); return nil }, number)
	for i := range all {
		err = errors.Join(err, end(tx, &all[i]))
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

// Check holds the rows of the queue against each other: each job has its row in the
// order of time. It returns what is wrong; and strays, the rows in that order that have no job, which do no harm: the queue
// removes them when they are due.
func Check(v kv.Snapshot) (bad, strays []error, err error) {
	due := map[string]bool{}
	err = kv.Each(v, kv.Prefix(keyspace.JobDue.Key(0)), func(key, _ []byte) error {
		due[string(key)] = true
		return nil
	})
	if err != nil {
		return nil, nil, err
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
			return bad, strays, err
		}
		strays = append(strays, errOf("a job %q of database %d, %q, is due and not there", decodeID(parts[2:])))
	}
	return bad, strays, err
}
