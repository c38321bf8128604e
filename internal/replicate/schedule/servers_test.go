package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/store"
)

// TestOneServerRuns has two servers over one store follow the same documents: one of them
// runs each replication, and the other when the first stops or is not heard of any more.
func TestOneServerRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		serve := func(holder uint64) (*Scheduler, *store.Store) {
			st, err := store.Open(ctx, w.engine, store.Options{Idle: true, Holder: holder, Lease: time.Minute})
			must(t, err)
			s := New(Options{Store: st, Users: w, Config: w.config, Node: "n", Run: w.run, Random: func() float64 { return 0.5 }})
			must(t, s.Start(nil))
			synctest.Wait()
			return s, st
		}
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		one, oneStore := serve(1)
		if n := w.begun("h/a"); n != 1 {
			t.Fatalf("it was begun %d times", n)
		}
		two, twoStore := serve(2)
		time.Sleep(3 * time.Hour)
		if n := w.begun("h/a"); n != 1 {
			t.Errorf("with two servers it was begun %d times", n)
		}
		if jobs := two.Jobs(); len(jobs) != 1 {
			t.Errorf("the other server has the jobs %v", jobs)
		}
		one.Close()
		must(t, oneStore.Close())
		time.Sleep(time.Minute)
		if n := w.begun("h/a"); n != 2 || w.running("h/a") == nil {
			t.Errorf("after the first has stopped it was begun %d times", n)
		}
		two.Close()
		must(t, twoStore.Close())
	})
}

// TestServerStandsStill has the server that runs a replication lose its disk for a while: it stops the replication when
// its lease ends, the other server goes on with it, and keeps it when the first one is well again.
func TestServerStandsStill(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const lease = time.Minute
		serve := func(e kv.Engine, holder uint64) (*Scheduler, *store.Store) {
			st, err := store.Open(context.Background(), e, store.Options{Idle: true, Holder: holder, Lease: lease})
			must(t, err)
			s := New(Options{Store: st, Users: w, Config: w.config, Node: "n", Run: w.run, Random: func() float64 { return 0.5 }})
			must(t, s.Start(nil))
			synctest.Wait()
			return s, st
		}
		w.put(rdb, "d", replication("h/a", `"continuous":true`))
		f := kvtest.NewFaults(w.engine)
		one, oneStore := serve(f, 1)
		two, twoStore := serve(w.engine, 2)
		first := w.running("h/a")
		for _, part := range []struct {
			what  string
			rates kvtest.Rates
			begun int
		}{{"while both are well", nil, 1}, {"without a disk", kvtest.Rates{kvtest.Refused: 100}, 2}, {"when it is back", nil, 2}} {
			f.Randomly(1, part.rates)
			time.Sleep(lease + 2*elsewhere)
			if n, now := w.begun("h/a"), w.running("h/a"); n != part.begun || now == nil || (now == first) != (part.begun == 1) {
				t.Errorf("%s it was begun %d times, want %d", part.what, n, part.begun)
			}
		}
		two.Close()
		must(t, twoStore.Close())
		time.Sleep(2 * lease)
		if n := w.begun("h/a"); n != 3 {
			t.Errorf("after the other has stopped it was begun %d times", n)
		}
		one.Close()
		must(t, oneStore.Close())
	})
}
