package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func randomCases() []testCase {
	var all []testCase
	histories := uint64(6)
	if testrun.IsLong() {
		histories = 40
	}
	for seed := range histories {
		all = append(all, testCase{fmt.Sprintf("random history %d", seed), func(v env) { compareHistories(v, seed) }})
	}
	return all
}

// compareHistories runs a script on the engine and, call by call, on the model: each
// operation has to give the same, and a transaction has to be run again where the
// model says that it must be, and only where it says that it may.
func compareHistories(v env, seed uint64) {
	testrun.Sequential(v)
	model := NewModel(ModelOptions{})
	defer model.Close()
	p := &player{v: v, seed: seed, e: v.e, m: model}
	p.play(newScript(NewRand(seed), 40, 2))
}

// step is one call of the engine, or one operation within a closure.
type step struct {
	op         string
	key, value string
	r          kv.Range
	o          kv.IterOptions
	moves      []string
	walks      []kv.Walk
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
	s := &step{op: pick(r, "get", "lock", "get many", "lock many", "read", "put", "put", "delete", "once", "once", "walk", "walk"), key: randomKey(r)}
	switch s.op {
	case "put":
		s.value = strings.Repeat(string('a'+rune(r.IntN(26))), 1+r.IntN(20))
	case "get many", "lock many":
		for range r.IntN(8) {
			s.key += " " + randomKey(r)
		}
	case "read":
		for range r.IntN(5) {
			s.key += " " + randomKey(r)
			s.value += " " + randomKey(r)
		}
		for range r.IntN(4) {
			s.walks = append(s.walks, kv.Walk{Range: randomRange(r), IterOptions: kv.IterOptions{Reverse: r.Chance(2), Want: r.IntN(4)}})
			s.moves = append(s.moves, pick(r, "next", "next", "next*", randomKey(r)))
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

// player runs a script on an engine and on the model.
type player struct {
	v    env
	seed uint64
	e    kv.Engine
	m    *Model
	// reruns says that the engine runs transactions again for no reason.
	reruns bool
}

func (p *player) play(script []*step) {
	for _, s := range script {
		p.call(s)
	}
	p.call(&step{op: "view", steps: []*step{{op: "walk", moves: []string{"next*"}}}})
}

// both expects engine and model to say the same.
func (p *player) both(engine, model string) {
	p.v.Helper()
	if engine != model {
		p.v.Fatalf("seed %d: the engine says\n\t%s\nand the model\n\t%s", p.seed, engine, model)
	}
}

// call makes one call.
func (p *player) call(s *step) {
	ctx := context.Background()
	var err error
	switch s.op {
	case "update", "refused":
		err = p.update(ctx, s)
	case "view":
		err = p.e.View(ctx, func(snap kv.Snapshot) error {
			return p.m.View(ctx, func(model kv.Snapshot) error {
				p.run(snap, model, s, true)
				return nil
			})
		})
	case "discard":
		err = errors.Join(p.e.Discard(ctx, s.r), p.m.Discard(ctx, s.r))
	case "compact":
		if c, ok := p.e.(kv.Compacter); ok {
			err = c.Compact(ctx, kv.Range{})
		}
	}
	p.v.wantKind(err, none)
}

// update has the model follow the engine: what the engine runs again is forgotten, what
// it commits committed.
func (p *player) update(ctx context.Context, s *step) error {
	var model *modelTxn
	err := p.e.Update(ctx, func(t kv.Txn) error {
		first := model == nil
		if !first && !p.reruns && !p.conflicts(model, func(_, may bool) bool { return may }) {
			p.v.Errorf("seed %d: a transaction was run again that met no other", p.seed)
		}
		model = p.m.begin(ctx)
		p.run(t, model, s, first)
		if s.op == "refused" {
			return errRefused
		}
		return nil
	})
	if s.op == "refused" && err == errRefused {
		return nil
	}
	if p.conflicts(model, func(must, _ bool) bool { return must }) || err == nil && !p.m.commit(model) {
		p.v.Errorf("seed %d: a transaction was committed that had to be run again", p.seed)
	}
	return err
}

// conflicts asks the model about the conflicts of a transaction.
func (p *player) conflicts(t *modelTxn, which func(must, may bool) bool) bool {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return which(p.m.conflicts(t))
}

// run takes the steps of a closure. It begins with a read, so that both snapshots are of
// one moment; others come in the middle of the first run.
func (p *player) run(snap, model kv.Snapshot, s *step, first bool) {
	p.do(snap, model, &step{op: "get", key: randomKey(NewRand(p.seed))})
	for i, sub := range s.steps {
		p.do(snap, model, sub)
		if first && i == len(s.steps)/2 {
			for _, other := range s.within {
				p.call(other)
			}
		}
	}
}

// do does one operation on both and compares the outcomes. Writes in a view are left out.
func (p *player) do(snap, model kv.Snapshot, s *step) {
	t, writable := snap.(kv.Txn)
	m, _ := model.(kv.Txn)
	op := s.op
	switch op {
	case "get", "get many", "read", "walk":
	case "once":
		// Only the model knows whether that may be done.
		if op = "delete"; writable && m.DeleteOnce([]byte(s.key)) == nil {
			p.v.wantKind(t.DeleteOnce([]byte(s.key)), none)
			return
		}
		fallthrough
	default:
		if !writable {
			return
		}
	}
	p.both(outcome(snap, t, op, s), outcome(model, m, op, s))
}

// outcome does an operation and says what came of it.
func outcome(snap kv.Snapshot, t kv.Txn, op string, s *step) string {
	switch op {
	case "get":
		return stopTB(s, snap.Get)
	case "get many":
		return shownMany(s, snap.GetMany)
	case "read":
		r := kv.Reads{Keys: bytes.Fields([]byte(s.key)), Walks: s.walks}
		if t != nil {
			r.ForUpdate = bytes.Fields([]byte(s.value))
		}
		found, err := read(snap, r, s.moves)
		return fmt.Sprintf("read %s,%s,%v %v: %s %v", s.key, s.value, s.walks, s.moves, found, err)
	case "lock":
		return stopTB(s, t.GetForUpdate)
	case "lock many":
		return shownMany(s, t.GetManyForUpdate)
	case "put":
		return fmt.Sprintf("put %s=%s %v", s.key, s.value, t.Put([]byte(s.key), []byte(s.value)))
	case "delete":
		return fmt.Sprintf("delete %s %v", s.key, t.Delete([]byte(s.key)))
	}
	rows, err := walk(snap, s.r, s.o, s.moves)
	return fmt.Sprintf("walk %s-%s %v %v: %s %v", s.r.Start, s.r.End, s.o.Reverse, s.moves, rows, err)
}

func stopTB(s *step, get func([]byte) ([]byte, error)) string {
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
