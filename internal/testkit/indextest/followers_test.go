package indextest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// viewed is an engine that counts snapshots and transactions.
type viewed struct {
	kv.Engine
	calls atomic.Int64
}

func (e *viewed) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	e.calls.Add(1)
	return e.Engine.View(ctx, fn)
}

func (e *viewed) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	e.calls.Add(1)
	return e.Engine.Update(ctx, fn, locked...)
}

// serving is a store with its indexes.
type serving struct {
	t *testing.T
	*store.Store
	x *index.Indexes
}

func serve(t *testing.T, e kv.Engine, k index.Kind, idle bool) serving {
	t.Helper()
	return serveOn(t, e, k, idle, store.Options{})
}

// serveOn is serve with options of the store.
func serveOn(t *testing.T, e kv.Engine, k index.Kind, idle bool, o store.Options) serving {
	t.Helper()
	x := index.New(index.Options{Kinds: []index.Kind{k}, Idle: idle})
	o.Idle, o.Indexer = true, x
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), o)
	must(t, errors.Join(err, x.Start(ctx, s)))
	return serving{t, s, x}
}

func (s serving) end() {
	s.t.Helper()
	s.x.Close()
	must(s.t, s.Close())
}

func (s serving) database(name string) *store.Database {
	s.t.Helper()
	d, err := s.Database(ctx, name)
	must(s.t, err)
	return d
}

func (s serving) write(d *store.Database, id, body string) {
	s.t.Helper()
	rs, err := d.Whole().Write(ctx, []document.Edit{{ID: document.ID(id), Body: []byte(body)}}, store.WriteOptions{})
	must(s.t, errors.Join(err, rs[0].Err))
}

func (s serving) check() {
	s.t.Helper()
	must(s.t, s.Check(ctx))
}

// answer is what the one index of a database answers now.
func (s serving) answer(d *store.Database) (got string) {
	s.t.Helper()
	must(s.t, d.Whole().View(ctx, func(r *store.Reader) error {
		set, err := index.Of(r)
		if err == nil {
			got, _ = answers(r, set.Indexes[0]) // of several segments too: merging waits for nobody
		}
		return err
	}))
	return got
}

// TestFollowersGoOn ends a server that has an index to build and another that has changes to
// follow, among many databases that have nothing to do. The next server goes on with both;
// how often it reads before that does not depend on how many others there are.
func TestFollowersGoOn(t *testing.T) {
	start := func(others int) int64 {
		e := &viewed{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
		s := serve(t, e, journal{}, true)
		for n := range others {
			_, err := s.Create(ctx, fmt.Sprintf("other%d", n), store.Creation{})
			must(t, err)
		}
		for _, name := range []string{"follows", "builds"} {
			d, err := s.Create(ctx, name, store.Creation{})
			must(t, err)
			s.write(d, "_design/d", `{"journal":1}`)
			if name == "follows" {
				must(t, s.x.Run(ctx, d))
			}
			s.write(d, "a", `{}`)
		}
		s.check()
		s.end()
		e.calls.Store(0)
		k := resting{rests: make(chan *index.Index)}
		s = serve(t, e, k, false)
		calls := e.calls.Load()
		for name, done := range map[string]bool{"follows": false, "builds": false} {
			for d := s.database(name); !done; done = s.answer(d) == "a {}\n" {
				select {
				case <-k.rests:
				default:
				}
			}
		}
		go func() {
			for range k.rests {
			}
		}()
		s.end()
		close(k.rests)
		s = serve(t, e, journal{}, true)
		s.check()
		s.end()
		return calls
	}
	if few, many := start(0), start(1500); many > few+40 {
		t.Errorf("a start reads %d times with a few databases, %d times with many", few, many)
	}
}

// halting is a journal whose first work in the background stands still.
type halting struct {
	journal
	halted atomic.Bool
	at, on chan bool
}

func (k *halting) Map(ctx context.Context, d *store.Database, x *index.Index, docs []index.Change, fresh bool) (index.Batch, error) {
	b, err := k.journal.Map(ctx, d, x, docs, fresh)
	if !k.halted.Swap(true) {
		k.at <- true
		<-k.on
	}
	return b, err
}

// TestFollowerTakenOver has the worker of one server stand still with changes that it has
// mapped, while another server follows them, and further ones: what the first writes then
// changes nothing, and nothing is missing.
func TestFollowerTakenOver(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	two := serve(t, e, journal{}, true)
	d, err := two.Create(ctx, "db", store.Creation{})
	must(t, err)
	two.write(d, "_design/d", `{"journal":1}`)
	must(t, two.x.Run(ctx, d))
	two.write(d, "a", `{}`)
	k := &halting{at: make(chan bool), on: make(chan bool)}
	one := serve(t, e, k, false)
	<-k.at
	two.write(d, "b", `{}`)
	must(t, two.x.Run(ctx, d))
	if got := two.answer(d); got != "a {}\nb {}\n" {
		t.Errorf("the other server: %s", got)
	}
	two.write(d, "c", `{}`)
	close(k.on)
	for !strings.HasSuffix(one.answer(one.database("db")), "c {}\n") {
		one.check()
	}
	one.end()
	if got := two.answer(d); got != "a {}\nb {}\nc {}\n" {
		t.Errorf("in the end: %s", got)
	}
	two.check()
	two.end()
}

// TestBuildTakenOver has the worker of one server stand still in the first page of a build, while another server builds
// the index and follows the writers: what the first writes then changes nothing, and nothing is missing.
func TestBuildTakenOver(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	two := serve(t, e, journal{}, true)
	d, err := two.Create(ctx, "db", store.Creation{})
	must(t, err)
	two.write(d, "a", `{}`)
	two.write(d, "b", `{}`)
	two.write(d, "_design/d", `{"journal":1}`)
	k := &halting{at: make(chan bool), on: make(chan bool)}
	one := serve(t, e, k, false)
	<-k.at
	must(t, two.x.Run(ctx, d))
	two.write(d, "c", `{}`)
	must(t, two.x.Run(ctx, d))
	built := two.answer(d)
	close(k.on)
	two.write(d, "d", `{}`)
	for !strings.HasSuffix(one.answer(one.database("db")), "d {}\n") {
		one.check()
	}
	one.end()
	if got := two.answer(d); got != built+"d {}\n" || !strings.Contains(built, "b {}\nc {}\n") {
		t.Errorf("the other server: %s, in the end: %s", built, got)
	}
	two.check()
	two.end()
}

// TestFailureElsewhere has an index fail at one server while a query waits for it at another, which is told why.
func TestFailureElsewhere(t *testing.T) {
	e := kvtest.NewSharing(kvtest.NewModel(kvtest.ModelOptions{}), false)
	k := &failing{halting{at: make(chan bool), on: make(chan bool)}}
	one := serveOn(t, e.Engine(), k, false, store.Options{Holder: 1, Lease: time.Minute})
	two := serveOn(t, e.Engine(), journal{}, false, store.Options{Holder: 2, Lease: time.Minute})
	d, err := one.Create(ctx, "db", store.Creation{})
	must(t, err)
	one.write(d, "a", `{}`)
	one.write(d, "_design/d", `{"journal":1}`)
	<-k.at
	asks, err := two.x.Session(ctx, two.database("db").Whole(), "_design/d", "journal", "journal")
	must(t, err)
	if built, err := asks.Built(ctx, time.Nanosecond); built || err != nil {
		t.Errorf("the index is built: %v, %v", built, err)
	}
	told := make(chan error, 1)
	go func() { told <- asks.Ready(ctx, time.Hour) }()
	close(k.on)
	if err := <-told; err == nil || !strings.Contains(err.Error(), "had to be stopped") {
		t.Errorf("who waits elsewhere is told %v", err)
	}
	two.end()
	one.check()
	one.end()
}

// failing is a kind whose indexes fail, after they have stood still.
type failing struct{ halting }

func (k *failing) Map(ctx context.Context, d *store.Database, x *index.Index, docs []index.Change, fresh bool) (index.Batch, error) {
	_, err := k.halting.Map(ctx, d, x, docs, fresh)
	return nil, errors.Join(err, &index.Broken{})
}
