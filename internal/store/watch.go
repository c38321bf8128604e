package store

import (
	"sync"

	"github.com/sectional/sectional/internal/document"
)

// watch wakes those who wait for changes of a database, of one of its partitions or
// of one document. Waiters of one of these share a channel, so an idle feed costs an
// entry per scope and a write to a partition wakes only those concerned.
type watch struct {
	waiting struct {
		sync.Mutex
		channels map[watched]*waiters
		docs     int // how many of them are documents'
	}
}

// watched is what somebody waits for; zero for the whole database.
type watched struct {
	partition   document.Partition
	doc         document.ID
	definitions bool
}

type waiters struct {
	ch chan struct{}
	n  int
}

func (w *watch) init() { w.waiting.channels = map[watched]*waiters{} }

// join returns the channel that the next change of p closes, and its release.
func (w *watch) join(p watched) (<-chan struct{}, func()) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	s := w.waiting.channels[p]
	if s == nil {
		s = &waiters{ch: make(chan struct{})}
		w.waiting.channels[p] = s
		if p.doc != "" {
			w.waiting.docs++
		}
	}
	s.n++
	return s.ch, sync.OnceFunc(func() { w.leave(p, s) })
}

// leave takes a waiter out.
func (w *watch) leave(p watched, s *waiters) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	if s.n--; s.n == 0 && w.waiting.channels[p] == s {
		w.remove(p)
	}
}

// remove takes a channel out. The caller holds the lock.
func (w *watch) remove(p watched) {
	delete(w.waiting.channels, p)
	if p.doc != "" {
		w.waiting.docs--
	}
}

// wake tells those who wait for the whole database, for one of ps or for one of docs.
func (w *watch) wake(ps map[document.Partition]*partitionState, docs []*docState) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	w.close(watched{})
	for p, s := range ps {
		if s.changed {
			w.close(watched{partition: p})
		}
	}
	for i := 0; i < len(docs) && w.waiting.docs > 0; i++ {
		w.close(watched{doc: docs[i].id})
	}
}

// wakeDefinitions tells those who wait for definitions.
func (w *watch) wakeDefinitions() {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	w.close(watched{definitions: true})
}

// wakeDocs tells those who wait for documents.
func (w *watch) wakeDocs() {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	for p := range w.waiting.channels {
		if p.doc != "" {
			w.close(p)
		}
	}
}

// wakeOf tells those who wait for the whole database, for one of ps, or for any document.
func (w *watch) wakeOf(ps []document.Partition) {
	w.waiting.Lock()
	w.close(watched{})
	for _, p := range ps {
		w.close(watched{partition: p})
	}
	w.waiting.Unlock()
	w.wakeDocs()
}

func (w *watch) wakeAll() {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	for p := range w.waiting.channels {
		w.close(p)
	}
}

// any reports whether somebody waits.
func (w *watch) any() bool {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	return len(w.waiting.channels) > 0
}

func (w *watch) close(p watched) {
	if s := w.waiting.channels[p]; s != nil {
		close(s.ch)
		w.remove(p)
	}
}

// Watch returns a channel that is closed when a change of the scope after q is
// readable, or the database is dropped (at once if so already), and a function
// to be called when the caller no longer waits.
func (s Scope) Watch(q Seq) (<-chan struct{}, func()) {
	ch, leave := s.db.watch.join(watched{partition: s.partition})
	if last, err := s.lastSeq(); err != nil || last > q {
		leave()
		return closed, func() {}
	}
	return ch, leave
}

// WatchDoc returns a channel that is closed when a document changes after the call, by
// its stored id, or the database is dropped, and a function to be called when the caller no longer
// waits. The change is readable then. A document that nobody watches costs writers
// nothing.
func (d *Database) WatchDoc(id document.ID) (<-chan struct{}, func()) {
	ch, leave := d.watch.join(watched{doc: id})
	if d.Dropped() { // who woke the others may have come before
		leave()
		return closed, func() {}
	}
	return ch, leave
}

// WatchDefinitions returns a channel that is closed when something of the database other than its documents changes
// after the call, such as the state of an index, or the database is dropped, and a function to be called when the caller
// no longer waits. The change is readable then.
func (d *Database) WatchDefinitions() (<-chan struct{}, func()) {
	ch, leave := d.watch.join(watched{definitions: true})
	if d.Dropped() {
		leave()
		return closed, func() {}
	}
	return ch, leave
}

// closed is a channel that is closed.
var closed = func() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// WakeDocWatches closes the channels of WatchDoc of all databases: something that is
// no document changed for those who wait with them.
func (s *Store) WakeDocWatches() {
	s.open.each(func(d *Database) { d.watch.wakeDocs() })
}

func (s Scope) lastSeq() (q Seq, err error) {
	err = s.View(s.db.store.ctx, func(r *Reader) error {
		q, err = r.LastSeq()
		return err
	})
	return q, err
}
