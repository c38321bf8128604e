package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

var ctx = context.Background()

// world is a queue on an engine whose reads are counted.
type world struct {
	t *testing.T
	*Queue
	e     kv.Engine
	views *atomic.Int64
	// With more views than most, tooMany is called; 0: as many as there are.
	max     int64
	tooMany func()
}

type counted struct {
	kv.Engine
	w *world
}

func (c counted) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	if n := c.w.views.Add(1); c.w.max > 0 && n > c.w.max {
		c.w.tooMany()
	}
	return c.Engine.View(ctx, fn)
}

func open(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{t: t, views: new(atomic.Int64)}
	if o.Engine == nil {
		o.Engine = kvtest.NewModel(kvtest.ModelOptions{})
	}
	w.e = o.Engine
	o.Engine = counted{o.Engine, w}
	engine := o.Engine
	o.Commit = func(ctx context.Context, fn func(kv.Txn) error) error { return engine.Update(ctx, fn) }
	o.Logger = slog.New(slog.DiscardHandler)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	w.Queue = New(o)
	return w
}

func (w *world) update(fn func(tx kv.Txn) error) {
	w.t.Helper()
	if err := w.e.Update(ctx, fn); err != nil {
		w.t.Fatal(err)
	}
}

func fixedWorkers(workers int) func() int { return func() int { return workers } }

// rows returns the queue in the order of keys, and checks it.
func (w *world) rows() string {
	w.t.Helper()
	var b strings.Builder
	err := w.e.View(ctx, func(v kv.Snapshot) error {
		bad, strays, err := Check(v)
		if bad = append(bad, strays...); err != nil || len(bad) > 0 {
			return errors.Join(append(bad, err)...)
		}
		return kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
			j, err := Decode(key, value)
			fmt.Fprintf(&b, "%s/%d/%s due %d state %d at %q by %d; ", j.Kind, j.Number, j.Subject, j.Due.Unix(), j.serial, j.Checkpoint, j.holder)
			return err
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func (w *world) want(rows string) {
	w.t.Helper()
	if got := w.rows(); got != rows {
		w.t.Errorf("the queue is\n%s\nwant\n%s", got, rows)
	}
}

// end takes a job out of the queue as a worker has seen it.
func (w *world) end(ctx context.Context, seen Job) error {
	return w.o.Commit(ctx, func(tx kv.Txn) error {
		j, err := w.Lock(tx, &seen)
		if err != nil {
			return err
		}
		return End(tx, &j)
	})
}

// rowOf is the row of a job in the order of time.
func rowOf(j Job) dueRow { return dueRow{j.ID, millis(j.Due)} }

func job(kind string, n uint64, due int64) Job {
	return Job{ID: ID{Kind: kind, Number: n}, Database: "db", Due: time.Unix(due, 0)}
}

func TestRows(t *testing.T) {
	w := open(t, Options{Clock: func() time.Time { return time.Unix(100, 0) }})
	ensure := func(j Job, want bool) {
		t.Helper()
		w.update(func(tx kv.Txn) error {
			changed, err := w.Ensure(tx, j)
			if changed != want {
				t.Errorf("changed: %v", changed)
			}
			return err
		})
	}
	ensure(job("a", 1, 50), true)
	ensure(job("a", 1, 60), false)
	ensure(job("a", 1, 40), true)
	w.want(`a/1/ due 40 state 1 at "" by 0`)
	var seen Job
	w.update(func(tx kv.Txn) (err error) {
		seen, err = Get(tx, ID{Kind: "a", Number: 1})
		return err
	})
	move := func(checkpoint string) error {
		return w.e.Update(ctx, func(tx kv.Txn) error {
			j, err := w.Lock(tx, &seen)
			if err != nil {
				return err
			}
			j.Checkpoint, j.Due, j.Earliest = checkpoint, time.Unix(70, 0), time.Unix(65, 0)
			return w.Save(tx, &j)
		})
	}
	if err := move("x"); err != nil {
		t.Fatal(err)
	}
	if err := move("y"); !errors.Is(err, ErrMoved) {
		t.Errorf("a worker with an old state: %v", err)
	}
	ensure(job("a", 1, 10), true)
	w.want(`a/1/ due 65 state 2 at "x" by 0`)
	w.update(func(tx kv.Txn) error { return w.Put(tx, job("a", 1, 80)) })
	w.update(func(tx kv.Txn) error { return w.Put(tx, job("b", 2, 90)) })
	w.want(`a/1/ due 80 state 3 at "" by 0; b/2/ due 90 state 1 at "" by 0`)
	w.update(func(tx kv.Txn) error { return EndAll(tx, "a", 1) })
	if err := move("z"); !errors.Is(err, ErrGone) {
		t.Errorf("a worker whose job is done: %v", err)
	}
	w.want(`b/2/ due 90 state 1 at "" by 0`)
}

func FuzzDecode(f *testing.F) {
	j := job("a", 1, 50)
	j.Checkpoint, j.holder, j.serial, j.Done = "x", 300, 4, 70_000
	f.Add(j.encode())
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := Decode(j.Key(), value)
		if err != nil {
			return
		}
		for _, at := range []time.Time{got.Due, got.Earliest, got.Began, got.until} {
			if at.UnixMilli() < 0 { // a time that nobody writes
				return
			}
		}
		if again := got.encode(); !bytes.Equal(again, value) {
			t.Errorf("%x is %x again", value, again)
		}
	})
}

// TestTakenOver has a worker stand still in the middle of a batch until another has
// taken its job over and done a batch: what it does then changes nothing.
func TestTakenOver(t *testing.T) {
	now := time.Unix(1000, 0)
	clock := func() time.Time { return now }
	e := kvtest.NewModel(kvtest.ModelOptions{})
	read, goOn := make(chan bool), make(chan bool)
	var first, second *world
	batch := func(w **world, pause func()) func(context.Context, Job) error {
		return func(ctx context.Context, seen Job) error {
			next := seen.Checkpoint + "+" // read, and worked out
			pause()
			return (*w).o.Commit(ctx, func(tx kv.Txn) error {
				j, err := (*w).Lock(tx, &seen)
				if err != nil {
					return err
				}
				j.Checkpoint, j.Due = next, now.Add(time.Hour)
				return errors.Join(tx.Put(keyspace.Meta.Key(0, keyspace.T(fmt.Sprint("done by ", j.holder))), nil), (*w).Save(tx, &j))
			})
		}
	}
	first = open(t, Options{Engine: e, Clock: clock, Holder: 1, Lease: time.Minute, Do: batch(&first, func() { read <- true; <-goOn })})
	second = open(t, Options{Engine: e, Clock: clock, Holder: 2, Lease: time.Minute, Do: batch(&second, func() {})})
	first.update(func(tx kv.Txn) error { return first.Put(tx, job("a", 1, 999)) })
	failed := make(chan error)
	go func() { failed <- first.Drain(ctx) }()
	<-read
	if err := second.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	second.want(`a/1/ due 999 state 2 at "" by 1`) // the lease holds
	now = now.Add(2 * time.Minute)
	if err := second.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	taken := `a/1/ due 4720 state 4 at "+" by 2`
	second.want(taken)
	close(goOn)
	if err := <-failed; !errors.Is(err, ErrMoved) {
		t.Errorf("the worker that stood still: %v", err)
	}
	second.want(taken)
	err := e.View(ctx, func(v kv.Snapshot) error {
		_, err := v.Get(keyspace.Meta.Key(0, keyspace.T("done by 1")))
		return err
	})
	if !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("it left something: %v", err)
	}
}

// TestSideBySide has many jobs wait for each other in one process: all workers have
// one, and who fails is tried again later.
func TestSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs, workers = 100, 8
		var w *world
		var running, most, failed atomic.Int64
		w = open(t, Options{Workers: fixedWorkers(workers), Do: func(ctx context.Context, seen Job) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			if seen.Number == 7 && failed.Add(1) < 4 {
				return errors.New("not yet")
			}
			return w.end(ctx, seen)
		}})
		w.update(func(tx kv.Txn) error {
			for n := range uint64(jobs) {
				if err := w.Put(tx, job("a", n, 1)); err != nil {
					return err
				}
			}
			return nil
		})
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan bool)
		go func() { w.Work(ctx); close(ended) }()
		time.Sleep((jobs/workers + 2) * time.Second)
		synctest.Wait()
		w.want(`a/7/ due 1 state 1 at "" by 0`)
		time.Sleep(time.Minute)
		w.want("")
		if most.Load() != workers {
			t.Errorf("%d were at work side by side, want %d", most.Load(), workers)
		}
		stop()
		<-ended
	})
}

// TestQuiet lets a day pass with many jobs that are due later: that costs a look at
// the queue now and then, however many there are.
func TestQuiet(t *testing.T) {
	for _, jobs := range []uint64{0, 3000} {
		synctest.Test(t, func(t *testing.T) {
			w := open(t, Options{Workers: fixedWorkers(4), Do: func(context.Context, Job) error { panic("nothing is due") }})
			w.update(func(tx kv.Txn) error {
				for n := range jobs {
					if err := w.Put(tx, job("a", n, time.Now().Add(48*time.Hour).Unix())); err != nil {
						return err
					}
				}
				return nil
			})
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan bool)
			go func() { w.Work(ctx); close(ended) }()
			time.Sleep(24 * time.Hour)
			stop()
			<-ended
			if got, most := w.views.Load(), int64(24*time.Hour/lookEvery+2); got > most {
				t.Errorf("%d jobs: %d reads in a day, want at most %d", jobs, got, most)
			}
		})
	}
}
