package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/kv"
)

func randomCases() []testCase {
	var all []testCase
	for seed := range uint64(20) {
		all = append(all, testCase{fmt.Sprintf("random history %d", seed), func(v env) { compareHistories(v, seed) }})
	}
	return all
}

// compareHistories runs the same script on the model and on the engine and
// expects both to tell the same.
func compareHistories(v env, seed uint64) {
	script := newScript(NewRand(seed), 40, 2)
	model := NewModel(ModelOptions{})
	defer model.Close()
	want := (&player{e: model}).play(script)
	got := (&player{e: v.e}).play(script)
	if d := cmp.Diff(want, got); d != "" {
		v.Errorf("seed %d: the engine's history is not the model's (-model +engine):\n%s", seed, d)
	}
}

// step is one call of the engine, or one operation within a closure.
type step struct {
	op         string
	key, value string
	r          kv.Range
	o          kv.IterOptions
	moves      []string
	steps      []*step // of a closure
	within     []*step // done by others during the closure's first run
}

// newScript makes n calls; closures hold scripts of others up to depth.
func newScript(r Rand, n, depth int) []*step {
	var out []*step
	for range n {
		s := &step{op: pick(r, "update", "update", "update", "refused", "view", "compact", "discard")}
		switch s.op {
		case "discard":
			s.r = randomRange(r)
			if !r.Chance(5) {
				s.r.End = append(s.r.Start, 0)
			}
		case "compact":
		default:
			for range 1 + r.IntN(12) {
				s.steps = append(s.steps, newStep(r))
			}
			if depth > 0 && r.Chance(2) {
				s.within = newScript(r, 1+r.IntN(2), depth-1)
			}
		}
		out = append(out, s)
	}
	return out
}

// newStep makes an operation of a closure.
func newStep(r Rand) *step {
	s := &step{op: pick(r, "get", "lock", "get many", "lock many", "put", "put", "delete", "once", "once", "walk", "walk"), key: randomKey(r)}
	switch s.op {
	case "put":
		s.value = strings.Repeat(string('a'+rune(r.IntN(26))), 1+r.IntN(20))
	case "get many", "lock many":
		for range r.IntN(8) {
			s.key += " " + randomKey(r)
		}
	case "walk":
		s.r, s.o.Reverse = randomRange(r), r.Chance(2)
		for range 1 + r.IntN(6) {
			s.moves = append(s.moves, pick(r, "next", "next", "next*", randomKey(r)))
		}
	}
	return s
}

func pick(r Rand, from ...string) string { return from[r.IntN(len(from))] }

func randomKey(r Rand) string { return fmt.Sprintf("k%02d", r.IntN(30)) }

func randomRange(r Rand) (out kv.Range) {
	if !r.Chance(3) {
		out.Start = []byte(randomKey(r))
	}
	if !r.Chance(3) {
		out.End = []byte(randomKey(r))
	}
	return out
}

// player runs a script and writes down what it saw.
type player struct {
	e       kv.Engine
	history []string
}

func (p *player) note(format string, args ...any) {
	p.history = append(p.history, fmt.Sprintf(format, args...))
}

func (p *player) play(script []*step) []string {
	for _, s := range script {
		p.call(s)
	}
	p.call(&step{op: "view", steps: []*step{{op: "walk", moves: []string{"next*"}}}})
	return p.history
}

// call makes one call of the engine.
func (p *player) call(s *step) {
	ctx := context.Background()
	runs := 0
	run := func(snap kv.Snapshot) {
		runs++
		for i, sub := range s.steps {
			p.note("%s", p.do(snap, sub))
			if runs == 1 && i == len(s.steps)/2 {
				for _, other := range s.within {
					p.call(other)
				}
			}
		}
	}
	var err error
	switch s.op {
	case "update":
		err = p.e.Update(ctx, func(t kv.Txn) error { run(t); return nil })
	case "refused":
		err = p.e.Update(ctx, func(t kv.Txn) error { run(t); return errRefused })
	case "view":
		err = p.e.View(ctx, func(snap kv.Snapshot) error { run(snap); return nil })
	case "discard":
		err = p.e.Discard(ctx, s.r)
	case "compact":
		if c, ok := p.e.(kv.Compacter); ok {
			err = c.Compact(ctx, kv.Range{})
		}
	}
	p.note("%s: %d runs, error %v", s.op, runs, err)
}

// do does one operation and returns its outcome. Writes in a view are left out.
func (p *player) do(snap kv.Snapshot, s *step) string {
	t, writable := snap.(kv.Txn)
	switch s.op {
	case "get":
		return told(s, snap.Get)
	case "get many":
		return shownMany(s, snap.GetMany)
	case "walk":
		rows, err := walk(snap, s.r, s.o, s.moves)
		return fmt.Sprintf("walk %s-%s %v %v: %s %v", s.r.Start, s.r.End, s.o.Reverse, s.moves, rows, err)
	}
	if !writable {
		return "no " + s.op
	}
	switch s.op {
	case "lock":
		return told(s, t.GetForUpdate)
	case "lock many":
		return shownMany(s, t.GetManyForUpdate)
	case "put":
		return fmt.Sprintf("put %s=%s %v", s.key, s.value, t.Put([]byte(s.key), []byte(s.value)))
	}
	return fmt.Sprintf("delete %s %v", s.key, p.delete(t, s))
}

func told(s *step, get func([]byte) ([]byte, error)) string {
	value, err := get([]byte(s.key))
	if errors.Is(err, kv.ErrNotFound) {
		return s.op + " " + s.key + " absent"
	}
	return fmt.Sprintf("%s %s=%s %v", s.op, s.key, value, err)
}

func shownMany(s *step, get func([][]byte) ([][]byte, error)) string {
	values, err := getMany(s.key, get)
	return fmt.Sprintf("%s %s=%s %v", s.op, s.key, values, err)
}

// delete deletes a key, once if that may be done. Only the model knows whether
// it may: it plays first and changes the step where it refuses.
func (p *player) delete(t kv.Txn, s *step) error {
	if s.op == "once" {
		err := t.DeleteOnce([]byte(s.key))
		if _, model := p.e.(*Model); err == nil || !model {
			return err
		}
		s.op = "delete"
	}
	return t.Delete([]byte(s.key))
}
