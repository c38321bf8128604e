package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
