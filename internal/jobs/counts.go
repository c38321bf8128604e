package jobs

import (
	"time"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// MaxCounted is how many jobs of a pool are counted at most, so that a look at a queue of a million
// costs no more than one at a queue of a thousand.
const MaxCounted = 1000

// Counts are figures of a pool. Those of turns are of this process since its start; those of what is due are of the store.
type Counts struct {
	Pool            string
	Running         int    // worked on by this process
	Turns, Failures uint64 // that jobs had here, and those of them that failed
	Strays          uint64 // rows of the order of time without a job that were removed here
	Due             int    // jobs that are due, those that are worked on among them; MaxCounted for that many or more
	// Waited is for how long the first of them has been due.
	Waited time.Duration
}

// Counts returns the figures of the queue's pool. It reads MaxCounted rows at most.
func (q *Queue) Counts(v kv.Snapshot) (c Counts, err error) {
	c = Counts{Pool: q.o.Pool, Turns: q.turns.Load(), Failures: q.failures.Load(), Strays: q.strays.Load()}
	q.busy.Lock()
	c.Running = len(q.busy.running)
	q.busy.Unlock()
	now := q.o.Clock()
	it, err := v.Iterate(kv.Prefix(keyspace.JobDue.Key(0, keyspace.T(q.o.Pool))), kv.IterOptions{})
	if err != nil {
		return c, err
	}
	defer it.Close()
	for c.Due < MaxCounted && it.Next() {
		_, parts, err := keyspace.JobDue.Decode(it.Key())
		if err != nil {
			return c, err
		}
		due := time.UnixMilli(int64(parts[1].Num()))
		if due.After(now) {
			return c, nil
		}
		if c.Due == 0 && parts[1].Num() > 0 { // those of time 0 were never given one
			c.Waited = now.Sub(due)
		}
		c.Due++
	}
	return c, it.Err()
}
