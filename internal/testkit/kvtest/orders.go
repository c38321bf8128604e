package kvtest

import (
	"context"
	"testing"

	"github.com/sectional/sectional/internal/kv"
)

// Order is one order of the steps of several actors, of all that EachOrder goes through. A step is what an actor does from
// one call of an engine to the next, or within an Update, from its closure's end to the commit.
type Order struct {
	t       testing.TB
	chosen  []int // which of the actors that can go on does, at each step
	width   []int // how many could
	at      int
	actors  []*actor
	stopped chan *actor // one that has ended, or waits for its next step
}

// maxSteps is how many steps there are at most in an order.
const maxSteps = 1000

// actor is one of those whose steps are ordered.
type actor struct {
	on    chan bool
	ended bool
}

type actorKey struct{}

// EachOrder calls run with each order in which the actors that it starts, with Order.Run, can make their steps. What
// run does must depend on the order alone. It returns how many orders there are.
func EachOrder(t testing.TB, run func(o *Order)) (orders int) {
	for next := []int(nil); ; {
		o := &Order{t: t, chosen: next, stopped: make(chan *actor)}
		run(o)
		orders++
		last := len(o.chosen) - 1
		for last >= 0 && o.chosen[last]+1 == o.width[last] {
			last--
		}
		if last < 0 || t.Failed() {
			return orders
		}
		next = append(append([]int(nil), o.chosen[:last]...), o.chosen[last]+1)
	}
}

// Run lets the actors make their steps in this order, until all have ended. What an actor does before its first step it
// does before all steps, and it waits for none of the others.
// One that makes steps without end fails the test.
func (o *Order) Run(ctx context.Context, actors ...func(ctx context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, act := range actors {
		a := &actor{on: make(chan bool)}
		o.actors = append(o.actors, a)
		go func() {
			act(context.WithValue(ctx, actorKey{}, a))
			a.ended = true
			o.stopped <- a
		}()
		<-o.stopped
	}
	for {
		var ready []*actor
		for _, a := range o.actors {
			if !a.ended {
				ready = append(ready, a)
			}
		}
		if len(ready) == 0 {
			return
		}
		if o.at == maxSteps {
			o.t.Errorf("there is no end after %d steps", maxSteps)
			stop()
		}
		if o.at == len(o.chosen) {
			o.chosen = append(o.chosen, 0)
		}
		o.width = append(o.width, len(ready))
		ready[o.chosen[o.at]].on <- true
		o.at++
		<-o.stopped
	}
}

// Step ends a step of the actor that ctx is of.
func (o *Order) Step(ctx context.Context) {
	if a, ok := ctx.Value(actorKey{}).(*actor); ok {
		o.stopped <- a
		<-a.on
	}
}

// Engine returns e for the actors: each of their calls begins a step. With commits each commit does, too: what others
// commit between its snapshot and it may make it run again.
func (o *Order) Engine(e kv.Engine, commits bool) kv.Engine {
	return &ordered{Engine: e, o: o, commits: commits}
}

type ordered struct {
	kv.Engine
	o       *Order
	commits bool
}

func (e *ordered) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	e.o.Step(ctx)
	return e.Engine.View(ctx, fn)
}

func (e *ordered) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	e.o.Step(ctx)
	return e.Engine.Update(ctx, func(tx kv.Txn) error {
		err := fn(tx)
		if e.commits {
			e.o.Step(ctx)
		}
		return err
	}, locked...)
}

func (e *ordered) Discard(ctx context.Context, r kv.Range) error {
	e.o.Step(ctx)
	return e.Engine.Discard(ctx, r)
}
