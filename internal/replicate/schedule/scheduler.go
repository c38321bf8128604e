package schedule

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/tracing"
)

// Options join the scheduler to the rest of the server.
type Options struct {
	Store  *store.Store
	Users  Users
	Config *config.Config
	Node   string // name of this node, as rows tell it
	Log    *slog.Logger
	Tracer *tracing.Tracer // nil: nothing is traced
	// Run carries out one replication; nil: Task.Run.
	Run func(context.Context, *replicate.Task) (*replicate.Result, error)
	// Now and Random are for tests; nil: the clock, and a number from 0 to 1.
	Now    func() time.Time
	Random func() float64
}

// Users says who somebody is in whose name a replication runs.
type Users interface {
	// Named returns a user by name, nil if there is none.
	Named(ctx context.Context, name string) (*auth.Caller, error)
	// Accepts reports whether a way of authentication is configured. By tokens and
	// proxies there may be users that Named does not know.
	Accepts(auth.Handler) bool
}

// Scheduler runs replications. Its methods may be called from several
// goroutines.
//
// One goroutine keeps the time (keepTime); each job that runs has one, and each
// _replicator database has one that follows its feed. All they share is guarded by
// one lock, under which nothing waits: documents are written, filters fetched and
// tasks run outside of it.
type Scheduler struct {
	o        Options
	settings *config.Derived[*settings]
	handler  http.Handler // answers requests to local endpoints

	ctx   context.Context
	end   context.CancelFunc
	work  sync.WaitGroup
	woken chan struct{} // holds one when the time at which something is due changed

	counts counts

	state struct {
		sync.Mutex
		queue     *runQueue
		documents map[docKey]*entry
		followers map[string]*follower
		updates   uint64 // up to where the feed of databases is known to have been followed
		ended     ended
		ending    map[string]chan struct{} // of jobs that were removed and still run, by id
		pids      int
		closed    bool
	}
}

// New makes a scheduler. Nothing runs before Start.
func New(o Options) *Scheduler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Run == nil {
		o.Run = func(ctx context.Context, t *replicate.Task) (*replicate.Result, error) { return t.Run(ctx) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	s := &Scheduler{o: o, settings: config.Derive(o.Config, parseSettings), woken: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.state.queue = newRunQueue()
	s.state.queue.limits = s.settings.Value()
	s.state.documents = map[docKey]*entry{}
	s.state.ending = map[string]chan struct{}{}
	s.state.followers = map[string]*follower{}
	return s
}

// Start begins to run what the documents of the _replicator databases ask for.
// handler answers the requests to endpoints of this server; they come with the
// caller in their context. Errors: those of the store.
func (s *Scheduler) Start(handler http.Handler) error {
	s.handler = handler
	if err := s.followDatabases(); err != nil {
		return err
	}
	s.work.Go(s.keepTime)
	return nil
}

// Close ends all replications, each after its checkpoint, and waits for them.
// Requests that wait for one are told that the server stops.
func (s *Scheduler) Close() {
	s.state.Lock()
	s.state.closed = true
	s.state.Unlock()
	s.end()
	s.work.Wait()
}

// begin runs work in a goroutine that Close waits for, unless Close was called.
// The lock is held.
func (s *Scheduler) begin(work func()) {
	if !s.state.closed {
		s.work.Go(work)
	}
}

// keepTime makes the turns, and starts what waited for a time.
func (s *Scheduler) keepTime() {
	last := s.o.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := s.o.Now()
		interval := s.settings.Value().interval
		if now.Sub(last) >= interval {
			last = now
			s.reschedule(now)
			s.findPurged()
			s.sweepStatuses()
		}
		next := s.doDue(now)
		if tick := last.Add(interval); next.IsZero() || tick.Before(next) {
			next = tick
		}
		timer.Reset(max(0, next.Sub(s.o.Now())))
		select {
		case <-timer.C:
		case <-s.woken:
		case <-s.ctx.Done():
			return
		}
	}
}

// wake makes keepTime look again.
func (s *Scheduler) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// reschedule lets jobs that ran long make room for those that wait.
func (s *Scheduler) reschedule(now time.Time) {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.queue.limits = s.settings.Value()
	for _, j := range s.state.queue.reschedule(now) {
		j.stopping = true
		j.stop()
	}
	s.fill(now)
}

// doDue starts what may start by now and returns when to look again; the zero time
// if nothing waits for a time.
func (s *Scheduler) doDue(now time.Time) time.Time {
	s.state.Lock()
	defer s.state.Unlock()
	s.fill(now)
	next := s.state.queue.next(now)
	for key, d := range s.state.documents {
		if d.due.IsZero() {
			continue
		}
		if !d.due.After(now) {
			d.due = time.Time{}
			s.prepare(key, d)
		} else if next.IsZero() || d.due.Before(next) {
			next = d.due
		}
	}
	return next
}

// fill starts jobs in the places that are free. The lock is held.
func (s *Scheduler) fill(now time.Time) {
	if s.state.closed {
		return
	}
	s.state.queue.limits = s.settings.Value()
	for _, j := range s.state.queue.room(now) {
		s.start(j, now)
	}
}

// runsElsewhere is how long a job waits that another server runs before it is tried again.
const runsElsewhere = 2 * time.Second

// start gives a job its goroutine. The lock is held.
func (s *Scheduler) start(j *job, now time.Time) {
	ctx, stop := context.WithCancel(s.ctx)
	s.state.pids++
	j.running, j.stopping, j.noted, j.stop, j.ended, j.pid = true, false, false, stop, make(chan struct{}), s.state.pids
	if s.o.Store.SingleServer() {
		s.began(j, nil, now)
	}
	after := j.after
	j.after = nil
	s.work.Go(func() {
		defer stop()
		if after != nil {
			<-after
		}
		var result *replicate.Result
		err := dberr.Guard(s.o.Log, "schedule.run", func() error {
			return s.hold(ctx, j, func(ctx context.Context) (err error) {
				result, err = s.run(ctx, j)
				return err
			})
		})
		s.finished(ctx, j, outcome{result, err})
	})
}

// add takes a job in and starts it if there is room. The lock is held.
func (s *Scheduler) add(j *job, now time.Time) {
	j.failures = &failures{}
	if ended, ok := s.state.ending[j.id]; ok {
		j.after = ended // two runs would write the same checkpoints
	}
	j.note(event{kind: added, when: now}, 1)
	s.state.queue.limits = s.settings.Value()
	s.state.queue.add(j)
	s.fill(now)
	s.wake()
}

// remove lets a job go, stops it, and tells those who wait for it why. The lock
// is held.
func (s *Scheduler) remove(j *job, why error) {
	s.state.queue.remove(j)
	if j.running {
		j.stop()
		s.state.ending[j.id] = j.ended
	}
	s.state.ended.keep(j)
	s.dropStatusOf(j)
	j.finish(outcome{err: why})
}

// finish returns those who wait for the job its outcome.
func (j *job) finish(o outcome) {
	for _, w := range j.waiters {
		w <- o
	}
	j.waiters = nil
}

// finished settles what a run has come to.
func (s *Scheduler) finished(ctx context.Context, j *job, o outcome) {
	now := s.o.Now()
	s.state.Lock()
	defer s.state.Unlock()
	close(j.ended)
	most, ran := s.settings.Value().maxHistory, j.owned
	j.owned = false
	switch waiting := (waits{}); {
	case !s.state.queue.has(j):
		s.state.queue.leaving--
		if s.state.ending[j.id] == j.ended {
			delete(s.state.ending, j.id)
		}
	case o.err == nil && !j.rep.Continuous:
		s.completed(j, o, now)
	case errors.As(o.err, &waiting):
		j.running, j.stopping, j.elsewhere, j.due = false, false, true, waiting.until
	case errors.Is(o.err, jobs.ErrElsewhere) && !ran && j.transient() && j.rep.Continuous:
		s.drop(j) // it runs, as was asked for
	case errors.Is(o.err, jobs.ErrElsewhere):
		if j.running, j.stopping, j.elsewhere, j.due = false, false, true, now.Add(runsElsewhere); ran {
			j.note(event{kind: stopped, when: now}, most)
		}
	case o.err == nil, ctx.Err() != nil:
		j.running, j.stopping = false, false
		j.note(event{kind: stopped, when: now}, most)
	case j.transient():
		s.counts.failures.Add(1)
		s.o.Log.Error("replication failed", "replication", j.id, "source", j.rep.Source.Shown(), "target", j.rep.Target.Shown(), "error", o.err)
		s.drop(j)
		j.finish(o)
	default:
		if j.running, j.stopping = false, false; !j.noted {
			s.crash(j, o.err, now)
		}
	}
	s.fill(now)
	s.wake()
}

// drop takes a job that ended out of the run queue. The lock is held.
func (s *Scheduler) drop(j *job) {
	j.running = false
	s.state.queue.remove(j)
	s.state.ended.keep(j)
}

// completed ends a job that has done all there was to do. The lock is held.
func (s *Scheduler) completed(j *job, o outcome, now time.Time) {
	s.drop(j)
	j.finish(o)
	if o.result != nil {
		s.counts.add(j, o.result.Stats)
		j.stats, j.hasStats = j.sum(o.result.Stats), true
	}
	s.counts.completed.Add(1)
	s.counts.succeeded(now)
	s.o.Log.Info("replication completed", "replication", j.id, "source", j.rep.Source.Shown(), "target", j.rep.Target.Shown(),
		"docs_written", j.stats.DocsWritten, "doc_write_failures", j.stats.DocWriteFailures)
	if d := s.state.documents[j.key]; d != nil && d.job == j.id {
		s.settle(j.key, d, completedState(j), now)
	}
}

// crash lets a job wait before it is tried again. The lock is held.
func (s *Scheduler) crash(j *job, cause error, now time.Time) {
	v := s.settings.Value()
	j.noted = true
	s.counts.failures.Add(1)
	j.note(event{kind: crashed, when: now, reason: Reason(cause)}, v.maxHistory)
	wait := backoff(j.crashes(v.healthy), s.o.Random())
	j.due = now.Add(wait)
	s.o.Log.Warn("replication failed and will be tried again", "replication", j.id, "document", j.key.database+"/"+string(j.key.id),
		"source", j.rep.Source.Shown(), "target", j.rep.Target.Shown(), "in", wait, "error", cause)
}
