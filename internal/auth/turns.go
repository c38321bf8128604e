package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// turns lets a few computations of passwords run at a time. Those who wait are
// served in turn by the network they come from, so that many requests of one
// delay others by one computation, and only so many may wait.
type turns struct {
	state struct {
		sync.Mutex
		free    int     // computations that may begin at once
		lines   []*line // those with somebody in them, in the order of their turns
		waiting int     // in all lines
	}
}

// line is who waits from one network.
type line struct {
	network string
	waiters []*waiter
}

// waiter is told once: by nil that it is its turn, or why it will not be.
type waiter struct{ ready chan error }

// How many may wait: of one network, and in all.
const (
	ownTurns = 64
	allTurns = 512
)

func newTurns(atOnce int) *turns {
	t := &turns{}
	t.state.free = atOnce
	return t
}

var errTooManyPasswords = dberr.New(dberr.Unavailable, "service_unavailable", "Too many passwords to check, try again.").After(5 * time.Second)

// take waits for a turn, which done ends. Errors: Unavailable when too many
// wait, that of ctx when it ends first.
func (t *turns) take(ctx context.Context, network string) (done func(), err error) {
	w := &waiter{ready: make(chan error, 1)}
	t.enter(network, w)
	select {
	case err = <-w.ready:
	case <-ctx.Done():
		if t.leave(w) {
			return nil, ctx.Err()
		}
		err = <-w.ready // it was told at the same moment
	}
	if err != nil {
		return nil, err
	}
	return t.pass, nil
}

// enter returns w its turn if there is one, or puts it in line. When all may not
// wait the last of the longest line goes, so that who has many waiting can't
// keep others from asking.
func (t *turns) enter(network string, w *waiter) {
	t.state.Lock()
	defer t.state.Unlock()
	if t.state.free > 0 {
		t.state.free--
		w.ready <- nil
		return
	}
	own := t.line(network)
	if own != nil && len(own.waiters) >= ownTurns {
		w.ready <- errTooManyPasswords
		return
	}
	if t.state.waiting >= allTurns {
		longest := slices.MaxFunc(t.state.lines, func(a, b *line) int { return len(a.waiters) - len(b.waiters) })
		if longest == own || len(longest.waiters) == 1 {
			w.ready <- errTooManyPasswords
			return
		}
		last := longest.waiters[len(longest.waiters)-1]
		t.drop(longest, len(longest.waiters)-1)
		last.ready <- errTooManyPasswords
	}
	if own == nil {
		own = &line{network: network}
		t.state.lines = append(t.state.lines, own)
	}
	own.waiters = append(own.waiters, w)
	t.state.waiting++
}

// line returns the line of a network, nil if nobody waits there; the state is locked.
func (t *turns) line(network string) *line {
	for _, l := range t.state.lines {
		if l.network == network {
			return l
		}
	}
	return nil
}

// drop takes a waiter out of a line, and a line without waiters out of the
// lines; the state is locked.
func (t *turns) drop(l *line, i int) {
	l.waiters = slices.Delete(l.waiters, i, i+1)
	t.state.waiting--
	if len(l.waiters) == 0 {
		t.state.lines = slices.DeleteFunc(t.state.lines, func(o *line) bool { return o == l })
	}
}

// leave takes a waiter out, and reports false if it was told before.
func (t *turns) leave(w *waiter) bool {
	t.state.Lock()
	defer t.state.Unlock()
	for _, l := range t.state.lines {
		if i := slices.Index(l.waiters, w); i >= 0 {
			t.drop(l, i)
			return true
		}
	}
	return false
}

// pass returns a turn on to the first of the line whose turn it is; that line
// goes to the end.
func (t *turns) pass() {
	t.state.Lock()
	defer t.state.Unlock()
	if len(t.state.lines) == 0 {
		t.state.free++
		return
	}
	l := t.state.lines[0]
	t.state.lines = append(t.state.lines[1:], l)
	w := l.waiters[0]
	t.drop(l, 0)
	w.ready <- nil
}
