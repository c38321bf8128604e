package store

import (
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// watch wakes those who wait for changes of a database or of one of its
// partitions. Waiters of one scope share a channel, so an idle feed costs an
// entry per scope and a write to a partition wakes only those concerned.
type watch struct {
	waiting struct {
		sync.Mutex
		channels map[document.Partition]*waiters // "" for the whole database
	}
}

type waiters struct {
	ch    chan struct{}
	n     int
	calls map[*func()]bool
}

func (w *watch) init() { w.waiting.channels = map[document.Partition]*waiters{} }

// join gives the channel that the next change of p closes, and its release.
func (w *watch) join(p document.Partition) (<-chan struct{}, func()) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	s := w.of(p)
	return s.ch, sync.OnceFunc(func() { w.leave(p, s, nil) })
}

// of counts a waiter more for p. The caller holds the lock.
func (w *watch) of(p document.Partition) *waiters {
	s := w.waiting.channels[p]
	if s == nil {
		s = &waiters{ch: make(chan struct{})}
		w.waiting.channels[p] = s
	}
	s.n++
	return s
}

// call has f called by the next change of p. The release reports whether it
// came before that.
func (w *watch) call(p document.Partition, f func()) (release func() bool) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	s := w.of(p)
	if s.calls == nil {
		s.calls = map[*func()]bool{}
	}
	s.calls[&f] = true
	return func() bool { return w.leave(p, s, &f) }
}

// leave takes a waiter out; it reports whether f was still to be called.
func (w *watch) leave(p document.Partition, s *waiters, f *func()) bool {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	due := s.calls[f]
	delete(s.calls, f)
	if f != nil && !due {
		return false
	}
	s.n--
	if s.n == 0 && w.waiting.channels[p] == s {
		delete(w.waiting.channels, p)
	}
	return due
}

// wake tells those who wait for the whole database or for one of ps.
func (w *watch) wake(ps map[document.Partition]*partitionState) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	w.close("")
	for p, s := range ps {
		if s.changed {
			w.close(p)
		}
	}
}

func (w *watch) wakeAll() {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	for p := range w.waiting.channels {
		w.close(p)
	}
}

func (w *watch) close(p document.Partition) {
	if s := w.waiting.channels[p]; s != nil {
		close(s.ch)
		for f := range s.calls {
			(*f)()
		}
		clear(s.calls)
		delete(w.waiting.channels, p)
	}
}

// Watch gives a channel that is closed when a change of the scope after q is
// readable, or the database is dropped (at once if so already), and a function
// to be called when the caller no longer waits.
func (s Scope) Watch(q Seq) (<-chan struct{}, func()) {
	ch, leave := s.db.watch.join(s.partition)
	if last, err := s.lastSeq(); err != nil || last > q {
		leave()
		closed := make(chan struct{})
		close(closed)
		return closed, func() {}
	}
	return ch, leave
}

// Notify is Watch for those who have no goroutine to wait with: f is called
// once, at what would close the channel. It is called under a lock of the
// database, so it must not block or call anything here. cancel takes the order
// back; nothing happens if f has been called.
func (s Scope) Notify(q Seq, f func()) (cancel func()) {
	release := s.db.watch.call(s.partition, f)
	if last, err := s.lastSeq(); (err != nil || last > q) && release() {
		f()
	}
	return func() { release() }
}

func (s Scope) lastSeq() (q Seq, err error) {
	err = s.View(s.db.store.ctx, func(r *Reader) error {
		q, err = r.LastSeq()
		return err
	})
	return q, err
}
