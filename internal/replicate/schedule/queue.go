package schedule

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// runQueue decides which jobs run. It has no clock, lock or goroutine: whoever
// calls it says what time it is and does what it decides. A job that is told to
// stop keeps its place until it has ended.
//
// As in CouchDB, jobs that end by themselves are not interrupted for others,
// unless there are more than may run; continuous ones give way to those that
// wait, the longest running first, a few in each turn. Those that wait are
// started in the order of their shares, then of when they last ran.
type runQueue struct {
	jobs    map[string]*job
	leaving int // jobs that were removed and have not ended yet
	shares  shares
	limits  *settings
}

func newRunQueue() *runQueue {
	return &runQueue{jobs: map[string]*job{}, shares: newShares()}
}

// busy counts the places that are taken.
func (r *runQueue) busy() (n int) {
	n = r.leaving
	for _, j := range r.jobs {
		if j.running {
			n++
		}
	}
	return n
}

// reschedule is made once in every interval: it brings the shares up to date, and says
// who is to stop for those that wait. room says who may start then.
func (r *runQueue) reschedule(now time.Time) (stop []*job) {
	var running []*job
	for _, j := range r.jobs {
		if j.running && !j.stopping {
			running = append(running, j)
		}
	}
	r.shares.reschedule(r.limits, running, now)
	slices.SortFunc(running, func(a, b *job) int {
		return cmp.Or(a.lastStarted().Compare(b.lastStarted()), cmp.Compare(a.id, b.id))
	})
	take := func(n int, continuous bool) (taken int) {
		running = slices.DeleteFunc(running, func(j *job) bool {
			if taken >= n || j.rep.Continuous != continuous {
				return false
			}
			taken++
			stop = append(stop, j)
			return true
		})
		return taken
	}
	excess := max(0, len(running)-r.limits.maxJobs)
	take(excess-take(excess, true), false)
	waiting := len(r.waiting(now)) - max(0, r.limits.maxJobs-len(running))
	take(min(waiting, len(running), r.limits.maxChurn-excess), true)
	return stop
}

// waiting lists the jobs that could run now.
func (r *runQueue) waiting(now time.Time) (list []*job) {
	for _, j := range r.jobs {
		if !j.running && !j.due.After(now) {
			list = append(list, j)
		}
	}
	return list
}

// room says who is to start in the places that are free.
func (r *runQueue) room(now time.Time) []*job {
	free := r.limits.maxJobs - r.busy()
	if free <= 0 {
		return nil
	}
	list := r.waiting(now)
	slices.SortFunc(list, func(a, b *job) int {
		return cmp.Or(
			cmp.Compare(r.shares.priority(a), r.shares.priority(b)),
			a.lastStarted().Compare(b.lastStarted()),
			a.began.Compare(b.began),
			cmp.Compare(a.id, b.id))
	})
	return list[:min(free, len(list))]
}

// next reports when a job that waits after a crash may start, the earliest of them;
// the zero time if none waits for a time alone.
func (r *runQueue) next(now time.Time) (next time.Time) {
	if r.busy() >= r.limits.maxJobs {
		return next
	}
	for _, j := range r.jobs {
		if !j.running && j.due.After(now) && (next.IsZero() || j.due.Before(next)) {
			next = j.due
		}
	}
	return next
}

// add takes a job in.
func (r *runQueue) add(j *job) {
	r.jobs[j.id] = j
	r.shares.added(r.limits, j)
}

// remove lets a job go. One that still runs keeps its place: whoever settles its
// end takes it from leaving.
func (r *runQueue) remove(j *job) {
	delete(r.jobs, j.id)
	r.shares.removed(j)
	if j.running {
		r.leaving++
	}
}

// has reports whether the job is one of the run queue's, and not another one of the
// same id.
func (r *runQueue) has(j *job) bool { return r.jobs[j.id] == j }

// shares are CouchDB's: whoever's jobs ran much lately comes later, the more so
// the more jobs they have and the fewer shares. A group is a _replicator database
// or a user of _replicate. Priorities decay, so that everybody's turn comes.
type shares struct {
	priorities map[*job]float64
	usage      map[string]float64 // seconds, decaying, by group
	jobs       map[string]int     // by group
}

func newShares() shares {
	return shares{priorities: map[*job]float64{}, usage: map[string]float64{}, jobs: map[string]int{}}
}

func (s *shares) priority(j *job) float64 { return math.Trunc(s.priorities[j]) }

func (s *shares) added(limits *settings, j *job) {
	s.jobs[group(j)]++
	s.adjust(limits, j)
}

func (s *shares) removed(j *job) {
	delete(s.priorities, j)
	if s.jobs[group(j)]--; s.jobs[group(j)] <= 0 {
		delete(s.jobs, group(j))
	}
}

// reschedule charges the jobs that ran in the interval that ends now.
func (s *shares) reschedule(limits *settings, running []*job, now time.Time) {
	for g := range s.usage {
		if s.usage[g] *= limits.usageCoeff; s.usage[g] < 1e-6 {
			delete(s.usage, g)
		}
	}
	for _, j := range running {
		s.usage[group(j)] += min(now.Sub(j.lastStarted()), limits.interval).Seconds()
	}
	for j := range s.priorities {
		if s.priorities[j] *= limits.priorityCoeff; s.priorities[j] < 1 {
			delete(s.priorities, j)
		}
	}
	for _, j := range running {
		s.adjust(limits, j)
	}
}

// adjust moves a job back by what its group has used.
func (s *shares) adjust(limits *settings, j *job) {
	const scale = 1e6 // of seconds, so that a priority of 1 is next to nothing
	g := group(j)
	n := limits.sharesOf(g)
	if p := s.usage[g] * scale * float64(s.jobs[g]) / (n * n); p >= 1 {
		s.priorities[j] += p
	}
}

// group is who is charged for a job.
func group(j *job) string {
	if j.transient() {
		return "user " + j.user
	}
	return j.key.database
}
