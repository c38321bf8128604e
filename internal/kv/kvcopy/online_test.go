package kvcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/kv/pgkv"
	"github.com/sectional/sectional/internal/kv/pgkv/pgtest"
)

var postgres pgtest.Shared

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// small has many pages of few rows.
var small = kv.Limits{Key: 200, Value: 80_000, Txn: 400_000, Age: 1e15}

// randomly makes one random change: rows are put, put anew, removed, and ranges discarded.
func randomly(ctx context.Context, e kv.Engine, r kvtest.Rand) error {
	key := func() []byte { return fmt.Appendf(nil, "%c/%03d", 'a'+rune(r.IntN(26)), r.IntN(100)) }
	if r.IntN(40) == 0 {
		return e.Discard(ctx, kv.Prefix(key()[:4]))
	}
	return e.Update(ctx, func(tx kv.Txn) error {
		for range 1 + r.IntN(4) {
			var err error
			switch k := key(); r.IntN(3) {
			case 0:
				err = tx.Delete(k)
			case 1: // as rows are that are removed so
				if _, err = tx.Get(k); errors.Is(err, kv.ErrNotFound) {
					err = tx.Put(k, bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(5000)))
				}
			default:
				err = errors.Join(tx.Delete(k), tx.Put(k, bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(200))))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// TestCopyWhileWritten has others write between all steps of a copy, and at the same time;
// interrupts it at any call of the target, and starts it again.
func TestCopyWhileWritten(t *testing.T) {
	t.Run("watched", func(t *testing.T) {
		for seed := range uint64(15) {
			from := Watch(model(t, kv.Limits{}))
			copyWhileWritten(t, seed, 300, from, from)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		for seed := range uint64(2) {
			schema := postgres.Cluster(t).Schema()
			copyWhileWritten(t, seed, 40, shared(t, schema), shared(t, schema))
		}
	})
}

// shared opens an engine over a schema that others may have open.
func shared(t *testing.T, schema string) kv.Engine {
	e, err := pgkv.Open(t.Context(), pgkv.Options{URL: postgres.Cluster(t).URL(), Schema: schema, Unsafe: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// copyWhileWritten copies from an engine, which one writer has open as another.
func copyWhileWritten(t *testing.T, seed uint64, writes int, from, other kv.Engine) {
	t.Helper()
	r := kvtest.NewRand(seed)
	to := kvtest.NewFaults(model(t, small))
	fill(t, from, 200)
	to.Fail(1+r.IntN(150), []kvtest.Fault{kvtest.Refused, kvtest.LostCommit, kvtest.LostAnswer, kvtest.Rerun}[r.IntN(4)])
	o := everything(from, to)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n, e := range []kv.Engine{from, other} {
		writers.Go(func() {
			r := kvtest.NewRand(1000*seed + uint64(n))
			for range writes {
				if err := randomly(ctx, e, r); err != nil && ctx.Err() == nil {
					t.Errorf("seed %d: a writer was told %v", seed, err)
					return
				}
			}
		})
	}
	o.Progress = func(Step, Sum, Sum) {
		for range r.IntN(4) {
			if err := randomly(ctx, from, r); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
	finish := o.Finish
	o.Finish = func(ctx context.Context, tr kv.Tracking, sum Sum) error {
		one, two := rowsOf(t, from), rowsOf(t, to.Engine)
		delete(one, "m/store")
		delete(two, "m/store")
		sameRows(t, one, two)
		if err := tr.Through(ctx, func(tx kv.Txn) error { return tx.Put([]byte("moved"), []byte("1")) }, nil); err != nil {
			t.Error(err)
		}
		return finish(ctx, tr, sum)
	}
	_, err := Copy(ctx, from, to, o)
	for n := 0; err != nil && n < 3; n++ {
		if rowsOf(t, to.Engine)["m/store"] == "whole" {
			t.Fatalf("seed %d: %v, and it looks whole", seed, err)
		}
		_, err = Copy(ctx, from, to, o)
	}
	stop()
	writers.Wait()
	if err != nil || rowsOf(t, to.Engine)["m/store"] != "whole" {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := randomly(t.Context(), from, r); err != nil {
		t.Errorf("seed %d: the source takes no more: %v", seed, err)
	}
}

// TestFence holds that writers wait at a fence and go on when it is lowered, and that a refusal stays, whoever writes.
func TestFence(t *testing.T) {
	t.Run("watched", func(t *testing.T) {
		e := Watch(model(t, kv.Limits{}))
		testFence(t, e, e, "b2")
	})
	t.Run("postgres", func(t *testing.T) {
		schema := postgres.Cluster(t).Schema()
		testFence(t, shared(t, schema), shared(t, schema), "")
	})
}

// testFence tracks an engine that is written to as another; elsewhere is a key that the fence lets through.
func testFence(t *testing.T, tracked, e kv.Engine, elsewhere string) {
	tr, err := tracked.(kv.Tracker).Track(t.Context(), kv.Prefix([]byte("a")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.(kv.Tracker).Track(t.Context(), kv.Range{}); !dberr.Is(err, dberr.Conflict) {
		t.Errorf("tracked twice: %v", err)
	}
	put(t, e, "a1", nil)
	put(t, e, "b1", nil)
	if keys, discarded, err := tr.Written(t.Context()); err != nil || len(keys) != 1 || string(keys[0]) != "a1" || len(discarded) > 0 {
		t.Errorf("%q %v %v", keys, discarded, err)
	}
	rowsOf(t, e) // makes a connection: one that is made behind the fence waits
	if err := tr.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if elsewhere != "" {
		put(t, e, elsewhere, nil)
	}
	done := make(chan error)
	go func() {
		done <- e.Update(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("a3"), nil) })
	}()
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Discard(waiting, kv.Prefix([]byte("a"))); !errors.Is(err, context.Canceled) {
		t.Errorf("discarded behind the fence: %v", err)
	}
	if _, there := rowsOf(t, e)["a3"]; there {
		t.Error("written behind the fence")
	}
	if err := tr.Through(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("a2"), nil) }, nil); err != nil {
		t.Error(err)
	}
	if err := tr.Lower(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if keys, _, err := tr.Written(t.Context()); err != nil || len(keys) != 2 {
		t.Errorf("%q %v", keys, err)
	}
	if err := tr.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	refusal := dberr.New(dberr.Unavailable, "moved", "It's elsewhere.")
	if err := tr.Through(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("a5"), nil) }, refusal); err != nil {
		t.Error(err)
	}
	if err := tr.End(); err != nil {
		t.Error(err)
	}
	var told *dberr.Error
	err = e.Update(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("a4"), nil) })
	if !errors.As(err, &told) || told.Code != "moved" || told.Reason != refusal.Reason {
		t.Errorf("after the end: %v", err)
	}
	if _, there := rowsOf(t, e)["a5"]; !there {
		t.Error("what was written through the fence is not there")
	}
	if elsewhere != "" {
		put(t, e, "b3", nil)
	}
}

// TestRefusalStays has a copy fail after its source was marked as moved: nobody writes there any more.
func TestRefusalStays(t *testing.T) {
	from, to := Watch(model(t, kv.Limits{})), model(t, kv.Limits{})
	fill(t, from, 10)
	o := everything(from, to)
	o.Finish = func(ctx context.Context, tr kv.Tracking, _ Sum) error {
		err := tr.Through(ctx, func(tx kv.Txn) error { return tx.Put([]byte("moved"), nil) }, dberr.New(dberr.Unavailable, "moved", "It is elsewhere."))
		return errors.Join(err, errors.New("the target is away"))
	}
	if _, err := Copy(t.Context(), from, to, o); err == nil {
		t.Fatal("it did not fail")
	}
	if err := randomly(t.Context(), from, kvtest.NewRand(1)); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("a writer was told %v", err)
	}
}

// slow is a target at which writes behind the fence take longer than writers wait, so many times.
type slow struct {
	kv.Engine
	fenced, times int
}

func (e *slow) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if _, within := ctx.Deadline(); within && e.fenced < e.times {
		e.fenced++
		return context.DeadlineExceeded
	}
	return e.Engine.Update(ctx, fn, locked...)
}

// TestFenceIsTriedAgain: what was told to a copy whose writers waited for too long is brought by the next attempt.
func TestFenceIsTriedAgain(t *testing.T) {
	from, to := Watch(model(t, kv.Limits{})), &slow{Engine: model(t, small), times: 2}
	fill(t, from, 50)
	o, n := everything(from, to), 0
	o.Progress = func(step Step, _, _ Sum) {
		if step == Finishing {
			n++
			put(t, from, fmt.Sprintf("n/%d", n), []byte("late"))
			if n == 2 {
				if err := from.Discard(t.Context(), kv.Prefix([]byte("c"))); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if _, err := Copy(t.Context(), from, to, o); err != nil {
		t.Fatal(err)
	}
	if n != 3 || to.fenced != 2 {
		t.Errorf("there were %d fences, of which %d took too long", n, to.fenced)
	}
	equal(t, from, to)
}
