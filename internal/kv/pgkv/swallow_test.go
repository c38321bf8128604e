package pgkv

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/pgtest"
)

// TestSwallowed: what is on its way is swallowed, and no connection ends, as by something between that has forgotten
// them. Whoever was reading, writing, waiting for a lock, connecting or listening goes on when new connections pass.
func TestSwallowed(t *testing.T) {
	c := postgres.Cluster(t)
	p, err := pgtest.NewProxy(c, func([]byte) pgtest.Verdict { return pgtest.Pass })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e := open(t, Options{URL: p.URL() + "&connect_timeout=1", Connections: 9, Timeout: time.Second, MaxBlocking: 200 * time.Millisecond, RetryFor: 100 * time.Millisecond})
	defer e.Close()
	far := open(t, Options{Schema: e.o.Schema})
	defer far.Close()

	var done [4]atomic.Int64 // how often each sort of work was done
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	var failed atomic.Int64
	repeat := func(sort, times int, do func() error) {
		for range times {
			work.Go(func() {
				for ctx.Err() == nil {
					if err := do(); err != nil {
						failed.Add(1)
					} else {
						done[sort].Add(1)
					}
				}
			})
		}
	}
	look := func(s kv.Snapshot) error { _, err := number(s.Get([]byte("all"))); return err }
	count := func(tx kv.Txn) error { return add(tx, []byte("all")) }
	repeat(0, 6, func() error { return e.View(context.Background(), look) })
	repeat(1, 3, func() error { return e.Update(context.Background(), count, []byte("all")) })
	repeat(2, 1, func() error { return far.Update(context.Background(), count, []byte("all")) })
	defer e.Listen(func([]byte) { done[3].Add(1) })()
	work.Go(func() {
		for ctx.Err() == nil {
			far.Send([]byte("news"))
			kv.Pause(ctx, 5*time.Millisecond)
		}
	})
	all := func(when string) {
		t.Helper()
		began := time.Now()
		for sort := range done {
			for from := done[sort].Load(); done[sort].Load() < from+10; kv.Pause(ctx, time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("%s: work of sort %d does not go on", when, sort)
				}
			}
		}
		t.Logf("%s: all goes on after %v", when, time.Since(began).Round(time.Millisecond))
	}
	all("before")
	p.Swallow()
	for from := failed.Load(); failed.Load() < from+4; {
		kv.Pause(ctx, time.Millisecond)
	}
	p.Pass()
	all("afterwards")
}

// TestMeasuredSwallowed: what PostgreSQL's statistics say of a large range is waited for as long as a trip may take.
func TestMeasuredSwallowed(t *testing.T) {
	c := postgres.Cluster(t)
	var swallowing atomic.Pointer[pgtest.Proxy]
	p, err := pgtest.NewProxy(c, func(sent []byte) pgtest.Verdict {
		if bytes.Contains(sent, []byte("EXPLAIN")) {
			swallowing.Load().Swallow()
		}
		return pgtest.Pass
	})
	if err != nil {
		t.Fatal(err)
	}
	swallowing.Store(p)
	e := open(t, Options{URL: p.URL() + "&connect_timeout=1", Timeout: time.Second, RetryFor: 100 * time.Millisecond})
	defer func() {
		_ = p.Close() // first: nobody waits for what was swallowed
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = e.Update(t.Context(), func(tx kv.Txn) error {
		for i := range measured + 1 {
			if err := tx.Put(fmt.Appendf(nil, "r%05d", i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := e.DiskSize(kv.Prefix([]byte("r")))
		failed <- err
	}()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("it was measured")
		}
	case <-time.After(time.Minute):
		t.Fatal("the size of a range is waited for")
	}
}
