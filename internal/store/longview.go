package store

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// LongViewAge is for how long the views of a LongView read one snapshot: the engine keeps what was overwritten since.
const LongViewAge = 30 * time.Second

// LongView is a list that is read page by page, in views, while its client takes what was read. All views read one
// snapshot, unless that got older than LongViewAge, or more than kv.Limits.Idle of them wait for their clients: then that
// of the one that has waited longest is given up, and its next view goes on at a new one. So neither a slow client nor many
// of them hold old data in the store. It must be released. The zero value is of no use.
type LongView struct {
	scope Scope

	mu     sync.Mutex // held while a view runs
	reader *Reader    // between two views; nil: the next one begins a snapshot
	next   func() (*Reader, bool)
	stop   func() // ends the engine's view; nil if there is none
	expiry *time.Timer
	failed error // what a view ended with, for the engine's
	err    error // what the engine's view ended with
}

// LongView returns views of the scope at one snapshot. Nothing is held before the first.
func (s Scope) LongView() *LongView { return &LongView{scope: s} }

// View is Scope.View at the snapshot of the views before. What fn leaves in the reader lasts until it returns. An error
// gives up the snapshot.
func (l *LongView) View(ctx context.Context, fn func(*Reader) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.scope.db.store
	s.idle.wake(l)
	if l.reader == nil || l.scope.db.dropped.Load() {
		l.release()
		l.begin(ctx)
	}
	r, ok := l.reader, l.reader != nil
	resumed := ok
	if !ok {
		r, ok = l.next()
	}
	for l.reader = nil; ok; r, ok = l.next() {
		v := r.v
		g, distant := v.(*guard)
		if resumed && distant {
			g.resume()
		}
		err := fn(r)
		r.v, r.begun = v, nil
		if distant && err == nil && s.shared {
			if err = g.check(); err == nil {
				preconditionsOf(ctx).close()
			}
		}
		if resumed && distant && dberr.Is(err, dberr.Unavailable) && !g.looked.Load() { // the engine was away meanwhile, and nothing has been read
			resumed = false
			l.release()
			l.begin(ctx)
			continue
		}
		if err == nil {
			l.reader = r
			s.idle.rest(l, s.limits.Idle)
			return nil
		}
		l.failed = err // the engine's view ends, or runs again
	}
	l.release()
	return l.err
}

// begin begins the engine's view, which stands still while its reader is in use elsewhere.
func (l *LongView) begin(ctx context.Context) {
	l.next, l.stop = iter.Pull(func(yield func(*Reader) bool) {
		l.err = l.scope.View(ctx, func(r *Reader) error {
			if l.failed = nil; !yield(r) {
				return nil
			}
			return l.failed
		})
	})
	var expiry *time.Timer
	expiry = time.AfterFunc(min(LongViewAge, l.scope.db.store.limits.Age/2), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.expiry == expiry {
			l.release()
		}
	})
	l.expiry = expiry
}

// Release gives up the snapshot. The next view has another.
func (l *LongView) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scope.db.store.idle.wake(l)
	l.release()
}

// release is Release with the lock.
func (l *LongView) release() {
	if l.stop != nil {
		l.expiry.Stop()
		l.stop()
	}
	l.next, l.stop, l.reader, l.expiry = nil, nil, nil, nil
}

// idleViews are those that wait for their clients, in the order in which they began to.
type idleViews struct {
	sync.Mutex
	views []*LongView
}

// rest adds a view, and gives up the snapshot of the first if there are more than most.
func (i *idleViews) rest(l *LongView, most int) {
	i.Lock()
	i.views = append(i.views, l)
	var first *LongView
	if len(i.views) > max(most, 1) {
		first = i.views[0]
		i.views = slices.Delete(i.views, 0, 1)
	}
	i.Unlock()
	if first != nil && first.mu.TryLock() { // else it reads again
		first.release()
		first.mu.Unlock()
	}
}

// wake removes a view, if it is there.
func (i *idleViews) wake(l *LongView) {
	i.Lock()
	defer i.Unlock()
	if at := slices.Index(i.views, l); at >= 0 {
		i.views = slices.Delete(i.views, at, at+1)
	}
}
