package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// job is a replication that is to run, now or later. Its fields are guarded by
// the scheduler's lock, except those that are never changed.
type job struct {
	id, base string // base names the checkpoints
	rep      *spec.Replication
	key      docKey // of the document; zero for one that a request asked for
	user     string
	from     string                             // who vouches for the user's name
	caller   func(context.Context) *auth.Caller // whose rights count, asked at each local request
	began    time.Time                          // when it was first asked for
	charge   *spec.Charge                       // whom a request's counts among; nil: nobody
	size     int64                              // of the text that asks for it, of a request's

	history  []event // newest first, never empty
	running  bool    // has a goroutine
	owned    bool    // and is this server's to run: no other one is at it
	noted    bool    // the history has the crash that the run under way has come to
	stopping bool    // is to end, and to wait for its next turn
	// elsewhere says that another server has it, as far as the last attempt to begin with it could tell.
	elsewhere bool
	stop      context.CancelFunc
	ended     chan struct{}   // closed when the goroutine that runs it has ended
	after     <-chan struct{} // what must have ended before it may run; nil: nothing
	due       time.Time       // not to be started before
	pid       int

	stats    replicate.Stats
	before   replicate.Stats // of the runs before the one that is under way
	counted  replicate.Stats // of the run that is under way, as far as they are among the scheduler's counts
	hasStats bool            // stats were reported
	reported time.Time       // when last
	failures *failures
	waiters  []chan outcome // of requests, each with room for one
}

// outcome is how a job ended for good.
type outcome struct {
	result *replicate.Result
	err    error
}

// event is something that happened to a job.
type event struct {
	kind   string
	when   time.Time
	reason string // of a crash
}

// The kinds of event.
const (
	added   = "added"
	started = "started"
	stopped = "stopped"
	crashed = "crashed"
)

// The states of a job.
const (
	running  = "running"
	crashing = "crashing"
	pending  = "pending"
)

func (j *job) transient() bool { return j.key == docKey{} }

// note adds an event to the history, of which most are kept.
func (j *job) note(e event, most int) {
	j.history = append([]event{e}, j.history[:min(len(j.history), max(most, 1)-1)]...)
}

// lastStarted reports when the job last began to run, as far as its history knows.
func (j *job) lastStarted() time.Time {
	for _, e := range j.history {
		if e.kind == started {
			return e.when
		}
	}
	return time.Time{}
}

// crashes counts the crashes since the job was last well. It was well when it
// ran longer than healthy, or until it was stopped for others' sake.
func (j *job) crashes(healthy time.Duration) (n int) {
	for i, e := range j.history {
		if i+1 == len(j.history) {
			return n
		}
		before := j.history[i+1]
		switch {
		case e.kind == stopped && before.kind == started:
			return n
		case e.kind != crashed:
		case e.when.Sub(before.when) > healthy:
			return n
		default:
			n++
		}
	}
	return n
}

const (
	backoffStep = 30 * time.Second
	// maxDoublings bounds the wait: eight and a half hours.
	maxDoublings = 10
)

// backoff is how long a job waits after so many crashes. random is from 0 to 1;
// it spreads the jobs that failed together, by a quarter either way.
func backoff(crashes int, random float64) time.Duration {
	d := backoffStep << min(max(crashes-1, 0), maxDoublings)
	return d*3/4 + time.Duration(random*float64(d)/2)
}

// state returns the job's state and, of a crashing one, the reason.
func (j *job) state(healthy time.Duration) (name, reason string) {
	switch {
	case j.owned && !j.stopping:
		return running, ""
	case j.history[0].kind == crashed:
		return crashing, j.history[0].reason
	}
	return pending, ""
}

// process is what stands for the process that runs the job; nil when none does.
func (j *job) process() *string {
	if !j.owned {
		return nil
	}
	s := fmt.Sprintf("<0.%d.2>", j.pid)
	return &s
}
