package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/tracing"
)

// Options join a queue to its store; all but Holder and Lease must be given.
type Options struct {
	Pool   string // whose jobs are worked on
	Engine kv.Engine
	Commit func(ctx context.Context, fn func(kv.Txn) error) error // runs a transaction
	Clock  func() time.Time
	Logger *slog.Logger
	// Do works on a job for a while, batch by batch. What follows is in the job's
	// row then: it has ended, is due later, or is still due, and its turn comes
	// again. An error is logged and the job tried again after a pause; it may be
	// one of Later.
	Do      func(ctx context.Context, j Job) error
	Workers func() int // how many jobs are worked on side by side, at least one; asked each time; nil: one
	// Holder tells this process from others that share the queue, and Lease is for
	// how long it may have a job without a batch. 0: it has the store for itself.
	Holder uint64
	Lease  time.Duration
	// Tracer traces the turns of jobs; nil: nobody does.
	Tracer *tracing.Tracer
}

// Pauses of Work.
const (
	lookEvery    = 15 * time.Second // the clock may have been set
	lookShared   = 2 * time.Second  // others may have put jobs into the queue, or died
	firstPause   = time.Second      // before a job that failed is tried again
	longestPause = time.Minute
	duePage      = 256
	remembered   = 1000 // jobs at rest, before it is looked which of them are gone
)

// Queue works on the jobs of a pool of a store. Rows may be written by any queue of the
// store, whatever pool they are of.
type Queue struct {
	o     Options
	woken chan struct{}
	freed chan struct{} // has a value when a worker may have become free
	busy  struct {
		sync.Mutex
		workers int
		running map[ID]chan struct{} // closed when its turn ends
		resting map[ID]rest
	}
	work sync.WaitGroup
	// See Counts.
	turns, failures, strays atomic.Uint64
}

// rest is how long a job is left alone in this process.
type rest struct {
	until    time.Time
	failures int
}

// New makes a queue; nothing is worked on before Work or Drain.
func New(o Options) *Queue {
	if o.Workers == nil {
		o.Workers = func() int { return 1 }
	}
	q := &Queue{o: o, woken: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
	q.busy.running, q.busy.resting = map[ID]chan struct{}{}, map[ID]rest{}
	return q
}

// later is an error that puts a job off.
type later time.Duration

func (l later) Error() string {
	return fmt.Sprintf("jobs: not before %v have passed", time.Duration(l))
}

// Later says how long the job is put off.
func (l later) Later() time.Duration { return time.Duration(l) }

// Later is what Do returns for a job that cannot be worked on before some time has
// passed, for reasons that are not in its row.
func Later(d time.Duration) error { return later(d) }

func errOf(format string, id ID) error { return fmt.Errorf(format, id.Kind, id.Number, id.Subject) }

// Wake has Work look at the queue: after a commit that made a job due.
func (q *Queue) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Work does the jobs that are due, side by side, until ctx ends.
func (q *Queue) Work(ctx context.Context) {
	defer q.work.Wait()
	for ctx.Err() == nil {
		pause, err := q.dispatch(ctx)
		if err != nil && ctx.Err() == nil {
			q.o.Logger.Error("the queue of background work could not be read and will be tried again", "error", err)
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-q.woken:
		}
		timer.Stop()
	}
}

// look is after how long it is looked for jobs of which nobody has told.
func (q *Queue) look() time.Duration {
	if q.o.Lease == 0 {
		return lookEvery
	}
	return lookShared
}

// dispatch begins to work on all that is due, as there are workers for it, and tells
// how long to wait then.
func (q *Queue) dispatch(ctx context.Context) (pause time.Duration, err error) {
	pause = q.look()
	for from := []byte(nil); ctx.Err() == nil; {
		rows, next, due, err := q.page(ctx, from)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			id := row.ID
			if wait := q.resting(id); wait > 0 {
				pause = min(pause, wait)
				continue
			}
			if !q.employ(ctx) {
				return 0, nil
			}
			if q.begin(id) != nil {
				q.dismiss()
				continue
			}
			q.work.Go(func() {
				defer func() { q.finish(id); q.dismiss(); q.Wake() }()
				q.turn(ctx, row)
			})
		}
		if from = next; from == nil {
			if !due.IsZero() {
				pause = min(pause, max(0, due.Sub(q.o.Clock())))
			}
			return pause, nil
		}
	}
	return pause, nil
}

// employ waits until there may be a worker more; false if ctx ends before.
func (q *Queue) employ(ctx context.Context) bool {
	for {
		q.busy.Lock()
		room := q.busy.workers < max(1, q.o.Workers())
		if room {
			q.busy.workers++
		}
		q.busy.Unlock()
		if room {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-q.freed:
		}
	}
}

// dismiss takes a worker back.
func (q *Queue) dismiss() {
	q.busy.Lock()
	q.busy.workers--
	q.busy.Unlock()
	select {
	case q.freed <- struct{}{}:
	default:
	}
}

// page reads the rows of the next jobs that are due, and where to go on; at the end next is nil,
// and due the time of the first job that is not due yet, zero for none.
func (q *Queue) page(ctx context.Context, from []byte) (rows []dueRow, next []byte, due time.Time, err error) {
	rg := kv.Prefix(keyspace.JobDue.Key(0, keyspace.T(q.o.Pool)))
	if from != nil {
		rg.Start = from
	}
	now := millis(q.o.Clock())
	err = q.o.Engine.View(ctx, func(v kv.Snapshot) error {
		rows, next, due = rows[:0], nil, time.Time{}
		it, err := v.Iterate(rg, kv.IterOptions{})
		if err != nil {
			return err
		}
		defer it.Close()
		for it.Next() {
			_, parts, err := keyspace.JobDue.Decode(it.Key())
			if err != nil {
				return err
			}
			if parts[1].Num() > now {
				due = time.UnixMilli(int64(parts[1].Num()))
				return nil
			}
			if rows = append(rows, dueRow{decodeID(parts[2:]), parts[1].Num()}); len(rows) == duePage {
				next = append(append(next, it.Key()...), 0)
				return nil
			}
		}
		return it.Err()
	})
	return rows, next, due, err
}

// resting returns for how long a job is left alone yet.
func (q *Queue) resting(id ID) time.Duration {
	q.busy.Lock()
	defer q.busy.Unlock()
	return q.busy.resting[id].until.Sub(q.o.Clock())
}

// begin notes that a job is worked on. If it is already, it returns what is closed
// when that turn ends.
func (q *Queue) begin(id ID) (other <-chan struct{}) {
	q.busy.Lock()
	defer q.busy.Unlock()
	if other := q.busy.running[id]; other != nil {
		return other
	}
	q.busy.running[id] = make(chan struct{})
	return nil
}

func (q *Queue) finish(id ID) {
	q.busy.Lock()
	defer q.busy.Unlock()
	close(q.busy.running[id])
	delete(q.busy.running, id)
}

// turn works on a job once, and notes when its next turn is at the earliest.
func (q *Queue) turn(ctx context.Context, row dueRow) {
	id, put := row.ID, later(0)
	err := q.do(ctx, row)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !errors.As(err, &put):
		q.failures.Add(1)
		q.o.Logger.Error("background work failed and will be tried again", "kind", id.Kind, "database", id.Number, "subject", id.Subject, "error", err)
	}
	q.busy.Lock()
	defer q.busy.Unlock()
	now, r := q.o.Clock(), q.busy.resting[id]
	if len(q.busy.resting) > remembered {
		maps.DeleteFunc(q.busy.resting, func(_ ID, r rest) bool { return now.Sub(r.until) > longestPause })
	}
	switch {
	case put > 0:
		q.busy.resting[id] = rest{until: now.Add(time.Duration(put))}
	case err != nil:
		q.busy.resting[id] = rest{until: now.Add(min(firstPause<<min(r.failures, 10), longestPause)), failures: r.failures + 1}
	default:
		delete(q.busy.resting, id)
	}
}

// do takes the job of a row and has it worked on.
func (q *Queue) do(ctx context.Context, row dueRow) error {
	j, mine, err := q.claim(ctx, row)
	if err != nil || !mine {
		return err
	}
	if q.o.Lease == 0 {
		return q.traced(ctx, j)
	}
	return q.leased(ctx, j, nil, func(ctx context.Context) error { return q.traced(ctx, j) })
}

// traced works on a job, in a trace of its own. That it is put off is no failure.
func (q *Queue) traced(ctx context.Context, j Job) error {
	q.turns.Add(1)
	ctx, span := tracing.Work(q.o.Tracer.Into(ctx), "job "+j.Kind)
	span.Text("db.namespace", j.Database)
	err := q.o.Do(ctx, j)
	if errors.As(err, new(later)) {
		span.End(nil)
	} else {
		span.End(err)
	}
	return err
}

// leased runs fn while the lease of a job is kept, which is this process's. When it is
// lost, the context of fn ends, and the error is ErrElsewhere. words are what its row says
// as of each renewal; nil: what it says already.
func (q *Queue) leased(ctx context.Context, j Job, words func() string, fn func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	ctx = context.WithValue(ctx, fenceKey{}, func(ctx context.Context) error { return q.fence(ctx, j.ID) })
	ends := time.AfterFunc(q.left(j.until), func() { stop(ErrElsewhere) })
	var keeping sync.WaitGroup
	keeping.Go(func() { q.keep(ctx, j, words, ends, stop) })
	err := fn(ctx)
	if errors.Is(context.Cause(ctx), ErrElsewhere) {
		err = ErrElsewhere
	}
	stop(nil)
	keeping.Wait()
	return err
}

// keep keeps the lease of a job as long as somebody works on it, whose context ends when
// before the lease does, at ends, which waits for no transaction.
func (q *Queue) keep(ctx context.Context, j Job, words func() string, ends *time.Timer, lost context.CancelCauseFunc) {
	defer ends.Stop()
	every := time.NewTicker(q.o.Lease / 3)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		var until time.Time
		err := q.o.Commit(ctx, func(tx kv.Txn) error {
			now, err := decode(j.ID, tx.GetForUpdate)
			if err == nil && now.holder != q.o.Holder {
				err = ErrMoved
			}
			if err != nil {
				return err
			}
			now.until = q.o.Clock().Add(q.o.Lease)
			until = now.until
			if words != nil {
				now.Checkpoint = words()
			}
			return put(tx, &now) // no other state: the batch under way goes on
		})
		switch {
		case errors.Is(err, ErrGone): // done
			return
		case errors.Is(err, ErrMoved):
			lost(ErrElsewhere)
			return
		case err == nil:
			ends.Reset(q.left(until))
		}
	}
}
