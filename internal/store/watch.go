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
	ch chan struct{}
	n  int
}

func (w *watch) init() { w.waiting.channels = map[document.Partition]*waiters{} }

// join gives the channel that the next change of p closes, and its release.
func (w *watch) join(p document.Partition) (<-chan struct{}, func()) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	s := w.waiting.channels[p]
	if s == nil {
		s = &waiters{ch: make(chan struct{})}
		w.waiting.channels[p] = s
	}
	s.n++
	return s.ch, sync.OnceFunc(func() { w.leave(p, s) })
}

func (w *watch) leave(p document.Partition, s *waiters) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	s.n--
	if s.n == 0 && w.waiting.channels[p] == s {
		delete(w.waiting.channels, p)
	}
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

func (s Scope) lastSeq() (q Seq, err error) {
	err = s.View(s.db.store.ctx, func(r *Reader) error {
		q, err = r.LastSeq()
		return err
	})
	return q, err
}
