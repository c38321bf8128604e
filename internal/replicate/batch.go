package replicate

import (
	"context"
	"slices"
	"sync"
)

// batch is a stretch of the feed that is carried over together.
type batch struct {
	n    int // its place among the batches of the run
	rows []row
	end  Seq            // of its last row; nil: none of them has one
	at   map[string]int // where a document is in rows
}

// add takes a row. A document that comes twice is there once, with the revisions
// of both rows.
func (b *batch) add(r row) {
	if r.seq != nil {
		b.end = r.seq
	}
	if b.at == nil {
		b.at = map[string]int{}
	}
	i, ok := b.at[r.id]
	if !ok {
		b.at[r.id] = len(b.rows)
		b.rows = append(b.rows, r)
		return
	}
	for _, rev := range r.revs {
		if !slices.Contains(b.rows[i].revs, rev) {
			b.rows[i].revs = append(b.rows[i].revs, rev)
		}
	}
}

// collectBatches makes batches of the pieces of the feed. A batch goes out when it is
// full or when a worker has nothing to do, so that a quiet feed is followed at
// once and a loud one in large steps.
func collectBatches(ctx context.Context, pieces <-chan []row, batches chan<- *batch, most int, order *order) error {
	defer close(batches)
	next := &batch{}
	for {
		var out chan<- *batch // nil: there is nothing to hand out
		if len(next.rows) > 0 {
			out = batches
		}
		in := pieces
		if len(next.rows) >= most {
			in = nil
		}
		if in == nil && out == nil {
			return nil
		}
		if out != nil && next.n == 0 {
			n, err := order.begin(ctx)
			if err != nil {
				return err
			}
			next.n = n
		}
		select {
		case out <- next:
			next = &batch{}
		case piece, ok := <-in:
			if !ok {
				pieces = nil
				continue
			}
			for _, r := range piece {
				next.add(r)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// order knows how far the run is complete: batches are done in any order, and
// the run is through with the last of those before which none is open.
type order struct {
	mu struct {
		sync.Mutex
		begun   int
		through int // batches up to this one are done
		seq     Seq // the end of that one
		done    map[int]Seq
	}
	room chan struct{} // a place for each batch that may be open
}

func newOrder(start Seq, open int) *order {
	o := &order{room: make(chan struct{}, open)}
	o.mu.seq, o.mu.done = start, map[int]Seq{}
	return o
}

// begin returns the next batch its number, from 1 up; it waits while too many are
// open, so that the work beyond a slow one is bounded.
func (o *order) begin(ctx context.Context) (int, error) {
	select {
	case o.room <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.begun++
	return o.mu.begun, nil
}

// finish reports that a batch is done: all it asked for is on the target, or
// refused and told.
func (o *order) finish(b *batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.done[b.n] = b.end
	for {
		end, ok := o.mu.done[o.mu.through+1]
		if !ok {
			return
		}
		delete(o.mu.done, o.mu.through+1)
		o.mu.through++
		if end != nil {
			o.mu.seq = end
		}
		<-o.room
	}
}

// through returns the sequence up to which the target is complete.
func (o *order) through() Seq {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.seq
}
