package subscribe

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// lease is that of the servers below.
const lease = time.Minute

// pausing is an engine whose process is stopped before one of its reads.
type pausing struct {
	kv.Engine
	after int    // reads until then; 0: never
	pause func() // what happens meanwhile
}

func (e *pausing) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	if e.after > 0 {
		if e.after--; e.after == 0 {
			e.pause()
		}
	}
	return e.Engine.View(ctx, fn)
}

// Shared implements kv.Sharer.
func (e *pausing) Shared() bool { return true }

// serveOver opens one of several servers over an engine.
func serveOver(t *testing.T, e kv.Engine, holder uint64, c *clock) *world {
	t.Helper()
	w := &world{t: t, clock: c}
	var err error
	w.store, err = store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Idle: true, Clock: c.Now, Followers: []store.Follower{Rows{}}, Holder: holder, Lease: lease, AssumeStale: kvtest.RandomStale(holder)})
	must(t, err)
	w.Service = New(Options{Store: w.store, Now: c.Now, Version: "test", Idle: true, AllowPrivate: func() bool { return true }, Logger: slog.New(slog.DiscardHandler)})
	w.makeQueues()
	t.Cleanup(func() {
		w.Service.Close()
		must(t, w.store.Check(ctx))
		must(t, w.store.Close())
	})
	return w
}

// drained does what is due; what another server is at is left.
func (w *world) drained() {
	w.t.Helper()
	for range 3 {
		for _, q := range w.queues {
			if err := q.Drain(ctx); err != nil && !errors.Is(err, jobs.ErrElsewhere) {
				w.t.Fatal(err)
			}
		}
	}
}

// TestServerPauses stops the server that delivers before each of its reads in turn, until its
// lease has moved to another, which delivers; then it wakes, with a clock that stood still
// and believes that the lease is its own. Nobody is told twice.
func TestServerPauses(t *testing.T) {
	paused := 0
	for at := 1; ; at++ {
		e := kvtest.NewModel(kvtest.ModelOptions{})
		began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		shared := kvtest.NewSharing(e, true)
		stops := &pausing{Engine: shared.Engine()}
		one, two := serveOver(t, stops, 1, &clock{now: began}), serveOver(t, shared.Engine(), 2, &clock{now: began})
		to := newReceiver(t)
		d := one.database("db", false)
		one.subscribe(d.Whole(), "s", to, "")
		one.put(d, "a", `{}`)
		one.put(d, "b", `{}`)
		happened := false
		stops.after, stops.pause = at, func() {
			happened = true
			two.clock.advance(2 * lease)
			two.drained()
		}
		one.drained()
		stops.after = 0
		one.drained()
		two.clock.advance(2 * lease)
		two.drained()
		told := map[string]int{}
		for _, m := range to.got() {
			told[m.ids()]++
		}
		if len(told) != 1 || told["a b"] != 1 {
			t.Fatalf("stopped before read %d: told %v", at, told)
		}
		if !happened {
			break
		}
		paused++
	}
	if paused < 5 {
		t.Errorf("it was stopped at %d places only", paused)
	}
}

// late is an engine whose process is stopped before its next transaction.
type late struct {
	kv.Engine
	pause func() // nil: it is not
}

func (e *late) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if pause := e.pause; pause != nil {
		e.pause = nil
		pause()
	}
	return e.Engine.Update(ctx, fn, locked...)
}

// Shared implements kv.Sharer.
func (e *late) Shared() bool { return true }

// TestServersCountSubscriptions has another server make the last subscription that there may be of a database while one
// is about to.
func TestServersCountSubscriptions(t *testing.T) {
	shared := kvtest.NewSharing(kvtest.NewModel(kvtest.ModelOptions{}), false)
	c, e := &clock{now: time.Unix(1_700_000_000, 0)}, &late{Engine: shared.Engine()}
	one, two := serveOver(t, e, 1, c), serveOver(t, shared.Engine(), 2, c)
	_, err := one.store.Create(ctx, "db", store.Creation{})
	must(t, err)
	const most = 5
	create := func(w *world) error {
		w.Service.o.Bounds = func() Bounds { return Bounds{Workers: 1, Scope: most, Dead: 10} }
		db, err := w.store.Database(ctx, "db")
		must(t, err)
		_, err = w.Create(ctx, db.Whole(), []byte(withSecret(`"url":"http://10.0.0.1/"}`)))
		return err
	}
	for range most - 1 {
		must(t, create(one))
	}
	e.pause = func() { must(t, create(two)) }
	if err := create(one); !dberr.Is(err, dberr.Forbidden) {
		t.Errorf("one more than there may be: %v", err)
	}
}
