package kvtest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// longEngine is a model of short keys with long ones.
type longEngine struct {
	*Model
	l kv.LongKeys
}

func newLongEngine(stored, window int, now func() time.Time) *longEngine {
	l := kv.LongKeys{Stored: stored, Key: 1 << 10, Value: 128 << 10, Window: window}
	m := NewModel(ModelOptions{Now: now, Limits: kv.Limits{
		Key: stored + kv.LongHash, Value: l.Value + l.Key + kv.LongValue, Txn: 4 << 20, Age: modelLimits.Age}})
	return &longEngine{m, l}
}

// Limits implements kv.Engine.
func (e *longEngine) Limits() kv.Limits {
	l := e.Model.Limits()
	l.Key, l.Value = e.l.Key, e.l.Value
	return l
}

// View implements kv.Engine.
func (e *longEngine) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Model.View(ctx, func(s kv.Snapshot) error { return fn(e.l.Snapshot(s)) })
}

// Update implements kv.Engine.
func (e *longEngine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Model.Update(ctx, func(t kv.Txn) error { return fn(e.l.Txn(t)) }, locked...)
}

// Discard implements kv.Engine.
func (e *longEngine) Discard(ctx context.Context, r kv.Range) error {
	return e.l.Discard(ctx, e, r, func(r kv.Range) error { return e.Model.Discard(ctx, r) })
}

// TestLongKeys: an engine of keys of a few bytes keeps the contract with long ones, whatever
// an iterator holds of a run.
func TestLongKeys(t *testing.T) {
	for _, c := range []struct{ stored, window int }{{1, 1}, {1, 0}, {2, 20}} {
		t.Run(fmt.Sprintf("%d bytes stored, %d held", c.stored, c.window), func(t *testing.T) {
			Run(t, func(_ *testing.T, now func() time.Time) kv.Engine { return newLongEngine(c.stored, c.window, now) })
		})
	}
}

// TestLongKeysSeek: wherever an iterator is, it finds its way to any key, as the model does.
func TestLongKeysSeek(t *testing.T) {
	for seed := range uint64(200) {
		r := NewRand(seed)
		model := NewModel(ModelOptions{})
		long := newLongEngine(2, []int{1, 30, 0}[r.IntN(3)], nil)
		var script string
		key := func() string {
			b := make([]byte, r.IntN(6))
			for i := range b {
				b[i] = "\x00a\xff"[r.IntN(3)]
			}
			return string(b) + "k"
		}
		for range 40 {
			script += fmt.Sprintf("%s=%d ", key(), r.IntN(100))
		}
		o := kv.IterOptions{Reverse: r.Chance(2)}
		rg := span(key(), key())
		if r.Chance(2) {
			rg = kv.Range{}
		}
		var moves []string
		for range 60 {
			moves = append(moves, pick(r, "next", "next", "next", key(), key()))
		}
		var answers []string
		for _, e := range []kv.Engine{model, long} {
			v := env{T: t, e: NewChecked(t, e)}
			v.load(script)
			v.view(func(s kv.Snapshot) { answers = append(answers, v.walk(s, rg, o, moves...)) })
		}
		if answers[0] != answers[1] {
			t.Fatalf("seed %d, range %q, %+v, moves %q:\n%q\nwant\n%q", seed, rg, o, moves, answers[1], answers[0])
		}
	}
}

// TestLongKeysDiscard: a range that begins and ends within runs is discarded exactly.
func TestLongKeysDiscard(t *testing.T) {
	for _, r := range []kv.Range{span("aab", "aad"), span("aab", "bbc"), span("aab", ""), span("", "bbc"), span("aa", "bbc"), span("abc", "bb"), span("\xff\xffa", "")} {
		left := [2]string{}
		for i, e := range []kv.Engine{NewModel(ModelOptions{}), newLongEngine(2, 0, nil)} {
			v := env{T: t, e: NewChecked(t, e)}
			v.load("aa=0 aaa=1 aab=2 aac=3 aad=4 ab=5 abc=6 bb=7 bba=8 bbb=9 bbc=10 c=11 \xff\xff=12 \xff\xffa=13 \xff\xffb=14")
			v.wantKind(v.e.Discard(context.Background(), r), none)
			left[i] = v.all()
		}
		if left[0] != left[1] {
			t.Errorf("%q leaves %q, want %q", r, left[1], left[0])
		}
	}
}

// TestLongKeysShort: short keys are stored as they are, and no stored key is longer than it
// may be.
func TestLongKeysShort(t *testing.T) {
	e := newLongEngine(8, 0, nil)
	v := env{T: t, e: e}
	v.load("12345678=a 123456789=b")
	var stored [][]byte
	if err := e.Model.View(context.Background(), func(s kv.Snapshot) error {
		it, err := s.Iterate(kv.Range{}, forward)
		if err != nil {
			return err
		}
		defer it.Close()
		for it.Next() {
			stored = append(stored, bytes.Clone(it.Key()))
		}
		return it.Err()
	}); err != nil {
		t.Fatal(err)
	}
	if len(stored) != 2 || string(stored[0]) != "12345678" || len(stored[1]) != 8+kv.LongHash {
		t.Errorf("stored keys: %q", stored)
	}
}
