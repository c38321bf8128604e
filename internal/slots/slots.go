// Package slots limits how many pieces of work run at once, fairly: it owns who may begin
// when more want to. It promises that nobody who holds no slot waits long because
// of others who never release theirs, however many these are or ask for.
//
// There are ordinary slots of some kinds, and extra ones for whoever has waited too
// long for one of his kind. Slots are counted by whom the work is for, its parties:
// a database, say, and a caller. A slot that is released goes to the one who waits
// whose parties have the fewest; an extra one only to whose parties have fewer of these than
// a quarter of what is left, or none. So each database that keeps its slots leaves fewer to
// the next, and one that has none gets one.
package slots

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Slots is a set of slots. Its methods may be called at the same time.
type Slots struct {
	overflow time.Duration

	mu      sync.Mutex
	closed  bool
	free    []int // by kind, the extra ones last
	taken   map[Party]shares
	waiting []*waiter // the oldest first
}

// Party is one for whom slots are counted: a kind of party, such as "database", and
// its name.
type Party struct{ Kind, Name string }

// shares is how many slots a party has, and how many of them are extra ones.
type shares struct{ all, extra int }

// waiter is one who wants a slot.
type waiter struct {
	kind    int
	parties []Party
	late    bool     // he may have an extra one
	given   chan int // takes a kind of slot without a reader
}

// extraSlots is how many extra slots there are for each ordinary one of a kind, and
// fewestExtra how many at least: seven who keep all that they get leave one of so many.
const (
	extraSlots  = 8
	fewestExtra = 16
)

// ErrClosed is what Take returns after Close.
var ErrClosed = errors.New("slots: closed")

// New makes so many ordinary slots of each of some kinds, which are numbered from 0, and
// eight times as many extra ones, sixteen at least, for all kinds together. Who has waited for overflow may have
// one of these.
func New(kinds, each int, overflow time.Duration) *Slots {
	s := &Slots{overflow: overflow, taken: map[Party]shares{}}
	for range kinds {
		s.free = append(s.free, each)
	}
	s.free = append(s.free, max(extraSlots*each, fewestExtra))
	return s
}

// Take takes a slot of a kind, waiting for one, and returns the function that gives
// it back. An error is the context's or ErrClosed.
func (s *Slots) Take(ctx context.Context, kind int, parties ...Party) (leave func(), err error) {
	w := &waiter{kind: kind, parties: parties, given: make(chan int, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.waiting = append(s.waiting, w)
	s.serve()
	s.mu.Unlock()
	timer := time.NewTimer(s.overflow)
	defer timer.Stop()
	for {
		select {
		case got, ok := <-w.given:
			if !ok {
				return nil, ErrClosed
			}
			return func() { s.leave(w, got) }, nil
		case <-timer.C:
			s.mu.Lock()
			w.late = true
			s.serve()
			s.mu.Unlock()
		case <-ctx.Done():
			s.withdraw(w)
			return nil, ctx.Err()
		}
	}
}

// Close ends all waiting with ErrClosed. Slots that are taken stay so.
func (s *Slots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.waiting {
		close(w.given)
	}
	s.waiting = nil
}

// withdraw takes back a wish, or what came of it meanwhile.
func (s *Slots) withdraw(w *waiter) {
	s.mu.Lock()
	s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
	s.mu.Unlock()
	select {
	case got, ok := <-w.given:
		if ok {
			s.leave(w, got)
		}
	default:
	}
}

// leave returns a slot back.
func (s *Slots) leave(w *waiter, got int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.move(w, got, -1)
	s.serve()
}

// move counts a slot that is taken, or given back with -1.
func (s *Slots) move(w *waiter, kind, by int) {
	s.free[kind] -= by
	for _, p := range w.parties {
		h := s.taken[p]
		if h.all += by; kind == len(s.free)-1 {
			h.extra += by
		}
		if s.taken[p] = h; h.all == 0 {
			delete(s.taken, p)
		}
	}
}

// serve gives away the slots that are free. s.mu is locked.
func (s *Slots) serve() {
	for {
		next, from := -1, 0
		for i, w := range s.waiting {
			if next >= 0 && s.share(w).all >= s.share(s.waiting[next]).all {
				continue
			}
			if kind, ok := s.slotFor(w); ok {
				next, from = i, kind
			}
		}
		if next < 0 {
			return
		}
		w := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.move(w, from, 1)
		w.given <- from
	}
}

// slotFor finds a slot that one who waits may have now.
func (s *Slots) slotFor(w *waiter) (kind int, ok bool) {
	extra := len(s.free) - 1
	switch {
	case s.free[w.kind] > 0:
		return w.kind, true
	case w.late && s.free[extra] > 0 && s.share(w).extra < max(1, s.free[extra]/4):
		return extra, true
	}
	return 0, false
}

// share is how many slots those whom the work is for have, the one of them that has
// the most.
func (s *Slots) share(w *waiter) (most shares) {
	for _, p := range w.parties {
		most.all, most.extra = max(most.all, s.taken[p].all), max(most.extra, s.taken[p].extra)
	}
	return most
}
