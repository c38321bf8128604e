package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/worktime"
)

// follower is an asynchronous kind without rows, whose batches take as long as they are
// said to.
type follower struct {
	clock   *time.Time
	takes   time.Duration // for each change
	batches []int         // how many changes they had
	before  func(x *index.Index) error
}

func (*follower) Name() string { return "follower" }
func (*follower) Defined(d index.Design) []index.Definition {
	return []index.Definition{{Name: "f", Source: d.Body}}
}
func (*follower) Open([]byte) (any, error)                                    { return nil, nil }
func (*follower) Prefixes(uint64, uint64) [][]byte                            { return nil }
func (*follower) Finish(context.Context, *store.Database, *index.Index) error { return nil }
func (f *follower) Map(_ context.Context, _ *store.Database, x *index.Index, docs []index.Change, _ bool) (index.Batch, error) {
	if f.before != nil {
		if err := f.before(x); err != nil {
			return nil, err
		}
	}
	*f.clock = f.clock.Add(f.takes * time.Duration(len(docs)))
	f.batches = append(f.batches, len(docs))
	return nothing{}, nil
}

type nothing struct{}

func (nothing) Apply(kv.Txn) error      { return nil }
func (nothing) Skipped() uint64         { return 0 }
func (nothing) Stopped() uint64         { return 0 }
func (nothing) Size() (rows, bytes int) { return 0, 0 }

// gate keeps writes of the document "held" on their way until it is opened.
type gate struct{ arrived, opened chan bool }

func (g gate) Admit(_ context.Context, _ *store.Database, e *document.Edit, _ func() (*store.Revision, error)) error {
	if e.ID == "held" {
		g.arrived <- true
		<-g.opened
	}
	return nil
}

// followed opens a store with a database that the follower has an index of. Its caller closes the store.
func followed(t *testing.T, f *follower, admission store.Admission) (*index.Indexes, *store.Store, *store.Database) {
	t.Helper()
	x := index.New(index.Options{Kinds: []index.Kind{f}, Idle: true, Clock: func() time.Time { return *f.clock }})
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, openEngine(t), keyspace.IsLaneHead), store.Options{Indexer: x, Admission: admission, Idle: true})
	if err = errors.Join(err, x.Start(ctx, s)); err != nil {
		t.Fatal(err)
	}
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	define(t, d, `{"follow":true}`)
	if err := x.Run(ctx, d); err != nil {
		t.Fatal(err)
	}
	return x, s, d
}

// TestFollowersRestBesideWriters has an index follow while a write is on its way: one
// batch, then a rest; and without a rest once somebody asked, once too much is left, and
// once no write is on its way.
func TestFollowersRestBesideWriters(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f := &follower{clock: &now, takes: time.Millisecond}
	g := gate{make(chan bool), make(chan bool)}
	x, s, d := followed(t, f, g)
	defer s.Close()
	set := d.Indexes().(*index.Set)
	follow := func(what string, batches int, rest time.Duration) {
		t.Helper()
		f.batches = nil
		err, left := x.FollowOnce(ctx, d)
		later := (interface{ Later() time.Duration })(nil)
		switch {
		case len(f.batches) != batches:
			t.Errorf("%s: %d batches, want %d", what, len(f.batches), batches)
		case rest == 0 && (err != nil || left):
			t.Errorf("%s: %v, and a job is left: %v", what, err, left)
		case rest > 0 && (!errors.As(err, &later) || later.Later() != rest || !left):
			t.Errorf("%s: %v, want a rest of %v", what, err, rest)
		}
	}
	held := make(chan error)
	go func() {
		_, err := d.Whole().Write(ctx, []document.Edit{{ID: "held", Body: []byte(`{}`)}}, store.WriteOptions{})
		held <- err
	}()
	<-g.arrived
	load(t, d, 2500)
	follow("a first batch", 1, 9*time.Second)
	now = now.Add(4 * time.Second)
	follow("at rest", 0, 5*time.Second)
	now = now.Add(5 * time.Second)
	follow("after the rest", 1, 9*time.Second)
	if err := x.CatchUp(ctx, d, set.Indexes[0], sequences(t, d)); err != nil {
		t.Fatal(err)
	}
	follow("nothing left", 0, 0)
	write(t, d, 10, "c")
	now = now.Add(9 * time.Second)
	follow("asked lately", 1, 0)
	write(t, d, 3000, "a")
	now = now.Add(2 * time.Second)
	follow("nobody asked lately", 1, 9*time.Second)
	write(t, d, 10_500, "b") // of a millisecond each
	follow("too much left", 3, 9*time.Second)
	now = now.Add(time.Second)
	g.opened <- true
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	follow("no writer", 10, 0)
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

// TestCatchingUpIsNotWork has a query that an index is behind for longer than a request may work.
func TestCatchingUpIsNotWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		f := &follower{clock: &now}
		x, s, d := followed(t, f, nil)
		defer s.Close()
		load(t, d, 10)
		f.before = func(*index.Index) error {
			time.Sleep(time.Hour)
			return nil
		}
		work := worktime.Begin(ctx, time.Minute)
		defer work.End()
		if err := x.CatchUp(work, d, d.Indexes().(*index.Set).Indexes[0], sequences(t, d)); err != nil || work.Over() {
			t.Errorf("%v, over: %v", err, work.Over())
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !work.Over() {
			t.Error("what comes then is work")
		}
	})
}

// write writes n documents.
func write(t *testing.T, d *store.Database, n int, prefix string) {
	t.Helper()
	edits := make([]document.Edit, n)
	for i := range edits {
		edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("%s%06d", prefix, i)), Body: []byte(`{}`)}
	}
	if _, err := d.Whole().Write(ctx, edits, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// sequences are the last of a database.
func sequences(t *testing.T, d *store.Database) (m store.Sequences) {
	t.Helper()
	if err := d.Whole().View(ctx, func(r *store.Reader) (err error) {
		m, err = r.Sequences()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return m
}
