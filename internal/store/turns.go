package store

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// docKey names a document of any database.
type docKey struct {
	number uint64
	id     document.ID
}

// turns lets those who want to write the same document do so one after the
// other. It saves work that would be done in vain and decides nok: a commit
// looks whether the document moved, whoever wrote it, here or on another server.
type turns struct {
	mu sync.Mutex
	// queues has a place for whoever is at a document, and is without an entry
	// for those at which nobody is.
	queues map[docKey]*turn
}

type turn struct {
	token chan struct{} // holds one token while somebody works
	users int           // who work or wait
}

// take waits for the turn at a document, and returns the function that ends it. An
// error is the context's.
func (t *turns) take(ctx context.Context, k docKey) (leave func(), err error) {
	q := t.enter(k)
	select {
	case q.token <- struct{}{}:
		return func() {
			<-q.token
			t.leave(k, q)
		}, nil
	case <-ctx.Done():
		t.leave(k, q)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(k docKey) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[k]
	if q == nil {
		if t.queues == nil {
			t.queues = map[docKey]*turn{}
		}
		q = &turn{token: make(chan struct{}, 1)}
		t.queues[k] = q
	}
	q.users++
	return q
}

func (t *turns) leave(k docKey, q *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, k)
	}
}

// turnsTaken are the turns that a write has at documents.
type turnsTaken struct {
	store *Store
	keys  []docKey
	leave []func()
}

// take waits for the turns of the writes' edits. Turns
// that were had already are given up if they are not all: they are taken in one order.
func (t *turnsTaken) take(ctx context.Context, ws []*write) error {
	var keys []docKey
	for _, w := range ws {
		keys = w.countedTurn(ctx, w.bound(keys))
	}
	slices.SortFunc(keys, func(a, b docKey) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
	})
	if keys = slices.Compact(keys); len(keys) <= len(t.keys) {
		return nil
	}
	t.end()
	for _, k := range keys {
		leave, err := t.store.turns.take(ctx, k)
		if err != nil {
			return err
		}
		t.leave = append(t.leave, leave)
	}
	t.keys = keys
	return nil
}

// end gives the turns up.
func (t *turnsTaken) end() {
	for _, leave := range t.leave {
		leave()
	}
	t.keys, t.leave = nil, nil
}

// countedTurn appends the turn of the caller, if what that one has is counted.
func (w *write) countedTurn(ctx context.Context, keys []docKey) []docKey {
	if c, ok := w.scope.db.store.o.Admission.(Counting); ok {
		if who := c.Counted(ctx, w.scope.db); who != "" {
			keys = append(keys, docKey{0, document.ID(who)}) // no database has that number
		}
	}
	return keys
}

// bound appends the turns of the edits that are not settled: the documents of bound ones,
// and those of decisions on large documents.
func (w *write) bound(keys []docKey) []docKey {
	by := w.scope.db.settings.Load()
	for _, e := range w.edits {
		if e.Decide == nil || !e.open && e.admitted {
			continue
		}
		if e.bound || w.binds(e, by) {
			keys = append(keys, docKey{w.scope.db.number, e.ID})
		}
		if e.large {
			keys = append(keys, w.largeTurn(e))
		}
	}
	return keys
}
