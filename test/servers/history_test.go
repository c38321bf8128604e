package servers

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// cells is how many values a history is about.
const cells = 3

// asked is a request of a history: a read of all cells, or settings of some, which are stored together if each finds
// the value that it wants.
type asked struct {
	read bool
	sets []setting
}

// setting puts n where want is; 0 is the value at first.
type setting struct{ cell, want, n int }

// outcome is what a client was told of a request.
type outcome uint8

const (
	done    outcome = iota // it was carried out
	refused                // a condition did not hold, and nothing was stored
	failed                 // the server could not, and nothing was stored
	unknown                // there was no answer
)

type told struct {
	outcome
	values [cells]int // of reads
}

// model is what the cells are. A request without an answer, of which somebody saw that it was carried out, was so before that.
var model = porcupine.Model{
	Init: func() any { return [cells]int{} },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.([cells]int), input.(asked), output.(told)
		if in.read {
			return out.outcome != done || out.values == now, now
		}
		next, holds := now, true
		for _, set := range in.sets {
			holds = holds && now[set.cell] == set.want
			next[set.cell] = set.n
		}
		switch {
		case out.outcome == done:
			return holds, next
		case out.outcome == refused:
			return !holds, now
		case out.outcome == unknown:
			return holds, next
		}
		return true, now
	},
	Equal: func(a, b any) bool { return a == b },
}

// history gathers what clients asked for and were told. It may be used by several goroutines.
type history struct {
	clock   atomic.Int64 // moments, in their order
	mu      sync.Mutex
	all     []porcupine.Operation
	counted [4]int
}

// run sends a request and notes it.
func (h *history) run(client int, in asked, send func(asked) told) told {
	call := h.clock.Add(1)
	out := send(in)
	end := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counted[out.outcome]++
	if in.read && out.outcome != done || out.outcome == failed {
		return out // it says nothing
	}
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
	return out
}

// certain returns the requests that were carried out or refused for certain. One without an answer may be carried out
// later, but before somebody sees what it has set, and each sets what no other does. If nobody ever did, it was not
// carried out, or last of all: for whoever writes has read before.
func (h *history) certain() (all []porcupine.Operation) {
	seen := map[int]int64{} // when somebody was told what he saw, by the value
	see := func(n int, at int64) {
		if before, ok := seen[n]; !ok || at < before {
			seen[n] = at
		}
	}
	for _, op := range h.all {
		out := op.Output.(told)
		for _, n := range out.values {
			see(n, op.Return)
		}
	}
	for _, op := range h.all {
		if op.Output.(told).outcome == unknown {
			at, ok := seen[op.Input.(asked).sets[0].n]
			if !ok {
				continue
			}
			op.Return = max(at, op.Call+1)
		}
		all = append(all, op)
	}
	return all
}

// checkFor is how long a history may be checked.
const checkFor = 2 * time.Minute

// linearizable reports whether each request looks as if it had been carried out at one moment between its sending and
// its answer. A history that the model must refuse shows that it does not take anything.
func (h *history) linearizable() (holds, takesAnything bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.certain()
	damaged := append(slices.Clone(all), porcupine.Operation{Input: asked{read: true}, Output: told{values: [cells]int{-1}}, Call: 1 << 61, Return: 1 << 62})
	return porcupine.CheckOperationsTimeout(model, all, checkFor) == porcupine.Ok,
		porcupine.CheckOperationsTimeout(model, damaged, checkFor) != porcupine.Illegal
}
