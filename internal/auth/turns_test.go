package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sectional/sectional/internal/config"
)

// queue has callers take turns: each notes its name when it is served, and
// computes until the test lets it go.
type queue struct {
	*turns
	t     *testing.T
	group sync.WaitGroup
	state struct {
		sync.Mutex
		served []string
	}
	next chan struct{}
}

func newQueue(t *testing.T) *queue {
	return &queue{turns: newTurns(1), t: t, next: make(chan struct{})}
}

// ask begins a caller of a network and returns its outcome.
func (q *queue) ask(ctx context.Context, network, name string) <-chan error {
	out := make(chan error, 1)
	q.group.Go(func() {
		done, err := q.take(ctx, network)
		if err == nil {
			q.state.Lock()
			q.state.served = append(q.state.served, name)
			q.state.Unlock()
			<-q.next
			done()
		}
		out <- err
	})
	synctest.Wait()
	return out
}

// order lets everybody finish and returns in which order they were served.
func (q *queue) order() string {
	close(q.next)
	q.group.Wait()
	return strings.Join(q.state.served, " ")
}

func TestTurnsAreByPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for i := range 4 {
			q.ask(t.Context(), "a", fmt.Sprint("a", i))
		}
		q.ask(t.Context(), "b", "b0")
		q.ask(t.Context(), "b", "b1")
		q.ask(t.Context(), "c", "c0")
		if got := q.order(); got != "a0 a1 b0 c0 a2 b1 a3" {
			t.Errorf("the order is %s", got)
		}
	})
}

func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.ask(t.Context(), "a", "a")
		for range ownTurns {
			q.ask(t.Context(), "a", "a")
		}
		if err := <-q.ask(t.Context(), "a", "a"); !strings.HasPrefix(refusal(err), "503: ") || wait(err) <= 0 {
			t.Errorf("one more of a place: %v, after %v", err, wait(err))
		}
		var last <-chan error
		for network := 0; network*ownTurns < allTurns-ownTurns; network++ {
			for range ownTurns {
				last = q.ask(t.Context(), fmt.Sprint(network), "x")
			}
		}
		newcomer := q.ask(t.Context(), "new", "new")
		if len(last) != 0 && len(newcomer) != 0 {
			t.Error("who is new did not take the turn of one who has many")
		}
		served := q.order()
		if err := <-newcomer; err != nil || !strings.Contains(served, "new") {
			t.Errorf("the newcomer was told %v", err)
		}
	})
}

// Who goes away leaves no gap, also when his turn comes at that moment.
func TestWaitingEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		gone, cancel := context.WithCancel(t.Context())
		q.ask(t.Context(), "a", "a0")
		left := q.ask(gone, "b", "b0")
		q.ask(t.Context(), "c", "c0")
		cancel()
		if err := <-left; err != context.Canceled {
			t.Errorf("got %v", err)
		}
		if got := q.order(); got != "a0 c0" {
			t.Errorf("the order is %s", got)
		}
		if len(q.turns.state.lines)+q.turns.state.waiting != 0 || q.turns.state.free != 1 {
			t.Error("something is left")
		}
	})
}

// Sign-ups wait behind others of their address alone.
func TestSignUpsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Setting{Section: section, Key: "iterations", Value: "1"})
		w.addUser(t, "jan", janDoc)
		hold := make(chan struct{})
		var order []string
		w.passwords.turns = newTurns(1)
		w.passwords.derive = func(v Verifier, password string) (string, error) {
			<-hold
			order = append(order, password) // one at a time
			return v.derive(password)
		}
		var group sync.WaitGroup
		for i := range 5 {
			group.Go(func() {
				id := fmt.Sprint("new", i)
				if _, err := w.BeforeUserWrite(t.Context(), UserWrite{ID: UserPrefix + id, Caller: &Caller{Address: "10.9.9.9"}, Security: DefaultSecurity(""),
					Body: fmt.Appendf(nil, `{"name":%q,"type":"user","roles":[],"password":"sign-up"}`, id)}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		group.Go(func() { w.answer(t, basic("jan", "pw-jan")) })
		synctest.Wait()
		close(hold)
		group.Wait()
		if len(order) != 6 || order[2] != "pw-jan" {
			t.Errorf("the order is %v", order)
		}
	})
}
