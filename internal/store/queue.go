package store

import (
	"context"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// queue gathers the writes of many clients into one commit. The naive way, a
// transaction for each write, makes every writer wait for a sync of its own
// and for all others on the lane head that each of them writes. Instead the
// first writer starts a goroutine that commits whatever has come together
// while the commits before were on their way; it ends when nothing is left. Writes
// are applied in the order they came, over one overlay (see group), each with
// an outcome of its own.
type queue struct {
	pending struct {
		sync.Mutex
		requests []*request
		running  bool
	}
	last chan struct{} // closed when the commit begun last has answered; nil before the first
}

// request is one caller's share of a commit: fn runs in the group, perhaps
// several times, and leaves its outcome where the caller finds it. An error of
// fn ends the whole group, so it is for faults of the storage only; a refusal
// is an outcome that fn leaves.
type request struct {
	fn   func(*group) error
	size int  // bytes it will write, about
	free bool // it makes room: taken on a full disk too
	done chan error
}

// A group ends at these bounds, so that one commit stays within an engine's
// limit and its writers do not wait for too many others.
const (
	groupBytes    = 2 << 20
	groupRequests = 1024
)

// do runs fn in the database's next commit and waits until that is durable.
func (d *Database) do(ctx context.Context, op string, fn func(*group) error) error {
	return d.submit(ctx, op, 256, fn)
}

// submit is do for a request that will write about size bytes.
func (d *Database) submit(ctx context.Context, op string, size int, fn func(*group) error) error {
	if err := ctx.Err(); err != nil {
		return dberr.Wrap(op, err)
	}
	r := &request{fn: fn, size: size, free: kv.IsFreeing(ctx), done: make(chan error, 1)}
	if err := d.store.room(r.free); err != nil {
		return dberr.Wrap(op, err)
	}
	q := &d.queue
	q.pending.Lock()
	q.pending.requests = append(q.pending.requests, r)
	start := !q.pending.running
	q.pending.running = true
	q.pending.Unlock()
	if start {
		d.store.work.Go(d.drain)
	}
	// A write under way is waited for whatever becomes of its caller: what it
	// answers must be the truth.
	if err := <-r.done; err != nil {
		return dberr.Wrap(op, err)
	}
	return nil
}

// drain commits group after group until the queue is empty. A group begins when
// the one before is applied, and while that is being synced; a third waits and
// grows, for small groups cost more than they hurry.
func (d *Database) drain() {
	for {
		batch := d.queue.take()
		if batch == nil {
			return
		}
		before, done := d.queue.last, make(chan struct{})
		d.queue.last = done
		applied := make(chan struct{})
		d.store.work.Go(func() {
			defer close(done)
			next := sync.OnceFunc(func() { close(applied) })
			defer next()
			d.commit(batch, before, next)
		})
		<-applied
		wait(before)
	}
}

// wait waits until a commit has answered; nil is none.
func wait(commit <-chan struct{}) {
	if commit != nil {
		<-commit
	}
}

// take gives the next group of requests; nil ends the draining.
func (q *queue) take() []*request {
	q.pending.Lock()
	defer q.pending.Unlock()
	size, n := 0, 0
	for n < len(q.pending.requests) && n < groupRequests {
		size += q.pending.requests[n].size
		if n > 0 && size > groupBytes {
			break
		}
		n++
	}
	if n == 0 {
		q.pending.requests, q.pending.running = nil, false
		return nil
	}
	batch := q.pending.requests[:n:n]
	q.pending.requests = q.pending.requests[n:]
	return batch
}

// commit applies a batch of requests in one transaction, calls applied when the
// next one may begin, and tells each request that it is durable; before is the
// commit that answers first, so that effects become known in order.
func (d *Database) commit(batch []*request, before <-chan struct{}, applied func()) {
	var g *group
	err := d.store.pipeline(groupContext(d.store.ctx, batch), func(tx kv.Txn) (err error) {
		if g, err = d.newGroup(tx); err != nil {
			return err
		}
		for _, r := range batch {
			if err := r.fn(g); err != nil {
				return err
			}
		}
		return g.finish()
	}, applied)
	wait(before)
	if err == nil {
		g.published()
	}
	if dberr.Is(err, dberr.TooLarge) && len(batch) > 1 {
		// Together they are over the engine's limit; alone they need not be.
		for _, r := range batch {
			d.commit([]*request{r}, nil, func() {})
		}
		return
	}
	if freeing := freeingOf(batch); dberr.Is(err, dberr.Full) && len(freeing) > 0 && len(freeing) < len(batch) {
		d.commit(freeing, nil, func() {})
	}
	for _, r := range batch {
		select {
		case r.done <- err:
		default: // it was among the freeing ones, and has its answer
		}
	}
}

// groupContext gives the context of a commit: it makes room if all of its
// requests do.
func groupContext(ctx context.Context, batch []*request) context.Context {
	ctx = context.WithoutCancel(ctx)
	if len(freeingOf(batch)) == len(batch) {
		return kv.Freeing(ctx)
	}
	return ctx
}

// freeingOf gives the requests that make room.
func freeingOf(batch []*request) (freeing []*request) {
	for _, r := range batch {
		if r.free {
			freeing = append(freeing, r)
		}
	}
	return freeing
}

// room gives the error with which the engine refuses writes at the moment, but
// for those that make room.
func (s *Store) room(freeing bool) error {
	if e, ok := s.engine.(kv.Roomer); ok && !freeing {
		return e.Room()
	}
	return nil
}
