package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// adds is a transaction that adds one to a number in each database.
func adds(t testing.TB, ds ...*Database) (parts []ScopedEdits) {
	for _, d := range ds {
		parts = append(parts, ScopedEdits{d.Whole(), []document.Edit{{ID: "p:n", Decide: func(now document.Current) (document.Decision, error) {
			n := 0
			if now.Exists() {
				n = number(t, now.Body)
			}
			return document.Decision{Body: fmt.Appendf(nil, `{"n":%d}`, n+1)}, nil
		}}}})
	}
	return parts
}

func named(by, token, request string) Once {
	return Once{By: by, Token: token, Request: sha256.Sum256([]byte(request))}
}

// count returns the number that adds left, 0 for none.
func (w *world) count(d *Database) (n int) {
	w.t.Helper()
	err := d.Whole().View(ctx, func(r *Reader) error {
		rev, err := r.Winner("p:n")
		if err == nil {
			n = number(w.t, rev.Body)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// requests returns how many rows say that something was carried out.
func (w *world) requests() (n int) {
	w.t.Helper()
	err := w.engine.View(ctx, func(v kv.Snapshot) error {
		return kv.Each(v, kv.Prefix(keyspace.Request.Key(0)), func(_, _ []byte) error { n++; return nil })
	})
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// TestTransactOnce asks for transactions again: by the same name, another caller's, for
// something else, after a refusal, and when the name is forgotten.
func TestTransactOnce(t *testing.T) {
	w, _ := newModelWorld(t, Options{})
	one, two := w.create("one", true), w.create("two", true)
	ask := func(once Once, again bool, want error, parts []ScopedEdits) []Result {
		t.Helper()
		rs, was, err := w.TransactOnce(ctx, parts, once)
		if was != again || !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s %s: again %v, %v", once.By, once.Token, was, err)
		}
		return rs
	}
	holds := func(n int) {
		t.Helper()
		if a, b := w.count(one), w.count(two); a != n || b != n {
			t.Errorf("%d and %d, want %d", a, b, n)
		}
	}
	both := adds(t, one, two)
	ask(named("a", "x", "1"), false, nil, both)
	rs := ask(named("a", "x", "1"), true, nil, both)
	if len(rs) != 2 || rs[0].Err != nil || !rs[0].Rev.IsZero() {
		t.Errorf("told %+v", rs)
	}
	ask(named("a", "x", "2"), true, ErrOtherRequest, both)
	holds(1)
	ask(named("b", "x", "2"), false, nil, both)
	holds(2)

	w.now = w.now.Add(OnceFor - time.Millisecond)
	ask(named("a", "x", "1"), true, nil, adds(t, one)) // the names are those of the store, not of a database
	w.now = w.now.Add(-OnceFor)                        // a clock that goes back
	ask(named("a", "x", "1"), true, nil, both)
	holds(2)
	w.now = w.now.Add(OnceFor + time.Millisecond)
	ask(named("a", "x", "1"), false, nil, both)
	holds(3)

	poor := append(adds(t, one), ScopedEdits{two.Whole(), []document.Edit{{ID: "p:n", Decide: pays(t, 100)}}})
	if rs := ask(named("a", "poor", "1"), false, nil, poor); !errors.Is(rs[1].Err, errPoor) {
		t.Errorf("told %+v", rs)
	}
	ask(named("a", "poor", "1"), false, nil, both) // a refusal leaves the name free
	holds(4)

	if n := w.requests(); n == 0 {
		t.Error("there is nothing to sweep")
	}
	w.now = w.now.Add(3 * OnceFor)
	w.sweep()
	if n := w.requests(); n != 0 {
		t.Errorf("%d requests are not forgotten", n)
	}
}

// TestTransactOnceTogether has many ask for the same at once, of other databases each, while
// commits fail and run again: each request is carried out once.
func TestTransactOnceTogether(t *testing.T) {
	for seed := range uint64(4) {
		w, faults := newModelWorld(t, Options{})
		ds := []*Database{w.create("one", true), w.create("two", true), w.create("three", true)}
		faults.Randomly(seed, kvtest.Rates{kvtest.Rerun: 15, kvtest.LostCommit: 10, kvtest.LostAnswer: 10, kvtest.LateCommit: 5})
		var carried [6]atomic.Int32
		var work sync.WaitGroup
		for c := range 4 * len(carried) {
			work.Go(func() {
				n := c % len(carried)
				parts := adds(t, ds[c%3], ds[(c/len(carried))%3])
				if c%3 == (c/len(carried))%3 {
					parts = parts[:1]
				}
				_, again, err := w.TransactOnce(ctx, parts, named("a", fmt.Sprint(n), ""))
				if err != nil {
					t.Error(err)
				} else if !again {
					carried[n].Add(1)
				}
			})
		}
		work.Wait()
		faults.Randomly(0, nil)
		for n := range carried {
			if got := carried[n].Load(); got != 1 {
				t.Errorf("seed %d: request %d was carried out %d times", seed, n, got)
			}
		}
	}
}

// TestTransactOnceInTwoStores has two servers asked for the same, of a database each, so
// that nothing but the name joins the two: one is asked while the other is about to commit.
func TestTransactOnceInTwoStores(t *testing.T) {
	e := &pausing{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	one := openWorld(t, e, Options{})
	d := one.create("one", true)
	one.create("two", true)
	two := openWorld(t, kvtest.NewShared(e), Options{})
	theirs := two.database("two")
	for n, w := range []*world{one, two} { // the first makes rows that both write
		if _, _, err := w.TransactOnce(ctx, adds(t, w.database([]string{"one", "two"}[n])), named("a", fmt.Sprint(n), "")); err != nil {
			t.Fatal(err)
		}
	}
	once := named("a", "x", "")
	asked := false
	e.before = func() {
		asked = true
		if _, again, err := two.TransactOnce(ctx, adds(t, theirs), once); again || err != nil {
			t.Error(again, err)
		}
	}
	if _, again, err := one.TransactOnce(ctx, adds(t, d), once); !again || err != nil {
		t.Error(again, err)
	}
	if here, there := one.atMost(d), two.atMost(theirs); !asked || here != 1 || there != 2 {
		t.Errorf("asked %v, carried out %d and %d times", asked, here, there)
	}
	two.Close()
	one.closeAll()
}

// pausing is an engine that does something before the next commit.
type pausing struct {
	kv.Engine
	before func()
}

func (p *pausing) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return p.Engine.Update(ctx, func(tx kv.Txn) error {
		err := fn(tx)
		if before := p.before; before != nil && err == nil {
			p.before = nil
			before()
		}
		return err
	}, locked...)
}

// atMost is count for a database in which there may be nothing yet.
func (w *world) atMost(d *Database) (n int) {
	w.t.Helper()
	if t, err := d.Whole().Totals(ctx); err != nil || t.Docs == 0 {
		return 0
	}
	return w.count(d)
}

// TestTransactOnceCrash cuts the power while clients that get no answer ask again, before
// and after: what was asked for is there once.
func TestTransactOnceCrash(t *testing.T) {
	for seed := range uint64(4) {
		fs := crashfs.New()
		w, err := disk(t, fs)
		if err != nil {
			t.Fatal(err)
		}
		ds := []*Database{w.create("one", true), w.create("two", true)}
		r := kvtest.NewRand(seed)
		var asked atomic.Int64 // names 1 to this may have been carried out
		enough := make(chan bool)
		stopped, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		due := int64(5 + r.IntN(30))
		work.Go(func() {
			for n := int64(1); stopped.Err() == nil; n++ {
				asked.Store(n)
				if _, _, err := w.TransactOnce(stopped, adds(t, ds...), named("a", fmt.Sprint(n), "")); err != nil && stopped.Err() == nil {
					t.Error(err)
				}
				if n == due {
					close(enough)
				}
			}
		})
		<-enough
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand})
		last := asked.Load() + 1
		stop()
		work.Wait()
		w.closeAll()
		askedAgain(t, after, last)
	}
}

// askedAgain asks after a crash for everything that may have been asked for before.
func askedAgain(t *testing.T, fs vfs.FS, last int64) {
	t.Helper()
	w, err := disk(t, fs)
	if err != nil {
		t.Fatal(err)
	}
	defer w.closeAll()
	var ds []*Database
	for _, name := range []string{"one", "two"} {
		d, err := w.Database(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		ds = append(ds, d)
	}
	for n := int64(1); n <= last; n++ {
		if _, _, err := w.TransactOnce(ctx, adds(t, ds...), named("a", fmt.Sprint(n), "")); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := w.count(ds[0]), w.count(ds[1]); int64(a) != last || int64(b) != last {
		t.Errorf("%d and %d, want %d", a, b, last)
	}
	w.check()
}

// TestViewOfSeveral holds that a view of several databases is of one moment.
func TestViewOfSeveral(t *testing.T) {
	w := newWorld(t, Options{})
	one, two := w.create("one", true), w.create("two", true)
	if _, err := w.Transact(ctx, adds(t, one, two)); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	var work sync.WaitGroup
	work.Go(func() {
		defer close(done)
		for range 100 {
			if _, err := w.Transact(ctx, adds(t, one, two)); err != nil {
				t.Error(err)
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		err := w.View(ctx, []Scope{one.Whole(), two.Within("p")}, func(rs []*Reader) error {
			a, err := rs[0].Winner("p:n")
			if err != nil {
				return err
			}
			b, err := rs[1].Winner("p:n")
			if err == nil && string(a.Body) != string(b.Body) {
				t.Errorf("%s and %s", a.Body, b.Body)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	work.Wait()
	if err := w.Drop(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	if err := w.View(ctx, []Scope{one.Whole(), two.Whole()}, func([]*Reader) error { return nil }); !errors.Is(err, errNoDatabase) {
		t.Errorf("of a dropped database: %v", err)
	}
}
