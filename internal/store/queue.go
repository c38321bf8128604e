package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/tracing"
)

// queue gathers the writes of many clients into one commit. The naive way, a
// transaction for each write, makes every writer wait for a sync of its own
// and for all others on the lane head that each of them writes. Instead the
// first writer starts a goroutine that commits whatever has come together
// while the commits before were on their way; it ends when nothing is left. Writes
// are applied over one overlay (see group), each with an outcome of its own.
//
// There are two lines, for somebody who writes one document shall not wait for
// the thousands that others are loading: small requests go first, all that are
// there, and beside them only little of the large ones, twice as much with each
// commit that had no small ones: whoever wrote something will, as a rule, write
// something more. But something of the large ones goes into every commit, so that
// they come on however many small ones there are. Within a line requests are applied in the order they came.
type queue struct {
	pending struct {
		sync.Mutex
		small, large line
		room         int // bytes of large requests that the next group takes
		running      bool
		reserved     bool // the last group was a commit of several databases
		gathering    gathering
	}
	last chan struct{} // closed when the commit begun last has answered; nil before the first
}

// request is one caller's share of a commit: fn runs in the group, perhaps
// several times, and leaves its outcome where the caller finds it. An error of
// fn ends the whole group, so it is for faults of the storage only; a refusal
// is an outcome that fn leaves.
type request struct {
	fn            func(*group) error
	edits         []editsOf // what fn will plan; their rows are read together with other requests'
	reads         [][]byte  // keys of other rows that it will read for update
	size          int       // bytes it will write, about
	free          bool      // it makes room: taken on a full disk too
	done          chan error
	queue         *queue         // that it is in; nil for a reserved committer
	preconditions *Preconditions // what let it in, for its commit to look at; nil for none
	stale         bool           // they do not hold at the commit's snapshot: it is not carried out
	databases     []*Database    // that it writes to, in order of their numbers, if they are several
	span          tracing.Span   // of its commit, from here to its outcome
	reservation   *reservation   // what the request is, instead of fn; nil for a request with fn
}

// A group ends at these bounds, so that one commit stays within an engine's
// limit and its writers do not wait for too many others.
const (
	groupBytes       = 2 << 20
	groupRequests    = 1024
	smallBytes       = 32 << 10  // a request up to this is a small one
	interleavedBytes = 128 << 10 // of large requests beside small ones
)

// line is requests in the order they came.
type line []*request

// take takes requests from the front: as many as have room, and one if must is
// set and there is any. A reserved committer is taken by itself.
func (l *line) take(requests, bytes int, must bool) (taken []*request, size int) {
	n := 0
	for n < len(*l) && n < requests && !(n > 0 && (*l)[n].reservation != nil) {
		if size+(*l)[n].size > bytes && !(must && n == 0) {
			break
		}
		size += (*l)[n].size
		if n++; (*l)[n-1].reservation != nil {
			break
		}
	}
	taken = (*l)[:n:n]
	if *l = (*l)[n:]; len(*l) == 0 {
		*l = nil
	}
	return taken, size
}

// do runs fn in the database's next commit and waits until that is durable.
func (d *Database) do(ctx context.Context, op string, fn func(*group) error) error {
	return d.submit(ctx, op, 256, fn)
}

// submit is do for a request that will write about size bytes.
func (d *Database) submit(ctx context.Context, op string, size int, fn func(*group) error) error {
	r, err := d.begin(ctx, &request{fn: fn, size: size}, size <= smallBytes)
	if err == nil {
		err = r.wait()
	}
	return dberr.Wrap(op, err)
}

// begin puts a request into the queue, among the small ones or the large ones.
// Whoever does must wait for it. The parts of what has to keep its order go into
// one line.
func (d *Database) begin(ctx context.Context, r *request, small bool) (*request, error) {
	return d.store.beginOver(ctx, []*Database{d}, r, small)
}

// beginOver is Database.begin for a request to databases, which are in order of their numbers.
func (s *Store) beginOver(ctx context.Context, ds []*Database, r *request, small bool) (*request, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.free, r.done, r.preconditions = kv.IsFreeing(ctx), make(chan error, 1), preconditionsOf(ctx)
	if err := s.room(r.free); err != nil {
		return nil, err
	}
	commit := ds[0].commit
	if r.queue = &ds[0].queue; len(ds) > 1 {
		r.queue, r.databases, commit = &s.multiQueue, ds, s.commitTogether
	}
	_, r.span = tracing.Begin(ctx, "commit")
	r.queue.entered()
	s.enqueue(r.queue, r, small, commit)
	return r, nil
}

// committing carries out the commit of a batch of requests, calls applied when the next
// one may begin, and tells each request its outcome; before is the commit that
// answers first.
type committing func(batch []*request, before <-chan struct{}, applied func())

// enqueue puts a request into a queue, and starts its goroutine if it is the first.
func (s *Store) enqueue(q *queue, r *request, small bool, commit committing) {
	q.pending.Lock()
	if q.pending.room == 0 {
		q.pending.room = groupBytes
	}
	if small {
		q.pending.small = append(q.pending.small, r)
	} else {
		q.pending.large = append(q.pending.large, r)
	}
	q.arrived()
	start := !q.pending.running
	q.pending.running = true
	q.pending.Unlock()
	if start {
		s.work.Go(func() { s.drain(q, commit) })
	}
}

// wait waits for a request's outcome. One that is under way is waited for whatever
// becomes of its caller: what that answers must be the truth.
func (r *request) wait() error {
	defer r.queue.left()
	err := <-r.done
	r.span.End(err)
	return err
}

// drain commits group after group until the queue is empty. A group begins when
// the one before is applied, and while that is being synced; a third waits and
// grows, for small groups cost more than they save.
func (s *Store) drain(q *queue, commit committing) {
	for {
		if s.distant {
			q.gather()
		}
		began := time.Now()
		batch := q.take()
		if batch == nil {
			return
		}
		before, done := q.last, make(chan struct{})
		q.last = done
		applied := make(chan struct{})
		s.work.Go(func() {
			defer close(done)
			next := sync.OnceFunc(func() { close(applied) })
			defer next()
			commit(batch, before, next)
		})
		<-applied
		wait(before)
		q.ended(began)
	}
}

// wait waits until a commit has answered; nil is none.
func wait(commit <-chan struct{}) {
	if commit != nil {
		<-commit
	}
}

// take returns the next group of requests; nil ends the draining.
func (q *queue) take() []*request {
	q.pending.Lock()
	defer q.pending.Unlock()
	q.pending.gathering.max = q.pending.gathering.writers
	var small []*request
	size, reserves := 0, len(q.pending.small) > 0 && q.pending.small[0].reservation != nil
	if !reserves || !q.pending.reserved || len(q.pending.large) == 0 { // large ones come between two of them
		small, size = q.pending.small.take(groupRequests, groupBytes, true)
	}
	if q.pending.reserved = reserves && len(small) > 0; q.pending.reserved {
		return small
	}
	if len(small) > 0 {
		q.pending.room = interleavedBytes
	}
	large, _ := q.pending.large.take(groupRequests, min(q.pending.room, groupBytes-size), true)
	q.pending.room = min(2*q.pending.room, groupBytes)
	if len(small)+len(large) == 0 {
		q.pending.running = false
		return nil
	}
	return append(small, large...)
}

// refuse tells those who wait for a commit to begin that it won't. Nothing of what they want has been done.
func (q *queue) refuse(err error) {
	q.pending.Lock()
	defer q.pending.Unlock()
	for _, l := range []*line{&q.pending.small, &q.pending.large} {
		for _, r := range *l {
			if r.reservation != nil {
				r.reservation.refuse(err)
			} else {
				r.done <- err
			}
		}
		*l = nil
	}
}

// commit is the committing of the database's queue.
func (d *Database) commit(batch []*request, before <-chan struct{}, applied func()) {
	if c := batch[0].reservation; c != nil {
		c.handOver(before, applied)
		return
	}
	d.store.commitBatch([]*Database{d}, batch, func() { wait(before) }, applied)
}

// commitBatch applies a batch of requests in one transaction over databases, calls applied
// when the next one may begin, and tells each request that it is durable; before
// waits for the commits that answer first, so that effects become known in order.
func (s *Store) commitBatch(ds []*Database, batch []*request, before, applied func()) {
	gs, err := s.run(ds, batch, applied, false)
	if dberr.Panicked(err) {
		gs, err = s.run(ds, batch, applied, true)
	}
	before()
	for i := 0; i < len(gs) && err == nil; i++ {
		gs[i].published()
	}
	if len(batch) > 1 && (ofTheEdit(err) || len(ds) > 1 && dberr.Is(err, dberr.NotFound)) {
		// Together they are over the engine's limit, or one of them meets a
		// mistake of ours, or a database that was dropped; alone they need not.
		for _, r := range batch {
			s.commitBatch(r.on(ds), []*request{r}, func() {}, func() {})
		}
		return
	}
	if freeing := freeingOf(batch); dberr.Is(err, dberr.Full) && len(freeing) > 0 && len(freeing) < len(batch) {
		s.commitBatch(ds, freeing, func() {}, func() {})
	}
	for _, r := range batch {
		select {
		case r.done <- r.outcome(err):
		default: // it was among the freeing ones, and has its answer
		}
	}
}

// outcome is what the request is told if its commit ended with err.
func (r *request) outcome(err error) error {
	if r.stale && (err == nil || errors.Is(err, ErrStale)) {
		return r.preconditions.fail()
	}
	return err
}

// on returns the databases of a request, which are among ds.
func (r *request) on(ds []*Database) []*Database {
	if r.databases != nil {
		return r.databases
	}
	return ds
}

// groupContext returns the context of a commit: it makes room if all of its
// requests do, and is traced below the first of them that is.
func groupContext(ctx context.Context, batch []*request) context.Context {
	ctx = context.WithoutCancel(ctx)
	if i := slices.IndexFunc(batch, func(r *request) bool { return r.span.Recorded() }); i >= 0 {
		ctx = batch[i].span.In(ctx)
	}
	if len(freeingOf(batch)) == len(batch) {
		return kv.Freeing(ctx)
	}
	return ctx
}

// freeingOf returns the requests that make room.
func freeingOf(batch []*request) (freeing []*request) {
	for _, r := range batch {
		if r.free {
			freeing = append(freeing, r)
		}
	}
	return freeing
}

// room returns the error with which the engine refuses writes at the moment, but
// for those that make room.
func (s *Store) room(freeing bool) error {
	if e, ok := s.base.(kv.SpaceReporter); ok && !freeing {
		return e.Room()
	}
	return nil
}

// run applies a batch of requests in one transaction. A panic of what works out
// the rows ends the transaction, of which nothing is left then, and is the error;
// where it comes from is in the log. With careful, one in the planning of an edit
// is the outcome of that edit alone.
func (s *Store) run(ds []*Database, batch []*request, applied func(), careful bool) (gs []*group, err error) {
	if s.shared {
		next := applied
		applied = func() {
			confirmed(batch)
			next()
		}
	}
	ctx, known := groupContext(s.ctx, batch), &preloaded{}
	for again := true; again; {
		if gs, err = s.runOnce(ctx, ds, batch, applied, careful, known); err != nil {
			again, err = known.look(ctx, err)
		} else {
			again = false
		}
	}
	if err == nil {
		confirmed(batch)
	}
	return gs, err
}

// runOnce is run with what is known of definitions.
func (s *Store) runOnce(ctx context.Context, ds []*Database, batch []*request, applied func(), careful bool, known *preloaded) (gs []*group, err error) {
	err = s.pipeline(ctx, func(tx kv.Txn) error {
		return s.guard("store.commit", func() (err error) {
			if gs, err = s.newGroups(tx, ds, batch, careful, known); err != nil {
				return err
			}
			for _, r := range batch {
				if r.stale {
					continue
				}
				if err := r.fn(gs[0]); err != nil {
					return err
				}
			}
			for _, g := range gs {
				if err := g.finish(); err != nil {
					return err
				}
			}
			return nil
		})
	}, applied, func(away error) {
		for _, d := range ds {
			d.queue.refuse(away)
		}
		if len(ds) > 1 {
			s.multiQueue.refuse(away)
		}
	}, laneKeys(ds)...)
	return gs, err
}

// confirmed notes that a commit has looked at the claims of its requests, so that those parts of a
// request that come after the first do not, which may be stored by then.
func confirmed(batch []*request) {
	for _, r := range batch {
		if !r.stale {
			r.preconditions.close()
		}
	}
}

// laneKeys are the keys of the lane heads of databases. A commit locks them before its
// snapshot: each of their commits reads and writes them, those of other servers too.
func laneKeys(ds []*Database) [][]byte {
	keys := make([][]byte, len(ds))
	for i, d := range ds {
		keys[i] = laneKey(d.number)
	}
	return keys
}

// guard runs fn, which works with what others sent. A panic in it is an Internal
// error, and logged with its stack.
func (s *Store) guard(op string, fn func() error) error { return dberr.Guard(s.o.Logger, op, fn) }
