package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestDropsInAllOrders removes a dropped database while its removal is made due earlier, because the disk is full, and time
// passes, in all orders of their steps: the queue stays whole, and the job ends.
func TestDropsInAllOrders(t *testing.T) {
	orders := kvtest.EachOrder(t, func(o *kvtest.Order) {
		e := kvtest.NewModel(kvtest.ModelOptions{})
		w := openWorld(t, o.Engine(e, true), Options{})
		defer w.closeAll()
		w.create("db", false)
		if err := w.Drop(ctx, "db"); err != nil {
			t.Fatal(err)
		}
		due := w.time().Add(time.Hour)
		err := e.Update(ctx, func(tx kv.Txn) error {
			_, err := w.jobs.Set(tx, jobs.Job{ID: jobs.ID{Kind: jobDatabase, Number: 1}, Due: due})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.later(time.Hour - time.Second)
		must := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		o.Run(ctx,
			func(ctx context.Context) { must(w.makeDropsDue(ctx)) },
			func(ctx context.Context) { o.Step(ctx); w.later(time.Minute) },
			func(ctx context.Context) { must(w.jobs.Drain(ctx)) })
		w.queueIsWhole()
		must(w.jobs.Drain(ctx))
		w.queueIsWhole()
		must(e.View(ctx, func(v kv.Snapshot) error {
			return jobs.Each(v, jobDatabase, func(j jobs.Job) error { t.Errorf("%+v is left", j); return nil })
		}))
	})
	t.Logf("%d orders", orders)
}

// queueIsWhole fails the test unless each job has its row in the order of time, and no other row is there.
func (w *world) queueIsWhole() {
	w.t.Helper()
	if err := w.engine.View(ctx, func(v kv.Snapshot) error {
		bad, strays, err := jobs.Check(v)
		return errors.Join(append(append(bad, strays...), err)...)
	}); err != nil {
		w.t.Fatal(err)
	}
}
