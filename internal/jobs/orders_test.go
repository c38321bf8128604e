package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestAllOrders has one or two servers work on a job that a writer changes meanwhile, while time passes, in all orders of
// their steps: each job has its row in the order of time, each row its job, and who ends or moves a job has seen it as it is.
func TestAllOrders(t *testing.T) {
	changes := map[string]func(w *world, tx kv.Txn) error{
		"ensured": func(w *world, tx kv.Txn) error { _, err := w.Ensure(tx, job("a", 1, 10)); return err },
		"set":     func(w *world, tx kv.Txn) error { _, err := w.Set(tx, job("a", 1, 500)); return err },
		"put":     func(w *world, tx kv.Txn) error { j := job("a", 1, 20); j.Checkpoint = "anew"; return w.Put(tx, j) },
		"removed": func(_ *world, tx kv.Txn) error { return Remove(tx, job("a", 1, 0).ID) },
		"ended":   func(_ *world, tx kv.Txn) error { return EndAll(tx, "a", 1) },
	}
	ends := map[string]func(w *world, tx kv.Txn, j *Locked) error{
		"ends": func(_ *world, tx kv.Txn, j *Locked) error { return End(tx, j) },
		"moves": func(w *world, tx kv.Txn, j *Locked) error {
			j.Due = time.Unix(200, 0)
			return w.Save(tx, j)
		},
	}
	total := 0
	for name, change := range changes {
		for what, end := range ends {
			for _, servers := range []uint64{1, 2} {
				total += kvtest.EachOrder(t, func(o *kvtest.Order) {
					now := time.Unix(100, 0)
					e := kvtest.NewModel(kvtest.ModelOptions{})
					var actors []func(ctx context.Context)
					var w *world
					for holder := uint64(1); holder <= servers; holder++ {
						var own *world
						own = open(t, Options{Engine: o.Engine(e, servers == 1), Clock: func() time.Time { return now }, Holder: holder, Lease: time.Minute,
							Do: func(ctx context.Context, seen Job) error {
								err := own.o.Commit(ctx, func(tx kv.Txn) error {
									j, err := own.Lock(tx, &seen)
									if err != nil {
										return err
									}
									if j.Checkpoint != seen.Checkpoint {
										t.Errorf("a job at %q is taken for one at %q", j.Checkpoint, seen.Checkpoint)
									}
									return end(own, tx, &j)
								})
								if errors.Is(err, ErrGone) || errors.Is(err, ErrMoved) {
									return nil
								}
								return err
							}})
						actors = append(actors, func(ctx context.Context) {
							if err := own.do(ctx, rowOf(job("a", 1, 50))); err != nil && !errors.As(err, new(later)) && !errors.Is(err, ErrElsewhere) {
								t.Errorf("server %d: %v", holder, err)
							}
						})
						w = own
					}
					w.update(func(tx kv.Txn) error { return w.Put(tx, job("a", 1, 50)) })
					actors = append(actors, func(ctx context.Context) {
						err := w.o.Commit(ctx, func(tx kv.Txn) error {
							if servers > 1 { // the lease of who has the job ends
								now = now.Add(2 * time.Minute)
							}
							return change(w, tx)
						})
						if err != nil {
							t.Error(err)
						}
					})
					if servers == 1 {
						actors = append(actors, func(ctx context.Context) { o.Step(ctx); now = now.Add(time.Second) })
					}
					o.Run(ctx, actors...)
					w.rows()
				})
				if t.Failed() {
					t.Fatalf("%s while a worker %s it, %d servers", name, what, servers)
				}
			}
		}
	}
	t.Logf("%d orders", total)
}

// TestStrayRows puts rows into the order of time whose job is gone, or due at another time, as an older version left them: they
// are removed, the log names them, and a queue in which nothing else is due stays quiet.
func TestStrayRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := open(t, Options{Do: func(context.Context, Job) error { panic("nothing is due") }})
		w.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		ctx, stop := context.WithCancel(ctx)
		w.max, w.tooMany = int64(time.Hour/lookEvery)+10, stop
		later := job("moved", 2, time.Now().Add(48*time.Hour).Unix())
		w.update(func(tx kv.Txn) error {
			return errors.Join(w.Put(tx, later), tx.Put(job("gone", 1, 1).dueKey(time.Unix(1, 0)), []byte{dueVersion}),
				tx.Put(later.dueKey(time.Unix(2, 0)), []byte{dueVersion}))
		})
		go w.Work(ctx)
		synctest.Wait()
		select {
		case <-ctx.Done():
			t.Fatalf("the queue was read %d times", w.views.Load())
		case <-time.After(time.Hour):
		}
		stop()
		synctest.Wait()
		if got := w.views.Load(); got > w.max {
			t.Errorf("the queue was read %d times in an hour, want %d at most", got, w.max)
		}
		w.rows()
		var c Counts
		err := w.e.View(t.Context(), func(v kv.Snapshot) (err error) {
			c, err = w.Counts(v)
			return err
		})
		if err != nil || c.Strays != 2 || c.Due != 0 || strings.Count(log.String(), "had no job") != 2 {
			t.Errorf("%+v, %v\n%s", c, err, log.String())
		}
	})
}
