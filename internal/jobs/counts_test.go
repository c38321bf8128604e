package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/kv"
)

// counts returns the figures of the world's pool.
func (w *world) counts() (c Counts) {
	w.t.Helper()
	err := w.e.View(ctx, func(v kv.Snapshot) (err error) {
		c, err = w.Counts(v)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// TestCounts has jobs that are due, that are not, that fail, and that are of another pool.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Unix()
		w := open(t, Options{Pool: "p", Workers: fixedWorkers(8), Do: func(ctx context.Context, j Job) error {
			switch j.Kind {
			case "p/fails":
				return errors.New("no")
			case "p/later":
				return Later(time.Hour)
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		w.update(func(tx kv.Txn) error {
			return errors.Join(w.Put(tx, job("p/fails", 1, now-60)), w.Put(tx, job("p/later", 1, now-20)), w.Put(tx, job("p/hangs", 1, now-10)),
				w.Put(tx, job("p/hangs", 2, now+3600)), w.Put(tx, job("other/a", 1, now-1000)), w.Put(tx, job("a", 1, now-1000)))
		})
		if d := cmp.Diff(Counts{Pool: "p", Due: 3, Waited: time.Minute}, w.counts()); d != "" {
			t.Error(d)
		}
		ctx, stop := context.WithCancel(ctx)
		go w.Work(ctx)
		synctest.Wait()
		if d := cmp.Diff(Counts{Pool: "p", Running: 1, Turns: 3, Failures: 1, Due: 3, Waited: time.Minute}, w.counts()); d != "" {
			t.Error(d)
		}
		stop()
		synctest.Wait()
	})
}

// TestCountsAreBounded has more jobs than are counted.
func TestCountsAreBounded(t *testing.T) {
	w := open(t, Options{Clock: func() time.Time { return time.Unix(10_000, 0) }})
	w.update(func(tx kv.Txn) (err error) {
		for n := range uint64(MaxCounted + 100) {
			err = errors.Join(err, w.Put(tx, job("a", n, int64(100+n))))
		}
		return err
	})
	if d := cmp.Diff(Counts{Due: MaxCounted, Waited: 9900 * time.Second}, w.counts()); d != "" {
		t.Error(d)
	}
}
