package subscribe

import (
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// place is where a subscription stands in the whole store.
type place struct {
	database  uint64
	partition document.Partition
	id        string
}

// runner is a subscription in this process: whether it is to run, runs, or
// waits for its feed or for a time. At most one step of it runs at once, which
// keeps its deliveries in order.
type runner struct {
	scope store.Scope
	id    string

	// Guarded by the schedule's lock.
	queued  bool
	active  bool
	again   bool   // woken while it ran
	limping bool   // its last attempt failed
	gone    bool   // taken out; whoever has it in hand leaves it alone
	disarm  func() // takes back what it waits for; nil if it waits for nothing

	// Of the step under way alone.
	seen   store.Seq // everything up to here was looked at, since the series began
	series string
}

// schedule holds the runners and decides who is next. Subscriptions whose
// attempts fail may take half of the workers only: receivers that hang for as
// long as they may must not hold up the others.
type schedule struct {
	sync.Mutex
	runners map[place]*runner
	ready   []*runner
	limping []*runner
	busy    int // workers
	lame    int // of them, those with a limping runner
	closed  bool
	loading bool // what is stored is still being read
	resting []chan struct{}
}

// rested returns a channel that is closed when nothing is under way or in line.
func (q *schedule) rested() <-chan struct{} {
	q.Lock()
	defer q.Unlock()
	ch := make(chan struct{})
	q.resting = append(q.resting, ch)
	q.rest()
	return ch
}

// rest tells those who wait for it that nothing is under way. The caller holds
// the lock.
func (q *schedule) rest() {
	if q.loading || q.busy > 0 || len(q.ready) > 0 || len(q.limping) > 0 {
		return
	}
	for _, ch := range q.resting {
		close(ch)
	}
	q.resting = nil
}

func (q *schedule) close() {
	q.Lock()
	q.closed = true
	all := q.runners
	q.runners, q.ready, q.limping = map[place]*runner{}, nil, nil
	q.Unlock()
	for _, r := range all {
		q.Lock()
		disarm := r.disarm
		r.disarm, r.gone = nil, true
		q.Unlock()
		if disarm != nil {
			disarm()
		}
	}
}

// wake has a subscription run as soon as there is a worker for it.
func (s *Service) wake(scope store.Scope, id string) {
	if s.o.Idle {
		return
	}
	at := place{scope.Database().Number(), scope.Partition(), id}
	q := &s.running
	q.Lock()
	defer q.Unlock()
	if q.closed {
		return
	}
	r := q.runners[at]
	if r == nil {
		r = &runner{scope: scope, id: id}
		q.runners[at] = r
	}
	s.enqueue(r)
}

// rouse is wake for a runner that waited. It may be called under a lock of a
// database (store.Scope.Notify), so it calls nothing of the store.
func (s *Service) rouse(r *runner) {
	s.running.Lock()
	defer s.running.Unlock()
	s.enqueue(r)
}

// enqueue puts a runner in line. The caller holds the lock.
func (s *Service) enqueue(r *runner) {
	q := &s.running
	switch {
	case q.closed || r.gone || r.queued:
		return
	case r.active:
		r.again = true
		return
	}
	r.queued = true
	if r.limping {
		q.limping = append(q.limping, r)
	} else {
		q.ready = append(q.ready, r)
	}
	s.dispatch()
}

// dispatch begins workers for those in line. The caller holds the lock.
func (s *Service) dispatch() {
	q := &s.running
	for workers := max(1, s.o.Bounds().Workers); q.busy < workers; {
		r := q.next(workers)
		if r == nil {
			return
		}
		r.queued, r.active = false, true
		q.busy++
		lame := r.limping
		if lame {
			q.lame++
		}
		s.work.Go(func() { s.run(r, lame) })
	}
}

// next takes the next in line, nil if there is none who may run.
func (q *schedule) next(workers int) (r *runner) {
	switch {
	case len(q.ready) > 0:
		r, q.ready = q.ready[0], q.ready[1:]
	case len(q.limping) > 0 && q.lame < max(1, workers/2):
		r, q.limping = q.limping[0], q.limping[1:]
	}
	return r
}

// run runs a step, arms what the runner waits for next, and makes room.
func (s *Service) run(r *runner, lame bool) {
	q := &s.running
	q.Lock()
	disarm := r.disarm
	r.disarm = nil
	q.Unlock()
	if disarm != nil {
		disarm()
	}
	var n next
	err := dberr.Guard(s.o.Logger, "subscribe.step", func() (err error) {
		n, err = s.step(s.ctx, r)
		return err
	})
	if err != nil && s.ctx.Err() == nil {
		s.o.Logger.Error("a subscription could not go on and will be tried again", "database", r.scope.Database().Name(), "subscription", r.id, "error", err)
		n = next{kind: until, pause: stumble}
	}
	disarm = s.arm(r, n)
	q.Lock()
	defer q.Unlock()
	r.active = false
	q.busy--
	if lame {
		q.lame--
	}
	switch {
	case n.kind == gone && !r.again:
		r.gone = true
		if at := (place{r.scope.Database().Number(), r.scope.Partition(), r.id}); q.runners[at] == r {
			delete(q.runners, at)
		}
	case n.kind == goOn || r.again:
		r.again = false
		r.disarm = disarm
		s.enqueue(r)
	default:
		r.disarm = disarm
	}
	s.dispatch()
	q.rest()
}

// stumble is the pause after an error that is not the receiver's.
const stumble = 5 * time.Second

// arm sees to it that the runner is woken when it has something to do.
func (s *Service) arm(r *runner, n next) (disarm func()) {
	switch n.kind {
	case change:
		return r.scope.Notify(n.seq, func() { s.rouse(r) })
	case until:
		return s.o.After(n.pause, func() { s.rouse(r) })
	}
	return nil
}

// limp notes whether the runner's last attempt failed.
func (s *Service) limp(r *runner, limping bool) {
	s.running.Lock()
	r.limping = limping
	s.running.Unlock()
}

// next says what a runner does after a step.
type next struct {
	kind  nextKind
	seq   store.Seq     // change: there is nothing up to here
	pause time.Duration // until
}

type nextKind uint8

const (
	rest   nextKind = iota // nothing, until somebody changes the subscription
	goOn                   // there is more to do
	change                 // wait for the feed
	until                  // wait for a time
	gone                   // the subscription is not there any more
)
