package kvtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// counted makes an engine with a counter and a call that adds one to it.
func counted() (f *Faults, add func() (runs int, err error), value func() string) {
	model := NewModel(ModelOptions{})
	f = NewFaults(model)
	ctx := context.Background()
	add = func() (runs int, err error) {
		err = f.Update(ctx, func(t kv.Txn) error {
			runs++
			old, err := t.GetForUpdate([]byte("n"))
			if err != nil && !dberr.Is(err, dberr.NotFound) {
				return err
			}
			return t.Put([]byte("n"), append(old, 'x'))
		})
		return runs, err
	}
	value = func() (out string) {
		_ = model.View(ctx, func(s kv.Snapshot) error {
			v, err := s.Get([]byte("n"))
			out = string(v)
			return err
		})
		return out
	}
	return f, add, value
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		runs  int
		kind  dberr.Kind
		value string
	}{
		{NoFault, 1, none, "xx"},
		{Refused, 0, dberr.Unavailable, "x"},
		{FailRead, 1, dberr.Unavailable, "x"},
		{Rerun, 2, none, "xx"},
		{LostCommit, 1, dberr.UnknownOutcome, "x"},
		{LostAnswer, 1, dberr.UnknownOutcome, "xx"},
	} {
		t.Run(fmt.Sprint(c.fault), func(t *testing.T) {
			f, add, value := counted()
			f.Fail(2, c.fault)
			_, err := add()
			env{T: t}.wantKind(err, none)
			runs, err := add()
			env{T: t}.wantKind(err, c.kind)
			if runs != c.runs || value() != c.value {
				t.Errorf("%d runs and value %q, want %d and %q", runs, value(), c.runs, c.value)
			}
			_, err = add()
			env{T: t}.wantKind(err, none)
		})
	}
}

func TestFailEachRead(t *testing.T) {
	f := NewFaults(NewModel(ModelOptions{}))
	v := env{T: t, e: f}
	v.load("a=1 b=2")
	work := func() error {
		return f.View(context.Background(), func(s kv.Snapshot) error {
			if _, err := s.Get([]byte("a")); err != nil {
				return err
			}
			if _, err := s.GetMany([][]byte{[]byte("a"), []byte("b")}); err != nil {
				return err
			}
			_, err := walk(s, kv.Range{}, forward, []string{"next*", "a"})
			return err
		})
	}
	before := f.Reads()
	v.wantKind(work(), none)
	reads := f.Reads() - before
	if want := 13; reads != want { // Get, GetMany, Iterate, three Next, two Value and Borrow, Seek and a Value and Borrow
		t.Errorf("%d reads were counted, want %d", reads, want)
	}
	for n := 1; n <= reads; n++ {
		f.FailRead(n)
		v.wantKind(work(), dberr.Unavailable)
	}
	v.wantKind(work(), none)
}

func TestRandomFaultsRepeat(t *testing.T) {
	history := func(seed uint64) (out []string) {
		f, add, value := counted()
		f.Randomly(seed, Rates{Refused: 10, FailRead: 10, Rerun: 20, LostCommit: 10, LostAnswer: 10})
		for range 50 {
			runs, err := add()
			out = append(out, fmt.Sprint(runs, err, len(value())))
		}
		return out
	}
	if d := cmp.Diff(history(1), history(1)); d != "" {
		t.Errorf("one seed, two histories:\n%s", d)
	}
	if cmp.Diff(history(1), history(2)) == "" {
		t.Error("two seeds gave one history")
	}
}

// TestLateCommit: a commit arrives before the second call after it, if nothing was written
// meanwhile that it would overwrite.
func TestLateCommit(t *testing.T) {
	for _, between := range []string{"x", "n"} {
		f, add, value := counted()
		v := env{T: t, e: f}
		f.Fail(1, LateCommit)
		_, err := add()
		v.wantKind(err, dberr.UnknownOutcome)
		v.want(value(), "")
		v.load(between + "=1")
		v.view(func(kv.Snapshot) {})
		v.want(value(), map[string]string{"x": "x", "n": "1"}[between])
		f.Fail(1, LateCommit)
		_, err = add()
		v.wantKind(err, dberr.UnknownOutcome)
		v.wantKind(f.Close(), none)
	}
}

// TestRerunsKeepHistories shows that closures run once more than needed leave
// the same rows as others.
func TestRerunsKeepHistories(t *testing.T) {
	for seed := range uint64(10) {
		f := NewFaults(NewModel(ModelOptions{}))
		f.Randomly(seed, Rates{Rerun: 100})
		p := &player{v: env{T: t, e: f}, seed: seed, e: f, m: NewModel(ModelOptions{}), reruns: true}
		p.play(newScript(NewRand(seed), 40, 0))
	}
}
