package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestPools has all workers of one pool stand still, with more of its jobs due: those of
// another pool are worked on all the same.
func TestPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := kvtest.NewModel(kvtest.ModelOptions{})
		slow := open(t, Options{Engine: e, Pool: "slow", Workers: fixedWorkers(2), Do: func(ctx context.Context, _ Job) error { <-ctx.Done(); return ctx.Err() }})
		var quick *world
		quick = open(t, Options{Engine: e, Workers: fixedWorkers(2), Do: func(ctx context.Context, seen Job) error {
			return quick.end(ctx, seen)
		}})
		quick.update(func(tx kv.Txn) error {
			var err error
			for n := range uint64(5) {
				err = errors.Join(err, quick.Put(tx, job("slow/a", n, 1)), quick.Put(tx, job("a", n, 2)))
			}
			return err
		})
		ctx, stop := context.WithCancel(ctx)
		for _, w := range []*world{slow, quick} {
			go w.Work(ctx)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		want := ""
		for n := range 5 {
			want += fmt.Sprintf("; slow/a/%d/ due 1 state 1 at \"\" by 0", n)
		}
		quick.want(want[2:])
		stop()
		synctest.Wait()
	})
}

// TestLeaseIsKept has a worker take much longer for its job than a lease lasts: no other
// begins with it meanwhile. One that cannot write any more is told to stop when its lease has ended.
func TestLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = time.Minute
		f := kvtest.NewFaults(kvtest.NewModel(kvtest.ModelOptions{}))
		working := 0
		do := func(ctx context.Context, seen Job) error {
			if working++; working > 1 {
				t.Error("two work on one job")
			}
			defer func() { working-- }()
			select {
			case <-time.After(10 * lease):
				return Later(time.Hour)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		one := open(t, Options{Engine: f, Holder: 1, Lease: lease, Do: do})
		two := open(t, Options{Engine: f, Holder: 2, Lease: lease, Do: do})
		one.update(func(tx kv.Txn) error { return one.Put(tx, job("a", 1, 1)) })
		ended := make(chan error)
		go func() { ended <- one.do(ctx, rowOf(job("a", 1, 1))) }()
		for range 9 {
			time.Sleep(lease)
			if err := two.do(ctx, rowOf(job("a", 1, 1))); !errors.As(err, new(later)) {
				t.Errorf("the other: %v", err)
			}
		}
		if err := <-ended; !errors.As(err, new(later)) {
			t.Errorf("the first: %v", err)
		}
		go func() { ended <- one.do(ctx, rowOf(job("a", 1, 1))) }()
		synctest.Wait()
		f.Randomly(1, kvtest.Rates{kvtest.Refused: 100})
		if err := <-ended; !errors.Is(err, ErrElsewhere) {
			t.Errorf("without a disk: %v", err)
		}
		f.Randomly(0, nil)
	})
}

// stalling is an engine whose transactions may hang, as on a disk that does not answer.
type stalling struct {
	kv.Engine
	stalled atomic.Bool
	on      chan bool
}

func (e *stalling) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if e.stalled.Load() {
		<-e.on
	}
	return e.Engine.Update(ctx, fn, locked...)
}

// TestLeaseEndsOnTime has the disk of a worker hang: it is told to stop at the moment when another may begin.
func TestLeaseEndsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = time.Minute
		model := kvtest.NewModel(kvtest.ModelOptions{})
		e := &stalling{Engine: model, on: make(chan bool)}
		told := make(chan error)
		one := open(t, Options{Engine: e, Holder: 1, Lease: lease, Do: func(ctx context.Context, _ Job) error {
			<-ctx.Done()
			told <- context.Cause(ctx)
			return ctx.Err()
		}})
		one.update(func(tx kv.Txn) error { return one.Put(tx, job("a", 1, 1)) })
		ended := make(chan error)
		go func() { ended <- one.do(ctx, rowOf(job("a", 1, 1))) }()
		time.Sleep(10*lease + time.Second)
		e.stalled.Store(true)
		began := time.Now()
		if err := <-told; !errors.Is(err, ErrElsewhere) || time.Since(began) > lease {
			t.Errorf("it is told %v after %v", err, time.Since(began))
		}
		close(e.on)
		if err := <-ended; !errors.Is(err, ErrElsewhere) {
			t.Error(err)
		}
	})
}

// TestGoneAreForgotten has many jobs fail that go then with their databases: no more is remembered of them.
func TestGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gone = remembered + 100
		w := open(t, Options{Workers: fixedWorkers(8), Do: func(context.Context, Job) error { return errors.New("no") }})
		ctx, stop := context.WithCancel(ctx)
		go w.Work(ctx)
		each := func(fn func(tx kv.Txn, j Job) error) {
			w.update(func(tx kv.Txn) (err error) {
				for n := range uint64(gone) {
					err = errors.Join(err, fn(tx, job("a", n, 1)))
				}
				return err
			})
			w.Wake()
			synctest.Wait()
		}
		each(func(tx kv.Txn, j Job) error { return w.Put(tx, j) })
		each(func(tx kv.Txn, j Job) error { return Remove(tx, j.ID) })
		time.Sleep(time.Hour)
		each(func(tx kv.Txn, j Job) error {
			if j.Number > 0 {
				return nil
			}
			return w.Put(tx, j)
		})
		stop()
		synctest.Wait()
		if n := len(w.busy.resting); n != 1 {
			t.Errorf("%d jobs are remembered", n)
		}
	})
}

// TestHold has two processes want the same: one has it, until it lets go, or cannot keep
// its lease. One process alone writes nothing.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := kvtest.NewModel(kvtest.ModelOptions{})
		f := kvtest.NewFaults(e)
		one := open(t, Options{Engine: f, Holder: 1, Lease: time.Minute})
		two := open(t, Options{Engine: e, Holder: 2, Lease: time.Minute})
		id := ID{Kind: "held/a", Subject: "x"}
		takes := func(w *world) error { return w.Hold(ctx, id, Words{}, func(context.Context) error { return nil }) }
		ended, on := make(chan error), make(chan bool)
		long := func() {
			ended <- one.Hold(ctx, id, Words{}, func(ctx context.Context) error {
				select {
				case <-on:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}
		go long()
		time.Sleep(time.Hour)
		if err := takes(two); !errors.Is(err, ErrElsewhere) {
			t.Errorf("while it is held: %v", err)
		}
		on <- true
		if err := errors.Join(<-ended, takes(two)); err != nil {
			t.Errorf("after it was let go: %v", err)
		}
		two.want("")
		go long()
		synctest.Wait()
		f.Randomly(1, kvtest.Rates{kvtest.Refused: 100})
		if err := <-ended; !errors.Is(err, ErrElsewhere) {
			t.Errorf("the lease was lost: %v", err)
		}
		if err := takes(two); !errors.Is(err, ErrElsewhere) {
			t.Errorf("who loses a lease stops before it ends: %v", err)
		}
		time.Sleep(time.Minute / 8)
		if err := takes(two); err != nil {
			t.Errorf("after the lease: %v", err)
		}
		alone := open(t, Options{Engine: e})
		if err := alone.Hold(ctx, id, Words{}, func(context.Context) error { alone.want(""); return nil }); err != nil {
			t.Error(err)
		}
	})
}
