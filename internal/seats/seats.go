// Package seats hands out places to work: it owns who may begin when more want to
// work than may at once. It promises that nobody who holds none waits long because
// of others who hold theirs for ever, however many these are or ask for.
//
// There are ordinary seats of some kinds, and extra ones for whoever has waited too
// long for one of his kind. Seats are counted by whom the work is for, its parties:
// a database, say, and a caller. A seat that becomes free goes to the one who waits
// whose parties have the fewest; an extra one only to whose parties have fewer of these than
// a quarter of what is left, or none. So each database that keeps its seats leaves fewer to
// the next, and one that has none finds one.
package seats

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Seats is a set of seats. Its methods may be called at the same time.
type Seats struct {
	overflow time.Duration

	mu      sync.Mutex
	closed  bool
	free    []int // by kind, the extra ones last
	taken   map[Party]held
	waiting []*waiter // the oldest first
}

// Party is one for whom seats are counted: a kind of party, such as "database", and
// its name.
type Party struct{ Kind, Name string }

// held is how many seats a party has, and how many of them are extra ones.
type held struct{ all, extra int }

// waiter is one who wants a seat.
type waiter struct {
	kind    int
	parties []Party
	late    bool     // he may have an extra one
	given   chan int // takes a kind of seat without a reader
}

// extraSeats is how many extra seats there are for each ordinary one of a kind, and
// fewestExtra how many at least: seven who keep all that they get leave one of so many.
const (
	extraSeats  = 8
	fewestExtra = 16
)

// ErrClosed is what Take returns after Close.
var ErrClosed = errors.New("seats: closed")

// New makes so many ordinary seats of each of some kinds, which are numbered from 0, and
// eight times as many extra ones, sixteen at least, for all kinds together. Who has waited for overflow may have
// one of these.
func New(kinds, each int, overflow time.Duration) *Seats {
	s := &Seats{overflow: overflow, taken: map[Party]held{}}
	for range kinds {
		s.free = append(s.free, each)
	}
	s.free = append(s.free, max(extraSeats*each, fewestExtra))
	return s
}

// Take takes a seat of a kind, waiting for one, and returns the function that gives
// it back. An error is the context's or ErrClosed.
func (s *Seats) Take(ctx context.Context, kind int, parties ...Party) (leave func(), err error) {
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

// Close ends all waiting with ErrClosed. Seats that are taken stay so.
func (s *Seats) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.waiting {
		close(w.given)
	}
	s.waiting = nil
}

// withdraw takes back a wish, or what came of it meanwhile.
func (s *Seats) withdraw(w *waiter) {
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

// leave returns a seat back.
func (s *Seats) leave(w *waiter, got int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.move(w, got, -1)
	s.serve()
}

// move counts a seat that is taken, or given back with -1.
func (s *Seats) move(w *waiter, kind, by int) {
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

// serve gives away the seats that are free. s.mu is locked.
func (s *Seats) serve() {
	for {
		next, from := -1, 0
		for i, w := range s.waiting {
			if next >= 0 && s.held(w).all >= s.held(s.waiting[next]).all {
				continue
			}
			if kind, ok := s.seatFor(w); ok {
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

// seatFor finds a seat that one who waits may have now.
func (s *Seats) seatFor(w *waiter) (kind int, ok bool) {
	extra := len(s.free) - 1
	switch {
	case s.free[w.kind] > 0:
		return w.kind, true
	case w.late && s.free[extra] > 0 && s.held(w).extra < max(1, s.free[extra]/4):
		return extra, true
	}
	return 0, false
}

// held is how many seats those whom the work is for have, the one of them that has
// the most.
func (s *Seats) held(w *waiter) (most held) {
	for _, p := range w.parties {
		most.all, most.extra = max(most.all, s.taken[p].all), max(most.extra, s.taken[p].extra)
	}
	return most
}
