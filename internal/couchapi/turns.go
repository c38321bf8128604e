package couchapi

import (
	"context"
	"sync"
)

// turns lets those who want to work on the same thing do so one after the
// other. It saves work that would be done in vain and decides nothing: who does
// not take turns, here or on another server, is met by the conflict that a
// write answers with.
type turns struct {
	mu sync.Mutex
	// queues has a place for whoever works on a thing, and is without an entry
	// for what nobody works on.
	queues map[string]*turn
}

type turn struct {
	place chan struct{} // holds one token while somebody works
	users int           // who work or wait
}

// take waits for the turn at a thing, and gives the function that ends it. An
// error is the context's.
func (t *turns) take(ctx context.Context, thing string) (leave func(), err error) {
	q := t.enter(thing)
	select {
	case q.place <- struct{}{}:
		return func() {
			<-q.place
			t.leave(thing, q)
		}, nil
	case <-ctx.Done():
		t.leave(thing, q)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(thing string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[thing]
	if q == nil {
		if t.queues == nil {
			t.queues = map[string]*turn{}
		}
		q = &turn{place: make(chan struct{}, 1)}
		t.queues[thing] = q
	}
	q.users++
	return q
}

func (t *turns) leave(thing string, q *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, thing)
	}
}
