package index

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/worktime"
)

// taskKey names a task: one index of one database.
type taskKey struct{ db, index uint64 }

// task is the work on one index in this process: its build and, for a following
// kind, keeping up with the feed. One goroutine at a time does its steps: ours,
// or a query that does not want to wait for ours; the others wait for the steps.
type task struct {
	x  *Indexes
	d  *store.Database
	ix *Index
	ns store.Scope // what the index is made of

	users    int             // who holds a tenant's task; guarded by Indexes.tasks
	running  chan struct{}   // holds one token: whoever took it does the steps
	prefetch chan prefetched // the next page of a build, if it is being read; belongs to the token's holder
	max      int             // documents of the next page of a transactional kind; the holder's too
	state    struct {
		sync.Mutex
		progress Progress
		known    bool            // progress was read
		gone     bool            // the index is no more
		reached  store.Sequences // everything up to here is in the index
		changed  chan struct{}   // closed at the next step
		failure  error           // why the last attempt ended, of the background or at breaking; nil after a step
		pace     pace
		tail     *Tail // what queries made of changes after progress; nil for none
	}
}

// tasksOf are the tasks of a database, by the numbers of their indexes. They go with it
// when it is closed: what they know can be read again. x.tasks is locked.
func tasksOf(d *store.Database) map[uint64]*task {
	return d.Attached(func() any { return map[uint64]*task{} }).(map[uint64]*task)
}

// task returns the task of an index.
func (x *Indexes) task(d *store.Database, ix *Index) *task {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	t := tasksOf(d)[ix.Number]
	if t == nil {
		t = &task{x: x, d: d, ix: ix, ns: d.Namespace(ix.Tenant), running: make(chan struct{}, 1), max: x.o.Page}
		t.state.changed = make(chan struct{})
		t.running <- struct{}{}
		tasksOf(d)[ix.Number] = t
	}
	t.users++
	return t
}

// release lets a task go that its user needs no more. Those of tenants' indexes, of
// which there may be many thousands, are forgotten when nobody uses them.
func (x *Indexes) release(t *task) {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	if t.users--; t.users == 0 && t.ix.Tenant != "" && tasksOf(t.d)[t.ix.Number] == t {
		delete(tasksOf(t.d), t.ix.Number)
	}
}

// forget drops a task whose index is gone, and tells those who wait.
func (x *Indexes) forget(t *task) {
	x.tasks.Lock()
	delete(tasksOf(t.d), t.ix.Number)
	x.tasks.Unlock()
	t.state.Lock()
	defer t.state.Unlock()
	t.state.gone = true
	close(t.state.changed)
	t.state.changed = make(chan struct{})
}

// ErrGone says that an index was dropped while it was waited for.
var ErrGone error = dberr.New(dberr.NotFound, "not_found", "Design document was updated or deleted.")

// run does the task's steps until done says that it has come far enough.
func (t *task) run(ctx context.Context, done func(*task) bool) error {
	for !done(t) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.running:
		}
		if err := t.steps(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

// steps does them for the holder of the token, and returns that, whatever happens: others wait for it.
func (t *task) steps(ctx context.Context, done func(*task) bool) (err error) {
	defer func() {
		t.dropPrefetched()
		t.running <- struct{}{}
	}()
	for err = t.broken(); err == nil && !done(t); {
		err = t.step(ctx)
	}
	return err
}

// recheckEvery is how often one who waits looks himself: another server may do the steps, and what it tells may be lost.
const recheckEvery = time.Second

// wait waits until others have done the task's steps until done says so. An index that
// fails ends the wait with its error, and so does Timeout. It looks first whether there is an index: nobody works for one that is gone.
func (t *task) wait(ctx context.Context, done func(*task) bool) error {
	t.state.Lock()
	look := !t.state.known || t.x.store.Shared()
	t.state.Unlock()
	defer worktime.Pause(ctx)()
	told, leave := t.d.WatchDefinitions()
	defer func() { leave() }()
	for {
		if look {
			p, err := t.read(ctx)
			if err != nil {
				return err
			}
			t.learn(p)
		}
		t.state.Lock()
		changed, gone, failure := t.state.changed, t.state.gone, t.state.failure
		t.state.Unlock()
		switch {
		case done(t):
			return nil
		case gone:
			return ErrGone
		case dberr.Is(failure, dberr.Timeout), errors.Is(failure, errBroken):
			return failure
		}
		again := time.NewTimer(recheckEvery)
		select {
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-changed:
			look = false
		case <-told:
			look = true
			told, leave = t.d.WatchDefinitions()
		case <-again.C:
			look = true
		}
		again.Stop()
	}
}

// broken returns the error of a task whose index failed; nil for any other.
func (t *task) broken() error {
	t.state.Lock()
	defer t.state.Unlock()
	if errors.Is(t.state.failure, errBroken) {
		return t.state.failure
	}
	return nil
}

// fail makes known that an attempt failed.
func (t *task) fail(err error) {
	t.state.Lock()
	defer t.state.Unlock()
	t.state.failure = err
	close(t.state.changed)
	t.state.changed = make(chan struct{})
}

// note makes a step known.
func (t *task) note(p Progress, reached store.Sequences) {
	t.state.Lock()
	defer t.state.Unlock()
	if p.UpTo != t.state.progress.UpTo {
		t.state.tail = nil
	}
	t.state.progress, t.state.known, t.state.reached, t.state.failure = p, true, reached, nil
	close(t.state.changed)
	t.state.changed = make(chan struct{})
}

// step does the next piece of work and makes it known.
func (t *task) step(ctx context.Context) error {
	t.state.Lock()
	p, known := t.state.progress, t.state.known
	t.state.Unlock()
	if !known {
		return t.begin(ctx)
	}
	began, from, follows := t.x.clock(), p.UpTo, p.Phase == phaseFeed
	reached, err := t.advance(ctx, &p)
	if broken := (*Broken)(nil); errors.As(err, &broken) {
		err = t.breakOff(ctx, &p, broken)
		t.fail(err)
	}
	err = t.x.Repair(ctx, t.d, t.ix, err)
	if errors.Is(err, errMoved) {
		return t.begin(ctx) // another server does the same work; or the index is gone
	}
	if err != nil {
		return err
	}
	t.note(p, reached)
	if follows {
		t.noteBatch(began, from)
	}
	return nil
}

// learn makes known what somebody read who does not do the steps. It may be older than what is known, unless it is
// the end of the build.
func (t *task) learn(p Progress) {
	t.state.Lock()
	defer t.state.Unlock()
	if !t.state.known || p.Phase == phaseFeed && t.state.progress.Phase != phaseFeed {
		t.state.progress, t.state.known, t.state.reached = p, true, p.UpTo
	}
}

// begin reads from where the steps go on.
func (t *task) begin(ctx context.Context) error {
	p, err := t.read(ctx)
	if err == nil {
		t.note(p, p.UpTo)
	}
	return err
}

// read reads the progress row, and whether the index failed, maybe at another server: then nobody gets any further.
func (t *task) read(ctx context.Context) (p Progress, err error) {
	var now *Index
	err = t.d.Whole().View(ctx, func(r *store.Reader) (err error) {
		if p, err = ReadProgress(r.Snapshot(), t.d.Number(), t.ix.Number); err == nil {
			now, err = At(r.As(t.ns), t.ix)
		}
		return err
	})
	if err == nil && now != nil && now.State == Failed {
		err = broken(now.Reason)
		t.fail(err)
	}
	if errors.Is(err, kv.ErrNotFound) {
		t.x.forget(t)
		return p, ErrGone
	}
	if dberr.Is(err, dberr.NotFound) {
		t.x.forget(t) // with its database
	}
	return p, err
}

// advance does the next piece of work.
func (t *task) advance(ctx context.Context, p *Progress) (reached store.Sequences, err error) {
	switch k := t.ix.Kind.(type) {
	case Transactional:
		if p.Phase == phaseDocuments {
			err = t.buildTransactional(ctx, p)
		}
		return p.UpTo, err
	case Asynchronous:
		switch p.Phase {
		case phaseDocuments:
			return p.UpTo, t.addFresh(ctx, k, p)
		case phaseFinish:
			return p.UpTo, t.finish(ctx, k, p)
		case phasePublish:
			return p.UpTo, t.publish(ctx, k, p)
		}
		reached, _, err = t.follow(ctx, k, p)
		return reached, err
	}
	return store.Sequences{}, dberr.New(dberr.Internal, "", "index: a kind that is neither kept nor follows")
}

// finish lets the kind make what it left for the end of the first build.
func (t *task) finish(ctx context.Context, k Asynchronous, p *Progress) error {
	if err := k.Finish(ctx, t.d, t.ix); err != nil {
		return err
	}
	next := *p
	next.Phase = phasePublish
	err := t.d.Commit(ctx, func(tx kv.Txn) error {
		return move(tx, t.d.Number(), t.ix.Number, p, &next)
	})
	if err == nil {
		*p = next
	}
	return err
}

// publish catches up with what happened during the build and makes the index
// readable.
func (t *task) publish(ctx context.Context, k Asynchronous, p *Progress) error {
	for end := false; !end; {
		var err error
		if _, end, err = t.follow(ctx, k, p); err != nil {
			return err
		}
	}
	next := *p
	next.Phase = phaseFeed
	var moved error
	err := t.d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
		if moved = move(m.Tx(), t.d.Number(), t.ix.Number, p, &next); moved != nil {
			return other(moved)
		}
		return t.x.setState(m, t.ns, t.ix.Number, Readable, "")
	})
	if err == nil {
		err = moved
	}
	if err == nil {
		*p = next
	}
	return err
}

// built reports whether the first build of the task's index has ended.
func built(t *task) bool {
	t.state.Lock()
	defer t.state.Unlock()
	return t.state.known && t.state.progress.Phase == phaseFeed
}

// hasReached reports whether the index holds everything up to m.
func hasReached(m store.Sequences) func(*task) bool {
	return func(t *task) bool {
		t.state.Lock()
		defer t.state.Unlock()
		return t.state.known && t.state.progress.Phase == phaseFeed && t.state.reached.Hold(m)
	}
}
