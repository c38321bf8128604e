package schedule

import (
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/replicate"
)

// Counts are figures of the replications. But for Waiting they are of what this server has run itself, so that those of
// several servers of a store can be added up.
type Counts struct {
	Running, Crashing int // at this moment; those that crash wait until they are tried again
	// Waiting are those that wait for their turn, which each server of a store has in its list.
	Waiting int

	Failures, Completed                     uint64 // runs that failed, and that came to their end
	DocsRead, DocsWritten, DocWriteFailures uint64
	// Success is when a checkpoint was written that was farther than the one before, or a run came to its end; zero for never.
	Success time.Time
}

// counts are what is counted from the start of the process on.
type counts struct {
	failures, completed, read, written, refused atomic.Uint64
	success                                     atomic.Int64 // Unix milliseconds; 0 for never
}

// add counts what a run has done since it was counted last. The lock is held.
func (c *counts) add(j *job, st replicate.Stats) {
	c.read.Add(grown(st.DocsRead, j.counted.DocsRead))
	c.written.Add(grown(st.DocsWritten, j.counted.DocsWritten))
	c.refused.Add(grown(st.DocWriteFailures, j.counted.DocWriteFailures))
	j.counted = st
}

func grown(now, before int64) uint64 { return uint64(max(0, now-before)) }

func (c *counts) succeeded(now time.Time) { c.success.Store(now.UnixMilli()) }

// Counts returns the figures. It looks at the list of replications that the server has in memory, and reads no row.
func (s *Scheduler) Counts() Counts {
	c := Counts{
		Failures: s.counts.failures.Load(), Completed: s.counts.completed.Load(),
		DocsRead: s.counts.read.Load(), DocsWritten: s.counts.written.Load(), DocWriteFailures: s.counts.refused.Load(),
	}
	if at := s.counts.success.Load(); at > 0 {
		c.Success = time.UnixMilli(at)
	}
	s.state.Lock()
	defer s.state.Unlock()
	for _, j := range s.state.queue.jobs {
		switch {
		case j.owned:
			c.Running++
		case j.elsewhere:
		case j.history[0].kind == crashed:
			c.Crashing++
		default:
			c.Waiting++
		}
	}
	return c
}
